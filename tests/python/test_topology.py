"""MPI_Cart_create and its like put ranks where few messages leave a node, where the program lets them."""

import pytest
from plait import launch
from plait.feed import RANK
from programs import MPI, random_seed, run

RIGHT = "all have their neighbours"
FEWER = ", and fewer on other nodes"


def nodes(hosts):
    if hosts > 1 and (reason := launch.why_no_nodes(MPI)):
        pytest.skip(reason)
    return hosts


@pytest.mark.thorough_where(shape=((1, 1), (5, 3), (11, 4)), carried="all")
@pytest.mark.parametrize("carried", ["streams", "all"])
@pytest.mark.parametrize("shape", [(1, 1), (4, 1), (7, 2), (5, 3), (11, 4)], ids=lambda s: f"{s[0]} on {s[1]}")
def test_grids_and_graphs_at_random(shape, carried):
    """Topologies are as asked for, neighbours are reached, and no communicator has more messages between nodes than before."""
    processes, hosts = shape
    seed = random_seed()
    done = run("reorder", seed, processes=processes, hosts=nodes(hosts), env=[f"PLAIT_COMMUNICATORS={carried}"], timeout=120)
    assert done.stdout in (RIGHT + "\n", RIGHT + FEWER + "\n") if hosts == 1 else done.stdout == RIGHT + FEWER + "\n", seed


def test_the_grid_of_the_lecture():
    """Two nodes of 8: 14 links between them as ranks are dealt, 2 at best."""
    done = run("reorder", "seed", processes=16, hosts=nodes(2))
    assert done.stdout == "links between nodes: 14 as ranks were, 2 reordered\n"


def test_on_demand_ranks_stay_where_they_are():
    done = run("reorder", "seed", processes=16, hosts=nodes(2), env=["PLAIT_REORDER=no"])
    assert done.stdout == "links between nodes: 14 as ranks were, 14 reordered\n"


@pytest.mark.thorough_where(shape=((1, 4, 1), (3, 3, 2)))
@pytest.mark.parametrize("shape", [(1, 4, 1), (2, 2, 2), (3, 3, 2)], ids=lambda s: f"{s[0]} x {s[1]} on {s[2]}")
def test_threads_that_are_ranks(shape):
    """Of processes x threads; those of one process are together to begin with."""
    processes, threads, hosts = shape
    seed = random_seed()
    done = run("reorder", seed, threads, processes=processes, hosts=nodes(hosts), timeout=120)
    assert done.stdout in (RIGHT + "\n", RIGHT + FEWER + "\n") if hosts == 1 else done.stdout == RIGHT + FEWER + "\n", seed


@pytest.mark.parametrize(
    ("setting", "brings"), [("yes", "reordered 4 (all ways)"), ("no", "and reordered it would be 4 (all ways)")], ids=["yes", "no"]
)
def test_what_reordering_brings_is_told(setting, brings):
    done = run("reorder", "seed", processes=16, hosts=nodes(2), env=["PLAIT_REPORT=1", f"PLAIT_REORDER={setting}"])
    told = [line for line in done.stderr.splitlines() if "MPI_Cart_create" in line]
    # Then with reorder = 0.
    line = "plait: MPI_Cart_create of 2 x 8: 28 of 44 messages leave their node, "
    assert told == [line + brings, line + "and reordered it would be 4 (all ways)"]


@pytest.mark.parametrize(("setting", "after"), [("PLAIT_REPORT=1", 2), ("PLAIT_REORDER=no", 14)], ids=["report", "reorder"])
def test_what_one_process_wants_holds_for_all(setting, after):
    """Else some would wait in a collective call that the others do not make. The grid is asked for with reorder = 1, then with 0."""
    program = f'[ "{RANK}" != 15 ] || export {setting}; exec {MPI.build / "bin/reorder"} seed'
    done = run("/bin/sh", "-c", program, processes=16, hosts=nodes(2))
    told = [line for line in done.stderr.splitlines() if "MPI_Cart_create of 2 x 8: 28 of 44 messages leave their node, " in line]
    assert len(told) == (2 if setting == "PLAIT_REPORT=1" else 0), done.stderr
    assert done.stdout == f"links between nodes: 14 as ranks were, {after} reordered\n"


@pytest.mark.parametrize("processes", [2, 5])
def test_mistakes(processes):
    assert run("reorder", "mistakes", processes=processes).stdout == "all mistakes are told\n"
