"""Nothing that was started stands still while some other call blocks: each pair of both, on one node and between two."""

import pytest
from plait import launch
from programs import MPI, preloading, run


@pytest.mark.thorough_where(words=(["one"],))
@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("words", [[], ["threads"], ["one"]], ids=["by one thread", "by two", "by two with one stream"])
def test_what_was_started_moves_while_a_call_blocks(hosts, words):
    if hosts > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    done = run("moves_while_blocked", *words, hosts=hosts, timeout=60, status=None)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "pairs: all moved" in done.stdout


def test_nobody_is_inside_the_mpi_when_it_is_finalized():
    """2 x 1, and plait's own thread"""
    done = run("progress_at_end", env=[preloading("finalize_alone.so", behind=True)], status=None)
    if done.returncode == 77:
        pytest.skip("the MPI lacks MPI_THREAD_MULTIPLE")
    assert done.returncode == 0 and done.stdout == "nobody else is inside\n" * 2, done.stdout + done.stderr
