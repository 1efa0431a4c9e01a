"""Programs with generalized requests, under the MPI that PLAIT_MPI names. Each test says its processes x threads."""

import re

import pytest
from programs import MPI, run


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("aio_read", "8 blocks of 65536 bytes and a message each for 2 processes: right"),
        ("pool_task", "16 tasks and 2 messages each for 2 processes: right"),
        ("saxpy", "y = 2 x + y of 1000000 elements on 2 processes: right"),
        ("file_io", "4 parts written and read by 2 processes: right"),
        ("together", "8388608 bytes arrived"),
    ],
)
def test_program_checks_itself(name, says, tmp_path):
    """2 x 1 to 3"""
    done = run(name, tmp_path / "file")
    assert done.stdout == says + "\n"
    assert "plait" not in done.stderr  # Open MPI 5.0.11 has words of its own where a window is made
    assert not list(tmp_path.iterdir())


def test_parts_of_a_file_that_is_there_already(tmp_path):
    """2 x 1. They end one after the other, which MPICH's PMPI_Testall does not stand"""
    for _ in range(6):
        (tmp_path / "file").write_bytes(bytes(320_000))
        done = run("file_io", tmp_path / "file")
        assert done.stdout == "4 parts written and read by 2 processes: right\n"


def test_reads_by_io_uring(tmp_path):
    """2 x 1"""
    program = MPI.build / "bin" / "uring_read"
    if not program.exists():
        pytest.skip("there is no liburing here")
    done = run("uring_read", tmp_path / "file", status=None)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert (done.returncode, done.stdout) == (0, "8 blocks of 65536 bytes and a message each for 2 processes: right\n")
    assert not list(tmp_path.iterdir())


def test_watchdog_names_the_poll_function_and_goes_on():
    """2 x 1"""
    done = run("slow_task", env=["PLAIT_WATCHDOG=0.2"])
    assert done.stdout == "the slow task is over\n"
    told = re.findall(
        r"plait: rank (\d) has been in MPI_Waitall on 2 requests, called at .*slow_task\S*, for more than 0.2 s; "
        r"it waits for a generalized request polled by poll_of_slow_task \(slow_task\)\n",
        done.stderr,
    )
    assert sorted(told) == ["0", "1"], done.stderr


def test_watchdog_is_silent_unless_asked():
    """2 x 1"""
    assert "plait" not in run("slow_task").stderr
