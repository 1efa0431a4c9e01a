"""Which figures a folder's results make: one function for each kind of benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from plait import catalogue
from plait.applications import HEAT, LBM
from plait.report import overlap
from plait.report.curves import Curve, Data, Figure, Point, alone_on_plate, curves, human, shapes

US, GB = 1e6, 1e-9
# Benchmarks of one program: what the figures of each say more.
RATES = {
    "msgrate": ("", "mpi: the MPI alone; plait: through libplait"),
    "carried-rate": (", unchanged programs", "mpi: the MPI alone; plait: the same calls carried, with PLAIT_COMMUNICATORS=all"),
    "none": (", nothing carried", "mpi: past libplait; plait: through it, with PLAIT_COMMUNICATORS=none"),
}
LATENCIES = {
    "latency": ("", ""),
    "carried-latency": (
        ", unchanged programs",
        " mpi: the MPI alone; plait-ordinary: the same carried, with PLAIT_COMMUNICATORS=all.",
    ),
    "gaspi": (" of GASPI", " gaspi: a notified write until it is seen; mpi: a message of the MPI alone."),
    "queue": (
        " on queues",
        " enqueued: put on the queues, many ahead; nonblocking: by isend, irecv and wait; each: the host waits for its queue after every"
        " message; plait: on a stream, no queue;"
        " queue: an empty function put there, and the wait for it.",
    ),
}
HALOS = {
    "lbm-halo": ("", "by model and processes × threads. One process has only its threads to exchange with."),
    "carried-halo": (" in pure MPI", "without libplait (mpi), and with it preloaded and PLAIT_COMMUNICATORS=all (carried)."),
}
PARTITIONED = {"partitioned": "", "partitioned-heap": ", in malloc's memory"}
TITLES = {
    "pingpong": "Ping-pong",
    "pingping": "Ping-ping",
    "multipingpong": "Multi-ping-pong",
    "multipingping": "Multi-ping-ping",
    "halo": "Halo exchange",
    "barrier": "Barrier",
    "reduce": "Reduce",
    "allreduce": "Allreduce",
    "bcast": "Broadcast",
    "scatter": "Scatter",
    "gather": "Gather",
    "alltoall": "All-to-all",
    "allgather": "Allgather",
}


def figures(data: Data) -> list[Figure]:
    makers = (
        compare,
        mixed,
        rates,
        latency,
        partitioned,
        ranks,
        unchanged,
        passive,
        orthogonal,
        saturation,
        overlap.figures,
        reorder,
        forkjoin,
        lending,
        halo,
        scaling,
        strong_halo,
        plate_by_threads,
        plate_by_nodes,
    )
    found = [figure for make in makers for figure in make(data) if figure.curves]
    for figure in found:
        benchmark = figure.key.split("/")[0]
        figure.commands = figure.commands or data.commands(benchmark)
        figure.skipped = {side: why for side, why in data.skipped(benchmark, figure.nodes).items() if side not in figure.curves}
    return found


def compare(data: Data) -> Iterator[Figure]:
    for application, quantity, what in (
        (LBM, "step", "Time of a step"),
        (LBM, "halo", "Time of the halo exchange"),
        (HEAT, "step", "Time of a step"),
    ):
        points = data.of(application.benchmark, quantity)
        if points:
            found = {}
            for p in sorted(points, key=lambda p: (p.oversubscribed, p.stat.median)):
                name = f"{p.name}{', oversubscribed' if p.oversubscribed else ''}"
                found[name] = Curve(name, {0: p.stat.scaled(1e3)})
            yield Figure(
                f"{application.benchmark}/{quantity}",
                f"{application.program}: {what.lower()}, by model and processes × threads",
                "From the deck of plait compare; a sample is a round's median.",
                "",
                f"{what.lower()} (ms)",
                found,
                bars=True,
                oversubscribed=any(p.oversubscribed for p in points),
            )


def mixed(data: Data) -> Iterator[Figure]:
    for benchmark in catalogue.ALL:
        if benchmark.group != catalogue.MIXED:
            continue
        for shape in shapes(data.of(benchmark.name)):
            points = [p for p in data.of(benchmark.name) if p.shape == shape]
            caption = f"{benchmark.what[0].upper()}{benchmark.what[1:]}."
            if benchmark.name != "barrier":
                caption += " Threads write what is sent and read what comes within the time."
            yield Figure(
                f"{benchmark.name}/{shape}",
                f"{TITLES[benchmark.name]}: {shape}",
                caption,
                "bytes of each thread",
                "time (µs)",
                curves(points, "bytes", US),
                oversubscribed=points[0].oversubscribed,
                bytes=True,
                bars=benchmark.name == "barrier",
                commands=[c for c in data.commands(benchmark.name) if f"-n {shape.processes} -t {shape.threads} " in c],
                nodes=shape.nodes,
            )


def rates(data: Data) -> Iterator[Figure]:
    for benchmark, (what, sides) in RATES.items():
        points = data.of(benchmark)
        for size, nodes in sorted({(p.x("bytes"), p.shape.nodes) for p in points}):
            chosen = [p for p in points if p.x("bytes") == size and p.shape.nodes == nodes]
            found: dict[str, Curve] = {}
            for p in sorted(chosen, key=lambda p: p.shape.threads):
                found.setdefault(p.side, Curve(p.side)).add(p.shape.threads, p.stat.scaled(1e-6))
            yield Figure(
                f"{benchmark}/{size}/{nodes}",
                f"Message rate of {human(size)} by threads{what}{_between(nodes)}",
                f"Windows of 64 messages from each thread of one process to its partner in another. {sides}; raw-ring: numbers through"
                " rings in shared memory, which nothing can beat.",
                "threads in each of 2 processes",
                "million messages a second",
                found,
                oversubscribed=any(p.oversubscribed for p in chosen),
                lower_is_better=False,
                nodes=nodes,
            )


def latency(data: Data) -> Iterator[Figure]:
    for benchmark, (what, sides) in LATENCIES.items():
        for shape in shapes(data.of(benchmark)):
            trips, windows = ([p for p in data.of(benchmark, q) if p.shape == shape] for q in ("half_round_trip", "windows"))
            common = {"bytes": True, "oversubscribed": any(p.oversubscribed for p in trips), "nodes": shape.nodes}
            yield Figure(
                f"{benchmark}/{shape}",
                f"Latency between 2 processes{what}{_between(shape.nodes)}",
                f"Half a round trip.{sides} hand-over: a cache line from core to core; memcpy: one core copies as many bytes.",
                "bytes",
                "half a round trip (µs)",
                curves((p for p in trips if p.x("bytes") > 0), "bytes", US),
                **common,
            )
            if windows:
                yield Figure(
                    f"{benchmark}/bandwidth/{shape}",
                    f"Bandwidth between 2 processes{what}{_between(shape.nodes)}",
                    "Windows of up to 16 messages, each window answered.",
                    "bytes",
                    "bandwidth (GB/s)",
                    _bandwidth(windows),
                    lower_is_better=False,
                    **common,
                )


def partitioned(data: Data) -> Iterator[Figure]:
    for benchmark, shape in [(b, shape) for b in PARTITIONED for shape in shapes(data.of(b))]:
        points = [p for p in data.of(benchmark) if p.shape == shape]
        yield Figure(
            f"{benchmark}/{shape}",
            f"One message filled by several threads: {shape}{PARTITIONED[benchmark]}",
            "Threads fill their parts, then the whole moves. masteronly and multiple by the MPI's sends, mpi-partitioned by its"
            " partitioned calls, plait-partitioned by plait's; fill: filling alone, without a message.",
            "bytes of the message",
            "half a round trip, with filling (µs)",
            curves(points, "bytes", US),
            bytes=True,
            oversubscribed=any(p.oversubscribed for p in points),
            nodes=shape.nodes,
        )


def _bandwidth(points: list[Point]) -> dict[str, Curve]:
    found: dict[str, Curve] = {}
    for p in sorted(points, key=lambda p: p.x("bytes")):
        found.setdefault(p.side, Curve(p.side)).add(p.x("bytes"), p.stat.inverse(p.x("bytes") * GB))
    return found


def ranks(data: Data) -> Iterator[Figure]:
    points = data.of("threadcomm")
    for nodes in sorted({p.shape.nodes for p in points}):
        here = [p for p in points if p.shape.nodes == nodes]
        count = max(p.shape.processes * p.shape.threads for p in here)
        trips = [p for p in here if p.quantity == "half_round_trip"]
        crowded = any(p.oversubscribed for p in here)
        yield Figure(
            f"threadcomm/latency/{nodes}",
            f"Latency of threads as ranks against processes{_between(nodes)}",
            f"The same calls by {count} threads on a thread communicator and by {count} processes; hand-over: a cache line between"
            " two threads; memcpy: one core copies as many bytes.",
            "bytes",
            "half a round trip (µs)",
            curves(trips, "bytes", US),
            bytes=True,
            oversubscribed=crowded,
            nodes=nodes,
        )
        yield Figure(
            f"threadcomm/bandwidth/{nodes}",
            f"Bandwidth of threads as ranks against processes{_between(nodes)}",
            "Of the same ping-pong: bytes over half a round trip.",
            "bytes",
            "bandwidth (GB/s)",
            _bandwidth([p for p in trips if p.side != "hand-over"]),
            lower_is_better=False,
            bytes=True,
            oversubscribed=crowded,
            nodes=nodes,
        )
        calls = [p for p in here if p.quantity not in ("half_round_trip", "barrier")]
        yield Figure(
            f"threadcomm/calls/{nodes}",
            f"Collective calls of threads as ranks against processes{_between(nodes)}",
            "Both kinds of ranks, call by call.",
            "bytes of each rank",
            "time (µs)",
            curves(calls, "bytes", US, lambda p: f"{p.quantity}, {p.side}"),
            bytes=True,
            oversubscribed=crowded,
            nodes=nodes,
        )


def unchanged(data: Data) -> Iterator[Figure]:
    for shape in shapes(data.of("collectives")):
        for call in catalogue.COLLECTIVES:
            points = [p for p in data.of("collectives", call) if p.shape == shape]
            yield Figure(
                f"collectives/{call}/{shape}",
                f"{TITLES[call]} on MPI_COMM_WORLD, {shape.processes} processes",
                "In a program that knows nothing of plait. mpi: the MPI alone; carried: with PLAIT_COMMUNICATORS=all.",
                "bytes of each process",
                "time (µs)",
                curves(points, "bytes", US),
                bytes=True,
                bars=call == "barrier",
                oversubscribed=any(p.oversubscribed for p in points),
                nodes=shape.nodes,
            )
    yield from _polling(data)
    yield from _neighbours(data)


def _polling(data: Data) -> Iterator[Figure]:
    for shape in shapes(data.of("polling")):
        points = [p for p in data.of("polling") if p.shape == shape]
        yield Figure(
            f"polling/{shape}",
            f"What a process that polls costs another: {shape}",
            "Half of the processes compute, each beside one that waits for it: asleep, or by MPI_Test, past libplait (mpi) or carried.",
            "",
            "time of 1,000 steps (µs)",
            _bars(points, US),
            bars=True,
            oversubscribed=points[0].oversubscribed,
            nodes=shape.nodes,
        )


def _neighbours(data: Data) -> Iterator[Figure]:
    caption = "An unchanged program; mpi: alone; carried: preloaded, with PLAIT_COMMUNICATORS=all."
    for shape in shapes(data.of("neighbours")):
        points = [p for p in data.of("neighbours") if p.shape == shape]
        crowded = any(p.oversubscribed for p in points)
        for quantity, what, unit, factor in (
            ("start_up", "Start-up", "from the first process's start until all have met (ms)", 1e3),
            ("memory", "Memory of each", "resident memory, what is shared divided by its users (MB)", 1 / (1 << 20)),
        ):
            yield Figure(
                f"neighbours/{quantity}/{shape}",
                f"{what} of {shape.processes} processes",
                caption,
                "",
                unit,
                _bars((p for p in points if p.quantity == quantity), factor),
                bars=True,
                oversubscribed=crowded,
                nodes=shape.nodes,
            )
        yield Figure(
            f"neighbours/exchange/{shape}",
            f"Exchange with six neighbours: {shape.processes} processes",
            caption,
            "bytes of each message",
            "time (µs)",
            curves((p for p in points if p.quantity == "exchange"), "bytes", US),
            bytes=True,
            oversubscribed=crowded,
            nodes=shape.nodes,
        )


def _bars(points: Iterable[Point], factor: float) -> dict[str, Curve]:
    return {p.side: Curve(p.side, {0: p.stat.scaled(factor)}) for p in points}


def passive(data: Data) -> Iterator[Figure]:
    points = data.of("passive")
    if points:
        yield Figure(
            "passive/get",
            "Passive-target progress",
            "64 gets from a process that computes meanwhile and calls no MPI: with a progress thread of plait's there, and without.",
            "the target computes (µs)",
            "lock, gets, unlock (µs)",
            curves(points, "microseconds", US),
            oversubscribed=points[0].oversubscribed,
        )


def orthogonal(data: Data) -> Iterator[Figure]:
    points = data.of("orthogonal")
    hybrids = [s for s in shapes(points) if s.threads > 1]
    for shape in hybrids:
        pure = shape.processes * shape.threads
        chosen = [p for p in points if p.shape == shape or (p.shape.processes, p.shape.nodes, p.shape.threads) == (pure, shape.nodes, 1)]
        sides = {p.side for p in chosen}
        if "pure-mpi" in sides and len(sides) > 1:
            yield Figure(
                f"orthogonal/{shape}",
                f"Threads against pure MPI: {shape} against {pure} × 1",
                "What a node sends to the next: by one process with threads, or by a process a core, with messages inside the node, too.",
                "bytes of a message of pure MPI",
                "time (µs)",
                curves(chosen, "bytes", US, _part),
                oversubscribed=any(p.oversubscribed for p in chosen),
                bytes=True,
                nodes=shape.nodes,
            )


def _part(p: Point) -> str:
    parts = {"exchange": "in all", "vertical": "between nodes", "horizontal": "inside nodes"}
    return f"pure-mpi, {parts[p.quantity]}" if p.side == "pure-mpi" else p.side


def saturation(data: Data) -> Iterator[Figure]:
    for nodes in sorted({p.shape.nodes for p in data.of("saturation")}):
        points = [p for p in data.of("saturation") if p.shape.nodes == nodes]
        yield Figure(
            f"saturation/{nodes}",
            f"Communicating threads that fill the link{_between(nodes)}",
            "Windows of 16 messages from each communicating thread.",
            "communicating threads",
            "bandwidth (GB/s)",
            curves(points, "threads", GB, lambda p: f"{p.side}, {human(p.x('bytes'))}"),
            lower_is_better=False,
            oversubscribed=any(p.oversubscribed for p in points),
            nodes=nodes,
        )


def reorder(data: Data) -> Iterator[Figure]:
    for shape in shapes(data.of("reorder", "exchange")):
        points = [p for p in data.of("reorder", "exchange") if p.shape == shape]
        yield Figure(
            f"reorder/{shape}",
            f"Exchange with six neighbours: {shape.processes} processes{_between(shape.nodes)}",
            "as-dealt: ranks are dealt to nodes one by one; reordered: MPI_Cart_create has put them where few messages leave a node.",
            "bytes of each message",
            "time (µs)",
            curves(points, "bytes", US),
            bytes=True,
            oversubscribed=any(p.oversubscribed for p in points),
            nodes=shape.nodes,
        )


def forkjoin(data: Data) -> Iterator[Figure]:
    points = data.of("forkjoin")
    if points:
        yield Figure(
            "forkjoin/overhead",
            "Fork and join, barrier and reduction of threads",
            "OpenMP's constructs in one process, and MPI_Barrier on a thread communicator of the same threads. With more threads than"
            " cores threads sleep while they wait.",
            "threads",
            "time (µs)",
            curves(points, "threads", US),
            oversubscribed=any(p.oversubscribed for p in points),
        )


def lending(data: Data) -> Iterator[Figure]:
    points = data.of("lending", "step")
    if points:
        yield Figure(
            "lending/step",
            "Uneven work, without and with cores lent",
            "A step of processes on one node: parallel regions, then an allreduce. Process 0 has so many times the work of each other.",
            "work of process 0 for 1 of the others",
            "step (ms)",
            curves(points, "ratio", 1e3),
            oversubscribed=any(p.oversubscribed for p in points),
        )


def halo(data: Data) -> Iterator[Figure]:
    for benchmark, (where, caption) in HALOS.items():
        points = data.of(benchmark, "halo")
        if points:
            yield Figure(
                f"{benchmark}/halo",
                f"plait-lbm{where}: time of the halo exchange by lattice size",
                f"An empty box, {caption}",
                "sites along a side",
                "halo exchange of a step (ms)",
                curves(points, "lattice", 1e3, lambda p: f"{p.side} {p.shape}"),
                oversubscribed=any(p.oversubscribed for p in points),
            )


def scaling(data: Data) -> Iterator[Figure]:
    points = data.of("lbm-scaling", "step")
    for lattice in sorted({p.x("lattice") for p in points}):
        found: dict[str, Curve] = {}
        for p in sorted(points, key=lambda p: p.shape.nodes):
            if p.x("lattice") == lattice:
                found.setdefault(p.side, Curve(p.side)).add(p.shape.nodes, p.stat.inverse(lattice**3 / 1e6))
        yield Figure(
            f"lbm-scaling/{lattice}",
            f"plait-lbm: strong scaling, {lattice}³ sites",
            "Simulated nodes share this machine's cores and memory: here more of them bring more messages and no more cores.",
            "simulated nodes",
            "million site updates a second",
            found,
            lower_is_better=False,
            oversubscribed=any(p.oversubscribed for p in points),
        )


def strong_halo(data: Data) -> Iterator[Figure]:
    points = data.of("lbm-strong-halo", "halo")
    for lattice in sorted({p.x("lattice") for p in points}):
        found: dict[str, Curve] = {}
        for p in sorted(points, key=lambda p: p.shape.processes):
            if p.x("lattice") == lattice:
                found.setdefault(p.side, Curve(p.side)).add(p.shape.processes, p.stat.scaled(1e3))
        yield Figure(
            f"lbm-strong-halo/{lattice}",
            f"plait-lbm: halo exchange at strong scaling, {lattice}³ sites",
            "One process alone, two on two simulated nodes, then two on each. gaspi writes packed faces into segments, gaspi-shared reads"
            " neighbours on the node where their places lie; the others send by MPI.",
            "processes",
            "halo exchange of a step (ms)",
            found,
            oversubscribed=any(p.oversubscribed for p in points),
        )


def plate_by_threads(data: Data) -> Iterator[Figure]:
    points = data.of("heat-threads", "step")
    found: dict[str, Curve] = {}
    for p in sorted(points, key=lambda p: (p.x("plate"), p.shape.threads)):
        if alone := alone_on_plate(points, p.x("plate")):
            found.setdefault(name := f"{p.x('plate')}²", Curve(name)).add(p.shape.threads, p.stat.inverse(alone.median))
    yield Figure(
        "heat-threads/speed-up",
        "plait-heat: speed-up over threads, by points of the plate",
        "OpenMP in one process, against its own time with one thread. It may be more than the threads where their parts fit into the"
        " cores' own caches and the whole does not.",
        "threads",
        "speed-up",
        found,
        lower_is_better=False,
        oversubscribed=any(p.oversubscribed for p in points),
    )


def plate_by_nodes(data: Data) -> Iterator[Figure]:
    points = data.of("heat-nodes", "step")
    for plate in sorted({p.x("plate") for p in points}):
        alone = alone_on_plate(points, plate)
        here = [p for p in points if p.x("plate") == plate and p.side != "openmp"]
        if not alone or not here:
            continue
        found: dict[str, Curve] = {}
        for p in sorted(here, key=lambda p: (p.shape.nodes, p.side != "mpi", p.side)):
            each = "" if (p.shape.processes, p.shape.threads) == (p.shape.nodes, 1) else f", {p.shape.processes} × {p.shape.threads}"
            found.setdefault(name := p.side + each, Curve(name)).add(p.shape.nodes, p.stat.inverse(alone.median / p.shape.nodes))
        yield Figure(
            f"heat-nodes/{plate}",
            f"plait-heat: efficiency over nodes, {plate}² points",
            "The speed-up over one process with one thread, divided by the nodes. cluster: OpenMP over all nodes, by schedule; mpi: MPI."
            " Simulated nodes share this machine's cores and memory.",
            "simulated nodes",
            "efficiency",
            found,
            lower_is_better=False,
            oversubscribed=any(p.oversubscribed for p in here),
        )


def _between(nodes: int) -> str:
    return f", on {nodes} nodes" if nodes > 1 else ""
