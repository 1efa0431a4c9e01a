"""Cores that wait are lent (docs/lend.md), under the MPI that PLAIT_MPI names. Each test says its processes x threads."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from plait import built, launch, mpis
from plait.feed import RANK
from programs import MPI, limits, run

SOURCE = mpis.ROOT / "tests/programs/lending.c"
CALLS = re.findall(r'"(MPI_\w+)"', SOURCE.read_text().partition("kCalls")[2].partition(";")[0])
CORES = len(os.sched_getaffinity(0))
LEND = ["PLAIT_LEND=1"]

pytestmark = pytest.mark.skipif(limits["factor"] > 1, reason="a sanitizer's runtime comes first, and knows nothing of OpenMP's threads")


def lending(program, *words, processes=2, threads=1, env=(), lend=True):
    settings = dict(pair.split("=", 1) for pair in env)
    kept = {"capture": True, "show_stacks": True, "own_time": True}
    done = launch.run(MPI, [str(program), *words], processes, threads, 1, settings, 60, lend=lend, **kept)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == CALLS
    return done.stderr


def needs_cores(n):
    return pytest.mark.skipif(n > CORES, reason=f"{n} processes need {n} cores to lend one")


@needs_cores(2)
@pytest.mark.thorough_where(carried="all", threads=1)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("carried", ["streams", "all"])
def test_regions_get_the_cores_of_a_process_that_waits(carried, threads):
    """2 x 1, bound where there are cores, and 2 x 2"""
    said = lending("lending", threads=threads, env=[f"PLAIT_COMMUNICATORS={carried}", "PLAIT_REPORT=1"])
    told = dict(re.findall(r"rank (\d): cores lent to (\d+) regions", said))
    borrowed = dict(re.findall(r"rank (\d): cores lent to \d+ regions of others, and borrowed for (\d+)", said))
    assert int(told["1"]) == int(borrowed["0"]) >= len(CALLS)


@needs_cores(2)
@pytest.mark.once
def test_regions_of_clang(tmp_path):
    """2 x 1, with the OpenMP of clang"""
    if not shutil.which("clang"):
        pytest.skip("clang is not installed")
    command = [mpis.ROOT / "plait", "--mpi", MPI.name, "cc", "-O1", "-fopenmp", SOURCE, "-o", tmp_path / "lending"]
    compiler = dict.fromkeys(("MPICH_CC", "OMPI_CC", "I_MPI_CC"), "clang")
    done = subprocess.run(command, env=os.environ | compiler, capture_output=True, text=True, timeout=60, check=False)
    if "omp.h" in done.stderr or "-lomp" in done.stderr:
        pytest.skip("clang's OpenMP is not installed")
    assert done.returncode == 0, done.stderr
    assert lending(tmp_path / "lending") == ""


def test_nothing_is_lent_unless_asked_for():
    """2 x 1"""
    assert lending("lending", "nothing", lend=False) == ""


@needs_cores(2)
@pytest.mark.thorough_where(setting=("OMP_DYNAMIC=true", "OMP_PROC_BIND=true"))
@pytest.mark.parametrize("setting", ["OMP_DYNAMIC=false", "OMP_DYNAMIC=true", "OMP_PROC_BIND=true"])
def test_regions_are_as_openmp_was_told(setting):
    """2 x 1"""
    assert lending("lending", "told", env=[setting]) == ""


def test_a_program_without_openmp_may_ask_for_it():
    """1 x 1; libraries look whether there is any"""
    ask = "import ctypes; c = ctypes.CDLL(None); c.omp_set_num_threads(2); c.omp_set_dynamic(0); print(c.omp_get_max_threads())"
    done = launch.run(MPI, [sys.executable, "-c", ask], 1, 1, timeout=60, capture=True, lend=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_own_threads_are_not_put_to_places(monkeypatch):
    """More threads than OpenMP knows of places would share them. The user's own settings stay."""
    monkeypatch.setattr(launch, "usable_cores", lambda: (8, 8))
    monkeypatch.setattr(launch, "allocated_nodes", lambda: 1)
    for name in ("OMP_PLACES", "OMP_PROC_BIND", "KMP_BLOCKTIME"):
        monkeypatch.delenv(name, raising=False)
    for lend in (False, True):
        environment = launch.command(MPI, ["true"], 2, 4, 1, {}, lend=lend)[1]
        assert ("OMP_PLACES" in environment, "OMP_PROC_BIND" in environment) == (not lend, not lend)
        assert environment.get("KMP_BLOCKTIME") == ("0" if lend else None)
    monkeypatch.setenv("KMP_BLOCKTIME", "20")
    assert launch.command(MPI, ["true"], 2, 4, 1, {}, lend=True)[1]["KMP_BLOCKTIME"] == "20"


def test_threads_over_nodes_are_refused(monkeypatch):
    monkeypatch.setattr(built, "_listed", lambda *_: "\tlibplait_cluster.so => /lib/libplait_cluster.so (0x00007f0000000000)\n")
    with pytest.raises(mpis.MpiError, match="was linked by --cluster: --preload or --lend would keep its MPI calls from shared memory"):
        launch.command(MPI, ["true"], 2, 1, 1, {}, lend=True)


@pytest.mark.parametrize("processes", [1, 2 * CORES + 1])
def test_where_nothing_can_be_lent_it_is_said_why(processes):
    """1 x 1, and more than cores"""
    why = {1: "there is one process on the node"}.get(processes, "there are more processes on the node than CPUs that they may use")
    done = run("lending", "begins", processes=processes, env=LEND, timeout=120)
    assert done.stderr == f"plait: PLAIT_LEND: no cores are lent: {why}\n"


def test_processes_that_differ_are_told():
    """2 x 1"""
    choose = f'if [ "{RANK}" = 1 ]; then export PLAIT_LEND=1; fi'
    done = run("/bin/sh", "-c", f'{choose}; exec "$@"', "sh", MPI.build / "bin" / "lending", status=None)
    assert done.returncode not in (0, launch.TIMED_OUT)
    assert done.stderr.count("plait: PLAIT_LEND is 1 in some processes and not in others") == 1, done.stderr


def test_another_value_is_told():
    """2 x 1"""
    done = run("lending", "nothing", env=["PLAIT_LEND=2"])
    assert done.stderr == "plait: PLAIT_LEND=2: expected 0 or 1; the default holds: 0\n"
