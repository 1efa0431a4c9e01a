"""How OpenMP programs over several processes end: by exit() anywhere, abort and exceptions. Each test says its processes and threads."""

import pytest
from plait import launch
from programs import cluster_program, needs_cluster, run

pytestmark = needs_cluster()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return cluster_program("ends.cpp", tmp_path_factory.mktemp("ends") / "ends", "c++")


@pytest.mark.thorough_where(threads=2)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("return", 5),
        ("serial", 7),
        ("exit 0", 3),
        ("exit 1", 3),
        ("exit 2", 3),
        ("zero 0", 0),
        ("zero 2", 0),
        ("busy 0", 0),
        ("busy 2", 0),
        ("all", 4),
    ],
)
def test_exit_ends_the_job_with_its_status(program, how, status, threads):
    """3 x 1 and 3 x 2"""
    done = run(program, *how.split(), processes=3, status=status, env=[f"OMP_NUM_THREADS={threads}"])
    assert done.stdout == "atexit\ndestroyed once, all there\n"


@pytest.mark.thorough_where(how=("serial-quick", "quick 0", "at-once 0", "quick-zero 2", "at-once-zero 0"))
@pytest.mark.parametrize(
    ("how", "status", "said"),
    [
        ("serial-quick", 7, "quick, all there\n"),
        ("quick 0", 3, "quick, all there\n"),
        ("quick 2", 3, "quick, all there\n"),
        ("serial-at-once", 7, ""),
        ("at-once 0", 3, ""),
        ("at-once 2", 3, ""),
        ("all-at-once", 4, ""),
        ("quick-zero 2", 0, "quick, all there\n"),
        ("at-once-zero 0", 0, ""),
        ("at-once-zero 2", 0, ""),
    ],
)
def test_what_ends_a_program_at_once_ends_the_job(program, how, status, said):
    """3 x 1: without destructors"""
    assert run(program, *how.split(), processes=3, status=status).stdout == said


@pytest.mark.parametrize("how", ["err", "error 2"])
def test_err_and_error_end_the_job_as_exit_does(program, how):
    """3 x 1: by all, and by one"""
    done = run(program, *how.split(), processes=3, status=6)
    assert done.stdout == "atexit\ndestroyed once, all there\n"
    assert f"as {'errx' if how == 'err' else 'error'} says it\n" in done.stderr


@pytest.mark.parametrize("how", ["abort 0", "abort 1", "throw 0", "throw 1"])
def test_a_process_that_ends_badly_ends_the_job(program, how):
    """2 x 1"""
    done = run(program, *how.split(), status=None)
    assert done.returncode not in (0, launch.TIMED_OUT)
    assert "destroyed" not in done.stdout
    assert ("nobody catches this" in done.stderr) == how.startswith("throw")
