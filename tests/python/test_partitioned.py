"""Programs with partitioned messages, under the MPI that PLAIT_MPI names. Each test says its processes x threads."""

import random

import pytest
from plait import launch
from programs import MPI, run


def random_channels(processes, hosts, rounds, most):
    seed = random.SystemRandom().randrange(1 << 32)
    done = run("partitioned", rounds, seed, most, processes=processes, hosts=hosts)
    assert done.stdout == f"{rounds} rounds on 12 channels, seed {seed}: right\n"
    assert done.stderr == ""


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
    """2 x 1; 4 x 1 on 4 nodes"""
    done = run("partitioned_errors", hosts=hosts)
    assert done.stdout == f"every mistake has its error class in {max(2, hosts)} processes\n"
    assert done.stderr == ""


def test_messages_of_those_that_are_blocked(hosts):
    """2 x 1; 4 x 1 on 4 nodes"""
    done = run("partitioned_blocked", hosts=hosts)
    assert done.stdout == "messages of those that are blocked: right\n"
    assert done.stderr == ""


def test_communicators_of_all_makes_are_told_apart(hosts):
    """4 x 1"""
    done = run("partitioned_comms", processes=4, hosts=hosts)
    assert done.stdout == "messages on communicators of all makes: right\n"


def test_memory_that_can_be_mapped(hosts):
    """2 x 1; 4 x 1 on 4 nodes"""
    done = run("alloc_mem", hosts=hosts)
    assert done.stdout == "memory of MPI_Alloc_mem: right\n"
