"""What .ci/verdict makes of tests that failed, and what of the tests is written down, chosen and put off. No MPI is started."""

import json
import os
import subprocess
import sys
import time

import pytest
from plait.mpis import ROOT
from programs import MPI

pytestmark = pytest.mark.once  # the same whatever the MPI is

# In place of scripts/tests: a test passes alone unless it is called broken; which ones were run is in a file.
AGAIN = """#!/bin/sh
echo "$@" >>again
echo "said of $3"
[ "$3" != broken ]
"""


@pytest.fixture
def verdict(tmp_path):
    """What the verdict says of one step, with this status and these tests that failed in it, and how often each was run again."""
    logs = tmp_path / "build/ci"
    logs.mkdir(parents=True)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/tests").write_text(AGAIN)
    (tmp_path / "scripts/tests").chmod(0o755)

    def judge(status, failed=(), passed=("fine",)):
        if status is not None:
            (logs / "test-mpich.status").write_text(f"{status}\n")
        results = [(name, "failed") for name in failed] + [(name, "passed") for name in passed]
        lines = [{"build": "mpich", "test": name, "outcome": outcome, "seconds": 1, "said": f"why {name}"} for name, outcome in results]
        (logs / "test-mpich.results").write_text("".join(json.dumps(line) + "\n" for line in lines))
        line = [ROOT / ".ci/verdict", "--long", "build/ci", "test-mpich"]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
        again = (tmp_path / "again").read_text().splitlines() if (tmp_path / "again").exists() else []
        return done.returncode, done.stdout, again

    return judge


def test_the_gate_opens_when_all_passed(verdict):
    status, said, again = verdict(0)
    assert (status, said.split("\n")[-2], again) == (0, "1 passed, 0 failed, 0 skipped", [])


@pytest.mark.parametrize("status", [None, 2, 8, 124])
def test_a_step_that_did_not_end_as_tests_do_shuts_it(verdict, status):
    assert verdict(status)[0] == 1
    assert verdict(status, failed=["shaky"])[::2] == (1, [])  # nor is anything run again


def test_tests_that_failed_without_a_name_shut_it(verdict):
    assert verdict(1)[0] == 1


def test_a_test_that_passes_alone_three_times_is_unsteady_and_shown(verdict, tmp_path):
    status, said, again = verdict(1, failed=["shaky"])
    assert (status, again) == (0, ["mpich all shaky"] * 3)
    assert "\nunsteady: mpich: shaky\n" in said
    assert "    why shaky\n" in said and "    said of shaky\n" in said
    assert "   1.0 s  unsteady, repeated 3 times  mpich: shaky\n" in said
    assert (tmp_path / "build/ci/table.tsv").read_text().splitlines()[1:] == [
        "mpich\tshaky\tunsteady\t1.0\t3",
        "mpich\tfine\tpassed\t1.0\t0",
    ]


def test_a_test_that_fails_alone_shuts_it(verdict):
    status, said, again = verdict(1, failed=["broken", "shaky"])
    assert (status, again) == (1, ["mpich all broken"])
    assert "\nfailed: mpich: broken failed, and again alone\n" in said
    assert "\nfailed: mpich: shaky failed, and was not run again\n" in said


@pytest.mark.parametrize(("number", "status"), [(3, 0), (4, 1)])
def test_more_than_three_that_are_unsteady_shut_it(verdict, number, status):
    assert verdict(1, failed=[f"shaky{i}" for i in range(number)])[0] == status


# ---- steps


@pytest.mark.parametrize(
    ("command", "results", "times"),
    [("true", False, 1), ("false", True, 1), ("false", False, 2), ("exit 2", True, 2)],
)
def test_a_step_that_passed_or_whose_tests_failed_is_not_run_again(tmp_path, command, results, times):
    line = [
        ROOT / ".ci/step",
        "some",
        "sh",
        "-c",
        f"echo >>{tmp_path}/times; {f'touch {tmp_path}/some.results;' if results else ''} {command}",
    ]
    env = {**os.environ, "STEP_LOGS": str(tmp_path), "STEPS_BEGAN": "0"}
    first, second = (subprocess.run(line, env=env, capture_output=True, text=True, check=False) for _ in range(2))
    assert first.returncode == second.returncode == int((tmp_path / "some.status").read_text())
    assert len((tmp_path / "times").read_text().splitlines()) == times
    assert ("was run before" in second.stdout) == (times == 1)


# ---- the options of tests/python/conftest.py


TESTS = """
import pytest

@pytest.mark.thorough_where(size=(2, 3), kind="odd")
@pytest.mark.parametrize("kind", ["even", "odd"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_sizes(size, kind): pass

def test_wrong(): assert not "as it should be"

@pytest.mark.thorough
def test_long(): pass
"""


@pytest.fixture
def run(tmp_path):
    """The names and outcomes that are written down of these tests, with pytest's exit status."""
    for name in ("conftest.py", "programs.py"):
        (tmp_path / name).symlink_to(ROOT / "tests/python" / name)
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    (tmp_path / "test_some.py").write_text(TESTS)

    def run(*options):
        line = [sys.executable, "-m", "pytest", "--results", tmp_path / "results", *options, tmp_path]
        path = os.pathsep.join([str(tmp_path), *sys.path])
        done = subprocess.run(line, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
        results = [json.loads(line) for line in (tmp_path / "results").read_text().splitlines()]
        assert all(result["build"] == MPI.name for result in results), done.stdout
        return done.returncode, {result["test"].rpartition("::")[2]: result for result in results}

    return run


def test_each_test_leaves_its_name_outcome_time_and_words(run):
    status, results = run("-m", "not thorough")
    assert (status, set(results)) == (1, {"test_sizes[1-even]", "test_wrong"})
    wrong = results["test_wrong"]
    assert (wrong["outcome"], wrong["seconds"] < 10) == ("failed", True)
    assert "as it should be" in wrong["said"]
    assert results["test_sizes[1-even]"]["outcome"] == "passed"


def test_what_is_thorough_is_said_by_parameters_too(run):
    status, results = run("-m", "thorough")
    assert (status, len(results)) == (0, 6)
    assert not set(results) & {"test_sizes[1-even]", "test_wrong"}


SIX = """
import pytest

@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("kind", ["even", "odd"])
def test_six(size, kind): pass

def test_alone(): pass
"""


def test_three_of_six_pairs_have_each_value_once_and_the_others_are_thorough(run, tmp_path):
    (tmp_path / "test_some.py").write_text(SIX)
    _, results = run("--pairs", "-m", "not thorough")
    quick = set(results)
    assert len(quick) == 4 and "test_alone" in quick
    assert all(any(value in name for name in quick) for value in ("even", "odd", "1", "2", "3"))
    (tmp_path / "results").unlink()
    _, results = run("--pairs", "-m", "thorough")
    assert len(results) == 3 and not quick & set(results)


def test_no_test_begins_after_its_time(run):
    status, results = run("--until", str(time.time() - 1))
    assert (status, {result["outcome"] for result in results.values()}) == (0, {"skipped"})
