"""Programs with streams, under the MPI that PLAIT_MPI names. Each test says its processes x threads."""

import os
import re

import pytest
from plait import launch
from programs import MPI, random_program, run

# ---- programs that check themselves


def test_stream_per_thread(hosts):
    """2 x 4 and 3 x 2; 4 x 2 on 2 and on 4 nodes"""
    for processes, threads in [(2, 4), (3, 2)] if hosts == 1 else [(4, 2)]:
        done = run("stream", threads, processes=processes, hosts=hosts)
        assert done.stdout == f"2000 messages by {threads} threads in each of {processes} processes: right\n"


def test_multiplex_communicator(hosts):
    """3 x 1 to 3, on one node and on 2; 4 x 1 to 3 on 4"""
    done = run("multiplex", processes=3, hosts=hosts)
    assert done.stdout == f"100 rounds between all streams of {max(3, hosts)} processes: right\n"


def test_duplicates_that_are_made_without_waiting(hosts):
    """3 x 1, on one node and on 2; 4 x 1 on 4"""
    done = run("stream_idup", processes=3, hosts=hosts)
    assert done.stdout == "duplicates keep their streams\n"


def test_disconnect_waits_for_what_has_not_left():
    """2 x 1"""
    done = run("disconnect")
    assert done.stdout == "nothing is left behind\n"


def test_callbacks_in_finalize_communicate(hosts):
    """3 or 4 x 1"""
    done = run("last_words", processes=3, hosts=hosts)
    assert done.stdout == "the last words were heard\n"


@pytest.mark.parametrize("nodes", [1, 2])
def test_gets_finish_while_the_target_computes(nodes, tmp_path):
    """2 x 2"""
    if nodes > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    done = run("progress", tmp_path / "file", hosts=nodes)
    assert re.fullmatch(r"1024 gets took \S+ s with MPIX_Stream_progress, \S+ s with a progress thread\n", done.stdout)


def test_mistakes_have_their_error_classes(hosts):
    """2 x 1, on one node and on 2; 4 x 1 on 4"""
    done = run("stream_errors", hosts=hosts)
    assert done.stdout == f"every mistake has its error class in {max(2, hosts)} processes\n"
    assert "not so" not in done.stderr


def test_many_streams_in_little_memory():
    """2 x 1"""
    done = run("many_streams", 64, env=["PLAIT_REPORT=1"])
    assert done.stdout == "64 streams in each of 2 processes, all to all: right\n"
    told = re.findall(r"plait: rank (\d): (\d+) endpoints, (\d+) lanes, (\d+) bytes of shared memory.*\n", done.stderr)
    assert sorted(rank for rank, *_ in told) == ["0", "1"], done.stderr
    for _, endpoints, lanes, taken in told:
        assert int(endpoints) == 64
        assert int(lanes) == 64 * 64
        assert int(taken) <= 64 << 20


def test_everything_on_stream_communicators_of_several_nodes(hosts):
    """5 x 1"""
    done = run("many_streams", 3, processes=5, hosts=hosts)
    assert done.stdout == "3 streams in each of 5 processes, all to all: right\n"


def test_no_report_unless_asked():
    """2 x 1"""
    assert "plait" not in run("many_streams", 2).stderr


def test_finalize_with_unfinished_messages(hosts):
    """2 x 1, on one node and on 2; 4 x 1 on 4"""
    done = run("stream_unfinished", hosts=hosts)
    assert done.stdout == f"over with unfinished messages in {max(2, hosts)} processes\n"


def test_killed_process_leaves_nothing(hosts):
    """2 x 1, on one node and on 2; 4 x 1 on 4"""
    before = set(os.listdir("/dev/shm"))
    done = run("stream_killed", hosts=hosts, status=None)
    assert done.returncode not in (0, 124), done.stdout + done.stderr
    assert not [name for name in set(os.listdir("/dev/shm")) - before if "plait" in name]


@pytest.mark.thorough_where(hosts=2)
def test_watchdog_names_what_a_receive_waits_for(hosts):
    """2 x 1, on one node and on 2; 4 x 1 on 4"""
    done = run("stream_hang", 3, hosts=hosts, env=["PLAIT_WATCHDOG=1"])
    last = max(2, hosts) - 1
    assert done.stdout == "the late message came\n"
    told = re.findall(
        r"plait: rank 0 has been in MPI_Recv, called at stream_hang\S+, for more than 1 s; it waits for a receive from rank "
        rf"{last} with tag 7 on communicator late; unexpected messages queued: from rank {last} with tag 8 \(4 bytes\)\n",
        done.stderr,
    )
    assert len(told) == 1, done.stderr
    assert done.stderr.count("plait: rank 0") == 1


# ---- random programs


@pytest.mark.parametrize(
    ("processes", "messages", "words"),
    [
        (2, 100_000, ["--streams", 2, "--max-bytes", 4000]),
        (2, 60_000, ["--streams", 2, "--max-bytes", 4000, "--threads"]),
        (3, 50_000, ["--streams", 3, "--max-bytes", 50_000]),
        (3, 15_000, ["--streams", 3, "--max-bytes", 50_000, "--threads"]),
        (2, 10_000, ["--streams", 2]),  # up to 4 MB
        (1, 10_000, ["--streams", 4, "--threads"]),
    ],
)
def test_random_messages(processes, messages, words):
    """1 to 3 x 1 to 4"""
    random_program(processes, 1, messages, *words)


@pytest.mark.thorough_where(env=(["PLAIT_CHANNELS=3"],))
@pytest.mark.parametrize(("words", "env"), [([], []), (["--threads"], []), (["--threads"], ["PLAIT_CHANNELS=3"])])
def test_random_messages_between_nodes(words, env):
    """4 x 1 or 2 on 4 nodes"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    random_program(4, 4, 30_000, "--streams", 2, "--max-bytes", 100_000, *words, env=env)


def test_senseless_number_of_channels_is_told():
    """2 x 1 on 2 nodes"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    done = run("stream", hosts=2, env=["PLAIT_CHANNELS=many"])
    assert done.stderr.count("plait: PLAIT_CHANNELS=many: expected a whole number from 1 to 64; the default holds: ") == 1, done.stderr


def test_nothing_that_a_call_had_to_tell_is_held_back(hosts, tmp_path):
    """2 x 1"""
    hosts = min(hosts, 2)
    assert run("stream_answer", tmp_path, hosts=hosts).stdout == "nothing is held back\n"
