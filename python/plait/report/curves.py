"""What folders of results hold, laid together: points with all samples of all turns, and figures made of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

# Two medians that differ by less are the same, whatever the samples.
LEAST_CHANGE = 1.05


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
        """By more than the noise: all samples of one lie beyond all of the other's, and the medians are 5 % apart."""
        apart = self.most < other.least or other.most < self.least
        ratio = self.median / other.median
        return apart and max(ratio, 1 / ratio) >= LEAST_CHANGE


@dataclass(frozen=True)
class Shape:
    processes: int
    threads: int
    nodes: int

    def __str__(self) -> str:
        nodes = f" on {self.nodes} nodes" if self.nodes > 1 else ""
        return f"{self.processes} × {self.threads}{nodes}"


@dataclass(frozen=True)
class Point:
    benchmark: str
    quantity: str
    side: str
    at: tuple[tuple[str, int], ...]
    shape: Shape
    oversubscribed: bool
    stat: Stat

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
                shape = Shape(p["processes"], p["at"].get("threads", p["threads"]), p["nodes"])
                key = (m["benchmark"], p["quantity"], p["side"], tuple(sorted(p["at"].items())), shape, p["oversubscribed"])
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

    def skipped(self, benchmark: str) -> dict[str, str]:
        return {side: why for m in self.measurements if m["benchmark"] == benchmark for side, why in m["skipped"].items()}


@dataclass
class Curve:
    name: str
    points: dict[float, Stat] = field(default_factory=dict)  # by x

    def add(self, x: float, stat: Stat) -> None:
        self.points[x] = stat


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
    oversubscribed: bool = False
    lower_is_better: bool = True
    log_y: bool = True
    bars: bool = False  # a bar for each curve, at one place
    bytes: bool = False  # x is in bytes


def shapes(points: Iterable[Point]) -> list[Shape]:
    return sorted({p.shape for p in points}, key=lambda s: (s.nodes, s.processes, s.threads))


def curves(points: Iterable[Point], x: str, factor: float = 1.0, name=lambda p: p.side) -> dict[str, Curve]:
    """A curve for each name, over the points' `x`."""
    found: dict[str, Curve] = {}
    for p in sorted(points, key=lambda p: p.x(x)):
        found.setdefault(name(p), Curve(name(p))).add(p.x(x), p.stat.scaled(factor))
    return found


def human(size: float) -> str:
    """Bytes as people write them."""
    for unit, power in (("MB", 20), ("KB", 10)):
        if size >= 1 << power:
            return f"{size / (1 << power):g} {unit}"
    return f"{size:g} B"
