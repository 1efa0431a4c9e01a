"""Results on a full disk: one line, and nothing partial stays. In a mount namespace with a small disk. Each 2 x 1."""

import os
import subprocess

import pytest
from plait.files import FileError, replacing
from plait.mpis import ROOT
from programs import MPI

pytestmark = pytest.mark.once  # the same whatever the MPI is

BENCH = f"{ROOT}/plait --mpi {MPI.name} bench pingpong --quick --sizes 8 --time 1e-4"


@pytest.fixture
def small(tmp_path):
    """Runs a shell's lines in a folder on a disk of so many KB; what the last said, its status, and the files there."""
    root = [] if os.geteuid() == 0 else ["-Ur"]
    if subprocess.run(["unshare", *root, "-m", "mount", "-t", "tmpfs", "tmpfs", tmp_path], check=False, capture_output=True).returncode:
        pytest.skip("mount namespaces are not allowed here")

    def run(kilobytes, line):
        script = f"mount -t tmpfs -o size={kilobytes}k tmpfs {tmp_path}; {line}; status=$?; ls {tmp_path} >&3; exit $status"
        listing = tmp_path.parent / f"{tmp_path.name}-files"
        with listing.open("w") as files:
            words = ["unshare", *root, "-m", "--", "bash", "-c", f"exec 3>&{files.fileno()}; {script}"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False, pass_fds=[files.fileno()])
        return done, listing.read_text().split()

    return run


def test_bench(small, tmp_path):
    line = f"head -c 20480 /dev/zero >{tmp_path}/other; {BENCH} --out {tmp_path}"
    done, files = small(24, line)
    assert done.returncode in (1, 2), done.stdout + done.stderr
    assert done.stderr.count("\n") == 1 and "No space left on device" in done.stderr
    assert not [name for name in files if name.endswith(".partial")]


def test_report(small, tmp_path):
    line = f"cd {tmp_path}; {BENCH} --out . && {ROOT}/plait report ."
    done, files = small(256, line)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr == "plait: report.html cannot be written: No space left on device\n"
    assert "run.json" in files and not [name for name in files if "report" in name]


def test_what_was_there_stays_whole(tmp_path):
    path = tmp_path / "results.json"
    path.write_text("old")
    with pytest.raises(FileError, match="cannot be written: No space left"), replacing(path) as partial:
        partial.write_text("half")
        raise OSError(28, "No space left on device")
    with pytest.raises(KeyboardInterrupt), replacing(path) as partial:
        partial.write_text("half")
        raise KeyboardInterrupt
    assert [entry.name for entry in tmp_path.iterdir()] == ["results.json"] and path.read_text() == "old"
    with replacing(path) as partial:
        partial.write_text("new")
    assert path.read_text() == "new"
