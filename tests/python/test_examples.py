"""The programs in examples/, compiled and run as their first lines say, under the MPI that PLAIT_MPI names."""

import re
import subprocess

import pytest
from plait import launch
from plait.mpis import ROOT
from programs import MPI, has_cluster, run

EXAMPLES = sorted((ROOT / "examples").glob("*.c"))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    for source in EXAMPLES:
        command = [ROOT / "plait", "--mpi", MPI.name, "cc", "-O2", "-Wall", "-Werror", source, "-o", folder / source.stem]
        subprocess.run(command, check=True, timeout=120)
    return folder


def test_each_says_how_it_is_compiled_and_run():
    for source in EXAMPLES:
        name = source.stem
        assert f"    plait cc -O2 {name}.c -o {name} && plait run -n 4 ./{name}" in source.read_text().replace(" * ", "")


@pytest.mark.parametrize(("processes", "nodes"), [(1, 1), (2, 1), (4, 1), (4, 2)])
def test_heat_is_the_same_by_shared_notifications(compiled, processes, nodes):
    """1, 2 and 4, on 1 and 2 nodes"""
    if nodes > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    said = {run(compiled / name, 60, 200, processes=processes, hosts=nodes).stdout for name in ("heat_mpi", "heat_shared")}
    assert said == {"heat in the plate after 200 steps: 393.550166920\n"}


@pytest.mark.parametrize(("processes", "nodes"), [(1, 1), (2, 1), (4, 1), (4, 2)])
def test_a_ring_of_gaspi_beside_mpi(compiled, processes, nodes):
    """1, 2 and 4, on 1 and 2 nodes"""
    if nodes > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    # What is averaged stays, with its mean: the middle of the ranks' values.
    mean = (processes - 1) / 2 + 0.4995
    done = run(compiled / "ring_gaspi", 50, processes=processes, hosts=nodes)
    assert done.stdout == f"{1000 * processes} cells after 50 rounds: mean {mean:.6f}\n"


# ---- hybrid models: docs/models.md

MODELS = sorted({path.stem for path in (ROOT / "examples/models").glob("*.c")} - {"main", "plate"})


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A function that compiles a model as the first lines of its files say."""
    folder = tmp_path_factory.mktemp("models")

    def compiled(name):
        sources = {"openmp": ["openmp.c"], "threadcomm": ["threadcomm.c", "plate.c"]}.get(name, ["main.c", "plate.c", f"{name}.c"])
        how = "--cluster" if name == "openmp" else "-fopenmp"
        files = [ROOT / "examples/models" / source for source in sources]
        # gcc of MPICH 4.0.2: MPI_STATUSES_IGNORE is no array
        flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow"]
        command = [ROOT / "plait", "--mpi", MPI.name, "cc", how, *flags, *files, "-o", folder / name]
        subprocess.run(command, check=True, timeout=120)
        return folder / name

    return compiled


@pytest.mark.thorough_where(processes=3)
@pytest.mark.parametrize(("processes", "threads", "nodes"), [(2, 2, 1), (3, 3, 2)])
@pytest.mark.parametrize("model", MODELS)
def test_each_model_has_the_same_result(models, model, processes, threads, nodes):
    """2 x 2, and 3 x 3 on 2 nodes"""
    if nodes > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    if model == "openmp" and not has_cluster():
        pytest.skip("libplait_cluster is not built")
    done = run(models(model), processes=processes, hosts=nodes, env=[f"OMP_NUM_THREADS={threads}"])
    assert done.stdout == "the plate's points after 50 steps: 70659.800400\n"


@pytest.mark.once
@pytest.mark.parametrize("model", MODELS)
def test_the_manual_shows_what_is_run(model):
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", (ROOT / "docs/models.md").read_text(), re.MULTILINE)
    source = (ROOT / "examples/models" / f"{model}.c").read_text()
    shown = [re.sub("^    ", "", block, flags=re.MULTILINE).strip("\n") for block in blocks]
    assert any(block in source for block in shown if len(block.splitlines()) > 3)
