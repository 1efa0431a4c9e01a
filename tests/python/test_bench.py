"""The benchmarks of messages in short, under the MPI that PLAIT_MPI names: they end well and write what they promise.

What they measure is not looked at. Each test says its processes x threads.
"""

import json

import pytest
from plait import launch, mpis

MPI = mpis.find()
SHORT = ["--rounds", "2", "--time", "0.0001"]
APART = "the processes share no memory"


@pytest.fixture(params=[1, 2])
def hosts(request):
    """One machine, then two simulated nodes, where these are allowed."""
    if request.param > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    return request.param


def bench(name, *options, processes=2, threads=1, hosts=1):
    words = [str(MPI.build / "bin" / f"bench-{name}"), *map(str, options)]
    return launch.run(MPI, words, processes, threads, hosts=hosts, timeout=120, capture=True)


def report(path, *words, **job):
    done = bench(*words, *SHORT, "-o", path, **job)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(path.read_text())
    assert {"benchmark", "mpi", "threads", "one_node", "oversubscribed", "rounds", "skipped"} <= found.keys()
    assert {"cpu", "cores", "load"} <= found["machine"].keys()
    assert found["mpi"] in done.stdout
    return found


def samples(figures):
    assert figures["min"] <= figures["median"] <= figures["max"]
    assert len(figures["rounds"]) == 2 and figures["min"] > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_message_rate_of_every_side(tmp_path, threads, hosts):
    """2 x 1, 2 x 2"""
    found = report(tmp_path / "rate.json", "msgrate", "-t", threads, threads=threads, hosts=hosts)
    sides = ["mpi-single", "plait-single", "plait-streams"]
    sides += ["mpi-per-thread", "plait-per-thread"] if threads > 1 else []
    sides += ["raw-ring"] if hosts == 1 else []
    assert sorted(found["sides"]) == sorted(sides)
    for side in sides:
        samples(found["sides"][side]["messages_per_second"])
    assert found["skipped"] == ({"raw-ring": APART} if hosts > 1 else {})
    assert (found["threads"], found["size"], found["window"], found["one_node"]) == (threads, 8, 64, hosts == 1)


def test_latency_of_every_side_and_bandwidth(tmp_path, hosts):
    """2 x 1"""
    found = report(tmp_path / "latency.json", "latency", "--sizes", "0,8,1024,131072", hosts=hosts)
    ways, limits = ["mpi", "plait-ordinary", "plait-stream"], ["hand-over", "memcpy", "memcpy-shared"]
    raw = {0: limits[:1], 8: limits[:2], 1024: limits[1:2], 131072: limits[1:]} if hosts == 1 else {}
    assert [row["size"] for row in found["half_round_trip"]] == [0, 8, 1024, 131072]
    for row in found["half_round_trip"]:
        assert sorted(row["sides"]) == sorted(ways + raw.get(row["size"], []))
    assert [(row["size"], sorted(row["sides"])) for row in found["windows"]] == [(131072, ways)]
    for row in found["half_round_trip"] + found["windows"]:
        for figures in row["sides"].values():
            samples(figures["seconds"])
    assert found["skipped"] == (dict.fromkeys(limits, APART) if hosts > 1 else {})


def test_only_the_sides_asked_for(tmp_path):
    """2 x 1"""
    assert list(report(tmp_path / "rate.json", "msgrate", "--only", "streams")["sides"]) == ["plait-streams"]


@pytest.mark.parametrize("name", ["msgrate", "latency"])
@pytest.mark.parametrize(
    ("options", "processes", "text"),
    [
        ([], 1, "needs 2 processes, has 1"),
        (["--rounds", "none"], 2, "--rounds"),
        (["--rounds", "0"], 2, "--rounds"),
        (["--only", "nobody"], 2, "--only: no side has such a name"),
        (["-o", "/proc/none/x.json"], 2, "/proc/none/x.json cannot be written"),
        (["superfluous"], 2, "superfluous"),
    ],
)
def test_wrong_use_is_one_clear_line(name, options, processes, text):
    """1 x 1, 2 x 1"""
    done = bench(name, *options, processes=processes)
    lines = done.stderr.splitlines()
    assert done.returncode not in (0, 124)
    assert len(lines) == 1 and lines[0].startswith(f"bench-{name}: ") and text in lines[0], done.stderr
    assert done.stdout == ""
