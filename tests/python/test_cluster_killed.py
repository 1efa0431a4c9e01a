"""A process of an OpenMP program over several processes is killed, or the node with it: the others end with a message, and nothing stays
behind. Each test says its processes."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from plait import launch
from programs import MPI, cluster_program, needs_cluster, run

pytestmark = needs_cluster()

CASES = [(where, victim) for where in ("serial", "region", "barrier") for victim in (0, 1, 2)]
RANKS = ("PMI_RANK", "PMIX_RANK")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return cluster_program("killed.c", tmp_path_factory.mktemp("killed") / "killed")


def processes_of(program):
    """The folders in /proc of those that run it."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "exe").readlink() == program:
                yield folder


def rank_of(folder):
    pairs = dict(pair.split("=", 1) for pair in (folder / "environ").read_text().split("\0") if "=" in pair)
    return next((int(pairs[name]) for name in RANKS if name in pairs), None)


def first_of_node(folder):
    """The first process of its namespace of processes: with it the kernel ends all others there."""
    node = (folder / "ns/pid").readlink()
    assert node != Path("/proc/self/ns/pid").readlink()
    for other in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (other / "ns/pid").readlink() == node and (other / "status").read_text().split("NSpid:")[1].split("\n")[0].split()[
                -1
            ] == "1":
                return other
    raise AssertionError(f"{node} has no first process")


def run_and_kill(program, where, victim, nodes, ready, find):
    """Kills what `find` says of the victim's folder in /proc when the program has made the file `ready`."""
    over = threading.Event()
    killed = []

    def kill():
        while not ready.exists():
            if over.wait(0.01):
                return
        folder = find(next(one for one in processes_of(program) if rank_of(one) == victim))
        os.kill(int(folder.name), signal.SIGKILL)
        killed.append(folder)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        done = run(program, where, victim, ready, processes=3, hosts=nodes, status=None, timeout=30)
    finally:
        over.set()
        killer.join()
    assert killed, done.stdout + done.stderr
    assert done.returncode not in (0, launch.TIMED_OUT), done.stdout + done.stderr
    assert "goes on" not in done.stdout
    for _ in range(100):  # the kernel takes its time to end what was in a node
        if not (left := list(processes_of(program))):
            break
        time.sleep(0.1)
    assert not left
    return done.stderr


def says_itself(said):
    """Between nodes Open MPI's own words may be all, if a process hears of the end of another before the launcher does."""
    return MPI.family == "openmpi" and "An error occurred in Socket closed" in said


@pytest.mark.thorough_where(victim=(1, 2))
@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize(("where", "victim"), CASES)
def test_the_others_end_when_one_is_killed(program, tmp_path, where, victim, nodes):
    """3, and 3 on 3 nodes"""
    if nodes > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    said = run_and_kill(program, where, victim, nodes, tmp_path / "ready", lambda folder: folder)
    assert f"plait run: {program}" in said or says_itself(said), said


@pytest.mark.thorough_where(victim=(0, 2))
@pytest.mark.parametrize(("where", "victim"), CASES)
def test_the_others_end_when_a_node_is_gone(program, tmp_path, where, victim):
    """3 on 3 nodes"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    said = run_and_kill(program, where, victim, 3, tmp_path / "ready", first_of_node)
    node = "a node" if MPI.family == "mpich" else f"node n{victim}"
    assert f"plait run: {program}: {node} is gone" in said or says_itself(said), said
