"""What preloading does to an unchanged program: the report's first sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import exp, log

from plait import catalogue
from plait.report.curves import Data, Shape, Stat, count, human, ratio, shapes, us

# The same call past libplait and carried by it.
PAIRS = (
    ("mpi-single", "plait-single"),
    ("mpi-per-thread", "plait-per-thread"),
    ("mpi-hints", "plait-hints"),
    ("mpi", "plait-ordinary"),
    (catalogue.ALONE, catalogue.CARRIED),
)
MODES = {
    "plait-per-thread": "a communicator for each thread",
    "plait-single": "one communicator for all threads",
    "plait-hints": "the hints that no wildcards are used",
}
RATE = "message_rate"
MOST_NAMED = 5


@dataclass(frozen=True)
class Pair:
    """One figure with plait and without."""

    what: str
    side: str
    x: int  # on the benchmark's axis
    shape: Shape
    alone: Stat
    carried: Stat
    rate: bool  # else a time

    @property
    def gain(self) -> float:
        """How many times as fast it is carried."""
        gain = self.alone.median / self.carried.median
        return 1 / gain if self.rate else gain

    @property
    def sure(self) -> bool:
        return self.carried.differs(self.alone)

    @property
    def where(self) -> str:
        return f"{self.what} ({self.shape})"


def sentences(data: Data) -> Iterator[str]:
    measured = [pair for found in (rate_pairs, trip_pairs, collective_pairs, halo_pairs) for pair in found(data)]
    measured += neighbour_pairs(data, "start_up") + neighbour_pairs(data, "exchange")
    if measured:
        yield verdict(measured)
    for part in (rates, trips, collectives, halo, neighbours, polling, nothing_carried):
        yield from part(data)


def pairs(data: Data, benchmark: str, quantity: str, axis: str, name) -> list[Pair]:
    """Of one quantity; `name` says what is measured at such a place on the axis by such a side."""
    at: dict[tuple[int, Shape], dict[str, Stat]] = {}
    for p in data.of(benchmark, quantity):
        at.setdefault((dict(p.at).get(axis, 0), p.shape), {})[p.side] = p.stat
    return [
        Pair(name(x, carried), carried, x, shape, found[alone], found[carried], quantity == RATE)
        for (x, shape), found in sorted(at.items(), key=lambda item: item[0][0])
        for alone, carried in PAIRS
        if {alone, carried} <= found.keys()
    ]


def verdict(measured: list[Pair]) -> str:
    """By how much it is faster on the whole, and where it is not."""
    slower = sorted((p for p in measured if p.sure and p.gain < 1), key=lambda p: p.gain)
    faster = sum(p.sure and p.gain > 1 for p in measured)
    sentence = (
        f"Preloading with PLAIT_COMMUNICATORS=all, against the MPI alone: of {count(len(measured), 'measurement')} of unchanged programs"
        f" {faster} are faster and {len(slower)} slower beyond the noise."
    )
    if not slower:
        return sentence
    named = "; ".join(f"{p.where}, {ratio(p.gain)} as fast" for p in slower[:MOST_NAMED])
    rest = f"; and {len(slower) - MOST_NAMED} more" if len(slower) > MOST_NAMED else ""
    return f"{sentence} It loses in: {named}{rest}."


def by_nodes(found: Iterable[Pair]) -> Iterator[tuple[str, list[Pair]]]:
    found = list(found)
    for nodes in sorted({p.shape.nodes for p in found}):
        yield (f" between {nodes} nodes" if nodes > 1 else ""), [p for p in found if p.shape.nodes == nodes]


# ---- one function for the pairs and one for the sentences of each benchmark


def rate_pairs(data: Data) -> list[Pair]:
    return pairs(data, "carried-rate", RATE, "bytes", lambda n, side: f"rate of {human(n)}, {MODES[side]}")


def rates(data: Data) -> Iterator[str]:
    for where, found in by_nodes(rate_pairs(data)):
        said = []
        for side, mode in MODES.items():
            here = sorted((p for p in found if p.side == side), key=lambda p: p.shape.threads)
            if here:
                said.append(f"with {mode} " + ", ".join(f"{ratio(p.gain)} ({count(p.shape.threads, 'thread')})" for p in here))
        size = human(min(p.x for p in found))
        nodes = found[0].shape.nodes
        raw = [p for p in data.of("carried-rate", RATE) if p.side == "raw-ring" and p.shape.nodes == nodes]
        for what, stats in (("most carried", [p.carried for p in found]), ("numbers through a ring", [p.stat for p in raw])):
            said += [f"{what}: {1e-6 * max(s.median for s in stats):.3g} million a second"] if stats else []
        yield f"Preloaded, the rate of messages of {size} to another process{where} is, against the MPI's: {'; '.join(said)}."


def trip_pairs(data: Data) -> list[Pair]:
    return pairs(data, "carried-latency", "half_round_trip", "bytes", lambda n, _: f"half a round trip of {human(n)}")


def trips(data: Data) -> Iterator[str]:
    for where, found in by_nodes(trip_pairs(data)):
        first, *others = found
        sentence = (
            f"Preloaded, a message of {human(first.x)} to another process{where} takes {us(first.carried)} instead of {us(first.alone)}:"
            f" {ratio(first.gain)} as fast"
        )
        sentence += "".join(f"; {human(p.x)} {ratio(p.gain)}" for p in others)
        line = [p.stat for p in data.of("carried-latency") if (p.side, p.shape, p.x("bytes")) == ("hand-over", first.shape, first.x)]
        yield sentence + (f". A cache line alone takes {us(line[0])}." if line else ".")


def collective_pairs(data: Data) -> list[Pair]:
    return [
        pair
        for call in catalogue.COLLECTIVES
        for pair in pairs(data, "collectives", call, "bytes", lambda n, _, call=call: f"{call} of {human(n)}")
    ]


def collectives(data: Data) -> Iterator[str]:
    found = collective_pairs(data)
    for shape in shapes(found):
        here = [p for p in found if p.shape == shape]
        mean = exp(sum(log(p.gain) for p in here) / len(here))
        worst, best = (f(here, key=lambda p: p.gain) for f in (min, max))
        yield (
            f"Preloaded, collective calls of {shape.processes} processes are {ratio(mean)} as fast as the MPI's own on the whole,"
            f" from {ratio(worst.gain)} ({worst.what}) to {ratio(best.gain)} ({best.what})."
        )


def halo_pairs(data: Data) -> list[Pair]:
    return pairs(data, "carried-halo", "halo", "lattice", lambda n, _: f"plait-lbm's halo exchange at {n}³ sites")


def halo(data: Data) -> Iterator[str]:
    found = halo_pairs(data)
    for shape in shapes(found):
        said = ", ".join(f"{ratio(p.carried.median / p.alone.median)} at {p.x}³ sites" for p in found if p.shape == shape)
        yield f"Preloaded, the halo exchange of plait-lbm in pure MPI ({shape}) takes, of the time without: {said}."


def neighbour_pairs(data: Data, quantity: str) -> list[Pair]:
    names = {"exchange": "exchange of {} with six neighbours", "start_up": "start-up", "memory": "memory"}
    return pairs(data, "neighbours", quantity, "bytes", lambda n, _: names[quantity].format(human(n)))


def neighbours(data: Data) -> Iterator[str]:
    started, memory = neighbour_pairs(data, "start_up"), neighbour_pairs(data, "memory")
    exchanged = neighbour_pairs(data, "exchange")
    for p in started:
        said = f"Preloaded, {p.shape.processes} processes start in {ratio(p.carried.median / p.alone.median)} the time of the MPI alone"
        for m in (m for m in memory if m.shape == p.shape):
            less, more = (f"{m.median / (1 << 20):.3g} MB" for m in (m.alone, m.carried))
            said += f", and have {more} of memory each instead of {less}"
        gains = ", ".join(f"{ratio(e.gain)} as fast at {human(e.x)}" for e in exchanged if e.shape == p.shape)
        yield said + (f"; their exchange with six neighbours is {gains}." if gains else ".")


def polling(data: Data) -> Iterator[str]:
    for shape in shapes(data.of("polling")):
        at = {p.side: p.stat for p in data.of("polling") if p.shape == shape}
        if {"asleep", catalogue.ALONE, catalogue.CARRIED} <= at.keys():
            carried, alone = (ratio(at[side].median / at["asleep"].median) for side in (catalogue.CARRIED, catalogue.ALONE))
            yield (
                f"Beside a process that polls by MPI_Test another computes for {carried} the time that it needs beside a sleeper;"
                f" by the MPI alone {alone} ({shape})."
            )


def nothing_carried(data: Data) -> Iterator[str]:
    found = [p.gain for p in pairs(data, "none", RATE, "bytes", lambda n, _: human(n))]
    if found:
        yield (
            f"A program that plait carries nothing for (PLAIT_COMMUNICATORS=none) has {min(found):.3f} to {max(found):.3f} of the MPI's"
            " message rate."
        )
