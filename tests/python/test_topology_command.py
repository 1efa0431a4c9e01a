"""plait topology: counts of what leaves nodes, the drawing, and what it says to mistakes."""

import json
import re
from pathlib import Path

import pytest
from plait import topology
from plait.error import PlaitError
from plait.results import make_console
from test_plait import MPI, one_line, plait

pytestmark = pytest.mark.once  # no MPI runs


@pytest.fixture
def counts(capsys):
    """What --json prints: orders by their names, and all of it."""

    def ask(dims, nodes=None, **more):
        topology.topology(MPI, make_console(), dims, nodes, json_=True, **more)
        found = json.loads(capsys.readouterr().out)
        return {o["order"]: o for o in found["orders"]}, found

    return ask


@pytest.fixture
def between_nodes(counts):
    """As it stands, round-robin, in sequence, reordered."""
    return lambda *words, **more: [o["bytes_between_nodes"] for o in counts(*words, **more)[0].values()]


def test_the_grid_of_the_lecture(counts):
    """In messages, of which each link has two."""
    orders, found = counts("2x8", "2", map_="round-robin")
    assert {name: o["bytes_between_nodes"] for name, o in orders.items()} == {
        "as it stands": 28,
        "round-robin": 28,
        "in sequence": 16,
        "reordered": 4,
    }
    assert found["dims"] == [2, 8] and found["ranks_of_nodes"] == [8, 8]
    assert orders["in sequence"]["node_of_cell"] == [0] * 8 + [1] * 8
    assert sorted(orders["reordered"]["node_of_cell"]) == [0] * 8 + [1] * 8
    assert orders["reordered"]["bytes_of_heaviest_node"] == 4


def test_sockets_are_counted(counts):
    found = counts("4x4", "2", sockets=2)[0]["in sequence"]
    assert (found["bytes_between_nodes"], found["bytes_between_sockets"]) == (8, 24)


@pytest.mark.parametrize(
    ("stencil", "dims", "bytes_"), [("5", "4x4", 8), ("9", "4x4", 20), ("7", "2x2x4", 16), ("27", "2x2x4", 80)], ids=str
)
def test_stencils_by_their_points(between_nodes, stencil, dims, bytes_):
    """Two nodes in sequence, cut across the first dimension: two messages for each pair on the two sides of the cut."""
    assert between_nodes(dims, "2", stencil=stencil)[0] == bytes_


def test_periodic(between_nodes):
    assert between_nodes("8", "2")[0] == 2
    assert between_nodes("8", "2", periodic=True)[0] == 4


def test_a_stencil_from_a_file(between_nodes, tmp_path):
    stencil = tmp_path / "stencil.txt"
    stencil.write_text("# to one side, much\n0 1 800\n\n1 0\n")
    assert between_nodes("4x4", "4", stencil=str(stencil))[2:] == [12, 12]
    assert between_nodes("4x4", "4", stencil=str(stencil), map_="round-robin")[0] == 9600


def test_bytes_are_counted_where_the_stencil_names_them(tmp_path):
    stencil = tmp_path / "stencil.txt"
    stencil.write_text("0 1 800\n0 -1 800\n")
    said = plait("topology", "--dims", "2x4", "--nodes", "2", "--map", "round-robin", "--stencil", stencil).stdout
    assert "bytes between nodes" in said and re.search(r"as it stands +9600 ", said)


def test_uneven_nodes(counts):
    ranks = [counts("3x3", nodes, cores=cores)[1]["ranks_of_nodes"] for nodes, cores in (("4", 4), ("4", None), ("6,1,2", None))]
    assert ranks == [[4, 4, 1], [3, 2, 2, 2], [6, 1, 2]]


def test_a_hostfile_names_the_nodes(counts, tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("a:3\nb slots=5  # the large one\na\n")
    orders, found = counts("9", map_=str(hosts))
    assert found["ranks_of_nodes"] == [4, 5]
    assert [orders[o]["bytes_between_nodes"] for o in ("as it stands", "reordered")] == [4, 2]


def test_a_drawing_and_a_picture(tmp_path):
    picture = tmp_path / "grid.svg"
    said = plait("topology", "--dims", "2x4", "--nodes", "2", "--map", "round-robin", "-o", picture).stdout
    assert "a b a b \na b a b \n" in said and "a a b b \na a b b \n" in said
    assert "reordered (" in said and "links between nodes" in said
    assert picture.read_text().startswith("<?xml")


def test_no_drawing_where_it_does_not_fit():
    said = plait("topology", "--dims", "2x100", "--nodes", "2").stdout
    assert "Too large to draw" in said and "in sequence" in said


def test_a_mistake_is_one_line():
    one_line(plait("topology", "--dims", "2x2", "--nodes", "5", status=2), "--nodes 5: there are only 4 ranks")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ({"dims": "2x"}, "--dims wants numbers from 1 on, like 16x64, not '2x'"),
        ({"dims": "2048x2048"}, "--dims 2048x2048 has 4194304 cells"),
        ({"nodes": "0"}, "--nodes wants numbers from 1 on, like 16,64, not '0'"),
        ({"nodes": "1048576,1048576"}, "--nodes 1048576,1048576: plait topology takes at most 1048576 ranks"),
        ({"nodes": "2,1"}, "--nodes 2,1: these are 3 ranks, and the grid has 4 cells"),
        ({"nodes": "2,2", "cores": 2}, "--cores goes with a number of nodes"),
        ({"nodes": "2", "cores": 1}, "2 nodes of 1 cores are too few for 4 ranks: 4 nodes would do"),
        ({"nodes": None}, "say on how many nodes, like --nodes 16"),
        ({"stencil": "7"}, "--stencil 7 has 3 dimensions, and the grid 2"),
        ({"stencil": "8"}, "--stencil wants 5, 9, 7, 27 or a file, and there is no file '8'"),
        ({"map_": "roundrobin"}, "--map wants sequence or round-robin or a hostfile, and there is no file 'roundrobin'"),
        ({"output": Path("grid.gif")}, "-o wants a file that ends with .svg, .png, .pdf, not 'grid.gif'"),
        ({"dims": "100x2x2", "output": Path("grid.svg")}, "-o draws grids of at most 64 layers, and 100x2x2 has 100"),
    ],
    ids=lambda v: None if isinstance(v, str) else " ".join(f"{k} {w}" for k, w in v.items()),
)
def test_mistakes(words, line):
    with pytest.raises(PlaitError, match=re.escape(line)):
        topology.topology(MPI, make_console(), **{"dims": "2x2", "nodes": "2", **words})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("0 1 8 9\n", "stencil.txt:1: wants 2 offsets and perhaps bytes, like '0 1 8', not '0 1 8 9'"),
        ("# nothing\n1 0 -4\n", "stencil.txt:2: -4 bytes are too few"),
        ("0 99999999999\n", "stencil.txt:1: 99999999999 is more than 1073741824"),
        ("\n", "names no offsets"),
    ],
)
def test_mistakes_in_a_stencil(tmp_path, text, line):
    stencil = tmp_path / "stencil.txt"
    stencil.write_text(text)
    with pytest.raises(PlaitError, match=re.escape(line)):
        topology.stencil_of(str(stencil), 2)


@pytest.mark.parametrize(
    ("text", "line"), [("a:x\n", "hosts:1: wants a host"), ("a:2\nb:1\n", "hosts has places for 3 ranks, and the grid has 4 cells")]
)
def test_mistakes_in_a_hostfile(tmp_path, text, line):
    hosts = tmp_path / "hosts"
    hosts.write_text(text)
    with pytest.raises(PlaitError, match=re.escape(line)):
        topology.hosts_in(hosts, 4)


def test_hosts_beyond_the_grid_and_without_ranks(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("none:0\na:1\nb:99999999999\nc\n")
    assert topology.hosts_in(hosts, 4) == [0, 1, 1, 1]


def test_a_hostfile_that_is_no_text(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_bytes(b"\xff\xfe")
    with pytest.raises(PlaitError, match="hosts cannot be read"):
        topology.hosts_in(hosts, 4)
