"""The report's page: one HTML file with everything in it, plotly's script too."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

from plotly import offline

from plait.files import replacing
from plait.report.curves import Curve, Data, Figure, Line, Stat, human

# Okabe and Ito's colours, told apart by colour-blind readers too; dashes and symbols tell curves apart in black and white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8a7a00")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "triangle-down", "star", "cross")
BLACK = COLOURS.index("#000000")
BARS = ("", "/", "\\", "x", "-", "|", "+", ".")
# The same side looks the same in every figure.
FIXED = {
    side: style
    for sides in (
        ("masteronly", "funneled", "multiple", "streams", "partitioned", "threadcomm", "pure-mpi"),
        ("", "funneled-balanced", *6 * [""], "", "funneled-reserved", "multiple-reserved", *7 * [""], "multiple-balanced"),
        ("mpi", "plait-ordinary", "memcpy-shared", "plait-stream", "memcpy", "", "hand-over"),
        ("mpi-single", "plait-single", "mpi-per-thread", "plait-streams", "plait-per-thread", "mpi-hints", "raw-ring", "plait-hints"),
        ("", "", "", "gaspi-shared", "", "", "", "gaspi"),
        ("", "", "", "mpi-partitioned", "plait-partitioned", "", "fill"),
        ("processes", "", "", "", "", "threads"),
        ("alone", "", "", "progress-thread"),
        ("", "cluster, static", "cluster, static,1", "cluster, static,10", "cluster, static,50", "cluster, dynamic"),
    )
    for style, side in enumerate(sides)
}


@dataclass(frozen=True)
class Shown:
    """A figure as one or two folders have it."""

    figure: Figure
    runs: list[tuple[str, dict[str, Curve]]]  # "" or A, B


def write(path: Path, title: str, summary: list[str], shown: list[Shown], folders: list[Data]) -> None:
    figures, plots = [], {}
    for number, one in enumerate(shown, 1):
        name = f"figure-{number}"
        plots[name] = _plot(one)
        figures.append(_section(name, number, one))
    template = Template(Path(__file__).with_name("page.html").read_text())
    page = template.substitute(
        title=escape(title),
        runs="".join(f"<p class=run>{_label(n, len(folders))}{escape(data.label)}</p>" for n, data in enumerate(folders)),
        summary="".join(f"<li>{escape(sentence)}</li>" for sentence in summary),
        contents="".join(f'<li><a href="#figure-{n}">{escape(one.figure.title)}</a></li>' for n, one in enumerate(shown, 1)),
        figures="".join(figures),
        machine="".join(_machine(n, data, len(folders)) for n, data in enumerate(folders)),
        # What ends a script element must not stand in one.
        plots=json.dumps(plots).replace("</", "<\\/"),
        plotly=offline.get_plotlyjs().replace("</script", "<\\/script"),
    )
    with replacing(path) as partial:
        partial.write_text(page)


# ---- a figure's plot


def _styles(names: list[str]) -> dict[str, int]:
    """Of each curve; where the fixed ones do not tell the figure's curves apart, by place."""
    fixed = [FIXED.get(name) for name in names]
    if None not in fixed and len(set(fixed)) == len(names):
        return dict(zip(names, fixed, strict=True))
    return {name: place for place, name in enumerate(names)}


def _plot(one: Shown) -> dict:
    figure = one.figure
    styles = _styles(list(dict.fromkeys(name for _, found in one.runs for name in found)))
    traces = []
    for place, (run, found) in enumerate(one.runs):
        for name, curve in found.items():
            label = f"{name}, {run}" if run else name
            traces += (_bar if figure.bars else _line)(figure, curve, label, styles[name], place, bool(run))
    # What theory expects of a curve is of one run's parts.
    lines = [line for line in figure.theory if len(one.runs) == 1 or not line.of]
    traces += [_of_theory(line, styles.get(line.of, BLACK)) for line in lines]
    values = [s.median for _, found in one.runs for curve in found.values() for s in curve.points.values()]
    xs = sorted({x for _, found in one.runs for curve in found.values() for x in curve.points})
    x_axis = {
        "title": {"text": figure.x_title},
        "type": "log",
        "tickvals": xs,
        "ticktext": [human(x) if figure.bytes else f"{x:,g}" for x in xs],
    }
    if figure.bars:
        x_axis = {"type": "category", "automargin": True}
    y_axis = {
        "title": {"text": figure.y_title},
        "type": "log" if not (figure.bars or figure.linear) else "linear",
        "exponentformat": "none",
        "automargin": True,
    }
    if figure.linear:
        x_axis = {"title": x_axis["title"], "type": "linear", "rangemode": "tozero"}
        # A stray sample may lie outside.
        y_axis["range"] = [0, 1.2 * max(*values, *(y for line in lines for y in line.points.values()))]
    if figure.bars:
        y_axis["rangemode"] = "tozero"
    if y_axis["type"] == "log" and max(values) > 20 * min(values):
        y_axis["dtick"] = 1  # whole decades
    common = {"showline": True, "linecolor": "#444", "gridcolor": "#ddd", "ticks": "outside", "zeroline": False}
    layout = {
        "xaxis": {**common, **x_axis},
        "yaxis": {**common, **y_axis},
        "template": None,
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": "#222"},
        "margin": {"l": 70, "r": 20, "t": 20, "b": 60},
        "legend": {"orientation": "h", "y": -0.22},
        "showlegend": not figure.bars or bool(one.runs[0][0]),
        "hovermode": "closest",
        "height": 460,
    }
    return {"data": traces, "layout": layout, "name": figure.key.replace("/", "-").replace(" ", "-")}


def _other_than_colour(some: tuple[str, ...], style: int) -> str:
    """So that styles of the same colour differ."""
    return some[(style + style // len(COLOURS)) % len(some)]


def _of_theory(line: Line, style: int) -> dict:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(line.points),
        "y": list(line.points.values()),
        "name": line.name,
        "line": {"color": COLOURS[style % len(COLOURS)], "dash": DASHES[style % len(DASHES)], "width": 1},
        "hovertemplate": "%{x}: %{y:.4g}",
    }


def _line(figure: Figure, curve: Curve, label: str, style: int, run: int, two: bool) -> list[dict]:
    xs = list(curve.points)
    stats = list(curve.points.values())
    colour = COLOURS[style % len(COLOURS)]
    dash = ("solid", "dash")[run] if two else DASHES[style % len(DASHES)]
    symbol = _other_than_colour(SYMBOLS, style) + ("-open" if run else "")
    band = {
        "type": "scatter",
        "x": xs + xs[::-1],
        "y": [s.most for s in stats] + [s.least for s in reversed(stats)],
        "fill": "toself",
        "fillcolor": f"rgba({','.join(str(int(colour[k : k + 2], 16)) for k in (1, 3, 5))},0.16)",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": label,
        "mode": "lines",
    }
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": xs,
        "y": [s.median for s in stats],
        "name": label,
        "legendgroup": label,
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"symbol": symbol, "size": 8},
        "text": [f"{_number(s.least)} to {_number(s.most)}, {len(s.samples)} samples" for s in stats],
        "hovertemplate": "%{x}: %{y:.4g} (%{text})",
    }
    if figure.theory:  # points
        most, least = [s.most - s.median for s in stats], [s.median - s.least for s in stats]
        error = {"type": "data", "symmetric": False, "array": most, "arrayminus": least, "thickness": 1}
        return [{**line, "mode": "markers", "error_y": error}]
    return [band, line]


def _bar(figure: Figure, curve: Curve, label: str, style: int, run: int, two: bool) -> list[dict]:
    stat = next(iter(curve.points.values()))
    return [
        {
            "type": "bar",
            # Where there is one run the value stands below its bar.
            "x": [curve.name if two else f"{curve.name}<br>{_number(stat.median)}"],
            "y": [stat.median],
            "name": label,
            "marker": {
                "color": COLOURS[(run if two else style) % len(COLOURS)],
                "pattern": {
                    "shape": _other_than_colour(BARS, run if two else style),
                    "fgcolor": "white",
                    "solidity": 0.2,
                    "fillmode": "overlay",
                },
            },
            "error_y": {"type": "data", "symmetric": False, "array": [stat.most - stat.median], "arrayminus": [stat.median - stat.least]},
            "showlegend": two,
            "hovertemplate": "%{x}: %{y:.4g}",
        }
    ]


# ---- its section and table


def _section(name: str, number: int, one: Shown) -> str:
    figure = one.figure
    spread = "go from the least sample to the most."
    if figure.theory:
        notes = [f"Points are medians; the lines through them {spread}"]
    else:
        notes = [f"Bars are medians; lines {spread}" if figure.bars else f"Lines are medians; bands {spread}"]
    if figure.oversubscribed:
        notes.append("Oversubscribed: more threads than cores, which take turns.")
    notes += [f"Left out: {side}: {why}." for side, why in figure.skipped.items()]
    table = _compared(one) if len(one.runs) == 2 else _table(one)
    commands = escape("\n".join(figure.commands))
    return f"""
<section id="{name}">
<h2>{number}. {escape(figure.title)}</h2>
<p>{escape(figure.caption)} {escape(" ".join(notes))}</p>
<div class=plot id="plot-{name}"></div>
<p class=save><button data-plot="plot-{name}" data-format=png>PNG</button> <button data-plot="plot-{name}" data-format=svg>SVG</button></p>
<details><summary>Table</summary>{table}</details>
<details class=commands><summary>To repeat it</summary><pre>{commands}</pre></details>
</section>"""


def _table(one: Shown) -> str:
    figure, (_, found) = one.figure, one.runs[0]
    xs = sorted({x for curve in found.values() for x in curve.points})
    head = "".join(f"<th>{escape(name)}</th>" for name in found)
    rows = []
    for x in xs:
        cells = "".join(f"<td>{_cell(curve.points.get(x))}</td>" for curve in found.values())
        rows.append(f"<tr><th>{'' if figure.bars else human(x) if figure.bytes else f'{x:,g}'}</th>{cells}</tr>")
    caption = f"<caption>{escape(figure.y_title)}: median (least to most)</caption>"
    return f"<table>{caption}<tr><th>{escape(figure.x_title)}</th>{head}</tr>{''.join(rows)}</table>"


def _compared(one: Shown) -> str:
    figure = one.figure
    (_, before), (_, after) = one.runs
    rows = []
    for name in dict.fromkeys([*before, *after]):
        first, second = (found[name].points if name in found else {} for found in (before, after))
        for x in sorted({*first, *second}):
            a, b = first.get(x), second.get(x)
            change, mark, how = "–", "", ""
            if a and b:
                change = f"{b.median / a.median:.2f}"
                if a.differs(b):
                    better = (b.median < a.median) == figure.lower_is_better
                    how, mark = ("better", "▲ better") if better else ("worse", "▼ worse")
            place = "" if figure.bars else human(x) if figure.bytes else f"{x:,g}"
            cells = "".join(f"<td>{cell}</td>" for cell in (place, _cell(a), _cell(b), change, mark))
            rows.append(f'<tr class="{how}"><th>{escape(name)}</th>{cells}</tr>')
    head = f"<tr><th></th><th>{escape(figure.x_title)}</th><th>A</th><th>B</th><th>B / A</th><th>beyond the noise</th></tr>"
    return f"<table><caption>{escape(figure.y_title)}: median (least to most)</caption>{head}{''.join(rows)}</table>"


def _cell(stat: Stat | None) -> str:
    return f"{_number(stat.median)} <small>({_number(stat.least)} to {_number(stat.most)})</small>" if stat else "–"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def _machine(number: int, data: Data, of: int) -> str:
    newest = data.measurements[-1]
    machine = newest["machine"]
    loads = [m["settings"]["load"] for m in data.measurements if "load" in m["settings"]]
    ticks = [m["settings"]["clock_resolution"] for m in data.measurements if "clock_resolution" in m["settings"]]
    rows = {
        "processor": f"{machine['cpu']}, {machine['cores']} cores",
        "memory": f"{machine['memory_gb']:g} GB",
        "system": machine["os"],
        "MPI": f"{data.mpi}: {', '.join(sorted({m['mpi']['version'] for m in data.measurements}))}",
        "plait": newest["plait"],
        "measured": f"{data.measurements[0]['date']} to {newest['date']}, {len(data.measurements)} files in {data.folder}",
    }
    if loads:
        rows["load average before the jobs"] = f"{min(loads):.2f} to {max(loads):.2f}"
    if ticks:
        rows["clock's resolution"] = f"{1e9 * max(ticks):.0f} ns"
    cells = "".join(f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in rows.items())
    return f"<table class=machine><caption>{_label(number, of)}</caption>{cells}</table>"


def _label(number: int, of: int) -> str:
    return f"<b>{'AB'[number]}</b> " if of > 1 else ""
