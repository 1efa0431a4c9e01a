"""The environment variables that plait reads, as libplait's own table has them: `plait info --settings`, docs/environment.md."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from rich import box
from rich.table import Table

from plait.mpis import Mpi, MpiError

# Who reads a variable, and what the manual says above its own.
READERS = {
    "library": ("libplait", "Read when the program calls `MPI_Init`."),
    "application": ("plait-lbm", ""),
    "command": ("The plait command", ""),
    "build": ("Building", ""),
    "tests": ("Tests", ""),
    "mpi": (
        "Variables of MPIs and launchers",
        "libplait and the command read them and leave them as they are; all others of the MPI's go past plait.",
    ),
    "system": ("Variables of compilers, OpenMP and batch systems", "The command reads them."),
}

HEAD = """# Environment variables

<!-- Made from src/base/settings.cpp by: ./plait info --settings --markdown > docs/environment.md -->

`plait info --settings` prints these tables with the values that hold where you are. A value that is not as it has to be gets one line on
standard error from rank 0, and the default holds; so does a name that begins with `PLAIT_` and is unknown. An empty value
counts as none. `plait run` hands plait's own variables on to all processes, also to those on other nodes; `--env NAME=VALUE`
sets any variable for one job.
"""


@dataclass(frozen=True)
class Setting:
    name: str
    reader: str
    expected: str
    default: str
    meaning: str
    value: str | None  # None: not set


@dataclass(frozen=True)
class Settings:
    table: list[Setting]
    problems: list[str]

    def as_json(self) -> dict:
        return asdict(self)


def ask(mpi: Mpi) -> Settings:
    """The table that libplait was built with, and what holds in our own environment."""
    program = mpi.program("plait-settings")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if done.returncode:
        raise MpiError(f"{program} ended with status {done.returncode}")
    found, problems = [], []
    for line in done.stdout.splitlines():
        words = line.split("\t")
        if words[0] == "problem":
            problems.append(words[1])
        else:
            *head, is_set, value = words
            found.append(Setting(*head, value=value if is_set == "1" else None))
    return Settings(found, problems)


def _sections(settings: Sequence[Setting]) -> Iterator[tuple[str, str, list[Setting]]]:
    for reader, (title, text) in READERS.items():
        if rows := [setting for setting in settings if setting.reader == reader]:
            yield title, text, rows


def table(settings: Sequence[Setting]) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("variable", "value here", "may be", "without it", "meaning"):
        shown.add_column(heading, overflow="fold")
    for title, _, rows in _sections(settings):
        shown.add_row(f"[bold]{title}[/]")
        for row in rows:
            shown.add_row(row.name, "–" if row.value is None else row.value, row.expected, row.default, row.meaning)
    return shown


def markdown(settings: Sequence[Setting]) -> str:
    """docs/environment.md"""
    parts = [HEAD]
    for title, text, rows in _sections(settings):
        parts.append(f"\n## {title}\n\n" + (f"{text}\n\n" if text else ""))
        parts.append("| variable | may be | without it | meaning |\n|---|---|---|---|\n")
        parts += [f"| `{row.name}` | {row.expected} | {row.default} | {row.meaning} |\n" for row in rows]
    return "".join(parts)
