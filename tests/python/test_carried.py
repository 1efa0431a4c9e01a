"""Ordinary communicators whose messages plait carries (PLAIT_COMMUNICATORS=all), under the MPI that PLAIT_MPI names.
Each test says its processes x threads."""

import os
import re
import subprocess

import pytest
from plait import launch, mpis
from plait.feed import RANK
from programs import MPI, limits, random_program, random_seed, run

ALL = ["PLAIT_COMMUNICATORS=all"]


@pytest.mark.thorough_where(processes=5)
@pytest.mark.parametrize("processes", [2, 5])
def test_communicators_of_all_makes(processes):
    """2 and 5 x 1 and 4"""
    assert run("carried", "all", processes=processes, env=ALL, timeout=120).stdout == "communicators of all makes: right\n"


@pytest.mark.thorough
def test_communicators_of_all_makes_between_nodes():
    """4 x 1 and 4 on 2 nodes"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    assert run("carried", "all", processes=4, hosts=2, env=ALL, timeout=120).stdout == "communicators of all makes: right\n"


@pytest.mark.parametrize("carried", ["streams", "all"])
@pytest.mark.parametrize("hosts", [1, 2])
def test_communicators_of_groups_beside_another_thread(hosts, carried):
    """4 x 1"""
    if hosts > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    done = run("from_group", processes=4, hosts=hosts, env=[f"PLAIT_COMMUNICATORS={carried}"])
    assert done.stdout == "communicators of groups: right\n"


@pytest.mark.thorough
def test_more_processes_than_cores_are_known():
    """two more than cores, at most 16: they would spin while the others have no core"""
    cores = len(os.sched_getaffinity(0))
    processes = min(cores + 2, 16)
    done = run("carried", "all", processes=processes, env=[*ALL, "PLAIT_REPORT=1"], timeout=120)
    assert done.stderr.count(", threads outnumber cores") == (processes if processes > cores else 0)


@pytest.mark.parametrize("words", [("none", "streams"), ("streams", "all"), ("none", "all")])
def test_processes_that_differ_are_told(words):
    """2 x 1"""
    choose = (
        f'if [ "{RANK}" = 1 ]; then PLAIT_COMMUNICATORS={words[1]}; else PLAIT_COMMUNICATORS={words[0]}; fi; export PLAIT_COMMUNICATORS'
    )
    told = run("/bin/sh", "-c", f'{choose}; exec "$@"', "sh", MPI.build / "bin" / "carried", "streams", status=None)
    assert told.returncode not in (0, launch.TIMED_OUT)
    assert told.stderr.count(f"plait: PLAIT_COMMUNICATORS is {words[0]} in some processes and {words[1]} in others") == 1, told.stderr


@pytest.mark.parametrize("hosts", [1, 2])
def test_the_report_says_what_was_sent_where(hosts):
    """2 x 1"""
    if hosts > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    told = run("reported", hosts=hosts, env=[*ALL, "PLAIT_REPORT=1"]).stderr
    between = ", {} of them between nodes" if hosts > 1 else ""
    assert f"plait: rank 0: pairs: 11 messages of {80 + (1 << 20)} bytes sent{between.format(11)}" in told
    assert f"plait: rank 0: MPI_COMM_WORLD: 5 messages of 20 bytes sent{between.format(5)}\n" in told
    assert "rank 1: pairs" not in told
    left = set(re.findall("left to the MPI: (.*)", told))
    assert left == {"intercommunicators", *(["collective calls on communicators that span nodes"] if hosts > 1 else [])}


def test_they_are_the_mpis_unless_asked_for():
    """2 x 1 and 4"""
    assert run("carried", "streams").stdout == "communicators of all makes: right\n"


@pytest.mark.parametrize("env", [[], ALL], ids=["streams", "all"])
def test_spawned_processes(env):
    """1 x 1, and the one that it starts"""
    if MPI.name == "system":
        pytest.skip("Debian's MPICH 4.0.2 spawns nothing, with its own launcher alone either")
    if limits["factor"] > 1:
        pytest.skip("a sanitizer's runtime has to come first, and a library that is preloaded comes before it")
    # Intel MPI on one node: "shm fabric does not support Spawns, please use shm:ofi fabric instead".
    assert run("spawn", processes=1, env=[*env, "I_MPI_FABRICS=shm:ofi"]).stdout == "a number came from a spawned process: right\n"


def test_they_are_as_lenient_as_the_mpi():
    """2 x 1"""
    for what, lines in (("types", 20), ("buffers", 16)):
        alone, carried = (run("lenient", what, env=env).stdout for env in ([], ALL))
        assert carried == alone and carried.count("\n") >= lines
    told = run("lenient", "requests", env=ALL).stdout
    assert not re.search("not empty|of some|refused|wrong", told) and told.count("\n") >= 14, told


@pytest.mark.parametrize("how", [[], ["multiple"]], ids=["one", "multiple"])
def test_programs_that_a_preloaded_one_starts(tmp_path, how):
    """1 x 1, and one or two that it spawns"""
    if MPI.name == "system":
        pytest.skip("Debian's MPICH 4.0.2 spawns nothing, with its own launcher alone either")
    program = tmp_path / "it's children"
    subprocess.run(MPI.compiler("c", [str(mpis.ROOT / "tests/programs/children.c"), "-o", str(program)]), check=True, timeout=120)
    done = launch.run(MPI, [str(program), *how], 1, 1, env={"I_MPI_FABRICS": "shm:ofi"}, timeout=60, capture=True, preload=True)
    told = "level 0, libplait here 1, in LD_PRELOAD 0, in a program 0, in a spawned process 1\n"
    assert (done.returncode, done.stdout) == (0, told), done.stdout + done.stderr


def test_none_at_all():
    """2 x 1 and 4"""
    none = ["PLAIT_COMMUNICATORS=none"]
    assert run("carried", "none", env=none).stdout == "communicators of all makes: right\n"
    refused = run("stream", env=none, status=None)
    assert refused.returncode != 0
    assert "MPIX_Stream_comm_create" in refused.stderr
    assert "MPI_ERR_UNSUPPORTED_OPERATION" in refused.stderr


@pytest.mark.parametrize(
    ("processes", "nodes", "words"),
    [
        (3, 1, ["--plain"]),
        (3, 1, ["--streams-mode", "--threads"]),
        (3, 1, ["--plain", "--threads", "--without", "any_tag"]),
        (3, 1, ["--plain", "--streams", "5", "--without", "any_tag,wildcard"]),
        (4, 2, ["--plain", "--threads"]),
        (4, 2, ["--plain", "--threads", "--without", "any_tag,wildcard"]),
    ],
)
def test_random_messages(processes, nodes, words):
    """3 and 4 x 1 and 2. What is left out is promised by hints"""
    if nodes > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    random_program(processes, nodes, 5000, "--max-bytes", 200_000, *words, env=ALL)


@pytest.mark.thorough_where(processes=(1, 7, 34))
@pytest.mark.parametrize(("processes", "calls"), [(1, 400), (2, 400), (4, 400), (7, 400), (34, 40)])
def test_random_collectives(processes, calls):
    """1, 2, 4, 7 and 34 x 1: a team has 32 at most. Between nodes they are the MPI's own: some of MPICH's are wrong with 7, or 3"""
    seed = random_seed()
    done = run("random_collectives", "--seed", seed, "--calls", calls, "--threads", 0, processes=processes, timeout=120, env=ALL)
    assert done.stdout == f"random_collectives: seed {seed}, {calls} calls by {processes} x 1 ranks, all as the reference says\n"


@pytest.mark.thorough_where(processes=(5, 6))
@pytest.mark.parametrize(("processes", "nodes"), [(4, 2), (4, 3), (5, 2), (6, 3)])
def test_random_collectives_of_leaders(processes, nodes):
    """4, 5 and 6 x 1 on 2 and 3 nodes: those that plait makes inside the nodes"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    seed = random_seed()
    words = ["--seed", seed, "--calls", 300, "--threads", 0, "--leaders", 1]
    done = run("random_collectives", *words, processes=processes, hosts=nodes, timeout=120, env=ALL)
    assert done.stdout == f"random_collectives: seed {seed}, 300 calls by {processes} x 1 ranks, all as the reference says\n"


@pytest.mark.thorough_where(processes=5)
@pytest.mark.parametrize(("processes", "nodes"), [(4, 2), (5, 3)])
def test_one_process_a_node_calls_the_mpi(processes, nodes):
    """4 and 5 x 1 and 3 on 2 and 3 nodes, with one alone on its node: without leaders all would call it"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    assert run("leaders", processes=processes, hosts=nodes, env=ALL, timeout=120).stdout == "leaders of nodes: right\n"


def test_the_report_says_what_leaders_leave():
    """4 x 1 on 2 nodes"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    left = set(re.findall("left to the MPI: (.*)", run("leaders", processes=4, hosts=2, env=[*ALL, "PLAIT_REPORT=1"], timeout=120).stderr))
    assert left == {
        "collective calls on communicators that span nodes, but for barriers, broadcasts, reduce and allreduce",
        "reductions between nodes with operations or datatypes of the program's",
        "collective calls on communicators that span nodes",  # there are too many of them
    }


@pytest.mark.thorough_where(processes=6)
@pytest.mark.parametrize("processes", [2, 6])
def test_one_sided_calls_are_answered_by_those_that_wait_in_plait(processes):
    """2 and 6 x 1"""
    # Were each answered when a sleeper next looks, they would take 50 s.
    done = run("window_while_waiting", 5000, processes=processes, env=ALL, timeout=30)
    assert done.stdout == "5000 additions while it waited\n"


@pytest.mark.thorough
def test_matched_probes_lose_nothing_that_comes_late():
    """2 x 1: what came between a last look and a sleep was taken out twice, the second time in vain"""
    assert run("late_probe", 20000, env=ALL).stdout == "20000 messages\n"


@pytest.mark.thorough_where(hosts=2, program=("stream_errors", "last_words"))
@pytest.mark.parametrize("program", ["stream_errors", "stream_idup", "last_words"])
def test_programs_that_do_it_all(program, hosts):
    """3 x 1, on one node and on 2; 4 x 1 on 4: the same is right as without"""
    plain = run(program, processes=3, hosts=hosts)
    carried = run(program, processes=3, hosts=hosts, env=ALL)
    assert sorted(carried.stdout.splitlines()) == sorted(plain.stdout.splitlines())
