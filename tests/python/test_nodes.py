"""Simulated nodes: each is a machine of its own, they reach each other, and nothing is left of them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from plait.launch import NODES

pytestmark = pytest.mark.once  # the same whatever the MPI is

MPINODES = NODES / "mpinodes"


def mpinodes(*words: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([MPINODES, *words], capture_output=True, text=True, timeout=60, check=False, **options)


def why_not() -> str:
    try:
        return mpinodes("with", "1", "true").stderr.strip()
    except OSError as error:
        return str(error)


WHY_NOT = why_not()
needs_nodes = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


def on_head(nodes: int, script: str) -> list[str]:
    """The lines that a shell script prints on the head; $exec NODE runs a command on a node."""
    done = mpinodes("with", str(nodes), "bash", "-euc", f'exec="{MPINODES} exec"; {script}')
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_nodes
def test_each_node_has_its_own_name_and_namespaces():
    kinds = ("uts", "ipc", "net", "mnt", "pid")
    script = 'for n in n0 n1 n2; do $exec $n sh -c "hostname; cd /proc/self/ns; readlink ' + " ".join(kinds) + '"; done'
    lines = on_head(3, script)
    assert len(lines) == 3 * (1 + len(kinds))
    assert len(set(lines)) == len(lines)
    assert lines[:: 1 + len(kinds)] == ["n0", "n1", "n2"]


@needs_nodes
def test_shared_memory_of_a_node_is_not_seen_elsewhere():
    lines = on_head(2, "$exec n0 touch /dev/shm/plait-test; $exec n0 ls /dev/shm; echo --; $exec n1 ls /dev/shm; ls /dev/shm")
    assert lines == ["plait-test", "--"]
    assert not Path("/dev/shm/plait-test").exists()


@needs_nodes
def test_processes_of_other_nodes_are_out_of_reach():
    assert on_head(2, "$exec n0 sleep 60 & sleep 0.2; $exec n1 sh -c 'ls -d /proc/[0-9]*'; kill %1")[0] == "/proc/1"
    lines = on_head(2, '$exec n0 sleep 61 & sleep 0.2; $exec n1 sh -c \'cat /proc/[0-9]*/cmdline | tr "\\0" " "\'; kill %1')
    assert "sleep 61" not in " ".join(lines)


TALK = r"""
import socket, sys, threading
me, count = int(socket.gethostname()[1:]), int(sys.argv[1])
server = socket.create_server(("", 7000))
def answer():
    for _ in range(count - 1):
        connection, address = server.accept()
        connection.sendall(socket.gethostname().encode())
        connection.close()
thread = threading.Thread(target=answer)
thread.start()
heard = []
for other in range(count):
    while other != me:
        try:
            with socket.create_connection((f"n{other}", 7000), timeout=10) as connection:
                heard.append(connection.recv(16).decode())
            break
        except ConnectionRefusedError:
            pass
thread.join()
sys.stdout.write(" ".join([socket.gethostname(), *heard]) + "\n")
"""


@needs_nodes
def test_four_nodes_reach_each_other_by_tcp(tmp_path: Path):
    program = tmp_path / "talk.py"
    program.write_text(TALK)
    lines = on_head(4, f"for n in n0 n1 n2 n3; do {NODES}/netns-rsh -x $n {sys.executable} {program} 4 & done; wait")
    assert sorted(lines) == ["n0 n1 n2 n3", "n1 n0 n2 n3", "n2 n0 n1 n3", "n3 n0 n1 n2"]


@needs_nodes
def test_traffic_is_counted_and_can_be_slowed():
    send = "import socket; s = socket.create_connection(('n1', 7000)); s.sendall(bytes(1 << 20)); s.shutdown(1); s.recv(1)"
    take = "import socket; c, a = socket.create_server(('', 7000)).accept()\nwhile c.recv(65536): pass"
    script = (
        f'{MPINODES} shape rate 40mbit; $exec n1 {sys.executable} -c "{take}" & sleep 0.5; '
        f'start=$(date +%s%N); $exec n0 {sys.executable} -c "{send}"; echo $((($(date +%s%N) - start) / 1000000)); '
        f"{MPINODES} bytes"
    )
    lines = on_head(2, script)
    assert int(lines[0]) > 150  # 1 MiB at 40 Mbit/s takes 210 ms, unlimited 1 ms
    sent = lines[1].partition("tx ")[2]
    assert lines[1].startswith("n0 rx ") and int(sent.split()[0]) > 1 << 20


@needs_nodes
def test_status_words_and_input_go_through(tmp_path: Path):
    done = mpinodes("with", "1", "sh", "-c", 'cat; pwd; echo "$1" >&2; exit 7', "sh", "two words", input="in\n", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (7, f"in\n{tmp_path}\n", "two words\n")


def marked(marker: str) -> list[str]:
    """The processes with this environment variable, in whatever namespace."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            pass
    return found


@needs_nodes
@pytest.mark.parametrize("sent", [None, signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=["end", "TERM", "INT", "KILL"])
def test_nothing_is_left(sent: signal.Signals | None, tmp_path: Path):
    marker = f"MPINODES_TEST={tmp_path}"
    environment = {**os.environ, "MPINODES_TEST": str(tmp_path), "TMPDIR": str(tmp_path)}
    script = f"{MPINODES} exec n1 setsid sleep 300 & sleep 0.2; echo ready" + ("; sleep 300" if sent else "")
    job = subprocess.Popen([MPINODES, "with", "2", "bash", "-c", script], env=environment, stdout=subprocess.PIPE, text=True)
    assert job.stdout.readline() == "ready\n"
    if sent:
        job.send_signal(sent)
    job.wait(20)
    until = time.monotonic() + 5
    while marked(marker) and time.monotonic() < until:
        time.sleep(0.02)
    assert marked(marker) == []
    assert not any(name.startswith("port-") for _, name in socket.if_nameindex())
    if sent != signal.SIGKILL:  # nobody is left to remove the empty folder
        assert list(tmp_path.iterdir()) == []


@needs_nodes
@pytest.mark.skipif(os.geteuid() != 0, reason="up needs root")
def test_nodes_can_be_kept_and_removed(tmp_path: Path):
    environment = {**os.environ, "MPINODES_DIR": str(tmp_path / "state")}
    assert mpinodes("up", "2", env=environment).returncode == 0
    try:
        assert mpinodes("nodes", env=environment).stdout.split() == ["n0", "n1"]
        assert mpinodes("exec", "n1", "hostname", env=environment).stdout == "n1\n"
        assert mpinodes("head", "hostname", env=environment).stdout == "head\n"
        again = mpinodes("up", "2", env=environment)
        assert again.returncode == 1 and "already up" in again.stderr
        assert "there is no node 'n7'" in mpinodes("exec", "n7", "true", env=environment).stderr
    finally:
        mpinodes("down", env=environment)
    assert not (tmp_path / "state").exists()


def test_nonsense_ends_with_one_line():
    for count in ("0", "x", "1000", ""):
        done = mpinodes("with", count, "true")
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and "number of nodes" in done.stderr
