"""A delay between simulated nodes: it is kept, data comes right, nonsense is refused, nothing is left.

Each test says its processes x threads.
"""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from plait import bench, catalogue, launch, mpis, store
from plait.catalogue import Benchmark, Choice, Shape
from plait.mpis import ROOT, MpiError
from programs import MPI, limits
from rich.console import Console

MPINODES = launch.NODES / "mpinodes"
WHY_NOT = launch.why_no_nodes(MPI)
needs_nodes = pytest.mark.skipif(bool(WHY_NOT), reason=str(WHY_NOT))


def plait(*words, status=0):
    line = [ROOT / "plait", "--mpi", MPI.name, *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120 * limits["factor"], check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def delayed(tmp_path_factory):
    program = tmp_path_factory.mktemp("programs") / "delayed"
    plait("cc", ROOT / "tests/programs/delayed.c", "-o", program)
    return program


@needs_nodes
@pytest.mark.parametrize(("processes", "delay"), [(2, 2000), pytest.param(4, 300, marks=pytest.mark.thorough)])
def test_a_round_trip_takes_the_delay_twice_and_data_comes_right(delayed, processes, delay):
    """2 x 1, 4 x 1; no load makes a round trip shorter than this. Messages of 8 bytes and of 4 MB, a broadcast, an alltoall."""
    done = plait("run", "-n", processes, "--hosts", processes, "--delay", delay, "--timeout", 60, delayed)
    microseconds, _, said = done.stdout.partition(" us, ")
    assert said == "right\n" and int(microseconds) >= 2 * delay
    assert done.stderr == ""


def with_environment(word):
    """The processes with this word in their environment, in whatever namespace."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            pass
    return found


@pytest.mark.thorough
@needs_nodes
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL], ids=["TERM", "KILL"])
def test_nothing_is_left_of_a_job_that_is_killed(delayed, tmp_path, sent):
    """2 x 1"""
    line = [ROOT / "plait", "--mpi", MPI.name, "run", "-n", "2", "--hosts", "2", "--delay", "500", "--timeout", "60", delayed, "hang"]
    job = subprocess.Popen(line, env={**os.environ, "DELAY_TEST": str(tmp_path)}, stdout=subprocess.PIPE, text=True)
    assert job.stdout.readline() == "hanging\n"
    marker = f"DELAY_TEST={tmp_path}"
    assert any("plait-delay 500 port-n0" in words for words in with_environment(marker))
    job.send_signal(sent)
    job.wait(20)
    until = time.monotonic() + 20
    while with_environment(marker) and time.monotonic() < until:
        time.sleep(0.05)
    assert with_environment(marker) == []


@pytest.mark.thorough
@pytest.mark.once
@needs_nodes
def test_a_job_ends_when_its_switch_is_gone(delayed, tmp_path):
    """2 x 1"""
    line = [ROOT / "plait", "--mpi", MPI.name, "run", "-n", "2", "--hosts", "2", "--delay", "500", "--timeout", "60", delayed, "hang"]
    environment = {**os.environ, "DELAY_TEST": str(tmp_path)}
    job = subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert job.stdout.readline() == "hanging\n"
    for process in Path("/proc").glob("[0-9]*"):
        try:
            ours = f"DELAY_TEST={tmp_path}".encode() in (process / "environ").read_bytes()
            if ours and (process / "comm").read_text() == "plait-delay\n":
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            pass
    _, said = job.communicate(timeout=30)
    assert job.returncode not in (0, launch.TIMED_OUT)
    assert "the switch between the nodes is gone" in said


@pytest.mark.once
@needs_nodes
@pytest.mark.skipif(os.geteuid() != 0, reason="up needs root")
def test_a_delay_is_taken_away_and_its_switch_says_what_is_wrong(tmp_path):
    environment = {**os.environ, "MPINODES_DIR": str(tmp_path / "state"), "MPINODES_SWITCH": str(MPI.program(launch.SWITCH))}

    def mpinodes(*words):
        return subprocess.run([MPINODES, *words], env=environment, capture_output=True, text=True, timeout=60, check=False)

    def switches():
        return [words for words in with_environment(f"MPINODES_DIR={tmp_path}") if "plait-delay" in words]

    assert mpinodes("up", "2").returncode == 0
    try:
        assert mpinodes("shape", "delay", "100").returncode == 0 and len(switches()) == 1
        assert mpinodes("shape", "delay", "0.5", "rate", "1gbit").returncode == 0 and "plait-delay 0.5 " in switches()[0]
        assert mpinodes("shape", "off").returncode == 0 and switches() == []
        assert "master bridge" in mpinodes("head", "ip", "link", "show", "port-n1").stdout
        refused = mpinodes("head", MPI.program(launch.SWITCH), "5", "port-n0", "port-n7")
        assert (refused.returncode, refused.stderr) == (2, "plait-delay: there is no interface 'port-n7' here\n")
        assert mpinodes("shape", "delay", "100").returncode == 0
    finally:
        assert mpinodes("down").returncode == 0
    assert switches() == [] and not (tmp_path / "state").exists()


@pytest.mark.once
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["5"], "usage: plait-delay MICROSECONDS PORT PORT..."),
        (["-1", "a", "b"], "the delay must be 0 to 1000000 microseconds, not '-1'"),
        (["5x", "a", "b"], "the delay must be 0 to 1000000 microseconds, not '5x'"),
    ],
)
def test_the_switch_refuses_nonsense_in_one_line(words, said):
    done = subprocess.run([MPI.program(launch.SWITCH), *words], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, f"plait-delay: {said}\n")


@pytest.mark.once
@pytest.mark.parametrize("delay", ["", "x", "-1", "1000001", "1e3"])
def test_mpinodes_refuses_nonsense_in_one_line(delay):
    done = subprocess.run([MPINODES, "with", "2", "--delay", delay, "true"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, f"mpinodes: the delay must be 0 to 1000000 microseconds, not '{delay}'\n")


@pytest.mark.once
@pytest.mark.parametrize(
    ("hosts", "delay", "said"),
    [
        (1, "50", "a delay is between simulated nodes: it needs --hosts 2 or more"),
        (2, "-1", "the delay between nodes must be 0 to 1000000 microseconds, not -1"),
        (2, "nan", "the delay between nodes must be 0 to 1000000 microseconds, not nan"),
        (2, "1e7", "the delay between nodes must be 0 to 1000000 microseconds, not 1e+07"),
        (2, "x", "invalid value for '--delay': "),
    ],
)
def test_nonsense_is_refused_in_one_line(hosts, delay, said):
    """2 x 1"""
    wrong = plait("run", "-n", 2, "--hosts", hosts, "--delay", delay, "true", status=2).stderr
    assert wrong.startswith(f"plait: {said}") and wrong.count("\n") == 1


@needs_nodes
def test_without_the_switch_a_line_says_what_to_do(tmp_path, monkeypatch):
    """2 x 1"""
    monkeypatch.setattr(mpis.Mpi, "build", tmp_path)
    with pytest.raises(MpiError, match=f"^plait-delay is not built for this MPI yet; type: make MPI={MPI.name}$"):
        launch.command(MPI, ["true"], 2, 1, 2, {}, delay=50)


@pytest.mark.parametrize(("delay", "word"), [(50, "50"), (0.5, "0.5"), (1e6, "1000000")])
def test_the_launch_line_has_the_delay(delay, word):
    """2 x 1"""
    if WHY_NOT:
        pytest.skip(WHY_NOT)
    line, _ = launch.command(MPI, ["true"], 2, 1, 2, {}, delay=delay)
    assert line[line.index("--delay") + 1] == word
    line, _ = launch.command(MPI, ["true"], 2, 1, 2, {})
    assert "--delay" not in line and not any("MPINODES_SWITCH" in words for words in line)


@pytest.mark.once
@needs_nodes
def test_a_benchmark_is_measured_with_a_delay_and_says_so(tmp_path, monkeypatch):
    """2 x 1"""
    near, far = Shape(2, 1, 2), Shape(2, 1, 2, delay=500)
    sized = {"sizes": (8,), "quick_sizes": (8,), "multiple_of": 1, "program": "bench-latency", "extra": lambda shape: ["--only", "mpi"]}
    apart = Benchmark("apart", "latency with a delay", "nodes", shapes=lambda cores, quick: [near, far], **sized)
    monkeypatch.setattr(catalogue, "ALL", (apart,))
    assert [job.shape.delay for job in apart.jobs(2, Choice(hosts=(1,)))] == [0]
    assert bench.bench(MPI, ["apart"], Choice(repetitions=1, seconds=1e-4), tmp_path, False, Console(quiet=True)) == 0
    found = {m["settings"].get("delay", 0): m for m in store.load(tmp_path)}
    assert found.keys() == {0, 500}
    assert " --hosts 2 --delay 500 " in found[500]["command"] and "--delay" not in found[0]["command"]
    assert {p["delay"] for p in found[500]["points"]} == {500}
    assert all(sample >= 500e-6 for p in found[500]["points"] for sample in p["samples"])
