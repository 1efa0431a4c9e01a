"""`plait compare` from end to end, with plait-lbm and plait-heat where they are built."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from plait import compare as module
from plait import mpis, plan, vti
from plait.applications import HEAT
from plait.mpis import ROOT

REAL = os.environ.get("PLAIT_MPI", "mpich")


@pytest.mark.once  # test_lbm.py has the models under each MPI
@pytest.mark.skipif(not (ROOT / "build" / REAL / "bin" / "plait-lbm").exists(), reason=f"plait-lbm is not built for {REAL}")
def test_real_deck_from_end_to_end(tmp_path: Path):
    settings = ["lattice.size=[24,24,24]", "geometry.packing=[{radius=5.0,volume-fraction=0.3,seed=1}]", "run.steps=60"]
    assert module.compare(ROOT / "decks/porous.toml", mpis.find(REAL), tmp_path, 2.0, repeats=1, settings=settings) == 0
    found = json.loads((tmp_path / "compare.json").read_text())
    assert {run["model"] for run in found["runs"]} == set(plan.MODELS)
    assert len({run["digest"] for run in found["runs"]}) == 1
    assert found["permeability"] > 0
    assert (tmp_path / "velocity.png").stat().st_size > 10_000 and (tmp_path / "compare.png").stat().st_size > 10_000
    speed = vti.read(tmp_path / "porous-60.vti").arrays["velocity"]
    assert speed.shape == (24, 24, 24, 3) and np.isfinite(speed).all() and speed[..., 0].mean() > 0


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
