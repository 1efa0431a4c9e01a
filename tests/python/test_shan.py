"""Shared notifications, on one node and on simulated ones, under the MPI that PLAIT_MPI names. Each test says its processes."""

import re

import pytest
from plait import launch
from plait.mpis import ROOT
from programs import MPI, random_seed, run
from test_calls import exported

HEADERS = [ROOT / "include/plait" / name for name in ("SHAN_comm.h", "SHAN_segment.h")]


def test_every_call_that_is_declared_exists():
    declared = {name for header in HEADERS for name in re.findall(r"^int (\w+)\(", header.read_text(), re.MULTILINE)}
    assert {name for name in exported() if "shan_" in name} == declared
    assert len(declared) == 21


def test_bad_calls_are_refused():
    """2"""
    done = run("shan_errors")
    assert done.stdout == "bad calls of shared notifications are refused\n"
    assert done.stderr.count("plait: shan_comm_notify_or_write: what is sent: 5 elements, where there may be 0 to 4\n") == 2
    assert "both directions must exist" in done.stderr
    assert "plait: shan_alloc_shared: MPI is not initialized, or finalized already" in done.stderr


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_receive_that_does_not_fit_is_repaired(nodes):
    """2, on one node and on two"""
    if nodes > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    assert run("shan_repair", hosts=nodes).stdout == "receives are repaired\n"


@pytest.mark.thorough_where(processes=(1, 6))
@pytest.mark.parametrize(("processes", "nodes"), [(1, 1), (2, 1), (5, 1), (2, 2), (5, 2), (6, 3)])
def test_random_neighbourhoods(processes, nodes):
    """1, 2, 5 and 6, on 1 to 3 nodes"""
    if nodes > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    seed = random_seed()
    done = run("shan_random", "--seed", seed, "--rounds", 100 if nodes == 1 else 30, processes=processes, hosts=nodes, timeout=120)
    assert re.fullmatch(rf"shan_random: seed {seed}, \d+ exchanges of {processes} processes, all as the model says\n", done.stdout)
