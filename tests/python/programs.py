"""What tests of programs share: the MPI that PLAIT_MPI names, its nodes, and how a program of tests/programs is run."""

import random
import re
import subprocess

import pytest
from plait import launch, mpis

MPI = mpis.find()
# What the MPIs get wrong on their own communicators, beyond what random_p2p finds out for itself. MPICH 5.0.2 loses messages
# to receives from any source between nodes; Intel MPI 2021.19 there says that messages were cancelled that were not; MPICH
# 4.0.2 gets statuses with MPI_PROC_NULL wrong.
WITHOUT = {
    # (MPI, between nodes?): what random_p2p leaves out
    ("mpich", True): "ordinary",
    ("impi", True): "ordinary",
    ("system", False): "isendrecv,ordinary",
}
limits = {"factor": 1}  # of every time limit: programs with sanitizers are slower


@pytest.fixture(params=[1, 2, pytest.param(4, marks=pytest.mark.thorough)])
def hosts(request):
    """One machine, then two simulated nodes, and four in thorough tests; where these are allowed."""
    if request.param > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    return request.param


def preloading(name, behind=False):
    """What puts a library before the program, or behind libplait: one of tests/programs, or any other by its path."""
    if limits["factor"] > 1:
        pytest.skip("a sanitizer's runtime has to come first, and a library that is preloaded comes before it")
    library = MPI.build / "bin" / name
    assert library.exists(), f"{library} is not built"
    return f"LD_PRELOAD={MPI.library}:{library}" if behind else f"LD_PRELOAD={library}"


def run(name, *words, processes=2, hosts=1, env=(), status=0, timeout=60):
    """The end of a program, of tests/programs or by its path, and what it said. `status`: that it has to end with; None: any."""
    program = [str(word) for word in (MPI.build / "bin" / name, *words)]
    settings = dict(pair.split("=", 1) for pair in env)
    # As `plait run` does, without the half second that the command takes to start.
    limit = timeout * limits["factor"]
    kept = {"capture": True, "show_stacks": True, "own_time": True}
    done = launch.run(MPI, program, max(processes, hosts), 1, hosts, settings, limit, **kept)
    assert status is None or done.returncode == status, " ".join([*program, *env]) + "\n" + done.stdout + done.stderr
    return done


def has_cluster():
    """Whether OpenMP over several processes is built: not with sanitizers, nor by older compilers."""
    return limits["factor"] == 1 and (MPI.library.parent / "libplait_cluster.so").exists()


def needs_cluster():
    return pytest.mark.skipif(not has_cluster(), reason="libplait_cluster is not built")


def cluster_program(source, program, language="cc"):
    """A program of tests/programs/cluster, compiled for several processes."""
    source = mpis.ROOT / "tests/programs/cluster" / source
    subprocess.run([mpis.ROOT / "plait", "--mpi", MPI.name, language, "--cluster", "-O2", source, "-o", program], check=True, timeout=120)
    return program


def random_seed():
    return random.SystemRandom().randrange(1 << 32)


def patience():
    """After how many seconds without a step random_p2p says who is stuck."""
    return ["--patience", 60 * limits["factor"]]


def random_program(processes, hosts, messages, *words, env=()):
    """random_p2p with a seed of its own; it says itself whether all is as its model says."""
    seed = random_seed()
    without = WITHOUT.get((MPI.name, hosts > 1))
    line = ["--seed", seed, "--messages", messages, *patience(), *words, *(["--without", without] if without else [])]
    done = run("random_p2p", *line, processes=processes, hosts=hosts, timeout=120, status=None, env=env)
    if done.returncode == 77:
        pytest.skip("the MPI lacks MPI_THREAD_MULTIPLE")
    assert done.returncode == 0, f"-n {processes} --hosts {hosts} random_p2p {line}\n{done.stdout}{done.stderr}"
    found = re.search(r"seed (\d+), (\d+) messages, \d+ endpoints, all as the model says\n$", done.stdout)
    assert found and int(found[1]) == seed and int(found[2]) >= messages, done.stdout
