"""Operations of the MPI's on queues of plait's own."""

import re

import pytest
from plait import launch
from programs import MPI, random_seed, run

SHAPES = pytest.mark.parametrize("shape", [(1, 1), (2, 1), (4, 1), (2, 2), (3, 2)], ids=["1", "2", "4", "2 on 2 nodes", "3 on 2 nodes"])
DONE = "all that was put on the queue was done in order\n"


def shaped(shape):
    if shape[1] > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    return shape


@pytest.mark.thorough_where(shape=((1, 1), (3, 2)))
@pytest.mark.parametrize("words", [[], ["executor"]], ids=["thread", "executor"])
@SHAPES
def test_each_call(words, shape):
    processes, hosts = shaped(shape)
    assert run("queue_calls", *words, processes=processes, hosts=hosts).stdout == DONE


@pytest.mark.parametrize("level", [[], ["PLAIT_THREAD_LEVEL=serialized"]], ids=["", "serialized"])
def test_mistakes(level):
    done = run("queue_errors", env=level)
    assert done.stdout == "all mistakes are told\n"
    assert 'the info\'s "type" is "abacus"; plait knows cudaStream_t, hipStream_t, cl_command_queue and plait_queue' in done.stderr
    assert 'the info\'s "value" is no plait_queue, or one that is freed' in done.stderr
    assert "plait: MPI_Comm_free: operations are on the queue behind the function that makes this call" in done.stderr


def test_a_failure_ends_the_job_where_the_handler_says_so():
    done = run("queue_errors", "fatal", status=None)
    assert done.returncode not in (0, 124)
    assert "MPIX_Recv_enqueue: the message is larger than the receive buffer (MPI_ERR_TRUNCATE)" in done.stderr


@pytest.mark.parametrize("shape", [(2, 1), (2, 2)], ids=["2", "2 on 2 nodes"])
def test_finalize_gives_up_what_is_left(shape):
    processes, hosts = shaped(shape)
    done = run("queue_errors", "finalize", processes=processes, hosts=hosts)
    assert done.stdout == "what was left is told\n"
    left = "plait: MPI_Finalize: 6 operations on queues that had not ended, the first of MPIX_"
    assert done.stderr.count(left) == processes


@pytest.mark.thorough_where(shape=((4, 1), (3, 2)))
@SHAPES
def test_random_programs(shape):
    processes, hosts = shaped(shape)
    for _ in range(4):
        seed = random_seed()
        done = run("queue_random", seed, 300, processes=processes, hosts=hosts)
        assert re.search(r": 0 words are not as the model says\n$", done.stdout), f"seed {seed} of {MPI.name}"
