"""OpenMP's locks in private memory, over several processes. The test says how many."""

import subprocess

import pytest
from plait.mpis import ROOT
from programs import MPI, limits, run

pytestmark = pytest.mark.skipif(
    limits["factor"] > 1 or not (MPI.library.parent / "libplait_cluster.so").exists(), reason="libplait_cluster is not built"
)


def test_locks_on_private_stacks_are_locks_of_their_process(tmp_path):
    """4"""
    source = ROOT / "tests/programs/cluster/own_locks.c"
    subprocess.run([ROOT / "plait", "--mpi", MPI.name, "cc", "--cluster", "-O2", source, "-o", tmp_path / "p"], check=True, timeout=120)
    assert run(tmp_path / "p", processes=4, chances=1).stdout == "right\n"
