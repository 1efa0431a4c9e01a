import json
import random
import signal
import time
from itertools import groupby
from pathlib import Path

import pytest
from plait import mpis
from programs import MPI, hosts, limits

__all__ = ["hosts"]  # a fixture of all tests


def pytest_addoption(parser):
    parser.addoption("--build", metavar="PRESET", help="programs from build/PRESET: those of a sanitizer, for example")
    parser.addoption("--results", metavar="FILE", type=Path, help="adds a line of JSON to FILE for each test")
    parser.addoption("--until", metavar="TIME", type=float, help="begins no test after this time, in seconds since 1970")
    parser.addoption("--pairs", action="store_true", help="quick are as many cases of a test as have each value of each parameter once")
    parser.addoption("--order", metavar="SEED", help="the files in an order drawn from SEED")


def pytest_configure(config):
    if preset := config.getoption("--build", None):
        mpis.Mpi.build = mpis.ROOT / "build" / preset
        limits["factor"] = 10
    if path := config.getoption("--results", None):
        config.pluginmanager.register(Results(path, preset or MPI.name))


@pytest.hookimpl(tryfirst=True)  # before -m chooses by marks
def pytest_collection_modifyitems(config, items):
    for item in items:
        for mark in item.iter_markers("thorough_where"):
            if any(item.callspec.params[name] in of(values) for name, values in mark.kwargs.items()):
                item.add_marker("thorough")
    if config.getoption("--pairs", False):
        for item in set(items) - set(paired(items)):
            item.add_marker("thorough")
    if seed := config.getoption("--order", None):
        files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
        random.Random(seed).shuffle(files)
        items[:] = [test for file in files for test in file]


def paired(items):
    """As few of the quick tests as have each value of each parameter once. Another MPI's are others."""
    quick = [item for item in items if not item.get_closest_marker("thorough")]
    for _, group in groupby(quick, key=lambda item: (item.path, item.originalname)):
        cases = list(group)
        random.Random(MPI.name).shuffle(cases)
        missing = set().union(*map(values_of, cases))
        while True:
            case = max(cases, key=lambda case: len(missing & values_of(case)))
            yield case
            missing -= values_of(case)
            if not missing:
                break


def values_of(item):
    return {(name, repr(value)) for name, value in item.callspec.params.items()} if hasattr(item, "callspec") else set()


def of(values):
    return values if isinstance(values, tuple) else (values,)


def pytest_runtest_setup(item):
    until = item.config.getoption("--until", None)
    if until and time.time() > until:
        pytest.skip("no time was left")


class Results:
    """A line for each test as it ends, so that what is there is right whatever becomes of the others."""

    def __init__(self, path, build):
        self._path = path
        self._build = build
        self._reports = []

    def pytest_runtest_logreport(self, report):
        self._reports.append(report)
        if report.when != "teardown":
            return
        outcomes = {part.outcome for part in self._reports}
        result = {
            "build": self._build,
            "test": report.nodeid,
            "outcome": next(outcome for outcome in ("failed", "skipped", "passed") if outcome in outcomes),
            "seconds": round(sum(part.duration for part in self._reports), 3),
            "said": "\n".join(part.longreprtext for part in self._reports if part.outcome == "failed"),
        }
        self._reports = []
        with self._path.open("a") as file:
            file.write(json.dumps(result) + "\n")


# Jobs that a shell starts in the background ignore SIGINT, and what they start inherits that; the tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)
