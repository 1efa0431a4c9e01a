"""OpenMP's locks in private memory, over several processes. The test says how many."""

from programs import cluster_program, needs_cluster, run

pytestmark = needs_cluster()


def test_locks_on_private_stacks_are_locks_of_their_process(tmp_path):
    """4"""
    program = cluster_program("own_locks.c", tmp_path / "p")
    assert run(program, processes=4).stdout == "right\n"
