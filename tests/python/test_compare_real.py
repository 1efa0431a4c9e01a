"""`plait compare` from end to end, with plait-lbm and plait-heat where they are built."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from plait import compare as module
from plait import launch, mpis, plan, vti
from plait.applications import HEAT
from plait.mpis import ROOT

REAL = os.environ.get("PLAIT_MPI", "mpich")


@pytest.mark.once  # test_lbm.py has the models under each MPI
@pytest.mark.skipif(not (ROOT / "build" / REAL / "bin" / "plait-lbm").exists(), reason=f"plait-lbm is not built for {REAL}")
def test_real_deck_from_end_to_end(tmp_path: Path):
    settings = ["lattice.size=[24,24,24]", "geometry.packing=[{radius=5.0,volume-fraction=0.3,seed=1}]", "run.steps=60"]
    assert module.compare(ROOT / "decks/porous.toml", mpis.find(REAL), tmp_path, 2.0, repeats=1, settings=settings) == 0
    found = json.loads((tmp_path / "compare.json").read_text())
    assert {run["model"] for run in found["runs"]} == {row.model for row in plan.shapes(found["machine"]["cores"])}
    assert len({run["digest"] for run in found["runs"]}) == 1
    assert found["permeability"] > 0
    assert (tmp_path / "velocity.png").stat().st_size > 10_000 and (tmp_path / "compare.png").stat().st_size > 10_000
    speed = vti.read(tmp_path / "porous-60.vti").arrays["velocity"]
    assert speed.shape == (24, 24, 24, 3) and np.isfinite(speed).all() and speed[..., 0].mean() > 0


@pytest.mark.thorough
@pytest.mark.skipif(not (ROOT / "build" / REAL / "bin" / "plait-lbm").exists(), reason=f"plait-lbm is not built for {REAL}")
def test_real_ranks_in_both_orders_on_nodes(tmp_path: Path, monkeypatch, capsys):
    """A short channel is cut into 4 x 1 x 2 boxes: a row of four is on each node, and a square at best."""
    mpi = mpis.find(REAL)
    if reason := launch.why_no_nodes(mpi):
        pytest.skip(reason)
    shapes = plan.shapes
    monkeypatch.setattr(plan, "shapes", lambda cores, *words, **more: shapes(8, *words, **more))
    settings = ["lattice.size=[32,12,12]", "geometry.packing.radius=3.0", "run.steps=40"]
    options = {"models": ["pure-mpi"], "repeats": 1, "settings": settings, "hosts": 2}
    assert module.compare(ROOT / "decks/porous.toml", mpi, tmp_path, 2.0, **options) == 0
    found = json.loads((tmp_path / "compare.json").read_text())
    runs = {run["reordered"]: run for run in found["runs"]}
    between = {reordered: run["samples"][0]["bytes_between_nodes"]["as_run"] for reordered, run in runs.items()}
    assert between[True] < between[False] and runs[True]["digest"] == runs[False]["digest"]
    assert "pure-mpi 8 × 1: ranks in another order than the launcher's send " in capsys.readouterr().out


@pytest.mark.thorough
@pytest.mark.skipif(not (ROOT / "build" / REAL / "bin" / "plait-heat").exists(), reason=f"plait-heat is not built for {REAL}")
def test_real_plate_from_end_to_end(tmp_path: Path):
    settings = ["plate.size=67", "run.steps=60"]
    assert module.compare(ROOT / "decks/heat-80.toml", mpis.find(REAL), tmp_path, 2.0, repeats=1, settings=settings) == 0
    found = json.loads((tmp_path / "compare.json").read_text())
    built = (ROOT / "build" / REAL / "bin" / "plait-heat-cluster").exists()
    assert {run["model"] for run in found["runs"]} == set(HEAT.models) - ({"cluster"} if not built else set())
    assert len({run["digest"] for run in found["runs"]}) == 1
    assert 0 < found["whole"]["distance"] < 1 and (tmp_path / "compare.png").stat().st_size > 10_000
