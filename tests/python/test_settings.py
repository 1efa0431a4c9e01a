"""Environment variables: one table in libplait, the command and the manual. Each test says its processes x threads."""

import json
import os
import re
import subprocess

import pytest
from plait.mpis import ROOT
from programs import MPI, run


def info(*words, status=0, **env):
    line = [ROOT / "plait", "--mpi", MPI.name, "info", *words]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **env})
    assert done.returncode == status, done.stdout + done.stderr
    return done


def table(**env):
    return json.loads(info("--settings", "--json", **env).stdout)


def test_manual_is_the_table():
    """`./plait info --settings --markdown > docs/environment.md` makes it anew."""
    assert (ROOT / "docs/environment.md").read_text() == info("--settings", "--markdown").stdout


def test_every_variable_that_anything_reads_is_in_the_table():
    known = {setting["name"] for setting in table()["table"]}
    # Of the terminal, of the loader and of the shell: nobody sets them for plait's sake.
    known |= {"COLUMNS", "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH"}
    read = r"""getenv\("(\w+)"\)|environ(?:\.get\(|\[)"(\w+)"|\b(PLAIT_[A-Z_]+)=|\$\{?(PLAIT_[A-Z_]+)"""
    found = {}
    for pattern in ("src/**/*.[ch]pp", "apps/**/*.[ch]pp", "bench/*.*", "tests/**/*.[ch]*", "python/plait/*.py", "scripts/*", ".ci/*"):
        for path in filter(os.path.isfile, ROOT.glob(pattern)):
            for names in re.findall(read, path.read_text(errors="replace")):
                found.setdefault(next(filter(None, names)), []).append(str(path.relative_to(ROOT)))
    assert "PLAIT_WATCHDOG" in found and "PLAIT_CI" in found
    assert {name: files for name, files in found.items() if name not in known} == {}


def test_only_the_table_reads_the_environment():
    readers = [path.name for path in (ROOT / "src").rglob("*.[ch]pp") if "getenv(" in path.read_text()]
    assert readers == ["settings.cpp"]


def test_values_that_hold_here_are_told():
    env = {"PLAIT_WATCHDOG": "2.5", "PLAIT_REPORT": "", "PLAIT_CHANNELS": "none", "PLAIT_WATCHDOGS": "1"}
    found = table(**env)
    values = {setting["name"]: setting["value"] for setting in found["table"]}
    assert values["PLAIT_WATCHDOG"] == "2.5"
    assert values["PLAIT_REPORT"] == "" and values["PLAIT_SEED"] is None
    wrong, unknown = found["problems"]
    assert wrong.startswith("PLAIT_CHANNELS=none: expected a whole number from 1 to 64; the default holds: ")
    assert unknown == "PLAIT_WATCHDOGS: plait knows no such variable; did you mean PLAIT_WATCHDOG?"
    shown = info("--settings", **env).stdout
    assert "2.5" in shown and wrong in shown and unknown in shown


def test_markdown_alone_is_refused():
    assert info("--markdown", status=2).stderr == "plait: --markdown goes with --settings, and without --json\n"


def test_wrong_and_unknown_variables_are_named_once_in_a_job(hosts):
    """3 x 1, on one node and on 2; 4 x 1 on 4"""
    env = ["PLAIT_WATCHDOG=soon", "PLAIT_THREADLEVEL=serialized"]
    done = run("many_streams", 2, processes=3, hosts=hosts, env=env)
    assert sorted(line for line in done.stderr.splitlines() if line.startswith("plait: PLAIT_")) == [
        "plait: PLAIT_THREADLEVEL: plait knows no such variable; did you mean PLAIT_THREAD_LEVEL?",
        "plait: PLAIT_WATCHDOG=soon: expected a number of seconds from 0 on; the default holds: 0",
    ]


def test_variables_of_the_shell_reach_every_node(monkeypatch):
    """The launch line: Open MPI's hands on by name only."""
    monkeypatch.setenv("PLAIT_WATCHDOG", "2")
    shown = subprocess.run(
        [ROOT / "plait", "--mpi", MPI.name, "run", "--show", "true"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert MPI.family != "openmpi" or "-x PLAIT_WATCHDOG" in shown


@pytest.mark.parametrize("name", ["PLAIT_CHANNELS=2", "PLAIT_THREAD_LEVEL=serialized", "PLAIT_WATCHDOG=60", "PLAIT_SEED=1", "PLAIT_CI=1"])
def test_right_variables_are_not_spoken_of(name):
    """2 x 1"""
    assert "PLAIT_" not in run("many_streams", 2, env=[name]).stderr
