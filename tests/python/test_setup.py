"""scripts/setup and scripts/compile in checkouts that were moved, are read-only or somebody else's. No MPI is started."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from plait.mpis import ROOT

pytestmark = pytest.mark.once  # the same whatever the MPI is

# Another user.
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" "$1" && cd "$1" && shift && exec "$@"'
PROJECT = "cmake_minimum_required(VERSION 3.25)\nproject(some NONE)\nadd_custom_target(one COMMAND echo made)\n"
PRESETS = """{"version": 6, "configurePresets":
  [{"name": "mpich", "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}"}]}"""


def allowed(*words):
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
mounts = pytest.mark.skipif(not allowed("unshare", "-m", "mount", "--bind", "/tmp", "/tmp"), reason="mounting is not allowed here")


@pytest.fixture
def checkout():
    """The scripts and a project of nothing, set up, where every user may look."""
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        folder = Path(top) / "checkout"
        shutil.copytree(ROOT / "scripts", folder / "scripts")
        (folder / "python").mkdir()
        shutil.copy(ROOT / "python/requirements.txt", folder / "python")
        shutil.copy(ROOT / "plait", folder)
        (folder / "CMakeLists.txt").write_text(PROJECT)
        (folder / "CMakePresets.json").write_text(PRESETS)
        (folder / ".venv/bin").mkdir(parents=True)
        (folder / ".venv/bin/python").symlink_to("/bin/sh")  # it is only looked at
        shutil.copy(ROOT / "python/requirements.txt", folder / ".venv/.installed")
        yield folder


def run(folder, *words, before=(), status=0, env=(), **more):
    """With the repository's own cmake and ninja."""
    environment = {"PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}", **dict(env)}
    done = subprocess.run([*before, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False, **more)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def one_line(done, *texts):
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and all(text in lines[0] for text in texts), done.stderr


def read_only(folder):
    return ["unshare", "-m", "sh", "-c", READ_ONLY, "sh", str(folder)]


# ---- system packages


def test_missing_packages_are_named_and_not_installed_when_declined(checkout):
    done = run(checkout, "scripts/setup", env={"PLAIT_INSTALL": "no", "CXX": "no-such-compiler"}, status=1)
    one_line(done, "missing", "g++")


@root_only
def test_what_will_be_installed_is_said_first_and_how_to_decline(checkout, tmp_path):
    """With an apt-get that only tells how it was called."""
    (tmp_path / "apt-get").write_text('#!/bin/sh\necho "apt-get $*" >>"$0.said"\n')
    (tmp_path / "apt-get").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CXX": "no-such-compiler"}
    said = run(checkout, "scripts/setup", env=environment, stdin=subprocess.DEVNULL, status=1).stderr.splitlines()
    assert "g++" in said[0] and "PLAIT_INSTALL=no" in said[0]
    assert "still missing after installing: g++" in said[1]
    assert "install" in (tmp_path / "apt-get.said").read_text()


# ---- whose checkout it is


@mounts
def test_complete_checkout_may_be_read_only(checkout):
    assert run(checkout, "scripts/setup", "system", before=read_only(checkout)).stderr == ""
    assert not (checkout / ".mpi").exists()


@mounts
def test_read_only_checkout_with_something_missing_is_one_line(checkout):
    one_line(run(checkout, "scripts/setup", "mpich", before=read_only(checkout), status=1), "not all is set up", "read-only")


@root_only
def test_checkout_of_another_user_with_something_missing_is_one_line(checkout):
    one_line(run(checkout, "scripts/setup", "mpich", before=NOBODY, status=1), "not all is set up", "root", "checkout of your own")


@root_only
def test_python_that_only_another_user_can_run_is_one_line(checkout):
    (checkout / "private").mkdir(mode=0o700)
    (checkout / ".venv/bin/python").rename(checkout / "private/python")
    (checkout / ".venv/bin/python").symlink_to(checkout / "private/python")
    for command in (["scripts/setup"], ["./plait", "info"]):
        one_line(run(checkout, *command, before=NOBODY, status=1), "cannot run the Python that root set up", "checkout of your own")


# ---- what is built


def test_moved_checkout_is_configured_anew(checkout):
    assert "made" in run(checkout, "scripts/compile", "mpich", "one").stdout
    moved = checkout.rename(checkout.with_name("moved"))
    done = run(moved, "scripts/compile", "mpich", "one")
    one_line(done, str(checkout), "starting anew")
    assert f"CMAKE_HOME_DIRECTORY:INTERNAL={moved}\n" in (moved / "build/mpich/CMakeCache.txt").read_text()
    assert run(moved, "scripts/compile", "mpich", "one").stderr == ""


@mounts
def test_what_is_built_can_be_used_read_only(checkout):
    (checkout / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(some NONE)\nadd_custom_target(none)\n")
    run(checkout, "scripts/compile", "mpich", "none")
    assert run(checkout, "scripts/compile", "mpich", "none", before=read_only(checkout)).stderr == ""
    (checkout / "CMakeLists.txt").touch()
    one_line(
        run(checkout, "scripts/compile", "mpich", "none", before=read_only(checkout), status=1), "not up to date", "checkout of your own"
    )


@root_only
def test_build_of_another_user_is_one_line(checkout):
    one_line(run(checkout, "scripts/compile", "mpich", "one", before=NOBODY, status=1), "nobody cannot write", "checkout of your own")
