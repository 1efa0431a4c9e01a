"""plait-heat and plait-heat-cluster as a user runs them, under the MPI that PLAIT_MPI names. Each test says its processes x threads."""

from __future__ import annotations

import json
import os

import pytest
from plait.launch import CompletedRun, run, why_no_nodes
from plait.mpis import ROOT, find

DECKS = ROOT / "decks"
SECONDS = 120.0
PROGRAMS = {"cluster": "plait-heat-cluster"}


@pytest.fixture(scope="session")
def mpi():
    return find(os.environ.get("PLAIT_MPI"))


@pytest.fixture
def heat(mpi, tmp_path):
    """Runs a model on a deck; the answer has .json, the results, where it ended well."""

    def start(model, *options: str, deck="heat-20", processes=1, threads=1, hosts=1, settings=()) -> CompletedRun:
        program = mpi.build / "bin" / PROGRAMS.get(model, "plait-heat")
        if not program.exists() and model == "cluster":
            pytest.skip("plait-heat-cluster is not built: OpenMP over several nodes wants gcc 12 or newer on x86-64, without sanitizers")
        if hosts > 1 and (reason := why_no_nodes(mpi)):
            pytest.skip(reason)
        path = DECKS / f"{deck}.toml" if isinstance(deck, str) else deck
        results = tmp_path / "results.json"
        results.unlink(missing_ok=True)
        words = [str(program), str(path), "--model", model, "--quiet", *options]
        words += [] if "--json" in options else ["--json", str(results)]
        words += [word for setting in settings for word in ("--set", setting)]
        done = run(mpi, words, processes, threads, hosts=hosts, timeout=SECONDS, capture=True, show_stacks=True)
        done.json = json.loads(results.read_text()) if done.returncode == 0 and results.exists() else None
        return done

    return start


def assert_one_clear_line(done: CompletedRun, text: str) -> None:
    lines = done.stderr.strip("\n").split("\n")
    assert done.returncode not in (0, 124), done.stderr
    assert len(lines) == 1 and lines[0].startswith("plait-heat") and text in lines[0], done.stderr
    assert done.stdout.strip() == ""


# ---- the same bits

# 67 x 67 points are rows of which several lie in one page, and pages in which the rows of two threads lie.
STEPS, SIZE = "40", "plate.size=67"
SHAPES = [
    *(("openmp", 1, threads, 1) for threads in (2, 3)),
    *(("mpi", processes, 1, 1) for processes in (1, 2, 3, 7)),
    *(("hybrid", processes, threads, 1) for processes, threads in ((1, 2), (2, 2), (3, 2))),
    *(("cluster", processes, threads, 1) for processes, threads in ((1, 1), (1, 2), (2, 1), (3, 1), (2, 2))),
    *(("mpi", 4, 1, hosts) for hosts in (2, 4)),
    ("hybrid", 2, 2, 2),
    *(("cluster", processes, threads, hosts) for processes, threads, hosts in ((2, 1, 2), (3, 1, 3), (4, 1, 4), (4, 1, 2))),
]


@pytest.fixture(scope="session")
def reference(mpi, tmp_path_factory):
    """One process with one thread, by OpenMP."""
    path = tmp_path_factory.mktemp("heat") / "reference.json"
    words = [str(mpi.build / "bin/plait-heat"), str(DECKS / "heat-20.toml"), "--set", SIZE, "--steps", STEPS, "--json", str(path)]
    done = run(mpi, words, 1, 1, timeout=SECONDS, capture=True)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text())


@pytest.mark.thorough_where(processes=(3, 7))
@pytest.mark.parametrize(("model", "processes", "threads", "hosts"), SHAPES)
def test_every_model_ends_with_the_same_bits(heat, reference, model, processes, threads, hosts):
    """1 x 1 to 7 x 1, up to 3 x 2, on up to 4 nodes"""
    done = heat(model, "--steps", STEPS, settings=[SIZE], processes=processes, threads=threads, hosts=hosts)
    assert done.returncode == 0, done.stderr
    assert all(done.json[key] == reference[key] for key in ("digest", "change", "distance", "steps", "size"))
    assert done.json["model"] == model and done.json["mups"] > 0
    assert len(done.json["samples"]["step_ms"]) == int(STEPS) - 2


@pytest.mark.thorough_where(model="openmp", processes=3)
@pytest.mark.parametrize("schedule", ["static", "static,1", "static,10", "static,50", "dynamic", "guided"])
@pytest.mark.parametrize(("model", "processes", "threads"), [("openmp", 1, 3), ("hybrid", 2, 2), ("cluster", 2, 2), ("cluster", 3, 1)])
def test_so_does_every_schedule(heat, reference, schedule, model, processes, threads):
    """1 x 3, 2 x 2, 3 x 1"""
    settings = [SIZE, f'run.schedule="{schedule}"']
    done = heat(model, "--steps", STEPS, settings=settings, processes=processes, threads=threads)
    assert done.returncode == 0, done.stderr
    assert done.json["digest"] == reference["digest"] and done.json["schedule"] == schedule


@pytest.mark.parametrize(("model", "processes", "threads"), [("openmp", 1, 2), ("mpi", 3, 1), ("hybrid", 2, 2), ("cluster", 2, 1)])
def test_without_a_tolerance_only_the_last_step_is_looked_at(heat, tmp_path, reference, model, processes, threads):
    """1 x 2, 3 x 1, 2 x 2, 2 x 1"""
    deck = tmp_path / "deck.toml"
    deck.write_text(f"[plate]\nsize = 67\n[run]\nsteps = {STEPS}\n")
    done = heat(model, deck=deck, processes=processes, threads=threads)
    assert done.returncode == 0, done.stderr
    assert all(done.json[key] == reference[key] for key in ("digest", "change"))


# ---- physics


@pytest.mark.parametrize(("model", "processes"), [("openmp", 1), ("mpi", 2), ("cluster", 2)])
def test_the_plate_becomes_steady_as_it_must(heat, model, processes):
    """1 x 1, 2 x 1: the solution is known."""
    done = heat(model, processes=processes)
    assert done.returncode == 0, done.stderr
    assert done.json["steady"] and done.json["steps"] < 5000
    assert done.json["change"] <= 1e-10 and done.json["distance"] < 1e-8


def test_steps_that_are_asked_for_are_all_made(heat):
    """1 x 1"""
    done = heat("openmp", "--steps", "4000")
    assert done.json["steps"] == 4000 and done.json["steady"]


def test_every_deck_is_read(heat):
    """1 x 1"""
    decks = sorted(DECKS.glob("heat-*.toml"))
    assert len(decks) == 6
    for deck in decks:
        assert heat("openmp", "--check", deck=deck).returncode == 0


def test_a_report_for_people(heat, mpi):
    """2 x 1"""
    words = [str(mpi.build / "bin/plait-heat"), str(DECKS / "heat-20.toml"), "--model", "mpi", "--steps", "20"]
    done = run(mpi, words, 2, 1, timeout=SECONDS, capture=True)
    assert done.returncode == 0, done.stderr
    assert "heat-20: 20 x 20 points, mpi, 2 processes x 1 threads" in done.stdout and "digest " in done.stdout


# ---- what is wrong


@pytest.mark.once
@pytest.mark.thorough_where(model="cluster")
@pytest.mark.parametrize("model", ["openmp", "mpi", "cluster"])
@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (["plate.sise=9"], "'plate.sise' is unknown; did you mean 'size'?"),
        (["plate.size=0"], "'plate.size' must be at least 3, not 0"),
        (["run.schedule='statik,10'"], "did you mean 'static'?"),
        (["run.steps"], "must be key=value"),
        (["plate.size=100000"], "take a smaller plate.size"),
    ],
)
def test_a_wrong_deck_is_one_clear_line(heat, model, settings, text):
    """1 x 1, 2 x 1"""
    assert_one_clear_line(heat(model, settings=settings, processes=1 if model == "openmp" else 2), text)


@pytest.mark.parametrize(
    ("model", "processes", "threads", "options", "text"),
    [
        ("mpi", 4, 1, ["--set", "plate.size=5"], "4 processes are too many for the 3 rows inside of a plate of 5 x 5 points"),
        ("cluster", 2, 2, ["--set", "plate.size=5"], "4 threads are too many for the 3 rows"),
        ("openmp", 2, 1, [], "model openmp is one process, not 2"),
        ("mpi", 2, 2, [], "model mpi uses one thread a process, but OMP_NUM_THREADS is 2"),
        ("hybird", 2, 1, [], "--model hybird: unknown; there are openmp, mpi, hybrid"),
        ("mpi", 2, 1, ["--steps", "0"], "--steps"),
        ("mpi", 2, 1, ["--json", "/proc/none/x.json"], "results cannot be written to /proc/none/x.json"),
        ("cluster", 2, 1, ["--json", "/"], "names a folder"),
    ],
)
def test_what_does_not_fit_is_one_clear_line(heat, model, processes, threads, options, text):
    """2 x 1, 4 x 1, 2 x 2"""
    assert_one_clear_line(heat(model, *options, processes=processes, threads=threads), text)


@pytest.mark.parametrize("model", ["mpi", "cluster"])
def test_a_deck_that_is_not_there_is_one_clear_line(heat, tmp_path, model):
    """2 x 1"""
    assert_one_clear_line(heat(model, deck=tmp_path / "none.toml", processes=2), "cannot be read: No such file")
