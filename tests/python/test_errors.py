"""Errors that end a job name the call that failed, under the MPI that PLAIT_MPI names. Each test says its processes x threads."""

import re

import pytest
from programs import run

HALO = ", on communicator halo"
WORLD = ", on communicator MPI_COMM_WORLD"
CALLS = {
    "MPI_Pready": ("MPI_ERR_REQUEST", WORLD),
    "MPI_Start_part": ("MPI_ERR_REQUEST", WORLD),
    "MPI_Wait_part": ("MPI_ERR_TRUNCATE", WORLD),
    "MPI_Partitioned_free": ("MPI_ERR_REQUEST", WORLD),
    "MPI_Isend": ("MPI_ERR_RANK", HALO),
    "MPI_Recv": ("MPI_ERR_TRUNCATE", HALO),
    "MPI_Wait": ("MPI_ERR_TRUNCATE", HALO),
    "MPI_Waitany": ("MPI_ERR_TRUNCATE", HALO),
    "MPI_Waitall": ("MPI_ERR_IN_STATUS", HALO),
    "MPI_Test": ("MPI_ERR_TRUNCATE", HALO),
    "MPIX_Stream_free": ("MPI_ERR_ARG", ""),
    "MPI_Free_mem": ("MPI_ERR_BASE", ""),
    "MPI_Group_incl": ("MPI_ERR_RANK", ""),
}


def said(done):
    # Open MPI's own message ends with a zero byte, which may come before plait's.
    return [line for line in done.stderr.replace("\0", "").splitlines() if line.startswith("plait: ")]


@pytest.mark.parametrize("call", CALLS)
def test_a_fatal_error_names_its_call(call):
    """1 x 1"""
    done = run("fatal_errors", call, processes=1, status=None)
    name, where = CALLS[call]
    assert done.returncode != 0
    assert done.stdout == ""
    assert len(said(done)) == 1, done.stderr
    assert re.fullmatch(rf"plait: {call}: [a-z][^()]+ \({name}\){where}, rank 0", said(done)[0])


def test_under_abort_too():
    """1 x 1"""
    done = run("fatal_errors", "MPI_Recv", "abort", processes=1, status=None)
    if done.stdout.startswith("this MPI has no"):
        pytest.skip(done.stdout.strip())
    assert done.returncode != 0
    assert [line.split(": ")[1] for line in said(done)] == ["MPI_Recv"], done.stderr


@pytest.mark.thorough_where(handler="return")
@pytest.mark.parametrize("handler", ["return", "own"])
@pytest.mark.parametrize("call", CALLS)
def test_other_handlers_are_told_and_nothing_is_printed(call, handler):
    """1 x 1"""
    done = run("fatal_errors", call, handler, processes=1)
    assert done.stdout == "goes on\n"
    assert said(done) == []
