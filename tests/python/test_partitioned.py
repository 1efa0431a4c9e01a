"""Programs with partitioned messages, under the MPI that PLAIT_MPI names. Each test says its processes x threads."""

import random
import subprocess

import pytest
from plait import launch
from plait.mpis import ROOT
from programs import MPI, preloading, run


def random_channels(processes, hosts, rounds, most):
    seed = random.SystemRandom().randrange(1 << 32)
    done = run("partitioned", rounds, seed, most, processes=processes, hosts=hosts)
    assert done.stdout == f"{rounds} rounds on 12 channels, seed {seed}: right\n"
    assert done.stderr == ""


@pytest.mark.thorough_where(rounds=2000)
@pytest.mark.parametrize(
    ("processes", "rounds", "most"),
    [
        (1, 20, 1 << 20),  # to itself
        (2, 30, 1 << 20),
        (3, 20, 1 << 22),
        (2, 2000, 2000),  # restarted again and again
    ],
)
def test_random_channels(processes, rounds, most):
    """1 to 3 x 1 to 4 a channel"""
    random_channels(processes, 1, rounds, most)


def test_random_channels_between_nodes():
    """4 x 1 to 4 a channel on 4 nodes, 6 on 3"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    random_channels(4, 4, 20, 1 << 20)
    random_channels(6, 3, 10, 1 << 18)


def test_mistakes_have_their_error_classes(hosts):
    """2 x 1, on one node and on 2; 4 x 1 on 4"""
    done = run("partitioned_errors", hosts=hosts)
    assert done.stdout == f"every mistake has its error class in {max(2, hosts)} processes\n"
    assert done.stderr == ""


def test_messages_of_those_that_are_blocked(hosts):
    """2 x 1, on one node and on 2; 4 x 1 on 4"""
    done = run("partitioned_blocked", hosts=hosts)
    assert done.stdout == "messages of those that are blocked: right\n"
    assert done.stderr == ""


def test_communicators_of_all_makes_are_told_apart(hosts):
    """4 x 1"""
    done = run("partitioned_comms", processes=4, hosts=hosts)
    assert done.stdout == "messages on communicators of all makes: right\n"


@pytest.mark.parametrize("receives", [0, 1])
def test_nothing_is_left_of_requests_that_sent_nothing(receives, hosts):
    """2 x 1, on one node and on 2; 4 x 1 on 4"""
    done = run("partitioned_left", receives, hosts=hosts)
    assert done.stdout == "nothing was left\n"
    assert done.stderr == ""


def test_memory_that_can_be_mapped(hosts):
    """2 x 1, on one node and on 2; 4 x 1 on 4"""
    done = run("alloc_mem", hosts=hosts)
    assert done.stdout == "memory of MPI_Alloc_mem: right\n"


@pytest.mark.thorough_where(processes=(1, 4))
@pytest.mark.parametrize("word", ["rounds", "ahead", "meets"])
@pytest.mark.parametrize(("processes", "nodes"), [(1, 1), (2, 1), (4, 1), (2, 2), (4, 2)])
def test_finepoints_in_their_own_way(processes, nodes, word):
    """1, 2 and 4 x 1 and 4; 2 and 4 on 2 nodes"""
    if nodes > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    done = run("finepoints", word, processes=processes, hosts=nodes, timeout=120)
    assert done.stdout == f"finepoints: {word} right\n"
    assert done.stderr == ""


@pytest.mark.parametrize("way", ["world", "session", "past"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_what_only_the_mpi_can_carry(way, nodes):
    """2 x 1"""
    if nodes > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    done = run("partitioned_native", way, hosts=nodes)
    assert done.stdout == f"partitioned messages of a {way}: right\n"
    assert done.stderr == ""


def test_without_shared_memory():
    """2 x 1"""
    done = run("partitioned_native", "init", env=[preloading("no_memfd.so")])
    assert done.stdout == "partitioned messages of a init: right\n"


@pytest.mark.thorough_where(word=("nofiles", "file"))
@pytest.mark.parametrize("word", ["file", "space", "nofiles", "fork"])
def test_memory_under_limits(word):
    """2 x 1, with files of at most 64 MB, little address space, no files in memory, children"""
    done = run("alloc_mem", word)
    assert done.stdout == "memory of MPI_Alloc_mem: right\n"
    assert "plait" not in done.stderr  # Open MPI speaks of its windows


def test_memory_with_a_small_dev_shm():
    """2 x 1. The blocks are 300 MB at a time; 64 MB are what the MPIs need themselves, and what containers have."""
    small = "mount -t tmpfs -o size=64m tmpfs /dev/shm"
    tried = subprocess.run(["unshare", "--mount", "sh", "-c", small], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no mount of one's own: {tried.stderr.strip()}")
    line = f"{small} && exec {ROOT / 'plait'} --mpi {MPI.name} run -n 2 --timeout 60 {MPI.build / 'bin' / 'alloc_mem'}"
    done = subprocess.run(["unshare", "--mount", "sh", "-c", line], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "memory of MPI_Alloc_mem: right\n"
