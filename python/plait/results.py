"""What a comparison measured: its rows, the JSON file and the table."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from rich import box
from rich.console import Console
from rich.table import Table

from plait import machine as host
from plait.applications import LBM, Application
from plait.files import replacing

NARROWEST = 120
IN_ORDER = ", not reordered"  # behind the name of what has ranks in the launcher's order, where another is better


@dataclass
class Row:
    """One model in one shape, and all that was measured of it."""

    model: str
    processes: int
    threads: int
    oversubscribed: bool = False
    rounds: int = 0  # planned
    samples: list[dict] = field(default_factory=list)  # the program's reports, one a round
    calibration: dict = field(default_factory=dict)  # its report of a short run before
    step_s: float = 0.0  # estimates from that run: a step,
    overhead_s: float = 0.0  # and all that a run needs besides
    note: str = ""  # what the user should know about this row
    application: Application = LBM
    hosts: int = 1  # simulated nodes
    reordered: bool | None = None  # are ranks in another order than the launcher's? None: that would change nothing between nodes

    @property
    def shape(self) -> str:
        return f"{self.processes} × {self.threads}"

    @property
    def nodes(self) -> int:
        """As many as the program has seen, which may be a batch job's."""
        return self.calibration.get("nodes", self.hosts)

    @property
    def side(self) -> str:
        return self.model + (IN_ORDER if self.reordered is False else "")

    @property
    def name(self) -> str:
        return f"{self.side} {self.shape}"

    @property
    def label(self) -> str:
        return self.name + (" (oversubscribed)" if self.oversubscribed else "")

    def with_ranks_in_order(self) -> Row | None:
        """The same with ranks in the launcher's order, where the short run was in another and less left a node for it."""
        between = self.calibration.get("bytes_between_nodes")
        if self.reordered is not None or not between or between["as_run"] == between["as_given"]:
            return None
        self.reordered = True
        return Row(
            self.model, self.processes, self.threads, self.oversubscribed, application=self.application, hosts=self.hosts, reordered=False
        )

    @property
    def combined(self) -> dict[str, dict[str, float]]:
        """Per kind of time: the median of the rounds' medians, the least and the most of all."""
        return {
            key: {
                "median": median(sample[key]["median"] for sample in self.samples),
                "min": min(sample[key]["min"] for sample in self.samples),
                "max": max(sample[key]["max"] for sample in self.samples),
            }
            for key in self.application.times
        }

    @property
    def step(self) -> dict[str, float]:
        return self.combined["step_ms"]

    @property
    def rate(self) -> float:
        """Million updates a second."""
        return median(sample[self.application.rate] for sample in self.samples)

    @property
    def limit_fraction(self) -> float | None:
        found = [sample["limit_fraction"] for sample in self.samples if sample.get("limit_fraction") is not None]
        return median(found) if found else None

    def as_points(self) -> list[dict]:
        """As measurement.schema.json has them; a sample is a round's median."""
        shape = {"processes": self.processes, "threads": self.threads, "nodes": self.nodes, "oversubscribed": self.oversubscribed}
        shape |= self._order
        points = []
        for quantity in ("step", "halo") if self.application.halo else ("step",):
            # Where nothing is exchanged a halo takes no time, and is no point.
            samples = [1e-3 * value for sample in self.samples if (value := sample[f"{quantity}_ms"]["median"]) > 0]
            if samples:
                points.append({"quantity": quantity, "unit": "s", "side": self.model, "at": {}, **shape, "samples": samples})
        return points

    def as_json(self) -> dict:
        return {
            "model": self.model,
            "processes": self.processes,
            "threads": self.threads,
            "nodes": self.nodes,
            "oversubscribed": self.oversubscribed,
            **self._order,
            "rounds": len(self.samples),
            **self.combined,
            self.application.rate: self.rate,
            **({"limit_fraction": self.limit_fraction} if self.application.limit else {}),
            "digest": self.samples[0]["digest"],
            "note": self.note,
            "samples": self.samples,
        }

    @property
    def _order(self) -> dict[str, bool]:
        return {} if self.reordered is None else {"reordered": self.reordered}


def in_order(rows: Sequence[Row]) -> list[Row]:
    """The rows that were measured, the fastest first, oversubscribed ones after all others."""
    return sorted((row for row in rows if row.samples), key=lambda row: (row.oversubscribed, row.step["median"]))


def base_of(rows: Sequence[Row]) -> Row | None:
    """The row that the others are compared with."""
    fitting = (row for row in in_order(rows) if row.model == row.application.base and not row.oversubscribed)
    return next((row for row in fitting if row.reordered is not False), None)


def differing(rows: Sequence[Row]) -> list[str]:
    """Names of rows and digests where not all runs of equally many steps ended with the same fields."""
    found = []
    for reports in ([(row, row.calibration) for row in rows if row.calibration], [(row, s) for row in rows for s in row.samples]):
        if len({report["digest"] for _, report in reports}) > 1:
            found += list(dict.fromkeys(f"{row.name}: {report['digest']}" for row, report in reports))
    return found


def table(rows: Sequence[Row]) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column("model", overflow="fold")
    shown.add_column("processes\n× threads", justify="center", overflow="fold")
    columns = _columns(rows[0].application, base_of(rows))
    for heading in columns:
        shown.add_column(heading, justify="right", overflow="fold")
    for row in in_order(rows):
        name = row.side + (" (oversubscribed)" if row.oversubscribed else "")
        style = "dim" if row.oversubscribed else ""
        shown.add_row(name, row.shape, *(cell(row) for cell in columns.values()), style=style)
    return shown


def _columns(application: Application, base: Row | None) -> dict[str, Callable[[Row], str]]:
    columns: dict[str, Callable[[Row], str]] = {
        "ms per step": lambda row: _ms(row.step["median"]),
        "min to max": lambda row: f"{_ms(row.step['min'])} to {_ms(row.step['max'])}",
    }
    if application.halo:
        columns["halo ms"] = lambda row: _ms(row.combined["halo_ms"]["median"])
    columns[application.rate.upper()] = lambda row: f"{row.rate:.1f}"
    if application.limit:
        columns["of limit"] = lambda row: "–" if row.limit_fraction is None else f"{row.limit_fraction:.2f}"
    columns[f"vs {application.base_title}"] = lambda row: f"{base.step['median'] / row.step['median']:.2f}" if base else "–"
    return columns


def _ms(value: float) -> str:
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}" if value >= 0.1 else f"{value:.3g}"


def winner(rows: Sequence[Row]) -> str:
    """One sentence: which model wins here, and by how much."""
    best, *others = [row for row in in_order(rows) if not row.oversubscribed]
    sentence = f"The fastest is {best.name}: {_ms(best.step['median'])} ms per step"
    base = base_of(rows)
    if base and base is not best:
        sentence += f", {base.step['median'] / best.step['median']:.2f} times as fast as {base.application.base_title}"
    slowest_round = max(sample["step_ms"]["median"] for sample in best.samples)
    near = [row.name for row in others if min(sample["step_ms"]["median"] for sample in row.samples) <= slowest_round]
    return sentence + (f"; within the spread of the rounds: {', '.join(near)}." if near else ".")


def reordering(rows: Sequence[Row]) -> list[str]:
    """Sentences: what another order of ranks than the launcher's brings on these nodes."""
    told = [row for row in rows if "bytes_between_nodes" in row.calibration and row.nodes > 1]
    if told and all(row.reordered is None for row in told):
        return [f"No order of ranks was found that sends less between the {told[0].nodes} nodes than the launcher's."]
    said = []
    for row in (row for row in told if row.reordered and row.samples):
        between = row.calibration["bytes_between_nodes"]
        moved = f"send {_megabytes(between['as_run'])} a step between the {row.nodes} nodes, not {_megabytes(between['as_given'])}"
        shape = (row.model, row.processes, row.threads)
        other = next((r for r in rows if r.reordered is False and r.samples and (r.model, r.processes, r.threads) == shape), None)
        times = f", and a step takes {_ms(row.step['median'])} ms, not {_ms(other.step['median'])} ms" if other else ""
        said.append(f"{row.label}: ranks in another order than the launcher's {moved}{times}.")
    return said


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.3g} MB"


def machine(cores: int) -> dict:
    """What was measured on; `cores` is how many this process may use."""
    memory = round(host.memory() / 1e9, 1)
    return {"cpu": host.processor(), "cores": cores, "memory_gb": memory, "os": host.system()}


def make_console() -> Console:
    """Wide enough for tables where nobody's terminal sets the width."""
    return Console() if sys.stdout.isatty() else Console(width=max(NARROWEST, int(os.environ.get("COLUMNS", "0") or 0)))


def write_json(content: dict, path: Path) -> None:
    with replacing(path) as partial:
        partial.write_text(json.dumps(content, indent=2, default=str) + "\n")
