"""Folders of results: a JSON file for each job, checked against measurement.schema.json; docs/benchmarks.md has the format."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plait import results
from plait.error import PlaitError
from plait.mpis import ROOT

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

SCHEMA = 1
OUT = Path("out")
PLAN = "run.json"  # which jobs a run of `plait bench` is made of
COMPARE = "compare.json"


class StoreError(PlaitError):
    """What is wrong with a folder of results; one clear line."""


def load(folder: Path) -> list[dict]:
    """All measurements in a folder, the oldest first."""
    if not folder.is_dir():
        raise StoreError(f"there is no folder {folder}")
    found = [read(path) for path in sorted(folder.glob("*.json")) if path.name != PLAN]
    if not found:
        raise StoreError(f"{folder} has no results: measure some with plait bench or plait compare")
    return sorted(found, key=lambda measurement: measurement["date"])


def read(path: Path) -> dict:
    """One measurement, checked."""
    content = read_json(path)
    for error in _validator().iter_errors(content):
        where = "/".join(map(str, error.absolute_path)) or "the file"
        raise StoreError(f"{path} is no measurement: {where}: {error.message[:150]}")
    return content


def read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from None
    except json.JSONDecodeError as error:
        raise StoreError(f"{path} is broken: line {error.lineno}: {error.msg}; delete it, and plait bench measures it anew") from None
    version = content.get("schema") if isinstance(content, dict) else None
    if version != SCHEMA:
        raise StoreError(f"{path} is from another version of plait (schema {version}, not {SCHEMA}): measure anew, into another folder")
    return content


def write(folder: Path, key: str, measurement: dict) -> None:
    results.write_json(measurement, folder / f"{key}.json")


def newest(below: Path = OUT) -> Path:
    """The folder with the newest results."""
    candidates = [below, *(path for path in (below / "bench").glob("*") if path.is_dir())]
    dated = [(max(p.stat().st_mtime for p in jsons), folder) for folder in candidates if (jsons := list(folder.glob("*.json")))]
    if not dated:
        raise StoreError(f"there are no results under {below}: measure some with plait bench or plait compare")
    return max(dated)[1]


@cache
def _validator() -> Validator:
    import jsonschema  # takes longer than all else that a command imports

    return jsonschema.Draft202012Validator(json.loads(Path(__file__).with_name("measurement.schema.json").read_text()))


@cache
def plait_version() -> str:
    """The commit, where there is one."""
    asked = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else "unknown"
