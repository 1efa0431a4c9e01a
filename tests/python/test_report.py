"""`plait report`: pages of made-up results, and what a browser makes of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser
from plait import plan, report, store
from plait.report import figures, overlap, page, summary
from plait.report.curves import Curve, Data, Figure, Stat, rank_sum_p
from plait.store import StoreError

pytestmark = pytest.mark.once  # the same whatever the MPI is

MODES = {"masteronly": 40e-6, "funneled": 20e-6, "multiple": 10e-6, "streams": 2e-6, "partitioned": 30e-6, "threadcomm": 1e-6}
OVERLAPPED = ("funneled-reserved", "multiple-reserved", "funneled-balanced", "multiple-balanced")
COMMAND = "./plait --mpi mpich run -n 2 -t 2 bench-pingpong -t 2"


def point(quantity, side, at, median, unit="s", processes=2, threads=2, nodes=1):
    """Five samples around the median, 2 % apart."""
    samples = [median * (1 + 0.02 * k) for k in (-2, -1, 0, 1, 2)]
    shape = {"processes": processes, "threads": threads, "nodes": nodes, "oversubscribed": processes * threads > 2}
    return {"quantity": quantity, "unit": unit, "side": side, "at": at, **shape, "samples": samples}


def measurement(benchmark, points):
    return {
        "schema": store.SCHEMA,
        "benchmark": benchmark,
        "command": COMMAND,
        "date": "2026-01-02T03:04:05+00:00",
        "plait": "abc",
        "mpi": {"name": "mpich", "version": "MPICH 5"},
        "machine": {"cpu": "a CPU", "cores": 2, "memory_gb": 8.0, "os": "Linux"},
        "settings": {"load": 0.5, "clock_resolution": 3e-8},
        "skipped": {"a side": "a <reason>"},
        "points": points,
    }


def ping_pongs(modes=MODES, sizes=(8, 1024)):
    return measurement("pingpong", [point("time", mode, {"bytes": n}, time * n**0.1) for mode, time in modes.items() for n in sizes])


def everything():
    def rates(side, rate):
        return [point("message_rate", side, {"bytes": 8}, rate / t, "1/s", threads=t) for t in (1, 2)]

    def trips(quantity, sides, **shape):
        return [point(quantity, side, {"bytes": n}, time * n**0.5, **shape) for side, time in sides.items() for n in (8, 65536)]

    pure = {"processes": 4, "threads": 1, "nodes": 2}
    return [
        ping_pongs(),
        measurement("barrier", [point("time", mode, {"bytes": 8}, time) for mode, time in MODES.items()]),
        measurement("msgrate", [*rates("mpi-single", 1e6), *rates("plait-streams", 2e7)]),
        measurement(
            "latency", trips("half_round_trip", {"mpi": 1e-6, "plait-stream": 1e-7}, threads=1) + trips("windows", {"mpi": 1e-6}, threads=1)
        ),
        measurement("threadcomm", trips("half_round_trip", {"threads": 1e-7}, processes=1) + trips("ring", {"threads": 1e-7}, processes=1)),
        measurement("threadcomm", trips("half_round_trip", {"processes": 1e-6}, threads=1)),
        measurement("passive", [point("get", s, {"microseconds": 9000}, t) for s, t in (("alone", 9e-3), ("progress-thread", 1e-4))]),
        measurement(
            "orthogonal",
            trips("exchange", {"masteronly": 2e-6, "multiple": 9e-7, "partitioned": 8e-7}, nodes=2)
            + trips("exchange", {"pure-mpi": 1e-6}, **pure),
        ),
        measurement("saturation", [point("bandwidth", "streams", {"bytes": 4096, "threads": t}, 1e9 * t, "B/s", nodes=2) for t in (1, 2)]),
        overlaps(),
        measurement(
            "reorder",
            [point("exchange", s, {"bytes": 8}, t, nodes=2) for s, t in (("as-dealt", 2e-6), ("reordered", 1e-6))]
            + [point("between_nodes", s, {"bytes": 8}, 8 * n, "B", nodes=2) for s, n in (("as-dealt", 9), ("reordered", 3))],
        ),
        measurement("forkjoin", [point("overhead", s, {"threads": 2}, 1e-6, processes=1) for s in ("fork-join", "barrier", "threadcomm")]),
        measurement("lending", [point("step", s, {"ratio": 3}, t, threads=1) for s, t in (("mpi", 0.06), ("lent", 0.04))]),
        measurement("lbm-halo", [point("halo", s, {"lattice": 48}, t, threads=1) for s, t in (("pure-mpi", 1e-3), ("multiple", 2e-3))]),
        measurement(
            "lbm-scaling", [point("step", "pure-mpi", {"lattice": 48}, 0.1 / n, processes=n, threads=1, nodes=n) for n in (1, 2, 4)]
        ),
        measurement("heat-threads", [point("step", "openmp", {"plate": 80}, 0.4 / t, processes=1, threads=t) for t in (1, 2)]),
        *plates(),
        *unchanged(),
        measurement("compare", [point("step", s, {}, t, threads=1, processes=2) for s, t in (("pure-mpi", 0.02), ("funneled", 0.01))]),
        measurement("compare-heat", [point("step", s, {}, t, threads=1, processes=2) for s, t in (("mpi", 0.02), ("cluster", 0.04))]),
    ]


def overlaps(machine=lambda model, nk: 1.0, fewer=2.0, threads=2, reserved=1, **shape):
    """Iterations in which communication takes as long as multiplying three planes, and rows that need others' numbers as one. Models take
    what theory says, times machine(model, nk); the threads that are not reserved multiply `fewer` times as long as all."""
    shape = {"threads": threads, "nodes": 2, **shape}
    points = []
    for nk in (2, 8, 32):
        at, parts = {"planes": nk, "reserved": reserved}, (3e-4, 1e-4 * (nk - 1), 1e-4)
        points += [point("iteration", "masteronly", at, sum(parts), **shape)]
        points += [point(q, "masteronly", at, t, **shape) for q, t in zip(("communication", "inner"), parts[:2], strict=True)]
        points += [point("multiply", side, at, t * parts[1], **shape) for side, t in (("all", 1), ("unreserved", fewer))]
        for model in OVERLAPPED:
            theory = overlap.expected(model, threads, reserved, *parts)
            points += [point("iteration", model, at, theory * machine(model, nk), **shape), point("expected", model, at, theory, **shape)]
    return measurement("overlap", points)


def plates():
    """plait-heat on one node and on two: by MPI as fast as twice that, by OpenMP over both slower, the more so by other schedules."""
    alone = point("step", "openmp", {"plate": 250}, 0.1, processes=1, threads=1)
    times = {"mpi": 0.05, "cluster, static": 0.0625, "cluster, static,1": 0.5, "cluster, dynamic": 0.125}
    return [
        measurement("heat-nodes", [alone]),
        measurement("heat-nodes", [point("step", side, {"plate": 250}, time, threads=1, nodes=2) for side, time in times.items()]),
    ]


def unchanged(large=2e-3, hints=8e6):
    """What was measured of unchanged programs, all of it faster with plait but for what `large`, seconds for 1 MB, and `hints` say."""

    def both(quantity, at, alone, carried, **shape):
        return [point(quantity, s, at, v, **{"threads": 1, **shape}) for s, v in (("mpi", alone), ("carried", carried))]

    rates = {"mpi-single": 1e6, "plait-single": 3e6, "mpi-hints": 1e6, "plait-hints": hints, "raw-ring": 1e8}
    trips = {8: (1e-6, 1e-7), 1 << 20: (2.2e-3, large)}
    many = {"processes": 16}
    return [
        measurement("carried-rate", [point("message_rate", s, {"bytes": 8}, v, "1/s") for s, v in rates.items()]),
        measurement(
            "carried-latency",
            [
                point("half_round_trip", side, {"bytes": n}, time, threads=1, nodes=nodes)
                for nodes in (1, 2)
                for n, times in trips.items()
                for side, time in zip(("mpi", "plait-ordinary"), times, strict=True)
            ]
            + [point("half_round_trip", "hand-over", {"bytes": 8}, 5e-8, threads=1)],
        ),
        measurement("collectives", both("bcast", {"bytes": 8}, 4e-6, 1e-6) + both("barrier", {"bytes": 8}, 2e-6, 1e-6)),
        measurement("carried-halo", both("halo", {"lattice": 48}, 1e-3, 7e-4)),
        measurement("none", [point("message_rate", s, {"bytes": 8}, v, "1/s", threads=1) for s, v in RATES_OF_NONE.items()]),
        measurement("polling", [*both("compute", {}, 6e-6, 4e-6), point("compute", "asleep", {}, 4e-6, threads=1)]),
        measurement(
            "neighbours",
            both("start_up", {}, 0.5, 0.55, **many)
            + both("exchange", {"bytes": 8}, 3e-3, 1e-3, **many)
            + [point("memory", s, {}, v * 2**20, "B", threads=1, **many) for s, v in (("mpi", 20), ("carried", 23))],
        ),
    ]


RATES_OF_NONE = {"mpi-single": 1e7, "plait-single": 9.95e6}


def folder(path: Path, measurements) -> Path:
    path.mkdir(exist_ok=True)
    for number, content in enumerate(measurements):
        store.write(path, f"{content['benchmark']}-{number}", content)
    return path


def test_what_was_left_out_between_nodes_is_told_of_no_other_figure(tmp_path):
    sides = {1: ("mpi", "hand-over"), 2: ("mpi",)}
    found = []
    for nodes, those in sides.items():
        points = [point("half_round_trip", side, {"bytes": 8}, 1e-6, threads=1, nodes=nodes) for side in those]
        found.append(measurement("carried-latency", points))
        found[-1]["settings"]["nodes"] = nodes
        found[-1]["skipped"] = {"hand-over": "the processes share no memory"} if nodes == 2 else {"plait-stream": "for another reason"}
    drawn = figures.figures(Data(tmp_path, found))
    assert [set(figure.skipped) for figure in drawn] == [{"plait-stream"}, {"hand-over"}]


def told(path: Path) -> str:
    return "\n".join(summary.sentences(Data(path, store.load(path))))


def test_sentences_come_from_the_samples(tmp_path):
    said = told(folder(tmp_path, everything()))
    for words in (
        "use threadcomm: 10 × as fast as multiple, the best of the plain modes (beyond the noise in 2 of 2 measurements); streams 5 ×",
        "With 2 threads in each process streams carry 10 million messages of 8 B a second: 20 × the rate of one communicator.",
        "A message of 8 B to another process takes 2.83 µs by the MPI and 0.283 µs on a stream.",
        "Between ranks that are threads 8 B take 0.283 µs, between processes 2.83 µs: threads are 10 × as fast.",
        "Gets from a process that computes for 9 ms take 9 ms, with plait's progress thread there 100 µs.",
        "masteronly 2 × 2 on 2 nodes against pure MPI is slower at 8 B, 64 KB; it takes 2 × pure MPI's time at 64 KB.",
        "For messages of 4 KB (streams) 2 communicating threads fill the link: 2 GB/s; more were not measured.",
        "Where communication takes 9 to 60 % of masteronly's time (2 × 2 on 2 nodes, 1 of 2 threads reserved), epsilon of plait-spmv lies",
        "with six neighbours, reordered, 3 messages leave a node, not 9 (2 × 2 on 2 nodes); it takes 0.5 × at 8 B the time",
        "To fork and join 2 threads costs 1 µs, a barrier of theirs 1 µs",
        "is shortest as pure-mpi 2 × 1: 1 ms a step.",
        "plait-lbm is best as pure-mpi: 4 × as fast as it is on 1.",
        "plait-lbm is fastest as funneled 2 × 1: 10 ms a step, 2 × as fast as pure MPI.",
        "plait-heat is fastest as mpi 2 × 1: 20 ms a step.",
        "The speed-up of plait-heat by OpenMP with 2 threads is 2 at 80² points.",
        "Over 2 simulated nodes the efficiency of plait-heat by OpenMP, with a static schedule, is 0.8 at 250² (by MPI 1) points.",
        "The worst schedule there is static,1 at 250²: 8 × the time of static.",
    ):
        assert words in said, said


def test_other_samples_make_other_sentences(tmp_path):
    slow = dict.fromkeys(MODES, 10e-6)
    assert "no mode wins" in told(folder(tmp_path / "alike", [ping_pongs(slow)]))
    slow["funneled"] = 1e-6
    said = told(folder(tmp_path / "funneled", [ping_pongs(slow)]))
    assert "use funneled: it is faster than" in said and "streams 0.1 ×" in said
    nothing = measurement("passive", [point("get", s, {"microseconds": 9000}, 9e-3) for s in ("alone", "progress-thread")])
    assert "progress thread, where it has no core of its own, does not help" in told(folder(tmp_path / "passive", [nothing]))


def test_what_preloading_does_stands_first(tmp_path):
    said = told(folder(tmp_path, everything()))
    first, *others = said.splitlines()
    assert first == (
        "Preloading with PLAIT_COMMUNICATORS=all, against the MPI alone: of 11 measurements of unchanged programs 10 are faster and 1"
        " slower beyond the noise. It loses in: start-up (16 × 1), 0.91 × as fast."
    )
    for words in (
        "to another process is, against the MPI's: with one communicator for all threads 3 × (2 threads); with the hints that no"
        " wildcards are used 8 × (2 threads); most carried: 8 million a second; numbers through a ring: 100 million a second.",
        "Preloaded, a message of 8 B to another process takes 0.1 µs instead of 1 µs: 10 × as fast; 1 MB 1.1 ×. A cache line alone takes"
        " 0.05 µs.",
        "Preloaded, a message of 8 B to another process between 2 nodes takes",
        "collective calls of 2 processes are 2.8 × as fast as the MPI's own on the whole, from 2 × (barrier of 8 B) to 4 × (bcast of 8 B).",
        "the halo exchange of plait-lbm in pure MPI (2 × 1) takes, of the time without: 0.7 × at 48³ sites.",
        "16 processes start in 1.1 × the time of the MPI alone, and have 23 MB of memory each instead of 20 MB; their exchange with six"
        " neighbours is 3 × as fast at 8 B.",
        "another computes for 1 × the time that it needs beside a sleeper; by the MPI alone 1.5 × (2 × 1).",
        "(PLAIT_COMMUNICATORS=none) has 0.995 to 0.995 of the MPI's message rate.",
    ):
        assert words in said, said
    assert all(line.startswith("Preloaded") for line in others[:6])


def test_where_preloading_loses_is_said(tmp_path):
    said = told(folder(tmp_path, unchanged(large=4.4e-3, hints=5e5))).splitlines()[0]
    assert "7 are faster and 4 slower beyond the noise" in said
    assert (
        "half a round trip of 1 MB (2 × 1), 0.5 × as fast" in said and "half a round trip of 1 MB (2 × 1 on 2 nodes), 0.5 × as fast" in said
    )
    assert "rate of 8 B, the hints that no wildcards are used (2 × 2), 0.5 × as fast" in said
    only_faster = told(folder(tmp_path / "faster", unchanged()[:2])).splitlines()[0]
    assert only_faster.endswith("6 are faster and 0 slower beyond the noise.")


def test_noise_is_no_difference():
    few, seven = (1.0, 1.01, 1.02), (1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06)
    assert Stat(few).differs(Stat((1.2, 1.21, 1.22))) and Stat((1.2, 1.21, 1.22)).differs(Stat(few))
    assert not Stat(few).differs(Stat((1.01, 1.3, 1.4)))  # few samples overlap
    assert not Stat(few).differs(Stat((1.03, 1.04, 1.05)))  # less than 5 %
    assert Stat(seven).differs(Stat((1.02, 1.3, 1.3, 1.3, 1.3, 1.4, 1.5)))  # one stray sample is none
    assert not Stat(seven).differs(Stat((1.0, 1.01, 1.02, 1.2, 1.2, 1.2, 1.2)))


def test_probabilities_are_those_of_the_tables():
    """Of the rank-sum test's exact distribution."""
    apart = tuple(range(5)), tuple(range(5, 10))
    assert rank_sum_p(*apart) == pytest.approx(2 / 252)
    assert rank_sum_p(*reversed(apart)) == pytest.approx(2 / 252)
    assert rank_sum_p((1, 2, 3, 4, 6), (5, 7, 8, 9, 10)) == pytest.approx(4 / 252)
    assert rank_sum_p((1, 4, 5, 8), (2, 3, 6, 7)) == pytest.approx(1.0)


def test_plates_are_held_against_one_thread(tmp_path):
    drawn = {f.key: f for f in figures.figures(Data(tmp_path, plates()))}
    assert drawn.keys() == {"heat-nodes/250"}
    found = {name: curve.points[2].median for name, curve in drawn["heat-nodes/250"].curves.items()}
    assert found == pytest.approx({"mpi": 1.0, "cluster, static": 0.8, "cluster, static,1": 0.1, "cluster, dynamic": 0.4})
    # Without it there is nothing to say.
    assert not figures.figures(Data(tmp_path, plates()[1:])) and not summary.sentences(Data(tmp_path, plates()[1:]))


def test_theory_of_overlap_has_the_bounds_of_its_source():
    """1 - m / n without communication; at most 1 + m (1 - 1 / n), where messages and the rows beside them take as long."""
    for n, m in ((2, 1), (8, 1), (8, 3), (16, 15)):
        epsilon = {c: 1 / overlap.expected("multiple-reserved", n, m, c, 1 - c, 0) for c in (k / 1000 for k in range(1001))}
        best = m * n / (n - m + m * n)
        assert epsilon[0] == pytest.approx(1 - m / n) and max(epsilon.values()) == pytest.approx(1 + m * (1 - 1 / n), rel=1e-2)
        assert max(epsilon, key=epsilon.get) == pytest.approx(best, abs=1e-3)
        assert 1 / overlap.expected("multiple-reserved", n, m, best, 1 - best, 0) == pytest.approx(1 + m * (1 - 1 / n))
        for model in ("funneled-balanced", "multiple-balanced"):
            assert min(1 / overlap.expected(model, n, m, c, 1 - c, 0) for c in epsilon) == pytest.approx(1)


def test_overlap_is_drawn_as_points_over_theory(tmp_path):
    (figure,) = figures.figures(Data(tmp_path, [overlaps()]))
    assert figure.key == "overlap/2 × 2 on 2 nodes/1" and list(figure.curves) == list(OVERLAPPED)
    # nk 32, 8 and 2: 3 of 35, of 11 and of 5 is communication.
    assert list(figure.curves["funneled-reserved"].points) == [8.57, 27.27, 60.0]
    lines = {line.name: line.points for line in figure.theory}
    assert list(lines) == [
        "theory: funneled-reserved, multiple-reserved",
        "theory: funneled-balanced",
        "theory: multiple-balanced",
        "theory: reserved, no halo",
    ]
    for line in figure.theory[:-1]:
        assert [s.median for s in figure.curves[line.of].points.values()] == pytest.approx(list(line.points.values()))
    assert lines["theory: reserved, no halo"][0] == pytest.approx(0.5) and max(lines["theory: reserved, no halo"].values()) < 1.5
    plot = page._plot(page.Shown(figure, [("", figure.curves)]))
    assert [trace["mode"] for trace in plot["data"]] == [*4 * ["markers"], *4 * ["lines"]]
    assert {plot["layout"][axis]["type"] for axis in ("xaxis", "yaxis")} == {"linear"}


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({}, "lies within 10 % of the theory in all models."),
        ({"machine": lambda model, nk: 1.09 if nk > 2 else 0.92}, "lies within 10 % of the theory in all models."),
        (  # as fast as with all threads
            {"machine": lambda model, nk: 0.6 if nk > 2 and model.endswith("reserved") else 1.0, "fewer": 1.1, "processes": 1},
            "in 8 of 12 points; of the theory with the speed that 1 thread has here, in 8 of 9. Above it, by up to 67 %, are"
            " funneled-reserved, multiple-reserved at nk 8, 32: memory bandwidth is"
            " saturated, so that 1 thread multiplies nearly as fast as 2.",
        ),
        (
            {"machine": lambda model, nk: 0.6 if nk == 32 and model.endswith("reserved") else 1.0, "fewer": 1.1},
            "are funneled-reserved, multiple-reserved at nk 32: threads share cores, so that 1 thread multiplies nearly as fast as 2.",
        ),
        (
            {"machine": lambda model, nk: 1.25 if nk == 2 and model.startswith("funneled") else 1.0},
            "in 10 of 12 points. Below it, by up to 20 %, are funneled-reserved, funneled-balanced at nk 2: threads share cores, and"
            " messages need one themselves.",
        ),
        (
            {"machine": lambda model, nk: 1.25 if nk == 2 and model == "funneled-reserved" else 1.0, "processes": 1},
            "the theory leaves out what messages take of a core and how long threads take to meet.",
        ),
        (  # 2 of 8 threads, which communicate no faster than one
            {"machine": lambda model, nk: 1.7 if nk == 2 and model == "multiple-balanced" else 1.0, "threads": 8, "reserved": 2},
            "(2 × 8 on 2 nodes, 2 of 8 threads reserved), epsilon of plait-spmv lies within 10 % of the theory in 11 of 12 points. Below"
            " it, by up to 41 %, are multiple-balanced at nk 2: 8 threads do not communicate 8 times as fast as one.",
        ),
    ],
)
def test_where_the_machine_leaves_theory_is_said_and_why(tmp_path, how, text):
    (said,) = summary.sentences(Data(tmp_path, [overlaps(**how)]))
    assert said.startswith("Where communication takes 9 to 60 % of masteronly's time (") and text in said, said


def test_theory_with_the_speed_of_fewer_threads_is_told_beside(tmp_path):
    """2 x 2 on 2 cores: one thread multiplies as fast as two. Only of models in which all communicate nothing is known then."""
    parts = {nk: (3e-4, 1e-4 * (nk - 1), 1e-4) for nk in (2, 8, 32)}

    def machine(model, nk):
        here = overlap.expected_here(model, 2, 1, *parts[nk], fewer=1.0)
        return (here or 1.0) / (overlap.expected(model, 2, 1, *parts[nk]) if here else 1.0)

    found = overlaps(machine, fewer=1.0)
    (said,) = summary.sentences(Data(tmp_path, [found]))
    assert "; of the theory with the speed that 1 thread has here, in 9 of 9. Above it," in said, said
    (figure,) = figures.figures(Data(tmp_path, [found]))
    lines = {line.name: line for line in figure.theory if line.name.startswith("at this machine's speed: ")}
    assert [line.of for line in lines.values()] == ["funneled-reserved", "multiple-reserved", "funneled-balanced"]
    for line in lines.values():
        assert [s.median for s in figure.curves[line.of].points.values()] == pytest.approx(list(line.points.values()))


def test_what_is_apart_from_theory_by_noise_alone_is_no_deviation(tmp_path):
    found = overlaps()
    (stray,) = (p for p in found["points"] if (p["quantity"], p["side"], p["at"]["planes"]) == ("iteration", "funneled-reserved", 8))
    stray["samples"] = [t * k for t, k in zip(stray["samples"], (0.5, 0.7, 1.3, 1.4, 3.0), strict=True)]
    (said,) = summary.sentences(Data(tmp_path, [found]))
    assert said.endswith("lies within 10 % of the theory in 11 of 12 points, and in 1 no farther from it than the noise."), said


def test_turns_are_laid_together(tmp_path):
    data = Data(tmp_path, [ping_pongs(), ping_pongs()])
    assert {len(p.stat.samples) for p in data.points} == {10}
    assert [f.key for f in figures.figures(data)] == ["pingpong/2 × 2"]


def test_two_runs_side_by_side(tmp_path):
    before = folder(tmp_path / "a", [ping_pongs()])
    after = folder(tmp_path / "b", [ping_pongs({**MODES, "streams": 1e-6, "funneled": 60e-6})])
    path = report.make([before, after])
    assert path == after / report.PAGE
    page = path.read_text()
    assert "Of 12 measurements in both, B is faster in 2 and slower in 2 by more than the noise; 8 are the same." in page
    assert page.count("▲ better") == 2 and page.count("▼ worse") == 2
    assert "B is 2 × as fast" in page and "B takes 3 × as long" in page


def test_more_curves_than_colours_look_different():
    """Those of one colour have different symbols: dashes tell runs apart."""
    curves = {model: Curve(model, {1: Stat((1.0,)), 2: Stat((2.0,))}) for model in plan.MODELS}
    for runs in [("", curves)], [("A", curves), ("B", curves)]:
        plot = page._plot(page.Shown(Figure("lbm", "", "", "", "", curves), runs))
        looks = {(line["line"]["color"], line["marker"]["symbol"]) for line in plot["data"] if "marker" in line}
        assert len(looks) == len(runs) * len(curves) > len(page.COLOURS)


def test_nothing_in_common(tmp_path):
    other = folder(tmp_path / "b", [measurement("forkjoin", [point("overhead", "barrier", {"threads": 2}, 1e-6, processes=1)])])
    page = report.make([folder(tmp_path / "a", [ping_pongs()]), other]).read_text()
    assert "The two folders have no measurement in common." in page


def broken(path: Path, text: str) -> Path:
    folder(path, [ping_pongs()])
    (path / "broken.json").write_text(text)
    return path


def test_bad_folders_are_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    old = {**ping_pongs(), "schema": 0}
    wrong = {**ping_pongs(), "points": [{**ping_pongs()["points"][0], "samples": []}]}
    for folders, text in (
        ([tmp_path / "none"], "there is no folder"),
        ([tmp_path / "empty"], "has no results"),
        ([], "there are no results under out"),
        ([tmp_path] * 3, "of one folder or of two, not 3"),
        ([broken(tmp_path / "1", '{"schema": 1,\n')], "broken.json is broken: line 2"),
        ([broken(tmp_path / "2", json.dumps(old))], "broken.json is from another version of plait (schema 0, not 1)"),
        ([broken(tmp_path / "3", json.dumps(wrong))], "broken.json is no measurement: points/0/samples: "),
        ([broken(tmp_path / "4", "[1]")], "broken.json is from another version of plait"),
    ):
        with pytest.raises(StoreError) as error:
            report.make(folders)
        assert text in str(error.value) and "\n" not in str(error.value)


def test_the_newest_folder_is_the_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for age, name in ((20, "out"), (10, "out/bench/newer"), (30, "out/bench/older")):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        for path in folder(tmp_path / name, [ping_pongs()]).glob("*.json"):
            os.utime(path, (1e9 - age, 1e9 - age))
    assert report.make([]) == Path("out/bench/newer") / report.PAGE


def needs_browser():
    if not CHROMIUM:
        reason = "there is no chromium: apt-get install chromium"
        pytest.fail(reason) if os.environ.get("PLAIT_CI") else pytest.skip(reason)


SIZE = """Promise.all(['png', 'svg'].map((format) => Plotly.toImage(document.querySelector('#plot-figure-1'), {format})))
  .then((images) => images.map((image) => image.startsWith('data:image/') && image.length > 2000))"""


@pytest.mark.parametrize("runs", [1, 2])
def test_a_browser_shows_every_plot_and_table(tmp_path, runs):
    needs_browser()
    folders = [folder(tmp_path / str(n), everything()) for n in range(runs)]
    count = len(figures.figures(Data(folders[0], store.load(folders[0]))))
    with Browser(report.make(folders)) as page:
        assert page.evaluate("document.querySelectorAll('.js-plotly-plot .main-svg').length") >= 2 * count
        # Each plot has its lines or bars, and each figure a table with figures and a command.
        shown = "[...document.querySelectorAll('.js-plotly-plot')].filter((p) => p.querySelector('.scatterlayer .trace, .barlayer .trace'))"
        assert page.evaluate(f"{shown}.length") == count
        filled = "/[0-9]/.test([...t.rows[1].cells].slice(1).map((cell) => cell.textContent).join())"
        tables = f"[...document.querySelectorAll('section:not(#machine) table')].filter((t) => {filled})"
        assert page.evaluate(f"{tables}.length") == count
        assert page.evaluate("document.querySelector('.commands pre').textContent").strip() == COMMAND
        assert page.evaluate("document.querySelectorAll('.summary li').length") >= 3
        assert "a CPU, 2 cores" in page.evaluate("document.querySelector('#machine').textContent")
        assert "a side: a <reason>" in page.evaluate("document.querySelector('#figure-1').textContent")
        assert page.evaluate(SIZE) == [True, True]
        assert all(url.startswith(("file:", "data:", "blob:")) for url in page.requests)
        assert page.complaints == []
