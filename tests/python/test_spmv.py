"""plait-spmv as a user runs it, under the MPI that PLAIT_MPI names. Each test says its processes x threads."""

from __future__ import annotations

import json
import os
import random

import pytest
from plait.launch import CompletedRun, run, why_no_nodes
from plait.mpis import find

SECONDS = 120.0


@pytest.fixture(scope="session")
def mpi():
    return find(os.environ.get("PLAIT_MPI"))


@pytest.fixture
def spmv(mpi, tmp_path):
    """Runs a model; the answer has .json, the results, where it ended well."""

    def start(model, *options, processes=1, threads=1, hosts=1) -> CompletedRun:
        if hosts > 1 and (reason := why_no_nodes(mpi)):
            pytest.skip(reason)
        results = tmp_path / "results.json"
        results.unlink(missing_ok=True)
        words = [str(mpi.build / "bin/plait-spmv"), "--quiet", *(["--model", model] if model else []), *map(str, options)]
        words += [] if "--json" in options else ["--json", str(results)]
        done = run(mpi, words, processes, threads, hosts=hosts, timeout=SECONDS, capture=True, show_stacks=True)
        done.json = json.loads(results.read_text()) if results.exists() else None
        return done

    return start


def assert_one_clear_line(done: CompletedRun, text: str, status: int = 1) -> None:
    lines = done.stderr.strip("\n").split("\n")
    assert done.returncode == status, done.stderr
    assert len(lines) == 1 and lines[0].startswith("plait-spmv: ") and text in lines[0], done.stderr
    assert done.stdout.strip() == ""


# ---- the same bits

# Twelve planes, in as many processes as divide them; 25 iterations scale x twice. The odd sizes have rows of each length.
PLANES, GRID = 12, ("--grid", "7x5", "--iterations", "25")
SHAPES = [
    *(("pure-mpi", processes, 1, storage, 1) for processes, storage in ((1, "jds"), (2, "crs"), (3, "jds"))),
    *(("masteronly", processes, threads, storage, 1) for processes, threads, storage in ((1, 3, "crs"), (2, 2, "jds"))),
    *(
        ("funneled-reserved", processes, threads, storage, 1)
        for processes, threads, storage in ((1, 3, "jds"), (2, 2, "crs"), (2, 2, "jds"))
    ),
    *(
        ("multiple-reserved", processes, threads, storage, 1)
        for processes, threads, storage in ((2, 2, "jds"), (3, 2, "crs"), (2, 4, "crs"))
    ),
    *(
        ("funneled-balanced", processes, threads, storage, 1)
        for processes, threads, storage in ((1, 1, "crs"), (2, 2, "jds"), (3, 1, "crs"))
    ),
    *(
        ("multiple-balanced", processes, threads, storage, 1)
        for processes, threads, storage in ((1, 3, "jds"), (2, 2, "crs"), (3, 1, "jds"))
    ),
    ("multiple-balanced", 2, 2, "jds", 2),
    ("pure-mpi", 12, 1, "crs", 1),
]


@pytest.fixture(scope="session")
def reference(mpi, tmp_path_factory):
    """One process with one thread."""
    path = tmp_path_factory.mktemp("spmv") / "reference.json"
    done = run(mpi, [str(mpi.build / "bin/plait-spmv"), *GRID, "--nk", "12", "--json", str(path)], 1, 1, timeout=SECONDS, capture=True)
    assert done.returncode == 0, done.stderr
    assert "grid 7x5x12: 420 rows" in done.stdout and "passed" in done.stdout and "digest " in done.stdout
    return json.loads(path.read_text())


@pytest.mark.thorough_where(processes=12)
@pytest.mark.parametrize(("model", "processes", "threads", "storage", "hosts"), SHAPES)
def test_every_model_and_storage_ends_with_the_same_bits(spmv, reference, model, processes, threads, storage, hosts):
    """1 x 1 to 12 x 1, up to 2 x 4 and 3 x 2, on up to 2 nodes"""
    nk = PLANES // processes
    done = spmv(model, *GRID, "--nk", nk, "--storage", storage, processes=processes, threads=threads, hosts=hosts)
    assert done.returncode == 0, done.stderr
    results = done.json
    assert all(results[key] == reference[key] for key in ("digest", "rows", "nonzeros", "matrix"))
    expected = {"model": model, "processes": processes, "threads": threads, "storage": storage}
    assert {key: results[key] for key in expected} == expected
    assert results["check"]["passed"] and results["halo_bytes"] == 2 * (processes - 1) * 7 * 5 * 8
    assert results["gflops"] > 0 and results["seconds"] > 0 and len(results["samples"]["iteration_ms"]) == 23


@pytest.mark.parametrize(("model", "reserved"), [("funneled-reserved", 2), ("multiple-reserved", 3), ("multiple-reserved", None)])
def test_so_it_does_with_any_number_of_reserved_threads(spmv, reference, model, reserved):
    """2 x 4"""
    done = spmv(model, *GRID, "--nk", 6, *(["--reserved", reserved] if reserved else []), processes=2, threads=4)
    assert done.returncode == 0, done.stderr
    assert done.json["digest"] == reference["digest"] and done.json["reserved"] == (reserved or 2)


# ---- files


def written(path, kind, size, entries):
    lines = [f"%%MatrixMarket matrix coordinate {kind}", "% written by a test", f"{size} {size} {len(entries)}"]
    path.write_text("\n".join([*lines, *(" ".join(map(str, entry)) for entry in entries)]) + "\n")
    return path


@pytest.fixture
def scattered(tmp_path):
    """Rows of very different length, one of them full and some empty: each process needs something of each other."""
    draw = random.Random(7)
    places = {(row, draw.randint(1, 60)) for row in range(1, 61) for _ in range(row % 7)} | {(9, column) for column in range(1, 61)}
    entries = [(row, column, draw.uniform(-1, 1)) for row, column in draw.sample(sorted(places), len(places))]
    return written(tmp_path / "scattered.mtx", "real general", 60, entries)


@pytest.mark.parametrize(
    ("model", "processes", "threads", "storage"),
    [("pure-mpi", 4, 1, "crs"), ("multiple-reserved", 3, 2, "jds"), ("multiple-balanced", 2, 3, "crs"), ("funneled-balanced", 2, 2, "jds")],
)
def test_a_file_gives_the_same_bits_as_well(spmv, scattered, model, processes, threads, storage):
    """1 x 1, then 4 x 1, 3 x 2, 2 x 3, 2 x 2"""
    alone = spmv("pure-mpi", "--matrix", scattered)
    assert alone.returncode == 0, alone.stderr
    assert alone.json["rows"] == 60 and alone.json["matrix"] == "scattered.mtx" and alone.json["halo_bytes"] == 0
    done = spmv(model, "--matrix", scattered, "--storage", storage, processes=processes, threads=threads)
    assert done.returncode == 0, done.stderr
    assert all(done.json[key] == alone.json[key] for key in ("digest", "nonzeros", "rows"))
    assert done.json["check"]["passed"] and done.json["halo_bytes"] > 0


def test_halves_of_a_symmetric_matrix_are_the_whole(spmv, tmp_path):
    """3 x 1"""
    half = [(row, column, 1 / (row + column)) for row in range(1, 13) for column in range(1, row + 1) if (row * column) % 3]
    both = half + [(column, row, value) for row, column, value in half if row != column]
    digests = []
    for kind, entries in ("symmetric", half), ("general", both):
        done = spmv("pure-mpi", "--matrix", written(tmp_path / f"{kind}.mtx", f"real {kind}", 12, entries), processes=3)
        assert done.returncode == 0, done.stderr
        digests.append(done.json["digest"])
    assert digests[0] == digests[1]


def test_a_product_that_becomes_nothing_stays_so(spmv, tmp_path):
    """2 x 1: the second power of this matrix is zero."""
    done = spmv("pure-mpi", "--matrix", written(tmp_path / "zero.mtx", "pattern general", 4, [(1, 4)]), processes=2)
    assert done.returncode == 0, done.stderr
    assert done.json["check"]["passed"] and done.json["check"]["product"] == 0


def test_a_matrix_of_tiny_eigenvalues_does_not_vanish(spmv, tmp_path):
    """2 x 1: without scaling it would be 1e-900 after 100 iterations."""
    entries = [(row, row, 1e-9) for row in range(1, 5)] + [(5, 1, 1)]
    done = spmv("pure-mpi", "--matrix", written(tmp_path / "tiny.mtx", "real general", 5, entries), processes=2)
    assert done.returncode == 0, done.stderr
    assert done.json["check"]["product"] > 1e-12


# ---- what is wrong


@pytest.mark.parametrize(
    ("model", "processes", "threads", "options", "text"),
    [
        ("pure-mpi", 2, 2, [], "model pure-mpi uses one thread a process, but OMP_NUM_THREADS is 2"),
        ("funneled-reserved", 2, 1, [], "model funneled-reserved needs at least 2 threads a process"),
        ("multiple-reserved", 1, 1, [], "model multiple-reserved needs at least 2 threads a process"),
        ("multiple-reserved", 1, 2, ["--reserved", "2"], "--reserved 2: must be at least 1 and below the number of threads"),
        ("masteronly", 1, 2, ["--reserved", "1"], "--reserved is for the models funneled-reserved and multiple-reserved"),
        ("pure-mpi", 2, 1, ["--grid", "8"], "--grid 8: must be two whole numbers of at least 1"),
        ("pure-mpi", 2, 1, ["--grid", "16777216x16777216"], "take more processes or a smaller grid"),
        ("pure-mpi", 2, 1, ["--matrix", "/proc/none.mtx"], "matrix /proc/none.mtx cannot be read: No such file"),
        ("pure-mpi", 2, 1, ["--matrix", "/proc/none.mtx", "--nk", "3"], "leave out --grid and --nk"),
        ("pure-mpi", 2, 1, ["--json", "/proc/none/x.json"], "results cannot be written to /proc/none/x.json"),
    ],
)
def test_what_does_not_fit_is_one_clear_line(spmv, model, processes, threads, options, text):
    """2 x 1, 1 x 2, 2 x 2, 1 x 1"""
    assert_one_clear_line(spmv(model, *options, processes=processes, threads=threads), text)


@pytest.mark.once
@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--model", "funneled"], "--model funneled: unknown; there are pure-mpi, masteronly, funneled-reserved"),
        (["--storage", "csr"], "--storage csr: unknown; there are crs, jds"),
        (["--iterations", "0"], "--iterations: must be a whole number of at least 1"),
        (["--nk", "two"], "--nk: must be a whole number"),
        (["--reserved", "0"], "--reserved: must be a whole number"),
        (["--planes", "3"], "--planes"),
    ],
)
def test_a_wrong_command_line_is_one_clear_line(spmv, options, text):
    """2 x 1"""
    assert_one_clear_line(spmv(None, *options, processes=2), text, status=2)


@pytest.mark.parametrize(
    ("kind", "entries", "text"),
    [
        ("real general", [(1, 1, 1), (2, 9, 1)], "bad.mtx:5: column 9 is not one of 1 to 3"),
        ("complex general", [(1, 1, 1, 1)], "bad.mtx:1: the values are complex"),
        ("real general", [(1, 1, 0)], "the matrix is all zeros"),
        ("real general", [(1, 1, 1e308)], "it must be from 1e-300 to 1e+300"),
        ("real general", [(1, 1, 1), (2, 2, 1), (3, 3, 1)], "4 processes are too many for a matrix of 3 rows: take at most 3"),
    ],
)
def test_a_wrong_file_is_one_clear_line(spmv, tmp_path, kind, entries, text):
    """4 x 1 for the last one, else 2 x 1"""
    path = written(tmp_path / "bad.mtx", kind, 3, entries)
    assert_one_clear_line(spmv("pure-mpi", "--matrix", path, processes=4 if "4 processes" in text else 2), text)


@pytest.mark.once
def test_help_and_version(mpi):
    """1 x 1"""
    for option, text in ("--help", "funneled-reserved"), ("--version", "plait-spmv "):
        done = run(mpi, [str(mpi.build / "bin/plait-spmv"), option], 1, 1, timeout=SECONDS, capture=True)
        assert done.returncode == 0 and text in done.stdout and done.stderr == ""
