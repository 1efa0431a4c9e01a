"""Programs with thread communicators, under the MPI that PLAIT_MPI names. Each test says its processes x threads."""

import re
from pathlib import Path

import pytest
from plait import launch
from programs import MPI, patience, preloading, random_seed, run


def test_example_with_libomp():
    """2 x 4. libomp has GNU's entry points, too"""
    libomp = next(iter(sorted(Path("/usr/lib").glob("*/libomp.so.5"))), None)
    if not libomp:
        pytest.skip("there is no libomp.so.5: install libomp5")
    done = run("seed_threadcomm", env=[preloading(libomp)])
    assert sorted(map(int, re.findall(r"^ Rank (\d+) / 8$", done.stdout, re.MULTILINE))) == list(range(8)), done.stdout


@pytest.mark.thorough_where(threads=(1, 3))
@pytest.mark.parametrize("threads", [1, 3, 4])
def test_communicators_groups_and_topologies(hosts, threads):
    """3 x 1, 3 and 4, on one node and on 2; 4 x the same on 4"""
    done = run("threadcomm_objects", threads, processes=3, hosts=hosts)
    assert done.stdout == f"communicators, groups and topologies of {threads * max(3, hosts)} ranks: right\n"


def test_handles_are_made_one_at_a_time():
    """1 x 4"""
    done = run("threadcomm_objects", 4, processes=1, env=[preloading("slow_split.so", behind=True)])
    assert done.stdout == "communicators, groups and topologies of 4 ranks: right\n", done.stderr


def test_mistakes_have_their_error_classes(hosts):
    """2 x 3, on one node and on 2; 4 x 3 on 4"""
    done = run("threadcomm_errors", hosts=hosts)
    assert done.stdout == "every mistake with threads has its error class\n"
    assert "not so" not in done.stderr


def test_too_few_threads_are_told():
    """1 x 3"""
    done = run("threadcomm_errors", "few", processes=1, env=["PLAIT_WATCHDOG=1"])
    assert done.stdout == "every mistake with threads has its error class\n"
    told = r"plait: rank 0 has been in MPIX_Threadcomm_start, called at \S+, for more than 1 s; it waits for 1 of the 3 threads of"
    assert len(re.findall(told, done.stderr)) == 1, done.stderr


def random_calls(processes, threads, calls, hosts=1, more=0):
    seed = random_seed()
    done = run(
        "random_collectives",
        "--seed",
        seed,
        "--calls",
        calls,
        "--threads",
        threads,
        "--more",
        more,
        processes=processes,
        hosts=hosts,
        timeout=120,
    )
    said = f"seed {seed}, {calls} calls by {processes} x {threads} ranks, all as the reference says\n"
    assert done.stdout == "random_collectives: " + said


@pytest.mark.thorough_where(processes=1, threads=(4, 5))
@pytest.mark.parametrize(("processes", "threads"), [(1, 1), (1, 2), (1, 5), (2, 1), (2, 3), (3, 2), (3, 4), (3, 5)])
def test_random_collectives(processes, threads):
    """1 to 3 x 1 to 5"""
    random_calls(processes, threads, 400)


def test_random_collectives_with_different_numbers_of_threads():
    """3 x 1, 3 and 5"""
    random_calls(3, 1, 300, more=2)


@pytest.mark.parametrize("threads", [1, 3])
def test_random_collectives_between_nodes(threads):
    """4 x 1 and 4 x 3 on 4 nodes"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    random_calls(4, threads, 200, hosts=4)


@pytest.mark.thorough_where(threads=(4, 5))
@pytest.mark.parametrize(("processes", "threads", "calls"), [(1, 5, 1000), (2, 2, 1000), (3, 1, 1000), (3, 4, 300)])
def test_calls_one_after_the_other(processes, threads, calls):
    """1 x 5, 2 x 2, 3 x 1, 3 x 4"""
    done = run("threadcomm_meetings", threads, calls, processes=processes)
    assert done.stdout == f"{calls} calls by {processes * threads} ranks: right\n"


def test_programs_written_for_processes():
    """6 x 1, 3 x 2, 2 x 3, 1 x 6: the same, digit by digit"""
    outputs = {shape: run("jobs", shape[1], processes=shape[0]).stdout for shape in [(6, 1), (3, 2), (2, 3), (1, 6)]}
    assert "ring of 6: token" in outputs[6, 1]
    assert "120000 keys, 0 out of order" in outputs[6, 1]
    assert len(set(outputs.values())) == 1, outputs


def test_programs_between_nodes():
    """4 x 1 on 4 nodes, 4 x 1 and 2 x 2 on one"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    outputs = {run("jobs", 1, processes=4, hosts=4).stdout, run("jobs", 1, processes=4).stdout, run("jobs", 2, processes=2).stdout}
    assert len(outputs) == 1, outputs


@pytest.mark.parametrize(
    ("processes", "messages", "words"),
    [
        (2, 60_000, ["--ranks", 2, "--streams", 1, "--max-bytes", 4000]),
        (3, 30_000, ["--ranks", 3, "--streams", 1, "--max-bytes", 50_000]),
        (2, 10_000, ["--ranks", 2, "--streams", 2]),  # up to 4 MB
        (1, 20_000, ["--ranks", 5, "--streams", 1, "--max-bytes", 100_000]),
    ],
)
def test_random_messages(processes, messages, words):
    """1 to 3 x 2 to 5"""
    random_messages(processes, 1, messages, *words)


def test_random_messages_between_nodes():
    """4 x 2 on 4 nodes"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    random_messages(4, 4, 20_000, "--ranks", 2, "--streams", 1, "--max-bytes", 100_000)


def random_messages(processes, hosts, messages, *words):
    line = ["--seed", random_seed(), "--messages", messages, *patience(), *words]
    done = run("random_p2p", *line, processes=processes, hosts=hosts, timeout=120)
    assert "all as the model says" in done.stdout
