#!/usr/bin/env python3
"""plait-lbm's speed against the memory's limit, and the halo time of each model, at 128^3 in an empty box.

    .venv/bin/python bench/lbm.py [MPI]

All models in turn, three rounds, by `plait compare`; the limit is measured within the same runs, in turn with the steps.
To reach: 0.7 of the limit on all cores.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from plait.compare import compare  # noqa: E402
from plait.mpis import find  # noqa: E402

TO_REACH = 0.7


def main() -> int:
    mpi = find(sys.argv[1] if len(sys.argv) > 1 else None)
    out = ROOT / "out" / "bench-lbm" / mpi.name
    if status := compare(ROOT / "decks" / "box.toml", mpi, out, minutes=4.0):
        return status
    runs = json.loads((out / "compare.json").read_text())["runs"]
    fraction, model = max((run["limit_fraction"], run["model"]) for run in runs if not run["oversubscribed"])
    print(f"{model}: {fraction:.2f} of the memory's limit (to reach: {TO_REACH})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
