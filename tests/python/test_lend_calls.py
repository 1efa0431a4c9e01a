"""Calls of the MPI's that lending polls (docs/lend.md), under the MPI that PLAIT_MPI names. Each test says its processes x threads."""

import pytest
from programs import MPI, run


@pytest.mark.parametrize("lend", [0, 1])
def test_mistakes_are_told_once(lend):
    """2 x 1; the same where nothing can be lent"""
    assert run("lending_errors", env=[f"PLAIT_LEND={lend}"]).stdout == "each mistake is told once\n"


def test_spawned_processes_meet_those_that_have_started_them():
    """2 x 1, and the 2 x 1 that they start"""
    if MPI.name == "system":
        pytest.skip("Debian's MPICH 4.0.2 spawns nothing, with its own launcher alone either")
    # Intel MPI, as in test_carried.py.
    assert run("lending_spawn", env=["PLAIT_LEND=1", "I_MPI_FABRICS=shm:ofi"]).stdout == "all meet\n"
