"""Ordinary communicators whose messages plait carries (PLAIT_COMMUNICATORS=all), under the MPI that PLAIT_MPI names.
Each test says its processes x threads."""

import pytest
from plait import launch
from programs import MPI, random_program, run

ALL = ["PLAIT_COMMUNICATORS=all"]


@pytest.mark.parametrize("processes", [2, 5])
def test_communicators_of_all_makes(processes):
    """2 and 5 x 1 and 4"""
    assert run("carried", "all", processes=processes, env=ALL).stdout == "communicators of all makes: right\n"


def test_communicators_of_all_makes_between_nodes():
    """4 x 1 and 4 on 2 nodes"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    assert run("carried", "all", processes=4, hosts=2, env=ALL).stdout == "communicators of all makes: right\n"


def test_they_are_the_mpis_unless_asked_for():
    """2 x 1 and 4"""
    assert run("carried", "streams").stdout == "communicators of all makes: right\n"


@pytest.mark.parametrize(
    ("processes", "nodes", "words"), [(3, 1, ["--plain"]), (3, 1, ["--streams-mode", "--threads"]), (4, 2, ["--plain", "--threads"])]
)
def test_random_messages(processes, nodes, words):
    """3 and 4 x 1 and 2"""
    if nodes > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    random_program(processes, nodes, 5000, "--max-bytes", 200_000, *words, env=ALL)


@pytest.mark.parametrize("program", ["stream_errors", "stream_idup", "last_words"])
def test_programs_that_do_it_all(program, hosts):
    """3 x 1; 4 x 1 on 4 nodes: the same is right as without"""
    plain = run(program, processes=3, hosts=hosts)
    carried = run(program, processes=3, hosts=hosts, env=ALL)
    assert sorted(carried.stdout.splitlines()) == sorted(plain.stdout.splitlines())
