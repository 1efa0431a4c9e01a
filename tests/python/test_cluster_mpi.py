"""MPI calls of an OpenMP program over several processes, on memory that all share. Each test says its processes and threads."""

import pytest
from plait import launch
from programs import MPI, cluster_program, needs_cluster, run

pytestmark = needs_cluster()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return cluster_program("mpi.c", tmp_path_factory.mktemp("mpi") / "mpi")


@pytest.mark.parametrize(("processes", "threads"), [(1, 2), (2, 1), (2, 2), (4, 1)])
def test_calls_on_shared_memory(program, processes, threads):
    """1 x 2, 2 x 1, 2 x 2 and 4 x 1"""
    assert run(program, processes=processes, env=[f"OMP_NUM_THREADS={threads}"]).stdout == "right\n"


def test_calls_between_nodes(program):
    """2 on 2 nodes"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    assert run(program, processes=2, hosts=2).stdout == "right\n"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("alone", "plait: OpenMP over several nodes: MPI_Barrier in a serial part waits for ever, as only process 0 runs there: "),
        ("scatter", "plait: OpenMP over several nodes: MPI_Reduce_scatter is not carried on memory that all processes share: "),
        ("window", "plait: OpenMP over several nodes: MPI_Win_create is not carried on memory that all processes share: "),
    ],
)
def test_what_cannot_be_is_refused(program, word, message):
    """2 x 1"""
    done = run(program, word, status=None)
    assert done.returncode not in (0, launch.TIMED_OUT)
    assert message in done.stderr
