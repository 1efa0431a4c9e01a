"""`plait compare`, with a stand-in for plait-lbm and plait-heat; test_compare_real.py has the programs themselves."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from plait import compare as module
from plait import launch, mpis, plan, vti
from plait.applications import HEAT, LBM, NO_CLUSTER
from plait.launch import CompletedRun
from plait.results import Row

pytestmark = pytest.mark.once  # the same whatever the MPI is

ROOT = Path(__file__).resolve().parents[2]
DECK = """title = "A small duct"
[lattice]
size = [12, 8, 6]
[run]
steps = 400
steady = 1e-4
"""
SIZE = (12, 8, 6)


def write_vti(path: Path, size: tuple[int, int, int] = SIZE) -> dict[str, np.ndarray]:
    """Fields as plait-lbm writes them."""
    rng = np.random.default_rng(1)
    arrays = {
        "density": rng.random(size[::-1], np.float32),
        "velocity": rng.random((*size[::-1], 3), np.float32),
        "solid": (rng.random(size[::-1]) < 0.3).astype(np.uint8),
    }
    extent = f"0 {size[0]} 0 {size[1]} 0 {size[2]}"
    lines, data = [], b""
    for name, array in arrays.items():
        kind = "UInt8" if array.dtype == np.uint8 else "Float32"
        components = ' NumberOfComponents="3"' if array.ndim == 4 else ""
        lines.append(f'<DataArray type="{kind}" Name="{name}"{components} format="appended" offset="{len(data)}"/>')
        data += array.nbytes.to_bytes(8, "little") + array.tobytes()
    head = (
        '<?xml version="1.0"?>\n<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
        f'<ImageData WholeExtent="{extent}" Origin="0 0 0" Spacing="1 1 1">\n<Piece Extent="{extent}">\n<CellData>\n'
        + "\n".join(lines)
        + '\n</CellData>\n</Piece>\n</ImageData>\n<AppendedData encoding="raw">\n_'
    )
    path.write_bytes(head.encode() + data + b"\n</AppendedData>\n</VTKFile>\n")
    return arrays


@dataclass
class StandIn:
    """Takes launch.run's place: reports made-up times, passes made-up time, and does as each test bids."""

    clock: float = 1000.0
    startup: float = 0.5
    step_ms: dict[str, float] = field(
        default_factory=lambda: dict(zip(plan.MODELS, (10, 12, 11.5, 9, 11, 12.5, 10.5, 13, 15, 16, 14), strict=True))
    )
    slow_oversubscribed: float = 2.0
    digests: dict[str, str] = field(default_factory=dict)
    lines: list[tuple[list[str], int, int]] = field(default_factory=list)
    act: dict[int, object] = field(default_factory=dict)  # at the n-th run
    checked: CompletedRun = field(default_factory=lambda: CompletedRun(0))  # what is said of the deck
    hosts: set[int] = field(default_factory=set)  # of all runs
    less: dict[str, float] = field(default_factory=dict)  # by model: what part leaves a node of what does in the launcher's order

    def run(self, mpi, program, processes, threads, hosts=1, env=None, timeout=None, capture=False) -> CompletedRun:
        if "--check" in program:
            return self.checked
        self.lines.append((program, processes, threads))
        self.hosts.add(hosts)
        if bad := self.act.get(len(self.lines)):
            if isinstance(bad, BaseException):
                raise bad
            return bad
        options = dict(zip(program[2::2], program[3::2], strict=False))
        model = options["--model"]
        steps = int(options.get("--steps", 300))
        step = self.step_ms[model] * (self.slow_oversubscribed if processes * threads > 2 else 1)
        less = 1 if "--no-reorder" in program else self.less.get(model, 1)
        step *= less
        seconds = self.startup + steps * step / 1e3
        if seconds > timeout:
            self.clock += timeout
            return CompletedRun(launch.TIMED_OUT)
        self.clock += seconds
        of = self.of_plate if model in HEAT.models else self.report
        report = of(model, processes, threads, steps, step)
        if of == self.report:
            between = 5_000_000 if hosts > 1 else 0
            report |= {"nodes": hosts, "bytes_between_nodes": {"as_given": between, "as_run": int(between * less)}}
        Path(options["--json"]).write_text(json.dumps(report))
        if "--output" in options:
            write_vti(Path(options["--output"]) / f"duct-{steps}.vti")
        return CompletedRun(0)

    def of_plate(self, model: str, processes: int, threads: int, steps: int, step: float) -> dict:
        times = {"median": step, "min": 0.9 * step, "max": 1.5 * step}
        found = {
            "model": model, "threads": threads, "steps": steps, "step_ms": times, "samples": {"step_ms": steps * [step]},
            "mups": 100 / step, "digest": self.digests.get(model, "ab" * 16), "steady": False, "change": 1e-4, "distance": 0.25,
        }  # fmt: skip
        # What runs by OpenMP alone knows of no MPI.
        return found if model == "cluster" else {**found, "processes": processes, "mpi": "MPICH 5.0.2"}

    def report(self, model: str, processes: int, threads: int, steps: int, step: float) -> dict:
        def spread(value: float) -> dict:
            return {"median": value, "min": 0.9 * value, "max": 1.5 * value}

        parts = {"compute_ms": 0.7, "pack_ms": 0.1, "wait_ms": 0.15, "unpack_ms": 0.05, "halo_ms": 0.3, "step_ms": 1.0}
        return {
            "model": model, "processes": processes, "threads": threads, "step": steps, "steps": steps,
            **{key: spread(share * step) for key, share in parts.items()},
            "mlups": 100 / step, "limit_mlups": 120 / step, "limit_fraction": 0.8, "digest": self.digests.get(model, "ab" * 16),
            "permeability": 3.25, "mean_velocity": [1e-5, 0, 0], "steady": True, "checks": [], "mpi": "MPICH 5.0.2",
        }  # fmt: skip


@dataclass
class Place:
    deck: Path
    out: Path
    mpi: mpis.Mpi
    standin: StandIn

    def compare(self, **options) -> int:
        return module.compare(self.deck, self.mpi, self.out, **options)

    def json(self) -> dict:
        return json.loads((self.out / "compare.json").read_text())


@pytest.fixture
def place(tmp_path: Path, monkeypatch) -> Place:
    standin = StandIn()
    monkeypatch.setattr(mpis, "ROOT", tmp_path)
    monkeypatch.setattr(module.launch, "run", standin.run)
    monkeypatch.setattr(module.launch, "usable_cores", lambda: (2, 2))
    monkeypatch.setattr(module.time, "monotonic", lambda: standin.clock)
    program = tmp_path / "build" / "mpich" / "bin" / "plait-lbm"
    program.parent.mkdir(parents=True)
    program.touch()
    deck = tmp_path / "duct.toml"
    deck.write_text(DECK)
    return Place(deck, tmp_path / "out", mpis.Mpich("mpich", None), standin)


def test_writes_json_with_a_run_per_model_and_shape(place: Place):
    assert place.compare() == 0
    found = place.json()
    assert {"machine", "mpi", "deck", "permeability", "runs"} <= set(found)
    assert found["mpi"] == {"name": "mpich", "version": "MPICH 5.0.2"}
    assert found["deck"] == {"name": "duct", "content": {**found["deck"]["content"], "title": "A small duct"}}
    assert found["permeability"] == 3.25
    assert set(found["machine"]) == {"cpu", "cores", "memory_gb", "os"}
    shapes = [(run["model"], run["processes"], run["threads"], run["oversubscribed"]) for run in found["runs"]]
    assert shapes == [
        ("funneled-balanced", 1, 2, False),
        ("pure-mpi", 2, 1, False),
        ("multiple", 1, 2, False),
        ("masteronly", 1, 2, False),
        ("partitioned", 1, 2, False),
        ("threadcomm", 1, 2, False),
        ("gaspi", 1, 2, False),
        ("gaspi-shared", 1, 2, False),
        ("funneled-balanced", 2, 2, True),
        ("multiple-balanced", 2, 2, True),
        ("multiple", 2, 2, True),
        ("funneled-reserved", 2, 2, True),
        ("masteronly", 2, 2, True),
        ("partitioned", 2, 2, True),
        ("threadcomm", 2, 2, True),
        ("gaspi", 2, 2, True),
        ("gaspi-shared", 2, 2, True),
    ]
    for run in found["runs"]:
        assert run["rounds"] == len(run["samples"]) == 3
        for key in LBM.times:
            assert set(run[key]) == {"median", "min", "max"}
        assert run["digest"] == "ab" * 16 and run["limit_fraction"] == 0.8 and run["mlups"] > 0


def test_models_run_in_turn_with_equal_steps(place: Place):
    assert place.compare(repeats=2) == 0
    measured = place.standin.lines[17:-1]
    order = [(line[0][3], line[1]) for line in measured]
    assert order[:17] == order[17:] and len(set(order)) == 17
    assert len({line[0][line[0].index("--steps") + 1] for line in measured}) == 1
    flow, processes, threads = place.standin.lines[-1]
    assert flow[3] == "funneled-balanced" and (processes, threads) == (1, 2) and "--steps" not in flow


def test_the_flow_is_by_a_model_that_writes_files(place: Place):
    place.standin.step_ms["threadcomm"] = 5
    assert place.compare(repeats=1) == 0
    assert place.standin.lines[-1][0][3] == "funneled-balanced"
    assert place.compare(repeats=1, models=["threadcomm"]) == 0
    flow = place.standin.lines[-1][0]
    assert flow[3] == "threadcomm" and "--no-output" in flow


def test_table_is_whole_where_there_is_no_terminal(place: Place, capsys):
    assert place.compare() == 0
    printed = capsys.readouterr().out
    rows = {tuple(line.split()[:2]): " ".join(line.split()) for line in printed.splitlines() if "×" in line and " to " in line}
    assert rows["funneled-balanced", "1"] == "funneled-balanced 1 × 2 9.00 8.10 to 13.50 2.70 11.1 0.80 1.11"
    assert rows["pure-mpi", "2"] == "pure-mpi 2 × 1 10.00 9.00 to 15.00 3.00 10.0 0.80 1.00"
    assert rows["masteronly", "(oversubscribed)"].endswith(" 0.42")
    assert "The fastest is funneled-balanced 1 × 2: 9.00 ms per step, 1.11 times as fast as pure MPI." in printed
    assert "Permeability: 3.25 lattice spacings squared, steady after 300 steps." in printed
    assert "…" not in printed


def test_pictures_show_something(place: Place):
    assert place.compare() == 0
    for name in ("compare.png", "velocity.png"):
        picture = matplotlib.image.imread(place.out / name)
        assert min(picture.shape[:2]) > 200
        assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 50
    assert not list(place.out.glob("*.partial"))


def test_differing_digests_are_named_and_fail(place: Place, capsys):
    place.standin.digests = {"multiple": "cd" * 16}
    assert place.compare() == 1
    said = capsys.readouterr().err.splitlines()[0]
    assert "digests differ" in said and f"multiple 1 × 2: {'cd' * 16}" in said and "pure-mpi 2 × 1: abab" in said
    assert place.json()["permeability"] is None and len(place.json()["runs"]) == 17


@pytest.mark.parametrize("minutes", [0.35, 0.5, 1, 5])
def test_keeps_within_the_time(place: Place, minutes: float):
    start = place.standin.clock
    assert place.compare(minutes=minutes) == 0
    assert place.standin.clock - start <= 60 * minutes
    assert all(run["rounds"] >= 1 for run in place.json()["runs"] if not run["oversubscribed"])


def test_slow_oversubscribed_rows_run_less_often_and_say_so(place: Place, capsys):
    place.standin.slow_oversubscribed = 32
    start = place.standin.clock
    assert place.compare(minutes=3) == 0
    assert place.standin.clock - start <= 180
    for run in place.json()["runs"]:
        assert run["oversubscribed"] or run["rounds"] == 3
        assert run["rounds"] == 3 or "of 3 rounds, to keep within the time" in run["note"]
    assert "(oversubscribed): only 1 of 3 rounds" in capsys.readouterr().out


def test_hopelessly_slow_oversubscribed_rows_are_left_out_and_named(place: Place, capsys):
    place.standin.slow_oversubscribed = 2000
    assert place.compare(minutes=2) == 0
    assert not any(run["oversubscribed"] for run in place.json()["runs"])
    assert "masteronly 2 × 2 (oversubscribed) is left out" in capsys.readouterr().out


def test_interrupt_keeps_what_was_measured(place: Place, capsys):
    place.standin.act = {20: KeyboardInterrupt()}  # in the third run after 17 short ones
    assert place.compare() == 130
    assert [len(run["samples"]) for run in place.json()["runs"]] == [1, 1]
    printed = capsys.readouterr()
    assert "interrupted" in printed.err and "compare.json" in printed.err and "The fastest is" in printed.out


@pytest.mark.parametrize("runs", [1, 3, 17])
def test_interrupt_in_the_short_runs_keeps_them(place: Place, capsys, runs: int):
    place.standin.act = {runs + 1: KeyboardInterrupt()}
    assert place.compare() == 130
    assert sum(len(run["samples"]) for run in place.json()["runs"]) == runs
    assert place.json()["steps"] == module.CALIBRATION_STEPS
    printed = capsys.readouterr()
    assert "compare.json" in printed.err and "no time for more than the short runs of 12 steps" in " ".join(printed.out.split())


def test_no_time_for_a_round_keeps_the_short_runs(place: Place, capsys):
    place.standin.act = {3: CompletedRun(launch.TIMED_OUT)}
    assert place.compare(minutes=0.1, models=["pure-mpi", "masteronly", "funneled"]) == 1
    assert sum(len(run["samples"]) for run in place.json()["runs"]) == 2
    assert "what was measured until then is in" in capsys.readouterr().err


def test_failing_run_shows_its_line_and_keeps_what_was_measured(place: Place, capsys):
    place.standin.act = {19: CompletedRun(1, "", "plait-lbm: more processes than planes\n")}
    assert place.compare() == 1
    assert capsys.readouterr().err.splitlines()[0] == "plait compare: masteronly 1 × 2 failed: plait-lbm: more processes than planes"
    assert [run["model"] for run in place.json()["runs"]] == ["pure-mpi"]


def test_settings_go_to_every_run(place: Place):
    assert place.compare(settings=["lattice.size=[4,4,4]", "run.steps=50"]) == 0
    assert all("lattice.size=[4,4,4]" in line[0] for line in place.standin.lines)
    assert place.json()["deck"]["content"]["lattice"] == {"size": [4, 4, 4]}


def test_bad_input_is_one_line(place: Place, capsys):
    def complaint(**options) -> str:
        assert place.compare(**options) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return said

    assert "plait-lbm has no model 'funeled'; did you mean funneled? (it has" in complaint(models=["funeled"])
    assert "minutes must be more than 0" in complaint(minutes=0)
    assert "must be key=value" in complaint(settings=["lattice"])
    place.out.write_text("a file")
    assert "cannot be written to" in complaint()
    place.out.unlink()
    (place.deck.parent / "build/mpich/bin/plait-lbm").unlink()
    assert "make MPI=mpich" in complaint()
    (place.deck.parent / "build/mpich/bin/plait-lbm").touch()
    place.standin.checked = CompletedRun(1, "", "plait-lbm: the deck has no lattice\n")
    assert complaint() == "plait compare: the deck has no lattice\n"
    assert not place.standin.lines and not place.out.exists()
    place.deck.write_text("title = ")
    assert "cannot be read" in complaint()
    place.deck = place.deck.with_name("dukt.toml")
    assert "there is no deck" in (said := complaint()) and "did you mean" in said and "duct.toml" in said
    place.deck = place.deck.with_name("nowhere.toml")
    assert "did you mean" not in complaint()
    assert "did you mean" not in complaint(models=["nothing"])


@pytest.fixture
def nodes(place: Place, monkeypatch) -> None:
    """Enough cores for some, in one NUMA domain."""
    monkeypatch.setattr(module.launch, "usable_cores", lambda: (8, 8))
    monkeypatch.setattr(module.launch, "why_no_nodes", lambda mpi: None)
    monkeypatch.setattr(plan, "numa_domains", lambda: 1)


@pytest.mark.usefixtures("nodes")
def test_on_nodes_each_order_of_ranks_is_measured_where_they_differ(place: Place, capsys):
    place.standin.less = {"pure-mpi": 0.5}
    assert place.compare(models=["pure-mpi", "masteronly"], repeats=2, hosts=2) == 0
    assert place.standin.hosts == {2}
    found = place.json()
    rows = [(run["model"], run["processes"], run.get("reordered"), run["rounds"], run["nodes"]) for run in found["runs"]]
    assert rows == [("pure-mpi", 8, True, 2, 2), ("pure-mpi", 8, False, 2, 2), ("masteronly", 2, None, 2, 2)]
    points = [(p["side"], p.get("reordered"), p["nodes"]) for p in found["points"] if p["quantity"] == "step"]
    assert points == [("pure-mpi", True, 2), ("pure-mpi", False, 2), ("masteronly", None, 2)]
    assert found["command"].endswith(" --hosts 2") and found["settings"]["nodes"] == 2
    # Short run, rounds; the flow is the fastest row's.
    assert ["--no-reorder" in line for line, _, _ in place.standin.lines] == [False, True, False] * 3 + [False]
    printed = " ".join(capsys.readouterr().out.split())
    assert "with mpich on 8 cores, as 2 simulated nodes" in printed
    assert "Left out, with fewer processes than the 2 nodes: masteronly 1 × 8." in printed
    assert "pure-mpi, not reordered 8 × 1 20.0" in printed and " 1.00 pure-mpi, not reordered" in printed  # pure MPI is the reordered one
    order = "pure-mpi 8 × 1: ranks in another order than the launcher's send 2.5 MB a step between the 2 nodes, not 5 MB"
    assert f"{order}, and a step takes 10.00 ms, not 20.00 ms." in printed
    page = (place.out / "report.html").read_text()
    assert "pure-mpi, not reordered 8 × 1 on 2 nodes" in page and "fastest as pure-mpi 8 × 1 on 2 nodes" in page


@pytest.mark.usefixtures("nodes")
def test_an_order_that_nothing_betters_is_told_once_and_on_nodes_alone(place: Place, capsys):
    told = "No order of ranks was found that sends less between the 2 nodes than the launcher's."
    assert place.compare(models=["pure-mpi", "masteronly"], repeats=1, hosts=2) == 0
    assert " ".join(capsys.readouterr().out.split()).count(told) == 1
    assert place.compare(models=["pure-mpi", "masteronly"], repeats=1) == 0
    printed = capsys.readouterr().out
    assert "order of ranks" not in printed and "nodes" not in printed
    assert len(place.json()["runs"]) == 3 and not any("reordered" in run for run in place.json()["runs"])


@pytest.mark.usefixtures("nodes")
def test_nodes_that_cannot_be(place: Place, monkeypatch, capsys):
    assert place.compare(hosts=9) == 2
    assert capsys.readouterr().err == "plait compare: 9 hosts need at least 9 processes, there are only 8\n"
    assert place.compare(hosts=0) == 2
    assert capsys.readouterr().err == "plait compare: hosts must be at least 1, not 0\n"
    monkeypatch.setattr(module.launch, "why_no_nodes", lambda mpi: "ip is not installed")
    assert place.compare(hosts=2) == 2
    assert capsys.readouterr().err == "plait compare: cannot simulate 2 hosts: ip is not installed\n"
    assert not place.standin.lines


def test_on_nodes_there_may_be_oversubscribed_rows_alone(place: Place, monkeypatch):
    monkeypatch.setattr(module.launch, "why_no_nodes", lambda mpi: None)
    assert place.compare(models=["masteronly"], hosts=2) == 0
    assert [(run["processes"], run["threads"]) for run in place.json()["runs"]] == [(2, 2)] and place.json()["permeability"] == 3.25
    place.standin.slow_oversubscribed = 5000
    assert place.compare(models=["masteronly"], hosts=2) == 1


@pytest.fixture
def plate(place: Place) -> Place:
    """The place with a plate's deck, and what computes it."""
    for program in "plait-heat", "plait-heat-cluster":
        (place.out.parent / "build/mpich/bin" / program).touch()
    place.deck = place.deck.with_name("plate.toml")
    place.deck.write_text('title = "A plate"\n[plate]\nsize = 100\n[run]\nsteps = 300\ntolerance = 1e-8\n')
    place.standin.step_ms = dict(zip(HEAT.models, (1.0, 0.8, 4.0, 1.2), strict=True))
    return place


def test_a_plate_is_computed_by_openmp_by_mpi_and_by_both(plate: Place, capsys):
    assert plate.compare(repeats=2) == 0
    found = plate.json()
    assert found["benchmark"] == "compare-heat" and found["mpi"]["version"] == "MPICH 5.0.2" and found["whole"]["distance"] == 0.25
    shapes = [(run["model"], run["processes"], run["threads"], run["oversubscribed"]) for run in found["runs"]]
    assert shapes == [
        ("mpi", 2, 1, False),
        ("openmp", 1, 2, False),
        ("hybrid", 1, 2, False),
        ("cluster", 2, 1, False),
        ("cluster", 1, 2, False),
        ("hybrid", 2, 2, True),
        ("cluster", 2, 2, True),
    ]
    programs = {(Path(line[0]).name, line[line.index("--model") + 1]) for line, _, _ in plate.standin.lines}
    assert programs == {("plait-heat-cluster", "cluster")} | {("plait-heat", model) for model in ("openmp", "mpi", "hybrid")}
    printed = capsys.readouterr().out
    rows = {tuple(line.split()[:2]): " ".join(line.split()) for line in printed.splitlines() if "×" in line and " to " in line}
    assert rows["openmp", "1"] == "openmp 1 × 2 1.00 0.900 to 1.50 100.0 0.80"
    assert "The fastest is mpi 2 × 1: 0.800 ms per step." in printed
    assert "The plate is at most 0.25 from its steady state, after 300 steps." in printed
    assert {path.name for path in plate.out.iterdir()} == {"compare.json", "compare.png", "report.html"}


def test_a_plate_on_nodes(plate: Place, monkeypatch, capsys):
    monkeypatch.setattr(module.launch, "why_no_nodes", lambda mpi: None)
    assert plate.compare(repeats=1, hosts=2) == 0
    shapes = {(run["model"], run["processes"], run["threads"], run["nodes"]) for run in plate.json()["runs"]}
    assert shapes == {("mpi", 2, 1, 2), ("cluster", 2, 1, 2), ("hybrid", 2, 2, 2), ("cluster", 2, 2, 2)}
    printed = " ".join(capsys.readouterr().out.split())
    assert "fewer processes than the 2 nodes: openmp 1 × 2, hybrid 1 × 2, cluster 1 × 2." in printed and "order of ranks" not in printed


def test_short_steps_of_a_plate_are_many(plate: Place):
    plate.standin.step_ms = dict.fromkeys(HEAT.models, 1e-3)
    assert plate.compare(repeats=1) == 0
    assert plate.json()["steps"] == plan.MOST_SHORT_STEPS
    plate.standin.step_ms = dict.fromkeys(HEAT.models, 10.0)
    assert plate.compare(repeats=1) == 0
    assert plate.json()["steps"] == plan.MOST_STEPS


def test_a_plate_without_the_program_for_all_nodes(plate: Place, capsys):
    (plate.out.parent / "build/mpich/bin/plait-heat-cluster").unlink()
    assert plate.compare(repeats=1) == 0
    assert {run["model"] for run in plate.json()["runs"]} == {"openmp", "mpi", "hybrid"}
    assert f"cluster is left out: {NO_CLUSTER}." in " ".join(capsys.readouterr().out.split())
    assert plate.compare(repeats=1, models=["cluster"]) == 2
    assert capsys.readouterr().err == f"plait compare: cluster: {NO_CLUSTER}\n"


def test_a_plate_has_models_of_its_own(plate: Place, capsys):
    assert plate.compare(models=["funneled"]) == 2
    assert "plait-heat has no model 'funneled' (it has openmp, mpi, cluster, hybrid)" in capsys.readouterr().err


def test_plates_of_other_bits_fail(plate: Place, capsys):
    plate.standin.digests = {"cluster": "cd" * 16}
    assert plate.compare() == 1
    assert f"cluster 2 × 1: {'cd' * 16}" in capsys.readouterr().err.splitlines()[0]


def shape_list(rows: list[Row]) -> list[tuple[str, int, int, bool]]:
    return [(row.model, row.processes, row.threads, row.oversubscribed) for row in rows]


def test_shapes_fit_the_cores():
    assert shape_list(plan.shapes(1)) == [("pure-mpi", 1, 1, False)] + [
        (model, processes, 1, processes > 1) for processes in (1, 2) for model in plan.MODELS[1:] if model not in LBM.overlapping
    ]
    assert shape_list(plan.shapes(64, ["multiple", "pure-mpi"], domains=8)) == [
        ("pure-mpi", 64, 1, False),
        ("multiple", 1, 64, False),
        ("multiple", 2, 32, False),
        ("multiple", 8, 8, False),
    ]
    assert {(row.processes, row.threads) for row in plan.shapes(4, domains=2)} == {(4, 1), (1, 4), (2, 2)}
    assert shape_list(plan.shapes(4, domains=2, application=HEAT)) == [
        ("openmp", 1, 4, False),
        ("mpi", 4, 1, False),
        ("cluster", 4, 1, False),
        ("hybrid", 1, 4, False),
        ("cluster", 1, 4, False),
        ("hybrid", 2, 2, False),
        ("cluster", 2, 2, False),
    ]
    # On one core processes of one thread are there once.
    assert shape_list(plan.shapes(1, ["cluster"], application=HEAT)) == [("cluster", 1, 1, False), ("cluster", 2, 1, True)]


def test_what_overlaps_needs_threads_and_somebody_to_talk_to():
    def of(cores: int, *named: str) -> list[tuple[str, int, int]]:
        rows = plan.shapes(cores, named or list(LBM.overlapping), domains=1, asked=bool(named))
        return [(row.model, row.processes, row.threads) for row in rows]

    reserved = ("funneled-reserved", "multiple-reserved")
    assert of(1) == []
    assert of(2) == of(4) == [("funneled-reserved", 2, 2), ("multiple-balanced", 2, 2)]
    assert of(8) == [(model, 2, 4) for model in (*reserved, "multiple-balanced")]
    assert of(1, *reserved, "multiple-balanced") == [("multiple-balanced", 1, 1), ("multiple-balanced", 2, 1)]
    assert of(2, *reserved) == [(model, processes, 2) for processes in (1, 2) for model in reserved]


def test_models_that_are_asked_for(place: Place, monkeypatch):
    def prepared(*models: str) -> module.Comparison:
        return module.prepare(place.deck, place.mpi, place.out, 1.0, list(models), 1, [], 1)

    rows = {(row.model, row.processes, row.threads) for row in prepared("funneled", "multiple-reserved").rows}
    assert rows == {(model, processes, 2) for model in ("funneled-balanced", "multiple-reserved") for processes in (1, 2)}
    monkeypatch.setattr(module.launch, "usable_cores", lambda: (1, 1))
    why = "keeps a thread for communication alone, and on 1 core no shape has two threads a process"
    assert prepared("pure-mpi", "multiple-reserved").notes == [f"multiple-reserved is left out: it {why}."]
    with pytest.raises(module.CompareError, match=f"^multiple-reserved {why}$"):
        prepared("multiple-reserved")


def test_vti_arrays_are_read_as_written(tmp_path: Path):
    arrays = write_vti(tmp_path / "a.vti")
    image = vti.read(tmp_path / "a.vti")
    assert image.size == SIZE and set(image.arrays) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(image.arrays[name], array)


def test_damaged_vti_is_refused(tmp_path: Path):
    path = tmp_path / "a.vti"
    write_vti(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - 200])
    with pytest.raises(vti.VtiError, match="cut short"):
        vti.read(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(vti.VtiError, match="no raw appended data"):
        vti.read(path)
