"""Random sequences of OpenMP's constructs leave in memory, over several processes, what they do on one by libgomp."""

import pytest
from plait import launch
from plait.mpis import ROOT
from programs import MPI, needs_cluster, random_seed
from soak import OpenMP

SOURCE = ROOT / "tests/programs/cluster/random.c"

pytestmark = needs_cluster()


@pytest.fixture(scope="module")
def openmp(tmp_path_factory):
    return OpenMP(tmp_path_factory.mktemp("random"))


@pytest.mark.thorough_where(processes=(3, 4))
@pytest.mark.parametrize(("processes", "threads", "seeds"), [(2, 1, 60), (2, 2, 60), (3, 1, 50), (3, 2, 30), (4, 1, 50)])
def test_on_one_node(openmp, processes, threads, seeds):
    """2 x 1, 2 x 2, 3 x 1, 3 x 2 and 4 x 1"""
    openmp.compare(random_seed(), seeds, processes, threads)


@pytest.mark.parametrize("nodes", [2, 4])
def test_between_nodes(openmp, nodes):
    """2 and 4 on as many nodes"""
    if reason := launch.why_no_nodes(MPI):
        pytest.skip(reason)
    openmp.compare(random_seed(), 20, nodes, 1, hosts=nodes)


def test_with_hardly_any_memory_for_copies(openmp):
    """3: pages are given up at each barrier"""
    openmp.compare(random_seed(), 20, 3, 1, env={"PLAIT_CLUSTER_MEMORY": "0"})


def test_the_number_of_threads_does_not_matter(openmp):
    """0: else the others would say nothing"""
    first = random_seed()
    assert openmp.expected(first, 100, threads=1) == openmp.expected(first, 100, threads=3)
