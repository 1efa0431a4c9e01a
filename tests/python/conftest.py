import signal

from plait import mpis
from programs import hosts, limits, timed_out

__all__ = ["hosts"]  # a fixture of all tests


def pytest_addoption(parser):
    parser.addoption("--build", metavar="PRESET", help="programs from build/PRESET: those of a sanitizer, for example")


def pytest_configure(config):
    if preset := config.getoption("--build", None):
        mpis.Mpi.build = mpis.ROOT / "build" / preset
        limits["factor"] = 10


def pytest_terminal_summary(terminalreporter):
    for said in timed_out:
        for line in f"took too long, tried again: {said}".splitlines():
            terminalreporter.line(f"TIMED OUT {line}")


# Jobs that a shell starts in the background ignore SIGINT, and what they start inherits that; the tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)
