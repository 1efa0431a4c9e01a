"""GASPI, on one node and on simulated ones, under the MPI that PLAIT_MPI names. Each test says its processes."""

import os
import re
import subprocess

import pytest
from plait import launch
from plait.mpis import ROOT
from programs import MPI, preloading, random_seed, run
from test_calls import exported
from test_containers import WITHOUT_OTHERS_MEMORY, two_namespaces

__all__ = ["two_namespaces"]  # a fixture

HEADERS = [ROOT / "include/plait" / name for name in ("GASPI.h", "GASPI_Ext.h", "GASPI_Threads.h")]
GROUPS = ("setup", "groups", "segments", "queues", "passive", "atomics", "collective", "statistics", "runtime", "threads")


def declared():
    pattern = re.compile(r"^(?:gaspi_return_t|gaspi_string_t|void) gaspi_(\w+)\(", re.MULTILINE)
    return {name for header in HEADERS for name in pattern.findall(header.read_text())}


def test_every_call_exists_by_both_names():
    names = {name for name in exported() if name.startswith(("gaspi_", "pgaspi_"))}
    assert names == {f"{prefix}gaspi_{name}" for name in declared() for prefix in ("", "p")}
    assert len(declared()) == 99


@pytest.mark.parametrize("groups", [GROUPS[:1], GROUPS[1:]], ids=["setup", "others"])
def test_calls_as_gpi2_programs_make_them(groups, hosts):
    """1 and 3; 5 on 2 and on 4 nodes"""
    for processes in (1, 3) if hosts == 1 else (5,):
        said = run("gaspi_calls", *groups, processes=processes, hosts=hosts).stdout.splitlines()
        assert [line for line in said if not line.startswith("[Rank")] == list(groups)
        counted = [line for line in said if line.endswith("]: writes: 10 (calls that write, lists counted once)")]
        assert len(counted) == (processes if "statistics" in groups else 0)


def test_data_comes_before_its_notification(hosts):
    """1 and 4; 6 on 2 and on 4 nodes"""
    for processes in (1, 4) if hosts == 1 else (6,):
        said = run("gaspi_one_sided", processes=processes, hosts=hosts).stdout
        assert said == "data comes before its notification, from everybody to everybody\n"


def test_every_mistake_has_its_code(hosts):
    """2 and 3; 4 on 2 and on 4 nodes"""
    for processes in (2, 3) if hosts == 1 else (4,):
        assert run("gaspi_errors", processes=processes, hosts=hosts).stdout == "every mistake has its code\n"


def test_threads_that_wait_hold_nothing_up(hosts):
    """2 x 4; 2 x 4 on 2 nodes, 4 x 4 on 4"""
    assert run("gaspi_threads", hosts=hosts).stdout == "threads wait beside each other\n"


@pytest.mark.parametrize("who", ["mpi", "gaspi", "both", "finalize"])
def test_gaspi_and_mpi_in_one_program(who, hosts):
    """2 x 2 and 3 x 2; 4 x 2 on 2 and on 4 nodes. Whoever begins: the program's MPI_Init, gaspi_proc_init, or both"""
    for processes in (2, 3) if hosts == 1 else (4,):
        assert run("gaspi_mixed", who, processes=processes, hosts=hosts).stdout == f"{who}\n"


def test_data_arrives_while_the_target_computes(hosts):
    """2, on one node and on 2; 4 on 4"""
    assert run("gaspi_busy", hosts=hosts).stdout == "all has come while rank 0 computed\n"


@pytest.mark.thorough_where(hosts=2)
def test_a_deleted_segment_is_an_error_at_the_writer(hosts):
    """2 and 3; 4 on 2 and on 4 nodes"""
    for processes in (2, 3) if hosts == 1 else (4,):
        said = run("gaspi_deleted", processes=processes, hosts=hosts).stdout
        assert said == "a deleted segment is an error, and no more\n"


def test_writes_that_nobody_waits_for(hosts):
    """2 and 3; 4 on 2 and on 4 nodes"""
    for processes in (2, 3) if hosts == 1 else (4,):
        assert run("gaspi_unwaited", processes=processes, hosts=hosts).stdout == "nothing stays behind\n"


def test_random_programs_as_the_model_says(hosts):
    """2 x 3 and 3 x 3; 4 x 3 on 2 and on 4 nodes"""
    for processes in (2, 3) if hosts == 1 else (4,):
        seed = random_seed()
        rounds = 20 if hosts == 1 else 8
        done = run("gaspi_random", "--seed", seed, "--rounds", rounds, processes=processes, hosts=hosts, timeout=120)
        assert done.stdout == "all as the model says\n", f"seed {seed}"


# How a launcher is told to let the others live when a process is gone. Else those of Open MPI 5.0.11 and of Intel MPI end them within half
# a second; MPICH's (5.0.2, 4.0.2) does so with its option as well.
LETS_LIVE = {"openmpi": "--enable-recovery", "impi": "-disable-auto-cleanup"}


def test_a_process_that_is_killed_is_known_to_the_others():
    """3"""
    line, environment = launch.command(MPI, [str(MPI.build / "bin/gaspi_deleted"), "killed"], 3, 1, 1, {})
    if option := LETS_LIVE.get(MPI.family):
        line.insert(1, option)
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60, check=False)
    everybody = {"rank 0 knows", "rank 2 knows"}
    told = {line for line in done.stdout.splitlines() if line.endswith(" knows")}
    assert told == everybody if option else told <= everybody, done.stdout + done.stderr
    # The status is the launcher's own: that of MPICH 4.0.2 says 0 now and then, and that all processes ended with 0.


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-n", "2"], "atomics"),
        (["-m", "{machines}"], "atomics"),
        (["-m", "{machines}", "-n", "2"], "atomics"),
        (["-m", "{machines}", "-n", "9"], "-n 9: {machines} has 3 hosts"),
        (["-m", "/nowhere"], "/nowhere cannot be read"),
        (["-n", "none"], "-n wants a number from 1 on, not 'none'"),
        (["-N"], "there is no option -N here; it knows -m FILE and -n N"),
    ],
)
def test_gaspi_run(words, said, tmp_path):
    """2 or 3"""
    machines = tmp_path / "machines"
    machines.write_text("localhost\n# a remark\nlocalhost\nlocalhost\n")
    line = [ROOT / "gaspi_run", *(word.format(machines=machines) for word in words), MPI.build / "bin/gaspi_calls", "atomics"]
    done = subprocess.run(line, env=os.environ | {"PLAIT_MPI": MPI.name}, capture_output=True, text=True, timeout=60, check=False)
    if said == "atomics":
        assert (done.returncode, done.stdout) == (0, "atomics\n"), done.stderr
    else:
        assert (done.returncode, done.stderr) == (2, f"gaspi_run: {said.format(machines=machines)}\n")


@pytest.mark.thorough_where(hosts=2)
@pytest.mark.parametrize("setting", ["PLAIT_THREAD_LEVEL=serialized", "PLAIT_COMMUNICATORS=none", "PLAIT_COMMUNICATORS=all"])
def test_whatever_else_plait_is_set_to(setting, hosts):
    """2, on one node and on 2; 4 on 4"""
    assert run("gaspi_calls", "segments", "passive", "collective", hosts=hosts, env=[setting]).stdout == "segments\npassive\ncollective\n"
    run("gaspi_one_sided", hosts=hosts, env=[setting])


@pytest.mark.parametrize("forbidden", ["no_peer_memory", "no_peer_reads", "no_peer_writes"])
def test_where_the_system_forbids_access_to_others_memory(forbidden):
    """2 and 2 x 3. Then messages of the MPI's go inside the node, as between nodes"""
    if reason := MPI.why_no_nodes():
        pytest.skip(reason)
    env = [preloading(f"{forbidden}.so"), *WITHOUT_OTHERS_MEMORY[MPI.family]]
    assert run("gaspi_calls", "segments", env=env).stdout == "segments\n"
    assert run("gaspi_random", "--seed", random_seed(), env=env).stdout == "all as the model says\n"
    assert run("gaspi_deleted", env=env).stdout == "a deleted segment is an error, and no more\n"


def test_ranks_of_a_node_that_cannot_see_each_other(two_namespaces):
    """4 x 3, in two namespaces of processes"""
    if reason := MPI.why_no_nodes():
        pytest.skip(reason)
    words = (MPI.build / "bin/gaspi_random", "--seed", random_seed(), "--rounds", 5)
    done = run(two_namespaces, *words, processes=4, env=WITHOUT_OTHERS_MEMORY[MPI.family])
    assert "all as the model says\n" in done.stdout
