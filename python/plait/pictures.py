"""The pictures of a comparison: where each model's time goes, and a slice of the flow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import pyplot

from plait import vti
from plait.files import replacing
from plait.results import Row

pyplot.switch_backend("Agg")

# Okabe and Ito's colours, told apart by colour-blind readers too.
WHOLE = "compute"
COLOURS = {WHOLE: "#0072B2", "pack": "#E69F00", "wait": "#D55E00", "unpack": "#009E73"}
SOLID = "#b0b0b0"
# An oversubscribed row may be many times longer than the others; its bar is cut off here, times their longest.
LONGEST = 2.5


def draw_times(rows: Sequence[Row], title: str, path: Path) -> None:
    """A bar per row, as in the table: time per step, split into its parts where they are known. The memory's limit as a line."""
    figure, axes = pyplot.subplots(figsize=(9, 1.9 + 0.55 * len(rows)), layout="constrained")
    longest = max((row.step["median"] for row in rows if not row.oversubscribed), default=rows[0].step["median"])
    right = min(max(row.step["median"] for row in rows), LONGEST * longest) * 1.18
    for place, row in enumerate(rows):
        _draw_bar(axes, place, row, right)
    samples = [sample for row in rows if not row.oversubscribed for sample in row.samples if sample.get("limit_fraction")]
    if samples:
        # The best seen: on a machine that others use, a round's own limit may be slower than another round's steps.
        limit = min(sample["step_ms"]["median"] * sample["limit_fraction"] for sample in samples)
        axes.axvline(limit, color="black", linestyle="--", linewidth=1.2, label="memory bandwidth limit")
    axes.set_yticks(range(len(rows)), [row.label.replace(" (", "\n(") for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, right)
    axes.set_xlabel("time per step (ms, median)")
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=5, frameon=False)
    _save(figure, path)


def _draw_bar(axes, place: int, row: Row, right: float) -> None:
    parts = row.application.parts
    left, medians = 0.0, [row.combined[f"{part}_ms"]["median"] for part in parts] or [row.step["median"]]
    # Medians of parts do not add up to the median of the whole: the bar is that, shared out in proportion to them.
    scale = row.step["median"] / max(sum(medians), 1e-12)
    for part, share in zip(parts or (WHOLE,), medians, strict=True):
        width = scale * share
        # Oversubscribed rows are pale: their times are not to be compared with the others.
        alpha = 0.45 if row.oversubscribed else 1.0
        axes.barh(place, width, 0.62, left, color=COLOURS[part], alpha=alpha, label=part if place == 0 and parts else None)
        left += width
    cut = left > 0.88 * right
    axes.text(
        right * 0.99 if cut else left + 0.01 * right,
        place,
        f"{row.step['median']:.3g} ms" + (" →" if left > right else ""),
        va="center",
        ha="right" if cut else "left",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.8} if cut else None,
    )


def draw_slice(fields: Path, title: str, path: Path) -> None:
    """The size of the velocity in the plane z = half the height; solid sites are grey."""
    image = vti.read(fields)
    middle = image.size[2] // 2
    speed = np.linalg.norm(image.arrays["velocity"][middle].astype(float), axis=-1)
    solid = image.arrays["solid"][middle] != 0
    aspect = image.size[1] / image.size[0]
    figure, axes = pyplot.subplots(figsize=(7.5, min(12, max(3, 1.0 + 6.2 * aspect))), layout="constrained")
    colours = matplotlib.colormaps["viridis"].with_extremes(bad=SOLID)
    values, extent = np.ma.array(speed, mask=solid), (0, image.size[0], 0, image.size[1])
    shown = axes.imshow(values, origin="lower", cmap=colours, interpolation="nearest", extent=extent)
    bar = figure.colorbar(shown, ax=axes, shrink=0.9, label="velocity magnitude (lattice units: spacings per step)")
    bar.formatter.set_powerlimits((-2, 3))
    axes.set_xlabel("x (lattice spacings)")
    axes.set_ylabel("y (lattice spacings)")
    axes.set_title(f"{title}\nplane z = {middle + 0.5:g}" + ("; grey: solid" if solid.any() else ""), loc="left", fontsize=11)
    _save(figure, path)


def _save(figure, path: Path) -> None:
    try:
        with replacing(path) as partial:
            figure.savefig(partial, dpi=120, format="png")
    finally:
        pyplot.close(figure)
