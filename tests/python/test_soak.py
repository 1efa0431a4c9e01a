"""The soak: it draws tests that pass, and says how a failure is repeated."""

import os
import subprocess
import sys

import pytest
import soak
from plait.mpis import ROOT
from programs import MPI

pytestmark = pytest.mark.once  # the same whatever the MPI is


@pytest.mark.thorough
def test_some_seconds_of_it():
    command = [sys.executable, ROOT / "tests" / "python" / "soak.py", MPI.build, "3"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("operations, 0 failures\n")


def test_a_failure_is_told_with_its_seed():
    words = ["--seed", 7, "--messages", 2000, "--break", "payload"]
    with pytest.raises(soak.Failure, match=r"^-n 2 --hosts 1  random_p2p --seed 7 --messages 2000 --break payload\nexit status [1-9]"):
        soak.launched("all as the model says", "random_p2p", *words, processes=2, hosts=1)
