"""Queues of OpenCL's: programs with real kernels before and after the messages. PoCL has a device on every machine."""

import ctypes
import re

import pytest
from plait.launch import why_no_nodes
from programs import MPI, limits, random_seed, run


def why_not():
    """Why they cannot run here; empty if they can."""
    if not (MPI.build / "bin" / "queue_opencl").exists():
        return "the programs are not built: OpenCL's headers or libOpenCL.so were missing (opencl-headers, ocl-icd-opencl-dev)"
    if limits["factor"] > 1:
        return "LLVM's code that PoCL has made is not what the sanitizers know"
    try:
        opencl = ctypes.CDLL("libOpenCL.so.1")
    except OSError as error:
        return f"OpenCL's library is not found: {error}"
    count = ctypes.c_uint32(0)
    if opencl.clGetPlatformIDs(0, None, ctypes.byref(count)) != 0 or count.value == 0:
        return "OpenCL has no platform here (pocl-opencl-icd)"
    return ""


@pytest.fixture(autouse=True)
def opencl():
    if reason := why_not():
        pytest.skip(reason)


CASES = [
    "messages",
    "nonblocking",
    "cancelled",
    "collectives",
    "gaps",
    "partitioned",
    "layouts",
    "addresses",
    "events",
    "failures",
    "values",
    "lifetimes",
]


@pytest.mark.parametrize("hosts", [1, 2], indirect=True)
def test_each_case(hosts):
    """2 x 1, on one node and on two"""
    done = run("queue_opencl", *CASES, hosts=hosts, timeout=120)
    assert done.stdout.splitlines() == [f"{case}: as it should be" for case in CASES], done.stderr


def test_values_that_are_no_queue_are_refused_in_a_line():
    """2 x 1"""
    done = run("queue_opencl", "values", timeout=120)
    lines = [line for line in done.stderr.splitlines() if line.startswith("plait: ")]
    assert lines.count('plait: MPIX_Stream_create: the info\'s "value" is no cl_command_queue, or one that is released') == 2 * 7
    assert all(line.startswith("plait: MPIX_Stream_create: ") for line in lines)


def test_without_opencl_the_error_says_what_was_looked_for(tmp_path):
    """2 x 1"""
    (tmp_path / "libOpenCL.so.1").write_text("no library\n")
    done = run("stream_of_opencl", env=[f"LD_LIBRARY_PATH={tmp_path}"], timeout=60)
    assert done.stdout == "MPI_ERR_INFO_VALUE\n" * 2
    assert "OpenCL's library was not found: " in done.stderr
    assert "libOpenCL.so.1" in done.stderr
    assert "LD_LIBRARY_PATH" in done.stderr


def test_a_core_is_free_while_a_receive_waits_behind_a_second_of_work():
    """2 x 1. Its work is a function that sleeps, so that all of the CPU time is of waiting."""
    done = run("queue_opencl", "waits", timeout=120)
    found = re.search(r"([\d.]+) s of CPU time", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) <= 0.02


def test_finalize_gives_up_what_is_left():
    """2 x 1"""
    done = run("queue_opencl", "finalize", timeout=60)
    assert done.stdout == "the event behind them has failed\n" * 2
    assert (
        done.stderr.count("plait: MPI_Finalize: 2 operations on queues that had not ended, the first of MPIX_Recv_enqueue, are given up")
        == 2
    )


def test_the_example():
    """2 x 1"""
    assert run("saxpy_opencl", timeout=120).stdout == "a x + y: 0 of 1048576 elements are wrong\n"


@pytest.mark.thorough_where(processes=(1, 4))
@pytest.mark.parametrize(("processes", "nodes"), [(1, 1), (2, 1), (3, 1), (2, 2), (4, 2)])
def test_random_programs_do_what_a_model_says(processes, nodes):
    """1 to 4 processes, on one node and on two; 1 to 4 queues each"""
    if nodes > 1 and (reason := why_no_nodes(MPI)):
        pytest.skip(reason)
    for _ in range(3):
        seed = random_seed()
        done = run("random_opencl", seed, 300, processes=processes, hosts=nodes, timeout=120)
        assert re.fullmatch(rf"seed {seed}, 300 operations, \d queues, all as the model says\n", done.stdout), done.stderr
