"""`plait report`: a page that a person can read, of one folder of results or of two side by side."""

from __future__ import annotations

from pathlib import Path

from plait import store
from plait.store import StoreError

PAGE = "report.html"


def make(folders: list[Path]) -> Path:
    """Makes the page in the last of the folders (none: the newest under out/) and says where it is."""
    from plait.report import figures, page, summary  # plotly takes a second that only those wait for who want a page
    from plait.report.curves import NOISE, Data

    if len(folders) > 2:
        raise StoreError(f"a report is of one folder or of two, not {len(folders)}")
    folders = folders or [store.newest()]
    runs = [Data(folder, store.load(folder)) for folder in folders]
    made = [figures.figures(data) for data in runs]
    cores = runs[-1].measurements[-1]["machine"]["cores"]
    if len(runs) == 1:
        sentences = [*summary.sentences(runs[0]), summary.caveat(made[0], cores), NOISE]
        shown = [page.Shown(figure, [("", figure.curves)]) for figure in made[0]]
        title = f"Plait's benchmarks under {runs[0].mpi}"
    else:
        known = [{figure.key: figure for figure in of} for of in made]
        shown = [
            page.Shown(
                next(k[key] for k in known if key in k),
                [(run, k[key].curves if key in k else {}) for run, k in zip("AB", known, strict=True)],
            )
            for key in dict.fromkeys([*known[0], *known[1]])
        ]
        sentences = [
            *summary.changes(*made),
            NOISE,
            summary.caveat([one.figure for one in shown], cores),
        ]
        title = f"Plait's benchmarks: {runs[0].mpi} (A) and {runs[1].mpi} (B)"
    path = folders[-1] / PAGE
    page.write(path, title, [s for s in sentences if s], shown, runs)
    return path
