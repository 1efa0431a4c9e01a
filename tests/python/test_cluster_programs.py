"""The OpenMP programs of examples/cluster say over several processes and nodes what they say on one: compiled as their first lines say."""

import shutil
import subprocess

import pytest
from plait import launch
from plait.mpis import ROOT
from programs import MPI, run

FOLDER = ROOT / "examples/cluster"
PROGRAMS = sorted(source.stem for source in FOLDER.iterdir())
COMPILERS = {".c": ("cc", "gcc"), ".cpp": ("c++", "g++"), ".f90": ("fc", "gfortran")}
# With plain gcc, on one process.
RESULTS = {
    "cg": "38 steps, |r| 2.216343e-08 of 3.161724e+02, |x| 569.674429019713\n",
    "heat": "300 steps, last change 1.199934e-03, heat 4456.450340864\n",
    "matmul": "product of side 200, sum   141357.287190521\n",
    "random": "39218 of 50000 hit: pi is about 3.137440\n",
    "sort": "30000 numbers in order, digest 50906b88c503dc82\n",
}


def source_of(name):
    return next(FOLDER.glob(f"{name}.*"))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    for name in PROGRAMS:
        source = source_of(name)
        language, compiler = COMPILERS[source.suffix]
        if not shutil.which(compiler):
            continue
        standard = ["-std=c++20"] if source.suffix == ".cpp" else []
        command = [ROOT / "plait", "--mpi", MPI.name, language, "--cluster", "-O2", *standard, source, "-o", folder / name, "-lm"]
        subprocess.run(command, check=True, timeout=120)
    return folder


def test_each_says_how_it_is_compiled_and_run():
    assert sorted(RESULTS) == PROGRAMS
    for name in PROGRAMS:
        source = source_of(name)
        first = f"plait {COMPILERS[source.suffix][0]} --cluster -O2 "
        assert first in source.read_text() and f" -o {name} " in source.read_text() and f"&& plait run -n 4 ./{name}" in source.read_text()


@pytest.mark.thorough_where(processes=1, threads=2)
@pytest.mark.parametrize(("processes", "threads", "nodes"), [(1, 2, 1), (2, 1, 1), (2, 2, 2), (4, 1, 4)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_says_the_same_over_several_nodes(compiled, name, processes, threads, nodes):
    """1 x 2, 2 x 1, 2 x 2 on 2 nodes and 4 x 1 on 4"""
    if nodes > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    if not (compiled / name).exists():
        pytest.skip(f"there is no {COMPILERS[source_of(name).suffix][1]}")
    done = run(compiled / name, processes=processes, hosts=nodes, env=[f"OMP_NUM_THREADS={threads}"])
    assert done.stdout == RESULTS[name]


def test_what_is_wrong_is_said_once(compiled):
    """2 x 1"""
    done = run(compiled / "heat", 2, processes=2, status=1)
    assert done.stderr.startswith("heat: usage: heat [SIDE, 3 or more]")
