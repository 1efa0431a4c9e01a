"""What containers do: processes whose ids mean nothing to each other, and system calls that are not allowed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import MPI, preloading, run

ROOTLESS = [] if os.geteuid() == 0 else ["-Ur"]
# Holds a PID namespace until it is ended. Who enters it gets the ids from 2 on.
HOLDER = ["unshare", *ROOTLESS, "--pid", "--fork", "--kill-child", "--mount-proc", "sleep", "600"]


def child_of(holder):
    until = time.monotonic() + 10
    while time.monotonic() < until and holder.poll() is None:
        children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
        # It is in its namespace before it is what it will be.
        if children and Path(f"/proc/{children[0]}/comm").read_text().strip() == "sleep":
            return children[0]
        time.sleep(0.02)
    pytest.skip("PID namespaces are not allowed here")


@pytest.fixture
def two_namespaces(tmp_path):
    """A command before the program: ranks 0 and 1 go into one PID namespace, all others into another."""
    # UCX goes over TCP between PID namespaces, as between nodes: MPICH 4.0.2 hangs in MPI_Finalize, a plain program without plait in 20
    # of 20 runs.
    if reason := MPI.why_no_nodes():
        pytest.skip(reason)
    holders = [subprocess.Popen(HOLDER, stderr=subprocess.DEVNULL) for _ in range(2)]
    try:
        first, second = map(child_of, holders)
        enter = tmp_path / "enter"
        user = "-U --preserve-credentials " if ROOTLESS else ""
        enter.write_text(f"""#!/bin/bash
            rank=${{PMI_RANK:-${{OMPI_COMM_WORLD_RANK:-$PMIX_RANK}}}}
            exec nsenter {user}-t $((rank < 2 ? {first} : {second})) -p -m -- "$@"
            """)
        enter.chmod(0o755)
        yield enter
    finally:
        for holder in holders:
            holder.kill()  # it heeds no SIGTERM while it waits for its child
            holder.wait()


# The MPIs themselves trust such ids: MPICH 5.0.2 reads another process, Open MPI 5.0.11 has one segment for two, and they end in MPI_Init.
WITHOUT_OTHERS_MEMORY = {"mpich": ["MPIR_CVAR_CH4_CMA_ENABLE=0"], "openmpi": ["OMPI_MCA_btl=self,tcp"], "impi": ["I_MPI_SHM_CMA=0"]}
TESTERS = [
    (["random_p2p", "--messages", 4000, "--max-bytes", 100_000, "--without", "ordinary"], "all as the model says"),
    (["random_collectives", "--calls", 60, "--threads", 2], "all as the reference says"),
    (["partitioned", 20], ": right"),
]


def check(done, said):
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0 and said in done.stdout, str(done) + "\n" + done.stdout + done.stderr
    assert "cannot be preloaded" not in done.stderr


@pytest.mark.parametrize(("words", "said"), TESTERS, ids=[words[0] for words, _ in TESTERS])
def test_ranks_in_two_pid_namespaces_with_the_same_ids(two_namespaces, words, said):
    """4 x 1 to 4"""
    told = run(two_namespaces, sys.executable, "-c", "import os; os.write(1, b'%d\\n' % os.getpid())", processes=4).stdout
    ids = [int(line) for line in told.split()]
    assert len(ids) == 4 and len(set(ids)) < 4, told
    name, *options = words
    done = run(two_namespaces, MPI.build / "bin" / name, *options, processes=4, env=WITHOUT_OTHERS_MEMORY[MPI.family], status=None)
    check(done, said)


@pytest.mark.parametrize("forbidden", ["no_peer_memory", "no_peer_writes"])
@pytest.mark.parametrize(("words", "said"), TESTERS, ids=[words[0] for words, _ in TESTERS])
def test_without_process_vm_readv_or_writev(words, said, forbidden):
    """3 x 1 to 4, as where seccomp or yama forbid it"""
    check(run(*words, processes=3, env=[preloading(f"{forbidden}.so")], status=None), said)


def test_memory_that_only_its_process_can_read():
    """3 x 4, as a device's"""
    words, said = TESTERS[0]
    check(run(*words, processes=3, env=[preloading("no_peer_reads.so")], status=None), said)
