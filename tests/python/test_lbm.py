"""plait-lbm as a user runs it, under the MPI that PLAIT_MPI names. Each test says its processes x threads."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from plait.launch import CompletedRun, run, why_no_nodes
from plait.mpis import ROOT, find

DECKS = ROOT / "decks"
SMALL = ["lattice.size=[29,24,23]", "geometry.packing.radius=4.0"]
SECONDS = 240.0


@pytest.fixture(scope="session")
def mpi():
    return find(os.environ.get("PLAIT_MPI"))


@pytest.fixture
def lbm(mpi, tmp_path):
    """Runs plait-lbm on a deck; the answer has .json, the results, where it ended well."""

    def start(
        deck="porous", *options: str, processes=1, threads=1, hosts=1, settings=(), seconds=SECONDS, before=(), quiet=True
    ) -> CompletedRun:
        path = DECKS / f"{deck}.toml" if isinstance(deck, str) else deck
        results = tmp_path / "results.json"
        results.unlink(missing_ok=True)
        words = [*before, str(mpi.build / "bin/plait-lbm"), str(path), *(["--quiet"] if quiet else []), *options]
        if "--json" not in options:
            words += ["--json", str(results)]
        for setting in settings:
            words += ["--set", setting]
        if "--output" not in options and "--no-output" not in options:
            words += ["--no-output"]
        done = run(mpi, words, processes, threads, hosts=hosts, timeout=seconds, capture=True, show_stacks=True)
        done.json = json.loads(results.read_text()) if done.returncode == 0 else None
        return done

    return start


def assert_one_clear_line(done: CompletedRun, *parts: str) -> None:
    lines = done.stderr.strip("\n").split("\n")
    assert done.returncode not in (0, 124), done.stderr
    assert len(lines) == 1 and lines[0].startswith("plait-lbm: "), done.stderr
    for part in parts:
        assert part in lines[0]
    assert done.stdout.strip() == ""


# ---- the same bits

SHAPES = [
    ("pure-mpi", 2, 1, ""),
    ("pure-mpi", 3, 1, ""),
    ("pure-mpi", 4, 1, "4x1x1"),
    ("pure-mpi", 8, 1, "2x2x2"),
    ("masteronly", 1, 2, ""),
    ("masteronly", 2, 2, "2x1x1"),
    ("funneled-reserved", 2, 3, ""),
    ("funneled-reserved", 4, 2, "2x1x2"),
    ("funneled-balanced", 1, 3, ""),
    ("funneled-balanced", 2, 2, ""),
    ("funneled-balanced", 4, 2, "2x1x2"),
    ("multiple", 2, 3, ""),
    ("multiple", 4, 2, "2x2x1"),
    ("multiple-reserved", 2, 5, "2x1x1"),
    ("multiple-reserved", 4, 2, "2x2x1"),
    ("multiple-balanced", 2, 3, ""),
    ("multiple-balanced", 4, 2, "2x1x2"),
    ("partitioned", 1, 4, ""),
    ("partitioned", 2, 3, ""),
    ("partitioned", 4, 2, "2x2x1"),
    ("gaspi", 1, 2, ""),
    ("gaspi", 3, 1, ""),
    ("gaspi", 4, 2, "2x1x2"),
    ("gaspi-shared", 1, 2, ""),
    ("gaspi-shared", 2, 3, ""),
    ("gaspi-shared", 4, 1, "4x1x1"),
    ("gaspi-shared", 8, 1, "2x2x2"),
    ("threadcomm", 1, 4, ""),
    ("threadcomm", 2, 2, "2x1x2"),
    ("threadcomm", 3, 3, ""),
]


@pytest.fixture(scope="module")
def expected(mpi):
    """Digests of one process and one thread, by deck."""
    return {}


@pytest.mark.thorough_where(deck="cavity-400")
@pytest.mark.parametrize(
    ("deck", "settings"),
    [("porous", SMALL), ("cavity-400", ["lattice.size=[33,33,5]", "fluid.length=33", "check.tolerance=10.0"])],
    ids=["porous", "cavity"],
)
@pytest.mark.parametrize(("model", "processes", "threads", "grid"), SHAPES, ids=str)
def test_same_bits_whatever_the_model_processes_and_threads(lbm, expected, deck, settings, model, processes, threads, grid):
    # An odd number of steps on the one deck, an even one on the other: the state rests differently after them.
    steps = "25" if deck == "porous" else "24"
    if deck not in expected:
        expected[deck] = lbm(deck, "--steps", steps, settings=settings).json["digest"]
    options = ["--steps", steps, "--model", model, *(["--grid", grid] if grid else [])]
    done = lbm(deck, *options, processes=processes, threads=threads, settings=settings)
    assert done.returncode == 0, done.stderr
    assert done.json["digest"] == expected[deck]


@pytest.mark.once
def test_funneled_is_another_name_of_funneled_balanced(lbm):
    """1 x 2."""
    assert lbm("porous", "--steps", "2", "--model", "funneled", threads=2, settings=SMALL).json["model"] == "funneled-balanced"


def test_digest_tells_flows_apart(lbm):
    digests = {lbm("porous", "--steps", n, settings=SMALL).json["digest"] for n in ("10", "11")}
    digests |= {lbm("porous", "--steps", "10", settings=[*SMALL, "fluid.force=[1.0000000001e-6,0,0]"]).json["digest"]}
    assert len(digests) == 3


@pytest.mark.thorough_where(processes=8)
@pytest.mark.parametrize(
    ("model", "processes", "threads", "hosts"),
    [
        ("multiple", 4, 2, 4),
        pytest.param("multiple-reserved", 3, 4, 2, marks=pytest.mark.thorough),
        pytest.param("multiple-balanced", 3, 2, 2, marks=pytest.mark.thorough),
        ("gaspi", 4, 2, 4),
        ("gaspi", 4, 1, 2),
        ("gaspi-shared", 3, 2, 3),
        ("gaspi-shared", 8, 1, 2),
    ],
    ids=str,
)
def test_same_bits_on_simulated_nodes(mpi, lbm, model, processes, threads, hosts):
    if reason := why_no_nodes(mpi):
        pytest.skip(reason)
    alone = lbm("porous", "--steps", "12", settings=SMALL)
    spread = lbm("porous", "--steps", "12", "--model", model, processes=processes, threads=threads, hosts=hosts, settings=SMALL)
    assert spread.returncode == 0, spread.stderr
    assert spread.json["digest"] == alone.json["digest"]


# A row of boxes lies on a node where ranks are in the launcher's order, and a square of them at best.
LONG = ["lattice.size=[64,12,12]", "geometry.packing.radius=3.0"]
EIGHT = ("--grid", "4x2x1", "--no-limit")


@pytest.mark.thorough_where(model=("partitioned", "multiple"))
@pytest.mark.parametrize(
    ("model", "threads"),
    [("pure-mpi", 1), ("gaspi", 2), ("gaspi-shared", 1), ("partitioned", 2), ("multiple", 2), ("threadcomm", 2)],
)
def test_reordered_ranks_send_less_between_nodes_and_compute_the_same(mpi, lbm, model, threads):
    if reason := why_no_nodes(mpi):
        pytest.skip(reason)
    shape = {"processes": 4 if model == "threadcomm" else 8, "threads": threads, "hosts": 2, "settings": LONG}
    shape["settings"] = [*LONG, "output.fields=false"]
    reordered = lbm("porous", "--steps", "9", "--model", model, *EIGHT, **shape)
    assert reordered.returncode == 0, reordered.stderr
    between = reordered.json["bytes_between_nodes"]
    assert reordered.json["nodes"] == 2 and 0 < 3 * between["as_run"] < between["as_given"]
    as_given = lbm("porous", "--steps", "9", "--model", model, "--no-reorder", *EIGHT, **shape)
    assert as_given.returncode == 0, as_given.stderr
    assert set(as_given.json["bytes_between_nodes"].values()) == {between["as_given"]}
    assert reordered.json["digest"] == as_given.json["digest"]


def test_files_of_reordered_ranks(mpi, lbm, tmp_path):
    """8 x 1 on two nodes write, and 1 x 1 goes on from their checkpoint."""
    if reason := why_no_nodes(mpi):
        pytest.skip(reason)
    settings = [*LONG, "output.checkpoint-every=6"]
    out = [tmp_path / name for name in ("alone", "spread")]
    alone = lbm("porous", "--steps", "6", "--output", str(out[0]), settings=settings)
    spread = lbm("porous", "--steps", "6", "--output", str(out[1]), *EIGHT, processes=8, hosts=2, settings=settings, quiet=False)
    assert spread.returncode == 0, spread.stderr
    assert " MB a step between 2 nodes (" in spread.stdout
    assert (out[1] / "porous-6.vti").read_bytes() == (out[0] / "porous-6.vti").read_bytes()
    assert (out[1] / "porous.checkpoint").read_bytes() == (out[0] / "porous.checkpoint").read_bytes()
    again = lbm("porous", "--steps", "1", "--restart", str(out[1] / "porous.checkpoint"), *EIGHT, processes=8, hosts=2, settings=LONG)
    assert again.returncode == 0, again.stderr
    assert again.json["digest"] == lbm("porous", "--steps", "7", settings=LONG).json["digest"] != alone.json["digest"]


# ---- published physics


def test_taylor_green_decay_is_of_second_order(lbm):
    """1 x 1. Half the spacing, half the velocity, four times the steps: a quarter of the error."""
    errors = []
    for n, steps in ((16, 65), (32, 260), (64, 1040)):
        settings = [f"lattice.size=[{n},{n},1]", f"initial.taylor-green={0.01 * 64 / n}", f"run.steps={steps}", "check.tolerance=1.0"]
        errors.append(lbm("taylor-green", settings=settings).json["checks"][0]["error"])
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(np.abs(orders - 2) < 0.2), (errors, orders)


@pytest.mark.once
@pytest.mark.thorough_where(deck=("spheres-027", "spheres-125", "spheres-343", "cavity-400"))
@pytest.mark.parametrize(
    ("deck", "processes", "threads"),
    [("duct", 1, 2), ("spheres-027", 2, 1), ("spheres-125", 2, 1), ("spheres-343", 1, 2), ("cavity-100", 1, 1), ("cavity-400", 1, 1)],
)
def test_agrees_with_published_physics(lbm, deck, processes, threads):
    done = lbm(deck, processes=processes, threads=threads)
    assert done.returncode == 0, done.stderr
    (check,) = done.json["checks"]
    print(f"{deck}: error {check['error']:.2e} of at most {check['tolerance']:.2e}, against {check['against']}")
    assert check["passed"] and check["error"] <= check["tolerance"]
    assert done.json["steady"]


def test_failed_check_is_an_error(lbm):
    done = lbm("duct", "--steps", "10", settings=["lattice.size=[4,8,8]"])
    assert_one_clear_line(done, "the check against", "failed")


# ---- results and files


def test_results_have_every_part_of_the_time(lbm):
    """2 x 1."""
    r = lbm("porous", "--steps", "40", processes=2, settings=SMALL).json
    for key in ("step_ms", "compute_ms", "pack_ms", "wait_ms", "unpack_ms", "halo_ms"):
        assert r[key]["min"] <= r[key]["median"] <= r[key]["max"]
    assert r["step_ms"]["min"] > 0 and r["halo_ms"]["max"] > 0
    assert r["mlups"] == pytest.approx(r["fluid_sites"] / r["step_ms"]["median"] / 1e3)
    assert r["limit_fraction"] == pytest.approx(r["mlups"] / r["limit_mlups"])
    assert (r["processes"], r["threads"], r["grid"], r["steps"]) == (2, 1, [1, 2, 1], 40)
    assert (r["nodes"], r["bytes_between_nodes"]) == (1, {"as_given": 0, "as_run": 0})


def test_fields_are_the_flow_in_vtk_form(lbm, tmp_path):
    """3 x 1, so that the pieces are uneven."""
    from plait.vti import read

    done = lbm("porous", "--steps", "30", "--output", str(tmp_path), processes=3, settings=SMALL)
    assert done.returncode == 0, done.stderr
    fields = read(tmp_path / "porous-30.vti").arrays
    solid, velocity, density = fields["solid"], fields["velocity"], fields["density"]
    assert solid.shape == (23, 24, 29) and velocity.shape == (23, 24, 29, 3)
    assert (solid == 0).sum() == done.json["fluid_sites"]
    assert np.all(velocity[solid == 1] == 0) and np.all(np.abs(density[solid == 0] - 1) < 1e-3)
    assert velocity.mean(axis=(0, 1, 2)) == pytest.approx(done.json["mean_velocity"], rel=1e-5, abs=1e-12)


def test_geometry_from_a_numpy_file(lbm, tmp_path):
    """2 x 1: walls at y = 0 make a channel; the flow is the parabola between half-way walls."""
    solid = np.zeros((4, 21, 6), np.uint8)
    solid[:, 0, :] = 1
    np.save(tmp_path / "channel.npy", solid)
    deck = tmp_path / "channel.toml"
    deck.write_text(
        "lattice.size = [6, 21, 4]\nfluid = { viscosity = 0.1, force = [1e-6, 0.0, 0.0] }\n"
        "geometry.file = 'channel.npy'\nrun = { steps = 20000, steady = 1e-10 }\n"
    )
    done = lbm(deck, processes=2)
    assert done.returncode == 0, done.stderr
    assert done.json["mean_velocity"][0] * 21 == pytest.approx(1e-6 * 20**3 / (12 * 0.1), rel=2e-3)


@pytest.mark.thorough
def test_restart_continues_with_the_same_bits_on_other_processes(lbm, tmp_path):
    """3 x 1, then 4 x 2."""
    whole = lbm("porous", "--steps", "30", settings=SMALL).json
    out = str(tmp_path)
    first = lbm("porous", "--steps", "15", "--output", out, processes=3, settings=[*SMALL, "output.checkpoint-every=15"])
    assert first.returncode == 0, first.stderr
    checkpoint = str(tmp_path / "porous.checkpoint")
    second = lbm(
        "porous", "--steps", "15", "--restart", checkpoint, "--model", "funneled", "--grid", "2x2x1", processes=4, threads=2, settings=SMALL
    )
    assert second.returncode == 0, second.stderr
    assert (second.json["step"], second.json["digest"]) == (30, whole["digest"])


def test_checkpoint_replaces_the_last_one_only_when_complete(lbm, tmp_path):
    """2 x 1: the file is written beside and renamed, so what is there is always whole."""
    settings = [*SMALL, "output.checkpoint-every=5", "output.fields=false"]
    lbm("porous", "--steps", "5", "--output", str(tmp_path), processes=2, settings=settings)
    checkpoint = tmp_path / "porous.checkpoint"
    before = checkpoint.stat().st_ino
    (tmp_path / "porous.checkpoint.partial").write_bytes(b"what a crash left behind" * 1000000)
    lbm("porous", "--steps", "5", "--output", str(tmp_path), processes=2, settings=settings)
    assert checkpoint.stat().st_ino != before
    assert not (tmp_path / "porous.checkpoint.partial").exists()
    assert lbm("porous", "--steps", "5", "--restart", str(checkpoint), settings=SMALL).json["step"] == 10


# ---- bad input: one line, from one process, and every process ends


@pytest.mark.once
@pytest.mark.parametrize(
    ("options", "settings", "parts"),
    [
        ([], ["lattice.sise=[8,8,8]"], ["'lattice.sise' is unknown; did you mean 'size'?"]),
        ([], ["fluid.viscosity=-1"], ["'fluid.viscosity' must be above 0"]),
        ([], ["fluid.viscosity='low'"], ["must be a number, not a text"]),
        ([], ["geometry.file='none.npy'"], ["geometry file", "No such file"]),
        ([], ["geometry.packing.volume-fraction=0.9"], ["at most 0.55"]),
        (["--grid", "3x1x1"], [], ["--grid 3x1x1 has 3 boxes, but there are 2 processes"]),
        (["--grid", "big"], [], ["--grid big: must be three whole numbers"]),
        (["--model", "funneled-reserved"], [], ["model funneled-reserved keeps", "at least 2 threads a process; OMP_NUM_THREADS is 1"]),
        (["--model", "multiple-reserved"], [], ["model multiple-reserved keeps a thread for communication alone"]),
        (
            ["--model", "magic"],
            [],
            ["--model magic: unknown; there are pure-mpi, masteronly, funneled-reserved, funneled-balanced, multiple"],
        ),
        (["--steps", "-3"], [], ["--steps"]),
        (["--restart", "none"], [], ["checkpoint none cannot be opened"]),
        (["--grid", "4294967298x1x1"], [], ["--grid 4294967298x1x1: must be three whole numbers"]),
        (["--grid", "65536x65536x1"], [], ["has 4294967296 boxes, but there are 2 processes"]),
        (["--grid", "1x2x"], [], ["--grid 1x2x: must be three whole numbers"]),
        (["--steps", "0"], [], ["--steps: must be a whole number of at least 1"]),
        (["--steps", "99999999999999999999"], [], ["--steps: must be a whole number", "at most 100000000"]),
        (["--json", "/tmp"], [], ["--json /tmp names a folder"]),
        (["--json", "/proc/nowhere/results"], [], ["/proc/nowhere cannot be written to", "choose another with --json"]),
        (["--restart", "/tmp"], [], ["/tmp is not a checkpoint, but a folder"]),
        ([], ["geometry.sphere-array={counts=[16777216,16777216,16777216],radius=1.0}"], ["two sites or more"]),
        ([], ["geometry.packing.radius=0.1"], ["'geometry.packing.radius' must be at least 1"]),
        ([], ['"two\\nlines"=1'], ["'two lines' is unknown"]),
        (["--output", "/proc/nowhere"], [], ["output folder /proc/nowhere cannot be written to"]),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) and v else "-",
)
def test_bad_input_is_one_clear_line(lbm, options, settings, parts):
    """2 x 1."""
    assert_one_clear_line(lbm("porous", *options, processes=2, settings=[*SMALL, *settings]), *parts)


@pytest.mark.once
def test_fewer_threads_than_asked_for(lbm, monkeypatch):
    """1 x 3, of which OpenMP gives two: what the third one should do would not be done."""
    monkeypatch.setenv("OMP_THREAD_LIMIT", "2")
    for model in "masteronly", "funneled-balanced", "threadcomm":
        done = lbm("porous", "--steps", "2", "--model", model, threads=3, settings=SMALL, seconds=60)
        assert_one_clear_line(done, "OpenMP gives 2 threads a process, but OMP_NUM_THREADS is 3; raise OMP_THREAD_LIMIT")


def test_more_processes_than_planes(lbm):
    """7 x 1."""
    assert_one_clear_line(lbm("box", processes=7, settings=["lattice.size=[4,4,4]"]), "more processes than planes")


def test_lattice_beyond_all_memory(lbm):
    """2 x 1: with the layer around it, the first one has 2^64 sites."""
    for size in ("4194302,2097150,2097150", "16777216,16777216,16777216", "100000,100000,100000"):
        done = lbm("box", processes=2, settings=[f"lattice.size=[{size}]"], seconds=60)
        assert_one_clear_line(done, f"a lattice of {size.replace(',', 'x')} sites takes", "use a smaller lattice.size")


def test_missing_deck(lbm):
    """3 x 1."""
    assert_one_clear_line(lbm(Path("nowhere.toml"), processes=3), "deck nowhere.toml cannot be read")


def test_deck_that_is_none(lbm, tmp_path):
    """2 x 1."""
    empty = tmp_path / "empty.toml"
    empty.touch()
    assert_one_clear_line(lbm(empty, processes=2), "empty.toml is empty; it needs [lattice], [fluid] and [run]")
    assert_one_clear_line(lbm(tmp_path, processes=2), "cannot be read: Is a directory")
    assert_one_clear_line(lbm(Path("/dev/zero"), processes=2), "is it a deck?")


def test_check_of_vortices_that_are_gone(lbm):
    """1 x 1."""
    done = lbm("taylor-green", settings=["lattice.size=[16,16,1]", "run.steps=1000000"])
    assert_one_clear_line(done, "says nothing after 1000000 steps", "at most 1296")


def test_threads_for_a_model_without(lbm):
    assert_one_clear_line(lbm("porous", "--model", "pure-mpi", threads=2, settings=SMALL), "uses one thread a process")


def test_files_for_threads_that_are_ranks(lbm, tmp_path):
    """2 x 2."""
    done = lbm("porous", "--model", "threadcomm", "--output", tmp_path / "out", processes=2, threads=2, settings=SMALL)
    assert_one_clear_line(done, "model threadcomm has no files", "--no-output")


@pytest.mark.once
def test_checkpoints_that_do_not_fit(lbm, tmp_path):
    """2 x 1."""
    done = lbm("porous", "--steps", "4", "--output", str(tmp_path), processes=2, settings=[*SMALL, "output.checkpoint-every=4"])
    assert done.returncode == 0, done.stderr
    good = tmp_path / "porous.checkpoint"
    content = good.read_bytes()

    def refused(data: bytes, *parts: str, settings=SMALL) -> None:
        bad = tmp_path / "bad.checkpoint"
        bad.write_bytes(data)
        assert_one_clear_line(lbm("porous", "--steps", "2", "--restart", str(bad), processes=2, settings=settings), *parts)

    refused(content[:20], "is not a checkpoint")
    refused(b"x" * 5000, "is not a checkpoint")
    refused(content[:-1], "cut short")
    refused(content, "is of a lattice of 29x24x23, the deck's is 32x24x23", settings=["lattice.size=[32,24,23]", SMALL[1]])
    refused(content, "another geometry", settings=[*SMALL, "geometry.packing.seed=7"])
    refused(content[:5000] + bytes(b ^ 1 for b in content[5000:]), "damaged")
    refused(content, "is of a viscosity of 0.16666666666666666, the deck's is 0.1", settings=[*SMALL, "fluid.viscosity=0.1"])
    refused(content, "is of a force of [1e-06, 0, 0], the deck's is [2e-06, 0, 0]", settings=[*SMALL, "fluid.force=[2e-6,0,0]"])
    # The step comes after the name, the byte order and the size.
    for byte, bit in ((56, 1), (60, 1), (63, 0x80), (64, 1), (300, 1)):
        refused(content[:byte] + bytes([content[byte] ^ bit]) + content[byte + 1 :], "damaged: its header")
    refused(content.replace(b"checkpoint 2", b"checkpoint 1", 1), "of another version")


def test_checkpoints_of_other_walls_do_not_fit(lbm, tmp_path):
    """2 x 1."""
    walls = ["walls={y-low=[0,0,0],y-high=[0.05,0,0]}", "geometry.sphere={center=[8,8,8],radius=3.2,velocity=[0.01,0,0]}"]
    deck = tmp_path / "walls.toml"
    deck.write_text("lattice.size=[16,16,16]\nfluid.viscosity=0.1\nrun.steps=4\noutput={fields=false,checkpoint-every=4}\n")
    done = lbm(deck, "--output", str(tmp_path), processes=2, settings=walls)
    assert done.returncode == 0, done.stderr
    restart = ["--steps", "2", "--restart", str(tmp_path / "walls.checkpoint")]
    assert lbm(deck, *restart, processes=2, settings=walls).json["step"] == 6
    assert_one_clear_line(lbm(deck, *restart, settings=[*walls, "walls.y-high=[0.06,0,0]"]), "is of other [walls]")
    assert_one_clear_line(lbm(deck, *restart, settings=walls[1:]), "is of other [walls]")
    assert_one_clear_line(lbm(deck, *restart, settings=[*walls, "geometry.sphere.velocity=[0.02,0,0]"]), "is of another geometry")


# ---- what cannot be right is said


UNSTABLE = """
lattice.size = [32, 16, 16]
fluid = { viscosity = 0.0001, force = [0.01, 0.0, 0.0] }
geometry.sphere = { center = [16, 8, 8], radius = 4.0 }
run = { steps = 3000 }
"""


@pytest.mark.parametrize(
    ("model", "processes", "threads", "settings"),
    [
        ("pure-mpi", 1, 1, []),
        ("pure-mpi", 2, 1, ["run.steady=1e-4"]),
        ("masteronly", 1, 2, ["run.steps=700"]),
        ("threadcomm", 1, 2, []),
    ],
    ids=str,
)
def test_unstable_flow_is_an_error(lbm, tmp_path, model, processes, threads, settings):
    deck = tmp_path / "wild.toml"
    deck.write_text(UNSTABLE)
    done = lbm(deck, "--no-limit", "--model", model, processes=processes, threads=threads, settings=settings)
    assert_one_clear_line(done, "the flow became unstable: at step")


def test_unstable_flow_replaces_no_file(lbm, tmp_path):
    """2 x 1."""
    deck = tmp_path / "wild.toml"
    deck.write_text(UNSTABLE)
    (tmp_path / "wild.checkpoint").write_bytes(b"good")
    settings = ["output.checkpoint-every=2000", "output.fields-every=2000"]
    assert_one_clear_line(lbm(deck, "--no-limit", "--output", str(tmp_path), processes=2, settings=settings), "the flow became unstable")
    assert (tmp_path / "wild.checkpoint").read_bytes() == b"good"
    assert not list(tmp_path.glob("*.vti*"))


def test_check_of_an_unstable_flow_is_not_made(lbm):
    """2 x 1: a force that no duct can stand, and a tolerance that forgives all."""
    settings = ["lattice.size=[4,16,16]", "fluid.viscosity=0.0001", "fluid.force=[0.01,0,0]", "check.tolerance=1e300"]
    assert_one_clear_line(lbm("duct", "--no-limit", "--steps", "3000", processes=2, settings=settings), "the flow became unstable")


def test_moving_walls_that_meet_keep_the_mass(lbm, tmp_path):
    """2 x 1."""
    from plait.vti import read

    deck = tmp_path / "meet.toml"
    deck.write_text(
        "lattice.size=[13,11,9]\nfluid.viscosity=0.03\nrun.steps=3000\n"
        "walls={x-low=[0,0.05,0],x-high=[0,0,0],y-low=[0,0,0],y-high=[0.05,0,0]}\n"
    )
    done = lbm(deck, "--no-limit", "--output", str(tmp_path), processes=2)
    assert done.returncode == 0, done.stderr
    assert read(tmp_path / "meet-3000.vti").arrays["density"].mean(dtype=np.float64) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    "geometry",
    [
        "[[geometry.sphere]]\ncenter=[8,8,8]\nradius=4\nvelocity=[0.1,0,0]\n[[geometry.box]]\nlow=[10,4,4]\nhigh=[12,12,12]\n",
        "[walls]\ny-low=[0,0,0]\ny-high=[0,0,0]\n[[geometry.sphere]]\ncenter=[8,2,8]\nradius=4\nvelocity=[0,0.1,0]\n",
    ],
    ids=["over-a-box", "into-a-wall"],
)
def test_moving_walls_that_would_not_keep_the_mass_are_refused(lbm, tmp_path, geometry):
    """2 x 1."""
    deck = tmp_path / "overlap.toml"
    deck.write_text("lattice.size=[16,16,16]\nfluid.viscosity=0.1\nrun.steps=2000\n" + geometry)
    assert_one_clear_line(lbm(deck, "--no-limit", processes=2), "of mass in every step", "touches another wall")


# ---- a full disk, and another run


FILES = {"checkpoint": ["output.checkpoint-every=5", "output.fields=false"], "fields": []}


@pytest.mark.parametrize("kind", FILES)
def test_full_disk_is_an_error_on_all_processes(lbm, mpi, tmp_path, kind):
    """3 x 1, in a file system of a few pages that only they see."""
    root = [] if os.geteuid() == 0 else ["unshare", "-Ur"]
    disk, copy = tmp_path / "disk", tmp_path / "copy"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=64k none {disk}"
    refused = subprocess.run([*root, "unshare", "-m", "sh", "-c", mount], capture_output=True, text=True, check=False)
    if refused.returncode:
        pytest.skip(f"a file system cannot be mounted here ({refused.stderr.strip()})")
    words = [str(ROOT / "plait"), "--mpi", mpi.name, "run", "-n", "3", "--timeout", "60", str(mpi.build / "bin/plait-lbm")]
    words += [str(DECKS / "porous.toml"), "--steps", "5", "--quiet", "--output", str(disk)]
    for setting in [*SMALL, *FILES[kind]]:
        words += ["--set", setting]
    script = f"{mount} && echo good >{disk}/porous.checkpoint && {{ {shlex.join(words)}; status=$?; cp -r {disk} {copy}; exit $status; }}"
    done = subprocess.run([*root, "unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert_one_clear_line(done, "cannot be written: No space left on device")
    assert [f.name for f in copy.iterdir()] == ["porous.checkpoint"] and (copy / "porous.checkpoint").read_text() == "good\n"


@pytest.mark.parametrize("kind", FILES)
def test_disk_that_fills_in_the_midst_of_writing(lbm, mpi, tmp_path, kind):
    """3 x 1: the first process's writes fail."""
    (tmp_path / "porous.checkpoint").write_text("good")
    before = ["/usr/bin/env", f"LD_PRELOAD={mpi.build / 'lib/lbm_full_disk.so'}"]
    settings = [*SMALL, *FILES[kind]]
    done = lbm("porous", "--steps", "5", "--output", str(tmp_path), processes=3, settings=settings, seconds=60, before=before)
    assert done.returncode not in (0, 124), done.stderr
    ours = [line for line in done.stderr.splitlines() if line.startswith("plait-lbm: ")]  # Open MPI has words of its own
    assert len(ours) == 1 and ".partial cannot be written" in ours[0], done.stderr
    assert [f.name for f in tmp_path.iterdir()] == ["porous.checkpoint"] and (tmp_path / "porous.checkpoint").read_text() == "good"


def test_two_runs_do_not_write_the_same_files(lbm, tmp_path):
    """2 x 1: the other run is this process, with the lock that a run has."""
    lock = tmp_path / "porous.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = lbm("porous", "--steps", "4", "--output", str(tmp_path), processes=2, settings=SMALL)
        assert_one_clear_line(done, "another run writes here", "--output")
        assert lock.exists()
        other = lbm("box", "--steps", "4", "--output", str(tmp_path), settings=["lattice.size=[8,8,8]", "output.fields=true"])
        assert other.returncode == 0, "a deck of another name has other files"
    done = lbm("porous", "--steps", "4", "--output", str(tmp_path), processes=2, settings=SMALL)
    assert done.returncode == 0, "the file that a crash left is no lock"
    assert not lock.exists() and (tmp_path / "porous-4.vti").exists()
