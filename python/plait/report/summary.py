"""The report's first lines: sentences, each derived from the samples. "Faster" is said where a difference is beyond the noise."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log

from plait import catalogue
from plait.applications import HEAT, LBM
from plait.report import overlap, preload
from plait.report.curves import Data, Figure, Point, Shape, Stat, alone_on_plate, count, human, ratio, shapes, us

PLAIN = ("masteronly", "funneled", "multiple")  # what any MPI has
LARGE = 64 << 10
POINT_TO_POINT = ("pingpong", "pingping", "multipingpong", "multipingping", "halo")


def sentences(data: Data) -> list[str]:
    parts = (
        preload.sentences,
        models,
        modes,
        rates,
        latency,
        partitioned,
        ranks,
        passive,
        orthogonal,
        saturation,
        overlap.sentences,
        reorder,
        forkjoin,
        lending,
        halo,
        scaling,
    )
    parts += (plate_by_threads, plate_by_nodes)
    return [sentence for part in parts for sentence in part(data)]


def caveat(figures: list[Figure], cores: int) -> str | None:
    """What to hold against the figures."""
    crowded = sum(f.oversubscribed for f in figures)
    if not crowded:
        return None
    return (
        f"{crowded} of {len(figures)} figures have more threads than the {cores} cores of this machine (marked as oversubscribed):"
        " they tell how the modes share cores, not how fast they are with a core each."
    )


def changes(before: list[Figure], after: list[Figure]) -> list[str]:
    """What is different between two folders."""
    old = {f.key: f for f in before}
    common = faster = slower = 0
    most: list[tuple[float, str]] = []
    for f in after:
        for name, curve in f.curves.items():
            known = old[f.key].curves.get(name) if f.key in old else None
            for x, stat in curve.points.items():
                if not known or x not in known.points:
                    continue
                common += 1
                if not stat.differs(known.points[x]):
                    continue
                gain = known.points[x].median / stat.median
                gain = gain if f.lower_is_better else 1 / gain
                faster, slower = faster + (gain > 1), slower + (gain < 1)
                where = f" at {human(x)}" if f.bytes and not f.bars else ""
                most.append((gain, f"{f.title}, {name}{where}"))
    if not common:
        return ["The two folders have no measurement in common."]
    same = common - faster - slower
    found = [
        f"Of {common} measurements in both, B is faster in {faster} and slower in {slower} by more than the noise; {same} are the same."
    ]
    best, worst = max(most, default=None), min(most, default=None)
    if best and best[0] > 1:
        found.append(f"The most is gained in {best[1]}: B is {ratio(best[0])} as fast.")
    if worst and worst[0] < 1:
        found.append(f"The most is lost in {worst[1]}: B takes {ratio(1 / worst[0])} as long.")
    return found


# ---- one function for each part of the catalogue


def models(data: Data) -> Iterator[str]:
    for application in LBM, HEAT:
        fitting = [p for p in data.of(application.benchmark, "step") if not p.oversubscribed]
        if not fitting:
            continue
        best, *others = sorted(fitting, key=lambda p: p.stat.median)
        near = [p.name for p in others if not p.stat.differs(best.stat)]
        sentence = f"{application.program} is fastest as {best.name}: {1e3 * best.stat.median:.3g} ms a step"
        if (base := next((p for p in fitting if p.side == application.base and p.reordered), best)) is not best:
            sentence += f", {ratio(base.stat.median / best.stat.median)} as fast as {application.base_title}"
        yield sentence + (f"; within the noise: {', '.join(near)}." if near else ".")


def modes(data: Data) -> Iterator[str]:
    """Which mode to take: for small and large messages, and for collective calls."""
    collective = [b.name for b in catalogue.ALL if b.group == catalogue.MIXED and b.name not in POINT_TO_POINT]
    for names, what, least, most in (
        (POINT_TO_POINT, f"messages under {human(LARGE)} a thread", 0, LARGE),
        (POINT_TO_POINT, f"messages of {human(LARGE)} a thread and more", LARGE, 1 << 62),
        (collective, "collective calls", 0, 1 << 62),
    ):
        points = [p for p in data.points if p.benchmark in names and least <= p.x("bytes") < most]
        for nodes in sorted({p.shape.nodes for p in points}):
            here = [p for p in points if p.shape.nodes == nodes]
            where = f"between {nodes} nodes" if nodes > 1 else "on one node"
            if sentence := _best_mode(here):
                yield f"For {what} of several threads {where} {sentence}"


def _best_mode(points: list[Point]) -> str | None:
    """Over all places that every mode was measured at: geometric means of how many times as fast as the best plain mode."""
    places: dict[tuple, dict[str, Stat]] = {}
    for p in points:
        places.setdefault((p.benchmark, p.at, p.shape), {})[p.side] = p.stat
    sides = [side for side in {p.side for p in points} if all(side in found for found in places.values())]
    plain = [side for side in sides if side in PLAIN]
    if not plain or len(sides) < 2:
        return None

    def mean(side: str, other: str) -> float:
        return exp(sum(log(found[other].median / found[side].median) for found in places.values()) / len(places))

    usual = max(plain, key=lambda side: mean(side, plain[0]))
    ranking = sorted(sides, key=lambda side: -mean(side, usual))
    best = ranking[0]
    rival = ranking[1] if best == usual else usual
    clear = sum(found[best].differs(found[rival]) and found[best].median < found[rival].median for found in places.values())
    share = f"{clear} of {len(places)} measurements"
    if 2 * clear < len(places):
        much = f"{ratio(mean(best, rival))} as fast as {rival}"
        return f"no mode wins: {best}, the fastest over all ({much}), is so beyond the noise in only {share}."
    rest = ", ".join(f"{side} {ratio(mean(side, usual))}" for side in ranking[1:] if side != usual)
    if best == usual:
        return f"use {best}: it is faster than {rival} beyond the noise in {share}; as fast as it: {rest}."
    sentence = f"use {best}: {ratio(mean(best, usual))} as fast as {usual}, the best of the plain modes (beyond the noise in {share})"
    return sentence + (f"; {rest}." if rest else ".")


def rates(data: Data) -> Iterator[str]:
    points = data.of("msgrate")
    for nodes in sorted({p.shape.nodes for p in points}):
        here = [p for p in points if p.shape.nodes == nodes]
        threads = max(p.shape.threads for p in here)
        size = min(p.x("bytes") for p in here)
        at = {p.side: p.stat for p in here if p.shape.threads == threads and p.x("bytes") == size}
        streams = at.get("plait-streams")
        names = {"mpi-single": "one communicator", "mpi-per-thread": "a communicator for each thread"}
        against = [f"{_against(streams, at[side])} {name}" for side, name in names.items() if streams and side in at]
        if against:
            where = f" between {nodes} nodes" if nodes > 1 else ""
            rate = f"{1e-6 * streams.median:.3g} million messages of {human(size)} a second"
            yield f"With {count(threads, 'thread')} in each process{where} streams carry {rate}: {', '.join(against)}."


def _against(rate: Stat, other: Stat) -> str:
    """Of two rates."""
    return f"{ratio(rate.median / other.median)} the rate of" if rate.differs(other) else "within the noise of"


def latency(data: Data) -> Iterator[str]:
    for shape in shapes(data.of("latency")):
        points = [p for p in data.of("latency", "half_round_trip") if p.shape == shape and p.x("bytes") > 0]
        size = min((p.x("bytes") for p in points), default=0)
        at = {p.side: p.stat for p in points if p.x("bytes") == size}
        if {"mpi", "plait-stream"} <= at.keys():
            where = f" between {shape.nodes} nodes" if shape.nodes > 1 else ""
            times = f"takes {us(at['mpi'])} by the MPI and {us(at['plait-stream'])} on a stream"
            sentence = f"A message of {human(size)} to another process{where} {times}"
            sentence += "" if at["mpi"].differs(at["plait-stream"]) else ", the same within the noise"
            yield sentence + (f"; a cache line alone takes {us(at['hand-over'])}." if "hand-over" in at else ".")


def partitioned(data: Data) -> Iterator[str]:
    points = data.of("partitioned", "half_round_trip")
    for shape in [s for s in shapes(points) if s.threads > 1]:
        sides: dict[int, dict[str, Stat]] = {}
        for p in points:
            if p.shape == shape and p.side != "fill":
                sides.setdefault(p.x("bytes"), {})[p.side] = p.stat
        said = []
        for size, at in sorted(sides.items()):
            ours = at.pop("plait-partitioned", None)
            if ours is None or not at:
                continue
            rival = min(at, key=lambda side: at[side].median)
            verdict = f"{ratio(at[rival].median / ours.median)} as fast as" if ours.differs(at[rival]) else "the same within the noise as"
            said.append(f"{verdict} {rival} at {human(size)}")
        if said:
            yield f"A message that several threads fill ({shape}), by plait's partitioned calls, is {', '.join(said)}."


def ranks(data: Data) -> Iterator[str]:
    points = data.of("threadcomm", "half_round_trip")
    sizes = sorted({p.x("bytes") for p in points})
    for size in dict.fromkeys(sizes[:1] + sizes[-1:]):
        at = {p.side: p.stat for p in points if p.x("bytes") == size and p.shape.nodes == 1}
        if {"threads", "processes"} <= at.keys():
            threads, processes = at["threads"], at["processes"]
            verdict = f"{_faster(threads, processes, 'threads', 'processes')}"
            yield f"Between ranks that are threads {human(size)} take {us(threads)}, between processes {us(processes)}: {verdict}."


def _faster(a: Stat, b: Stat, first: str, second: str) -> str:
    """Of two times."""
    if not a.differs(b):
        return "the same within the noise"
    return (
        f"{first} are {ratio(b.median / a.median)} as fast" if a.median < b.median else f"{second} are {ratio(a.median / b.median)} as fast"
    )


def passive(data: Data) -> Iterator[str]:
    points = data.of("passive", "get")
    if points:
        longest = max(p.x("microseconds") for p in points)
        at = {p.side: p.stat for p in points if p.x("microseconds") == longest}
        if {"alone", "progress-thread"} <= at.keys():
            alone, helped = at["alone"], at["progress-thread"]
            if alone.differs(helped) and helped.median < alone.median:
                verdict = f"with plait's progress thread there {us(helped)}."
            else:
                crowded = ", where it has no core of its own," if any(p.oversubscribed for p in points) else ""
                verdict = f"and plait's progress thread{crowded} does not help ({us(helped)})."
            yield f"Gets from a process that computes for {longest / 1000:g} ms take {us(alone)}, {verdict}"


def orthogonal(data: Data) -> Iterator[str]:
    points = data.of("orthogonal", "exchange")
    for shape in [s for s in shapes(points) if s.threads > 1]:
        pure_shape = Shape(shape.processes * shape.threads, 1, shape.nodes, shape.delay)
        pure = {p.x("bytes"): p.stat for p in points if p.shape == pure_shape}
        hybrid: dict[str, dict[int, Stat]] = {}
        for p in points:
            if p.shape == shape and p.x("bytes") in pure:
                hybrid.setdefault(p.side, {})[p.x("bytes")] = p.stat
        if master := hybrid.pop("masteronly", None):
            faster = [n for n in sorted(master) if master[n].differs(pure[n]) and master[n].median < pure[n].median]
            slower = [n for n in sorted(master) if master[n].differs(pure[n]) and master[n].median > pure[n].median]
            said = [f"{verb} at {', '.join(map(human, which))}" for verb, which in (("faster", faster), ("slower", slower)) if which]
            last = max(master)
            share = f"it takes {ratio(master[last].median / pure[last].median)} pure MPI's time at {human(last)}"
            verdict = " and ".join(said) or "as fast, within the noise, at all sizes"
            yield f"To send a node's data to the next, masteronly {shape} against pure MPI is {verdict}; {share}."
        if hybrid:
            best = {
                n: min(times[n].median for times in hybrid.values() if n in times) / pure[n].median for n in set().union(*hybrid.values())
            }
            worst = max(best, key=best.get)
            yield (
                f"Threads that communicate themselves ({', '.join(sorted(hybrid))}; {shape}) take, in the best of these ways,"
                f" {ratio(min(best.values()))} to {ratio(best[worst])} pure MPI's time, the most at {human(worst)}."
            )


def saturation(data: Data) -> Iterator[str]:
    points = data.of("saturation", "bandwidth")
    if not points:
        return
    size = max(p.x("bytes") for p in points)
    for side in dict.fromkeys(p.side for p in points):
        at = {p.x("threads"): p.stat for p in points if p.side == side and p.x("bytes") == size}
        most = max(at.values(), key=lambda s: s.median)
        enough = min(n for n, stat in at.items() if not stat.differs(most))
        what = f"For messages of {human(size)} ({side}) {count(enough, 'communicating thread')} fill{'s' if enough == 1 else ''} the link"
        most_said = f"no number up to {max(at)} is faster beyond the noise (the most was {1e-9 * most.median:.3g})"
        rest = f", and {most_said}" if enough < max(at) else "; more were not measured"
        yield f"{what}: {1e-9 * at[enough].median:.3g} GB/s{rest}."


def reorder(data: Data) -> Iterator[str]:
    for shape in shapes(data.of("reorder", "exchange")):
        here = [p for p in data.of("reorder") if p.shape == shape]
        dealt, ours = ({p.x("bytes"): p.stat for p in here if p.quantity == "exchange" and p.side == s} for s in ("as-dealt", "reordered"))
        away = {p.side: p.stat.median / p.x("bytes") for p in here if p.quantity == "between_nodes"}
        if not (dealt.keys() & ours.keys() and away.keys() >= {"as-dealt", "reordered"}):
            continue
        times = ", ".join(f"{ratio(ours[n].median / dealt[n].median)} at {human(n)}" for n in sorted(dealt.keys() & ours.keys()))
        moved = f"{away['reordered']:.0f} messages leave a node, not {away['as-dealt']:.0f}"
        yield f"Of an exchange with six neighbours, reordered, {moved} ({shape}); it takes {times} the time."


def forkjoin(data: Data) -> Iterator[str]:
    points = [p for p in data.of("forkjoin") if p.shape.threads > 1]
    fitting = [p for p in points if not p.oversubscribed] or points
    if fitting:
        threads = max(p.shape.threads for p in fitting)
        at = {p.side: p.stat for p in fitting if p.shape.threads == threads}
        if {"fork-join", "barrier"} <= at.keys():
            sentence = f"To fork and join {threads} threads costs {us(at['fork-join'])}, a barrier of theirs {us(at['barrier'])}"
            yield sentence + (f", MPI_Barrier on a thread communicator {us(at['threadcomm'])}." if "threadcomm" in at else ".")


def lending(data: Data) -> Iterator[str]:
    points = data.of("lending", "step")
    at = {(p.side, p.x("ratio")): p.stat for p in points}
    ratios = sorted(n for side, n in at if side == "lent" and ("mpi", n) in at)
    if ratios:
        said = ", ".join(f"{ratio(at['mpi', n].median / at['lent', n].median)} as fast at {n} : 1" for n in ratios)
        yield f"Where processes of a node have uneven work, lending the cores of those that wait is {said}."


def halo(data: Data) -> Iterator[str]:
    # Two processes or more: one alone exchanges nothing.
    points = [p for p in data.of("lbm-halo", "halo") if p.shape.processes > 1]
    if points:
        lattice = max(p.x("lattice") for p in points)
        best, *others = sorted((p for p in points if p.x("lattice") == lattice), key=lambda p: p.stat.median)
        near = [f"{p.side} {p.shape}" for p in others if not p.stat.differs(best.stat)]
        what = f"The halo exchange of plait-lbm between processes at {lattice}³ sites"
        sentence = f"{what} is shortest as {best.side} {best.shape}: {1e3 * best.stat.median:.3g} ms a step"
        yield sentence + (f"; within the noise: {', '.join(near)}." if near else ".")


def scaling(data: Data) -> Iterator[str]:
    points = data.of("lbm-scaling", "step")
    nodes = sorted({p.shape.nodes for p in points})
    if len(nodes) > 1:
        at = {(p.side, p.shape.nodes): p.stat for p in points}
        best = min((key for key in at if key[1] == nodes[-1]), key=lambda key: at[key].median)
        if (first := at.get((best[0], nodes[0]))) is not None:
            speed = first.median / at[best].median
            steps = f"From {count(nodes[0], 'simulated node')} to {nodes[-1]}, which share this machine's cores"
            yield f"{steps}, plait-lbm is best as {best[0]}: {ratio(speed)} as fast as it is on {nodes[0]}."


def plate_by_threads(data: Data) -> Iterator[str]:
    points = data.of("heat-threads", "step")
    most = max((p.shape.threads for p in points if not p.oversubscribed), default=1)
    at = {p.x("plate"): p.stat for p in points if p.shape.threads == most}
    said = [f"{alone.median / stat.median:.2g} at {n}²" for n, stat in sorted(at.items()) if (alone := alone_on_plate(points, n))]
    if most > 1 and said:
        yield f"The speed-up of plait-heat by OpenMP with {most} threads is {', '.join(said)} points."


def plate_by_nodes(data: Data) -> Iterator[str]:
    points = data.of("heat-nodes", "step")
    for nodes in sorted({p.shape.nodes for p in points if p.shape.nodes > 1}):
        at = {(p.side, p.x("plate")): p.stat for p in points if p.shape == Shape(nodes, 1, nodes)}
        static = f"cluster, {catalogue.STATIC}"
        sizes = [n for side, n in sorted(at, key=lambda key: key[1]) if side == static and alone_on_plate(points, n)]
        if not sizes:
            continue

        def efficiency(side: str, size: int, at=at, nodes=nodes) -> str:
            return f"{alone_on_plate(points, size).median / nodes / at[side, size].median:.2g}"

        said = [f"{efficiency(static, n)} at {n}²" + (f" (by MPI {efficiency('mpi', n)})" if ("mpi", n) in at else "") for n in sizes]
        yield f"Over {nodes} simulated nodes the efficiency of plait-heat by OpenMP, with a static schedule, is {', '.join(said)} points."
        others = [
            (stat.median / at[static, n].median, side.removeprefix("cluster, "), n)
            for (side, n), stat in at.items()
            if side not in (static, "mpi") and n in sizes
        ]
        if others:
            slower, schedule, size = max(others)
            yield f"The worst schedule there is {schedule} at {size}²: {ratio(slower)} the time of static."
