"""What the user sees while jobs run, one after the other: a bar on a terminal, elsewhere a line a job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.columns import Columns
from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.progress_bar import ProgressBar
from rich.text import Text


@dataclass
class Pace:
    """How far the jobs are: a part of all from 0 to 1, and what is left, in words."""

    done: Callable[[], float]
    left: Callable[[], str]


def clock(seconds: float) -> str:
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02d}"


@contextmanager
def progress(console: Console, start: float, pace: Pace, lines_tell_left: bool = False) -> Iterator[Callable[[str], None]]:
    """Gives the function that tells what runs now. `start`: when all began, by time.monotonic()."""
    if not console.is_terminal:

        def tell(text: str) -> None:
            left = f", {pace.left()}" if lines_tell_left else ""
            console.print(f"{time.monotonic() - start:4.0f} s  {text}{left}", highlight=False)

        yield tell
        return
    # Once a second: the drawing takes its time from the cores that are measured.
    columns = (SpinnerColumn(), TextColumn("{task.description}"), _Bar(pace))
    with Progress(*columns, console=console, refresh_per_second=1, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda text: bar.update(task, description=text)


class _Bar(ProgressColumn):
    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self.pace = pace

    def render(self, task: Task):
        return Columns([ProgressBar(1.0, min(1.0, self.pace.done()), width=30), Text(self.pace.left())])
