"""Each benchmark of the catalogue in short, under the MPI that PLAIT_MPI names: it ends well and writes what it promises.

What they measure is not looked at. Each test says its processes x threads.
"""

import io
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from plait import bench as module
from plait import catalogue, launch, mpis, store
from plait.catalogue import BenchError, Choice
from plait.plan import shapes
from plait.report import overlap
from rich.console import Console

MPI = mpis.find()
SHORT = ["--rounds", "2", "--time", "0.0001"]
APART = "the processes share no memory"
PLAIN = {"masteronly", "funneled", "multiple"}
ALL_MODES = PLAIN | {"streams", "partitioned", "threadcomm"}
RATES = {"mpi-single", "mpi-per-thread", "mpi-hints", "plait-single", "plait-per-thread", "plait-hints", "raw-ring"}
LATENCIES = {"mpi", "plait-ordinary", "hand-over", "memcpy", "memcpy-shared"}
PARTITIONED = {"masteronly", "multiple", "mpi-partitioned", "plait-partitioned", "fill"}
ALONE_AND_CARRIED = {catalogue.ALONE, catalogue.CARRIED}
OVERLAPPED = {"funneled-reserved", "multiple-reserved", "funneled-balanced", "multiple-balanced"}
CLUSTER = {f"cluster, {schedule}" for schedule in (catalogue.STATIC, *catalogue.SCHEDULES)}
SIDES = {
    **dict.fromkeys(("pingpong", "pingping", "multipingpong", "multipingping", "halo"), ALL_MODES),
    **dict.fromkeys(("barrier", "reduce", "allreduce", "bcast", "scatter", "gather", "alltoall"), PLAIN | {"threadcomm"}),
    "msgrate": RATES | {"plait-streams"},
    "latency": LATENCIES | {"plait-stream"},
    **dict.fromkeys(("partitioned", "partitioned-heap"), PARTITIONED),
    "threadcomm": {"threads", "processes", "hand-over", "memcpy"},
    **dict.fromkeys(("collectives", "carried-halo", "neighbours"), ALONE_AND_CARRIED),
    "carried-rate": RATES,
    "carried-latency": LATENCIES,
    "none": {"mpi-single", "mpi-per-thread", "plait-single", "plait-per-thread"},
    "polling": {"asleep", "mpi", "carried"},
    "gaspi": {"gaspi", "mpi", "plait", "hand-over", "memcpy"},
    "queue": {"enqueued", "nonblocking", "each", "plait", "queue", "cpu", "time"},
    "passive": {"alone", "progress-thread"},
    "orthogonal": {"masteronly", "multiple", "streams", "partitioned", "pure-mpi"},
    "saturation": {"multiple", "streams"},
    "overlap": {"masteronly", *OVERLAPPED, "all", "unreserved"},
    "reorder": {"as-dealt", "reordered"},
    "forkjoin": {"fork-join", "barrier", "reduction", "threadcomm"},
    "lending": {"mpi", "lent"},
    "lbm-halo": {row.model for row in shapes(launch.usable_cores()[0])},
    "lbm-scaling": {"pure-mpi", "masteronly", "multiple"},
    "lbm-strong-halo": {"masteronly", "multiple", "partitioned", "gaspi", "gaspi-shared"},
    "heat-threads": {"openmp"},
    "heat-nodes": {"openmp", "mpi", *CLUSTER},
}


def run_bench(out, *names, **choice):
    said = io.StringIO()
    status = module.bench(MPI, list(names), Choice(**choice), out, False, Console(file=said, width=200))
    return status, said.getvalue()


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A folder with every benchmark in short. 1 x 1 to 8 x 1, 2 x 2, 4 x 2"""
    out = tmp_path_factory.mktemp("results")
    status, _ = run_bench(out, quick=True, repetitions=1, seconds=1e-4)
    assert status == 0
    return out


@pytest.mark.thorough
@pytest.mark.parametrize("name", catalogue.BY_NAME)
def test_measures_every_side_and_writes_it(measured, name):
    found = [m for m in store.load(measured) if m["benchmark"] == name]
    points = [p for m in found for p in m["points"]]
    skipped = {side: why for m in found for side, why in m["skipped"].items()}
    assert all(m["settings"].keys() >= {"processes", "threads", "nodes", "load", "turn", "oversubscribed"} for m in found)
    assert all(m["mpi"]["name"] == MPI.name and m["command"].startswith(f"./plait --mpi {MPI.name} run") for m in found)
    if reason := launch.why_no_nodes(MPI):
        assert all(m["skipped"] == {f"{m['settings']['nodes']} nodes": reason} for m in found if m["settings"]["nodes"] > 1)
        if name in ("orthogonal", "saturation", "overlap", "reorder", "heat-nodes"):
            return
    sides = {p["side"] for p in points}
    if name == "heat-nodes" and not (MPI.build / "bin" / catalogue.HEAT_CLUSTER).exists():
        assert skipped == dict.fromkeys(CLUSTER, module.NO_CLUSTER)
        sides |= CLUSTER
    assert sides == SIDES[name]
    if SIDES[name] == PLAIN | {"threadcomm"}:
        assert {"streams", "partitioned"} <= skipped.keys()


@pytest.mark.once
def test_a_run_is_not_repeated_and_goes_on(tmp_path):
    """1 x 1, 1 x 2, 1 x 4"""
    short = {"quick": True, "threads": (1, 2), "repetitions": 1, "seconds": 1e-4}
    assert run_bench(tmp_path, "forkjoin", **short)[0] == 0
    files = sorted(tmp_path.glob("forkjoin-*.json"))
    assert len(files) == 2
    files[0].unlink()
    kept = files[1].read_text()
    status, said = run_bench(tmp_path, "forkjoin", **short)
    assert status == 0 and "1 of 2 jobs are measured already" in said
    assert files[0].exists() and files[1].read_text() == kept


@pytest.mark.once
def test_an_interrupt_keeps_what_was_measured(tmp_path, monkeypatch, capsys):
    """1 x 1"""
    started = []

    def second_is_interrupted(*arguments, **options):
        started.append(arguments)
        if len(started) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    real = launch.run
    monkeypatch.setattr(module.launch, "run", second_is_interrupted)
    status, _ = run_bench(tmp_path, "forkjoin", threads=(1, 2), repetitions=1, seconds=1e-4)
    assert status == module.INTERRUPTED
    assert "the same command goes on with the 1 jobs that are left" in capsys.readouterr().err
    assert [m["settings"]["threads"] for m in store.load(tmp_path)] == [1]


@pytest.mark.once
def test_an_unfinished_run_is_found_again(tmp_path, monkeypatch):
    """No job is run."""
    monkeypatch.setattr(module.store, "OUT", tmp_path)
    plan = {"schema": store.SCHEMA, "jobs": [["a"], ["b"]]}
    folder = tmp_path / "bench" / f"{MPI.name}-20260101-000000"
    folder.mkdir(parents=True)
    (folder / store.PLAN).write_text(json.dumps(plan))
    (folder / "a.json").write_text("{}")
    assert module._folder(MPI, plan, anew=False) == folder
    assert module._folder(MPI, plan, anew=True) != folder
    assert module._folder(MPI, {**plan, "cores": 3}, anew=False) != folder
    (folder / "b.json").write_text("{}")
    assert module._folder(MPI, plan, anew=False) != folder


@pytest.mark.once
def test_a_job_that_fails_is_one_line_and_the_others_run(tmp_path, monkeypatch, capsys):
    """1 x 2"""
    real = launch.run

    def first_fails(mpi, words, processes, threads, **options):
        return launch.CompletedRun(3, "", "something broke\n") if threads == 1 else real(mpi, words, processes, threads, **options)

    monkeypatch.setattr(module.launch, "run", first_fails)
    status, _ = run_bench(tmp_path, "forkjoin", threads=(1, 2), repetitions=1, seconds=1e-4)
    assert status == 1 and "forkjoin-1x1-h1-turn1: something broke" in capsys.readouterr().err
    assert len(store.load(tmp_path)) == 1


@pytest.mark.once
def test_each_side_of_unchanged_programs_gets_what_it_is_measured_with(tmp_path, monkeypatch):
    """No job is run."""
    started = []

    def note(mpi, words, processes, threads, **options):
        started.append((Path(words[0]).name, options["env"][catalogue.COMMUNICATORS], options["preload"]))
        return launch.CompletedRun(3)

    monkeypatch.setattr(module.launch, "run", note)
    run_bench(tmp_path, "unchanged", quick=True, repetitions=2, hosts=(1,))
    for program in ("plait-lbm", "bench-neighbours"):
        in_turn = [s[1:] for s in started if s[0] == program]
        assert set(in_turn) == {("none", False), ("all", True)} and all(a != b for a, b in pairwise(in_turn))
    assert {s[1:] for s in started if s[0] == "bench-msgrate"} == {("all", False), ("none", False)}
    for program in ("bench-latency", "bench-collectives", "bench-polling"):
        assert {s[1:] for s in started if s[0] == program} == {("all", False)}


@pytest.mark.once
def test_samples_of_a_halo_are_medians_of_many_steps(tmp_path):
    """2 x 1"""
    assert module._medians([5, 1, 2, 9, 8, 7, 3], 3) == [2, 8, 3]
    assert run_bench(tmp_path, "carried-halo", quick=True, sizes=(16,), repetitions=3)[0] == 0
    found = store.load(tmp_path)
    assert [m["settings"]["steps"] for m in found] == 4 * [122]
    assert {len(p["samples"]) for m in found for p in m["points"]} == {3}


@pytest.mark.once
def test_a_plate_is_shared_by_schedule_and_size(tmp_path, monkeypatch):
    """No job is run."""
    started = []

    def note(mpi, words, processes, threads, **options):
        plate, schedule = (word.split("=")[1].strip('"') for word in words if word.startswith(("plate.", "run.")))
        started.append((Path(words[0]).name, int(plate), schedule, processes, threads, options["hosts"]))
        return launch.CompletedRun(3)

    monkeypatch.setattr(module.launch, "run", note)
    monkeypatch.setattr(module.launch, "why_no_nodes", lambda mpi: None)
    run_bench(tmp_path / "nodes", "heat-nodes", threads=(2,), repetitions=1)
    scattered = {job for job in started if job[2] != catalogue.STATIC}
    assert {job[1] for job in scattered} == {20, 250, 1000} and {job[0] for job in scattered} == {catalogue.HEAT_CLUSTER}
    # What the others are held against stays as it is, and pure MPI has a thread a process.
    assert {job[3:] for job in started if job[0] == catalogue.HEAT} == {(1, 1, 1), (2, 1, 2), (4, 1, 4)}
    assert {job[3:] for job in started if job[0] == catalogue.HEAT_CLUSTER} == {(2, 2, 2), (4, 2, 4)}
    started.clear()
    run_bench(tmp_path / "threads", "heat-threads", threads=(1, 4), sizes=(33,), repetitions=1)
    assert started == [(catalogue.HEAT, 33, catalogue.STATIC, 1, threads, 1) for threads in (1, 4)]


@pytest.mark.once
def test_a_plate_without_the_program_for_all_nodes_is_skipped_with_a_reason(tmp_path, monkeypatch):
    """1 x 1"""
    monkeypatch.setattr(catalogue, "HEAT_CLUSTER", "plait-heat-that-is-not-built")
    monkeypatch.setattr(module.launch, "why_no_nodes", lambda mpi: None)
    real = launch.run
    monkeypatch.setattr(module.launch, "run", lambda mpi, words, *_, **options: real(mpi, words, 1, 1, **{**options, "hosts": 1}))
    status, said = run_bench(tmp_path, "heat-nodes", quick=True, sizes=(20,), repetitions=1)
    assert status == 0 and f"heat-nodes-cluster-dynamic-2x1-h2-20-turn1: skipped, {module.NO_CLUSTER}" in said
    skipped = {side: why for m in store.load(tmp_path) for side, why in m["skipped"].items()}
    assert skipped == dict.fromkeys(CLUSTER, module.NO_CLUSTER)


@pytest.mark.once
def test_nodes_that_are_not_allowed_are_skipped_with_a_reason(tmp_path, monkeypatch):
    """No job is run."""
    monkeypatch.setattr(module.launch, "why_no_nodes", lambda mpi: "they are not allowed here")
    status, said = run_bench(tmp_path, "carried-latency", quick=True, hosts=(2,))
    assert status == 0 and "carried-latency-2x1-h2-turn1: skipped, they are not allowed here" in said
    assert [m["skipped"] for m in store.load(tmp_path)] == [{"2 nodes": "they are not allowed here"}]


@pytest.mark.once
@pytest.mark.parametrize(
    ("names", "choice", "text"),
    [
        (["pingpogn"], {}, "there is no benchmark 'pingpogn'; did you mean pingpong?"),
        (["halo"], {"sizes": (12,)}, "halo has no size 12: its sizes are multiples of 8 from 8 on (bytes)"),
        (["passive"], {"sizes": (0,)}, "passive has no size 0"),
        (["overlap"], {"sizes": (0,)}, "overlap has no size 0: its sizes are numbers from 1 on (planes of each process)"),
        (["overlap"], {"processes": (1,)}, "overlap takes 2 or more processes, not 1"),
        (["heat-nodes"], {"sizes": (10,)}, "heat-nodes has no size 10: its sizes are numbers from 20 on (points along a side)"),
        (["heat-threads"], {"processes": (2,)}, "heat-threads takes 1 process, not 2"),
        (["pingpong"], {"processes": (4,)}, "pingpong takes 2 processes, not 4"),
        (["multipingpong"], {"processes": (3,)}, "an even number of processes, not 3"),
        (["halo"], {"processes": (100000,)}, "100000 processes are too many for"),
        (["halo"], {"threads": (100000,)}, "2 × 100000 are too many for"),
        (["pingpong"], {"hosts": (3,)}, "3 hosts need at least 3 processes, not 2"),
    ],
)
def test_a_wrong_choice_is_one_clear_line(tmp_path, names, choice, text):
    """No job is run."""
    with pytest.raises(BenchError) as error:
        run_bench(tmp_path / "out", *names, **choice)
    assert text in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.once
def test_results_of_others_are_left_alone(tmp_path):
    """No job is run."""
    plan = tmp_path / store.PLAN
    for content, text in (
        ('{"schema": 1, "jobs": []}', "holds results of other settings or another MPI"),
        ('{"schema": 0}', "is from another version of plait (schema 0, not 1)"),
        ('{"schema": 1,', "is broken: line 1"),
    ):
        plan.write_text(content)
        with pytest.raises((BenchError, store.StoreError)) as error:
            run_bench(tmp_path, "forkjoin")
        assert text in str(error.value) and "\n" not in str(error.value)
        assert plan.read_text() == content
    plan.rename(tmp_path / "other.json")
    with pytest.raises(BenchError, match="not of plait bench"):
        run_bench(tmp_path, "forkjoin")


# ---- the programs


@pytest.fixture(params=[1, 2])
def hosts(request):
    """One machine, then two simulated nodes, where these are allowed."""
    if request.param > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    return request.param


def program(name, *options, processes=2, threads=1, hosts=1, **more):
    words = [str(MPI.build / "bin" / f"bench-{name}"), *map(str, options)]
    return launch.run(MPI, words, processes, threads, hosts=hosts, timeout=120, capture=True, show_stacks=True, **more)


def report(path, *words, **job):
    done = program(*words, *SHORT, "-o", path, **job)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(path.read_text())
    assert found["schema"] == store.SCHEMA and found["mpi"] in done.stdout
    assert all(len(p["samples"]) == 2 and min(p["samples"]) > 0 for p in found["points"])
    return found


def sides(found, quantity, size):
    return sorted(p["side"] for p in found["points"] if p["quantity"] == quantity and p["at"] == {"bytes": size})


@pytest.mark.once
@pytest.mark.parametrize("threads", [1, 2])
def test_message_rate_of_every_side(tmp_path, threads, hosts):
    """2 x 1, 2 x 2"""
    found = report(tmp_path / "rate.json", "msgrate", "-t", threads, threads=threads, hosts=hosts)
    expected = ["mpi-single", "plait-single", "plait-streams"]
    expected += ["mpi-per-thread", "plait-per-thread", "mpi-hints", "plait-hints"] if threads > 1 else []
    expected += ["raw-ring"] if hosts == 1 else []
    assert sides(found, "message_rate", 8) == sorted(expected)
    assert found["skipped"] == ({"raw-ring": APART} if hosts > 1 else {})
    assert (found["threads"], found["window"], found["nodes"]) == (threads, 64, hosts)


@pytest.mark.once
def test_latency_of_every_side_and_bandwidth(tmp_path, hosts):
    """2 x 1"""
    found = report(tmp_path / "latency.json", "latency", "--sizes", "0,8,1024,131072", hosts=hosts)
    ways, limits = ["mpi", "plait-ordinary", "plait-stream"], ["hand-over", "memcpy", "memcpy-shared"]
    raw = {0: limits[:1], 8: limits[:2], 1024: limits[1:2], 131072: limits[1:]} if hosts == 1 else {}
    for size in (0, 8, 1024, 131072):
        assert sides(found, "half_round_trip", size) == sorted(ways + raw.get(size, []))
        assert sides(found, "windows", size) == (ways if size == 131072 else [])
    assert found["skipped"] == (dict.fromkeys(limits, APART) if hosts > 1 else {})


@pytest.mark.once
def test_overlap_of_every_model_and_what_theory_expects(tmp_path):
    """2 x 2: digests and sums are compared by the program itself"""
    found = report(tmp_path / "overlap.json", "overlap", "-t", 2, "--grid", "8x8", "--nk", "1,3", threads=2)
    at = {(p["at"]["planes"], p["quantity"], p["side"]): p["samples"] for p in found["points"]}
    assert {p["at"]["reserved"] for p in found["points"]} == {1} and found["grid"] == "8x8"
    for nk in (1, 3):
        sides = {side for planes, quantity, side in at if (planes, quantity) == (nk, "iteration")}
        assert sides == {"masteronly", *OVERLAPPED} - found["skipped"].keys()
        # With one plane all rows need others'.
        assert ((nk, "multiply", "unreserved") in at) == (nk > 1)
        parts = zip(*(at[nk, quantity, "masteronly"] for quantity in ("iteration", "communication", "inner")), strict=True)
        for sample, (total, communication, inner) in enumerate(parts):
            for model in sides - {"masteronly"}:
                theory = overlap.expected(model, 2, 1, communication, inner, max(0, total - communication - inner))
                assert at[nk, "expected", model][sample] == pytest.approx(theory, rel=1e-3, abs=1e-8)


@pytest.mark.once
@pytest.mark.parametrize("threads", [1, 2])
def test_partitioned_messages_of_every_side(tmp_path, threads, hosts):
    """2 x 1, 2 x 2"""
    # Without the MPI's own partitioned calls, which are not ours to test.
    expected = ["fill", "masteronly", "plait-partitioned"] + (["multiple"] if threads > 1 else [])
    only = [word for side in ("masteronly", "multiple", "plait-", "fill") for word in ("--only", side)]
    found = report(tmp_path / "x.json", "partitioned", "-t", threads, "--sizes", "1024,65536", *only, threads=threads, hosts=hosts)
    assert {(p["at"]["bytes"], p["at"]["partitions"]) for p in found["points"]} == {(1024, threads), (65536, threads)}
    for size in (1024, 65536):
        assert sorted(p["side"] for p in found["points"] if p["at"]["bytes"] == size) == sorted(expected)


@pytest.mark.thorough
def test_partitioned_messages_with_a_late_thread(tmp_path):
    """2 x 2"""
    words = ["-t", 2, "--late", 50, "--sizes", 65536, "--only", "plait"]
    found = report(tmp_path / "partitioned.json", "partitioned", *words, threads=2)
    assert found["late_us"] == 50
    assert sorted(p["side"] for p in found["points"] if p["quantity"] == "after_the_last") == ["one-part", "plait-partitioned"]


def test_what_is_measured_of_the_mpi_is_past_libplait():
    """PMPI_ names are plait's: no benchmark calls one, but for what has nothing to do with messages."""
    sources = {path.name: path.read_text() for path in (mpis.ROOT / "bench").glob("*.[ch]pp")}
    found = {name for name, text in sources.items() if re.search(r"\bPMPI_(?!Get_library_version)|\bP##", text)}
    assert found == {"native.hpp"}


@pytest.mark.parametrize(
    "processes", [pytest.param(1, marks=pytest.mark.once), *(pytest.param(n, marks=pytest.mark.thorough) for n in (3, 8))]
)
def test_neighbours_are_of_the_mpi_alone_or_carried(tmp_path, processes):
    """1 x 1, 3 x 1, 8 x 1: contents are compared by the program itself"""
    carried = {"env": {"PLAIT_COMMUNICATORS": "all", "PLAIT_REPORT": "1"}, "preload": True}
    for side, more in (("mpi", {"env": {"PLAIT_REPORT": "1"}}), ("carried", carried)):
        words = ["--sizes", "8,65536", *SHORT, "-o", tmp_path / f"{side}.json"]
        done = program("neighbours", *words, processes=processes, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        points = json.loads((tmp_path / f"{side}.json").read_text())["points"]
        assert {p["side"] for p in points} == {side} and {p["quantity"] for p in points} == {"start_up", "exchange", "memory"}
        assert all(min(p["samples"]) > 0 for p in points)
        # Only libplait says this at the end.
        assert ("messages of" in done.stderr) == (side == "carried"), done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "processes", "threads"), [("halo", 3, 3), ("alltoall", 3, 3), ("gather", 3, 2), ("reduce", 3, 3)])
def test_odd_numbers_of_processes_and_threads(tmp_path, name, processes, threads):
    """3 x 3, 3 x 2: contents are compared by the programs themselves"""
    found = report(tmp_path / "x.json", name, "-t", threads, "--sizes", "8,40", processes=processes, threads=threads)
    assert {p["at"]["bytes"] for p in found["points"]} == {8, 40}


@pytest.mark.once
def test_only_the_sides_asked_for(tmp_path):
    """2 x 1"""
    found = report(tmp_path / "rate.json", "msgrate", "--only", "streams")
    assert [p["side"] for p in found["points"]] == ["plait-streams"]


@pytest.mark.once
@pytest.mark.parametrize(
    ("name", "options", "processes", "text"),
    [
        ("msgrate", [], 1, "needs 2 processes, has 1"),
        ("multipingpong", [], 3, "needs an even number of processes, has 3"),
        ("latency", ["--rounds", "none"], 2, "--rounds"),
        ("msgrate", ["--rounds", "0"], 2, "--rounds"),
        ("pingpong", ["--sizes", "12"], 2, "--sizes: 12 is no multiple of 8"),
        ("partitioned", ["--sizes", "12"], 2, "--sizes: 12 is no multiple of 8"),
        ("partitioned", ["--only", "nobody"], 2, "--only: no side has such a name"),
        ("latency", ["--only", "nobody"], 2, "--only: no side has such a name"),
        ("barrier", ["--only", "nobody"], 2, "--only: no side has such a name"),
        ("orthogonal", ["--nodes", "3"], 2, "2 processes cannot be split evenly into 3 nodes"),
        ("overlap", ["-t", "1"], 2, "needs at least 2 threads a process"),
        ("overlap", ["--reserved", "2"], 2, "--reserved 2: must be below the threads of a process, which are 2"),
        ("overlap", ["--nk", "0"], 2, "--nk 0: must be at least 1"),
        ("overlap", ["--nk", "many"], 2, "--nk"),
        ("overlap", ["--grid", "12"], 2, "--grid 12: must be two whole numbers"),
        ("overlap", ["--nk", "10000000"], 2, "rows a process are too many"),
        ("overlap", ["--only", "nobody"], 2, "--only: no side has such a name"),
        ("overlap", [], 1, "needs 2 processes or more, has 1"),
        ("latency", ["-o", "/proc/none/x.json"], 2, "/proc/none/x.json cannot be written"),
        ("msgrate", ["superfluous"], 2, "superfluous"),
        ("collectives", [], 2, "run with PLAIT_COMMUNICATORS=all"),
        ("polling", [], 2, "run with PLAIT_COMMUNICATORS=all"),
        ("polling", [], 3, "needs an even number of processes, has 3"),
        ("neighbours", ["--sizes", "12"], 2, "--sizes: 12 is no multiple of 8"),
    ],
)
def test_wrong_use_is_one_clear_line(name, options, processes, text):
    """1 x 1, 2 x 1, 3 x 1"""
    done = program(name, *options, processes=processes)
    lines = done.stderr.splitlines()
    assert done.returncode not in (0, 124)
    assert len(lines) == 1 and lines[0].startswith(f"bench-{name}: ") and text in lines[0], done.stderr
    assert done.stdout == ""
