"""Files written in one step: what was there stays whole until the new one is, and nothing partial stays behind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from plait.error import PlaitError


class FileError(PlaitError):
    """Why a file cannot be written; one clear line."""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what then takes the place of `path`."""
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        partial.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FileError(f"{path} cannot be written: {error.strerror}") from None
        raise
