"""What folders of results hold, laid together: points with all samples of all turns, and figures made of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from math import comb
from pathlib import Path
from statistics import median

from plait.results import IN_ORDER

# Two medians that differ by less are the same, whatever the samples.
LEAST_CHANGE = 1.05
LEAST_P = 0.01
# Of fewer samples than this no order is as improbable.
ENOUGH = 5
NOISE = (
    "Beyond the noise means that medians are 5 % or more apart and that samples of one distribution would lie as far apart in less than"
    " 1 case of 100 (Mann-Whitney); of fewer than 5 samples, that all of one side's lie beyond all of the other's."
)


@dataclass(frozen=True)
class Stat:
    """Samples of one figure."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.samples)

    @property
    def least(self) -> float:
        return min(self.samples)

    @property
    def most(self) -> float:
        return max(self.samples)

    def scaled(self, factor: float) -> Stat:
        return Stat(tuple(factor * s for s in self.samples))

    def inverse(self, factor: float) -> Stat:
        return Stat(tuple(factor / s for s in self.samples))

    def differs(self, other: Stat) -> bool:
        """By more than the noise; NOISE says what that is."""
        ratio = self.median / other.median
        if max(ratio, 1 / ratio) < LEAST_CHANGE:
            return False
        if min(len(self.samples), len(other.samples)) < ENOUGH:
            return self.most < other.least or other.most < self.least
        return rank_sum_p(self.samples, other.samples) < LEAST_P


def rank_sum_p(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """How probable it is that samples of one distribution lie as far apart: Wilcoxon, Mann and Whitney, two-sided, exact but for
    ties."""
    below = sum((x < y) + 0.5 * (x == y) for x in a for y in b)
    least = int(min(below, len(a) * len(b) - below))
    return min(1.0, 2 * sum(_arrangements(u, len(a), len(b)) for u in range(least + 1)) / comb(len(a) + len(b), len(a)))


@cache
def _arrangements(u: int, m: int, n: int) -> int:
    """Of m and n samples, in how many orders u pairs are the other way round."""
    if u < 0:
        return 0
    if m == 0 or n == 0:
        return int(u == 0)
    return _arrangements(u - n, m - 1, n) + _arrangements(u, m, n - 1)


@dataclass(frozen=True)
class Shape:
    processes: int
    threads: int
    nodes: int
    delay: float = 0  # microseconds, one way, between them

    def __str__(self) -> str:
        nodes = f" on {self.nodes} nodes" if self.nodes > 1 else ""
        delay = f", {self.delay:g} µs apart" if self.delay else ""
        return f"{self.processes} × {self.threads}{nodes}{delay}"


@dataclass(frozen=True)
class Point:
    benchmark: str
    quantity: str
    side: str
    at: tuple[tuple[str, int], ...]
    shape: Shape
    oversubscribed: bool
    reordered: bool  # False: ranks are in the launcher's order, though another is better
    stat: Stat

    @property
    def name(self) -> str:
        return f"{self.side}{'' if self.reordered else IN_ORDER} {self.shape}"

    def x(self, name: str) -> int:
        return dict(self.at)[name]


@dataclass
class Data:
    """One folder."""

    folder: Path
    measurements: list[dict]
    points: list[Point] = field(default_factory=list)

    def __post_init__(self) -> None:
        samples: dict[tuple, list[float]] = {}
        for m in self.measurements:
            for p in m["points"]:
                shape = Shape(p["processes"], p["at"].get("threads", p["threads"]), p["nodes"], p.get("delay", 0))
                key = (m["benchmark"], p["quantity"], p["side"], tuple(sorted(p["at"].items())), shape, p["oversubscribed"])
                key += (p.get("reordered", True),)
                samples.setdefault(key, []).extend(p["samples"])
        self.points = [Point(*key, Stat(tuple(found))) for key, found in samples.items()]

    @property
    def label(self) -> str:
        newest = self.measurements[-1]
        versions = sorted({m["mpi"]["version"] for m in self.measurements})
        return f"{', '.join(versions)}, plait {newest['plait']}, {newest['date'][:16].replace('T', ' ')}"

    @property
    def mpi(self) -> str:
        return self.measurements[-1]["mpi"]["name"]

    def of(self, benchmark: str, *quantities: str) -> list[Point]:
        return [p for p in self.points if p.benchmark == benchmark and (not quantities or p.quantity in quantities)]

    def commands(self, benchmark: str) -> list[str]:
        return list(dict.fromkeys(m["command"] for m in self.measurements if m["benchmark"] == benchmark))

    def skipped(self, benchmark: str, nodes: int | None) -> dict[str, str]:
        """Sides that were left out on so many nodes, or on any, and why."""
        chosen = [m for m in self.measurements if m["benchmark"] == benchmark and nodes in (None, m["settings"].get("nodes", nodes))]
        return {side: why for m in chosen for side, why in m["skipped"].items()}


@dataclass
class Curve:
    name: str
    points: dict[float, Stat] = field(default_factory=dict)  # by x

    def add(self, x: float, stat: Stat) -> None:
        self.points[x] = stat


@dataclass
class Line:
    """What theory says, which has no samples."""

    name: str
    points: dict[float, float]  # by x
    of: str = ""  # the curve that it expects, and looks like; without, it is the same whatever was measured


@dataclass
class Figure:
    """One plot, its table and what is told about it."""

    key: str  # the same in two folders where the same was measured
    title: str
    caption: str
    x_title: str
    y_title: str
    curves: dict[str, Curve]
    commands: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    nodes: int | None = None  # of all that is in it, where that is one number
    oversubscribed: bool = False
    lower_is_better: bool = True
    log_y: bool = True
    bars: bool = False  # a bar for each curve, at one place
    bytes: bool = False  # x is in bytes
    linear: bool = False  # both axes
    theory: list[Line] = field(default_factory=list)  # lines, over which samples are points


def shapes(points: Iterable[Point]) -> list[Shape]:
    return sorted({p.shape for p in points}, key=lambda s: (s.nodes, s.delay, s.processes, s.threads))


def curves(points: Iterable[Point], x: str, factor: float = 1.0, name=lambda p: p.side) -> dict[str, Curve]:
    """A curve for each name, over the points' `x`."""
    found: dict[str, Curve] = {}
    for p in sorted(points, key=lambda p: p.x(x)):
        found.setdefault(name(p), Curve(name(p))).add(p.x(x), p.stat.scaled(factor))
    return found


def alone_on_plate(points: Iterable[Point], plate: int) -> Stat | None:
    """What all other times of a plate are held against: one process with one thread."""
    return next((p.stat for p in points if (p.x("plate"), p.shape) == (plate, Shape(1, 1, 1))), None)


def human(size: float) -> str:
    """Bytes as people write them."""
    for unit, power in (("MB", 20), ("KB", 10)):
        if size >= 1 << power:
            return f"{size / (1 << power):g} {unit}"
    return f"{size:g} B"


def us(stat: Stat) -> str:
    value = 1e6 * stat.median
    return f"{value / 1000:.3g} ms" if value >= 1000 else f"{value:.3g} µs"


def ratio(value: float) -> str:
    return f"{value:.2g} ×" if value < 10 else f"{value:.0f} ×"


def count(n: int, what: str) -> str:
    return f"{n} {what}{'s' if n != 1 else ''}"
