"""`plait topology`: how many links of a grid leave a node, as ranks are and as `MPI_Cart_create` with reorder puts them."""

from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from plait.error import PlaitError
from plait.mpis import Mpi

# By points: how many dimensions, and who is a neighbour.
STENCILS = {"5": (2, "faces"), "9": (2, "all"), "7": (3, "faces"), "27": (3, "all")}
ORDERS = ("sequence", "round-robin")
MOST_CELLS = 2**20
FORMATS = (".svg", ".png", ".pdf")
MOST_LINES = 64  # of a drawing in a terminal
MOST_LAYERS = 64  # of a picture
# Told apart beside each other; more nodes than these take them again.
COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#999999",
    "#332288",
    "#117733",
    "#882255",
    "#44AA99",
)


@dataclass(frozen=True)
class Offset:
    by: tuple[int, ...]
    bytes: int = 1


@dataclass(frozen=True)
class Machine:
    """So many ranks a node, on so many sockets."""

    nodes: tuple[int, ...]
    sockets: int

    @property
    def ranks(self) -> int:
        return sum(self.nodes)

    def where(self, node: int, place: int) -> tuple[int, int, int]:
        socket = node * self.sockets + place * self.sockets // self.nodes[node]
        return (node, socket, socket)

    def in_sequence(self) -> list[int]:
        return [node for node, ranks in enumerate(self.nodes) for _ in range(ranks)]

    def round_robin(self) -> list[int]:
        rounds = ([node for node, ranks in enumerate(self.nodes) if turn < ranks] for turn in range(max(self.nodes)))
        return list(itertools.chain.from_iterable(rounds))

    def placed(self, node_of: Sequence[int]) -> list[tuple[int, int, int]]:
        """Where each rank runs, given its node; the sockets of a node are filled one after the other."""
        taken = [0] * len(self.nodes)
        spots = []
        for node in node_of:
            spots.append(self.where(node, taken[node]))
            taken[node] += 1
        return spots


@dataclass(frozen=True)
class Count:
    order: str
    method: str | None
    nodes: int
    sockets: int
    heaviest: int
    node_of: list[int]  # of each cell

    @property
    def name(self) -> str:
        return f"{self.order} ({self.method})" if self.method else self.order


def numbers(option: str, text: str, separator: str) -> tuple[int, ...]:
    words = text.split(separator)
    if not all(word.isdecimal() and 1 <= int(word) <= MOST_CELLS for word in words):
        raise PlaitError(f"{option} wants numbers from 1 on, like {separator.join(('16', '64'))}, not '{text}'")
    return tuple(map(int, words))


def dims_of(text: str) -> tuple[int, ...]:
    dims = numbers("--dims", text, "x")
    if math.prod(dims) > MOST_CELLS:
        raise PlaitError(f"--dims {text} has {math.prod(dims)} cells, and plait topology takes at most {MOST_CELLS}")
    return dims


def machine_of(cells: int, nodes: str, cores: int | None, sockets: int) -> Machine:
    """`nodes`: how many, which share the ranks as evenly as may be, or are full from the first on; or the ranks of each."""
    sizes = numbers("--nodes", nodes, ",")
    if len(sizes) == 1:
        count = sizes[0]
        if count > cells:
            raise PlaitError(f"--nodes {count}: there are only {cells} ranks")
        if cores is None:
            sizes = tuple(cells // count + (node < cells % count) for node in range(count))
        elif count * cores < cells:
            raise PlaitError(f"{count} nodes of {cores} cores are too few for {cells} ranks: {math.ceil(cells / cores)} nodes would do")
        else:
            sizes = tuple(min(cores, cells - node * cores) for node in range(count) if node * cores < cells)
    elif cores is not None:
        raise PlaitError("--cores goes with a number of nodes, and not with the ranks of each")
    if sum(sizes) > MOST_CELLS:
        raise PlaitError(f"--nodes {nodes}: plait topology takes at most {MOST_CELLS} ranks")
    if sum(sizes) < cells:
        raise PlaitError(f"--nodes {nodes}: these are {sum(sizes)} ranks, and the grid has {cells} cells")
    return Machine(sizes, sockets)


def lines_of(path: Path) -> list[tuple[int, str]]:
    """Of a text file, with their numbers."""
    try:
        return list(enumerate(path.read_text().splitlines(), 1))
    except (OSError, UnicodeDecodeError) as error:
        raise PlaitError(f"{path} cannot be read: {error}") from None


def stencil_of(text: str, dimensions: int) -> list[Offset]:
    if text in STENCILS:
        of, kind = STENCILS[text]
        if of != dimensions:
            raise PlaitError(f"--stencil {text} has {of} dimensions, and the grid {dimensions}")
        reach = itertools.product((-1, 0, 1), repeat=dimensions)
        return [Offset(by) for by in reach if (sum(map(abs, by)) == 1 if kind == "faces" else any(by))]
    path = Path(text)
    if not path.is_file():
        raise PlaitError(f"--stencil wants {', '.join(STENCILS)} or a file, and there is no file '{text}'")
    offsets = []
    for number, line in lines_of(path):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) not in (dimensions, dimensions + 1) or not all(re.fullmatch(r"-?\d+", word) for word in words):
            raise PlaitError(
                f"{text}:{number}: wants {dimensions} offsets and perhaps bytes, like '{'0 ' * (dimensions - 1)}1 8', not '{line}'"
            )
        values = [int(word) for word in words]
        size = values[dimensions] if len(values) > dimensions else 1
        if size < 0:
            raise PlaitError(f"{text}:{number}: {size} bytes are too few")
        if max(map(abs, values)) > 2**30:
            raise PlaitError(f"{text}:{number}: {max(map(abs, values))} is more than {2**30}")
        offsets.append(Offset(tuple(values[:dimensions]), size))
    if not offsets:
        raise PlaitError(f"{text} names no offsets")
    return offsets


def nearest(dimensions: int) -> list[Offset]:
    return [Offset(tuple(step * (d == at) for d in range(dimensions))) for at in range(dimensions) for step in (-1, 1)]


def hosts_in(path: Path, cells: int) -> list[int]:
    """The node of each rank by a hostfile: a host a line, with `:N` or `slots=N` where it has several, in the order of ranks."""
    if not path.is_file():
        raise PlaitError(f"--map wants {' or '.join(ORDERS)} or a hostfile, and there is no file '{path}'")
    known: dict[str, int] = {}
    node_of: list[int] = []
    for number, line in lines_of(path):
        words = line.split("#")[0].split()
        if not words:
            continue
        found = re.fullmatch(r"([^\s:=]+)(?::(\d+))?", words[0])
        slots = [word for word in words[1:] if word.startswith("slots=")]
        if not found or (slots and not slots[0][6:].isdecimal()):
            raise PlaitError(f"{path}:{number}: wants a host, like 'node01', 'node01:64' or 'node01 slots=64', not '{line}'")
        count = int(found[2] or (slots[0][6:] if slots else 1))
        if count and len(node_of) < cells:
            node_of += [known.setdefault(found[1], len(known))] * min(count, cells - len(node_of))
    if len(node_of) < cells:
        raise PlaitError(f"{path} has places for {len(node_of)} ranks, and the grid has {cells} cells")
    return node_of[:cells]


def count(
    mpi: Mpi, dims: Sequence[int], periodic: bool, stencil: Sequence[Offset], machine: Machine, node_of: Sequence[int]
) -> list[Count]:
    """As ranks are, dealt round-robin, in sequence, and reordered."""
    program = mpi.program("plait-topology")
    orders = {"as it stands": node_of, "round-robin": machine.round_robin(), "in sequence": machine.in_sequence()}
    asked = {
        "dims": list(dims),
        "periodic": [periodic] * len(dims),
        "stencil": [{"by": list(o.by), "bytes": o.bytes} for o in stencil],
        "maps": [machine.placed(order) for order in orders.values()],
    }
    done = subprocess.run([program], input=json.dumps(asked), capture_output=True, text=True, check=False)
    if done.returncode:
        raise PlaitError(done.stderr.strip() or f"plait-topology ended with status {done.returncode}")
    answer = json.loads(done.stdout)
    cells = math.prod(dims)

    def as_count(name: str, counts: dict, order: Sequence[int]) -> Count:
        node, socket, _ = counts["leaves"]
        return Count(name, counts.get("method"), node, socket, counts["heaviest"], [order[rank] for rank in counts["rank_of"][:cells]])

    found = [as_count(name, counts, order) for (name, order), counts in zip(orders.items(), answer["maps"], strict=True)]
    return [*found, as_count("reordered", answer["reordered"], node_of)]


def table(counts: Sequence[Count], dims: Sequence[int], machine: Machine, links: bool) -> Table:
    """`links`: every message has one that goes the other way, of the same size, so that pairs are counted."""
    what = "links" if links else "bytes"
    title = f"{' x '.join(map(str, dims))} on {len(machine.nodes)} nodes"
    shown = Table(title=title, box=box.SIMPLE_HEAD)
    shown.add_column("order")
    for column in (f"{what} between nodes", f"{what} between sockets", "of the heaviest node"):
        shown.add_column(column, justify="right")
    per = 2 if links else 1
    for c in counts:
        share = f" ({c.heaviest / c.nodes / 2 * 100:.0f} %)" if c.nodes else ""
        shown.add_row(c.name, str(c.nodes // per), str(c.sockets // per), f"{c.heaviest // per}{share}")
    return shown


def as_json(counts: Sequence[Count], dims: Sequence[int], machine: Machine) -> dict:
    orders = [
        {
            "order": c.order,
            "method": c.method,
            "bytes_between_nodes": c.nodes,
            "bytes_between_sockets": c.sockets,
            "bytes_of_heaviest_node": c.heaviest,
        }
        | {"node_of_cell": c.node_of}
        for c in counts
    ]
    return {"dims": list(dims), "ranks_of_nodes": list(machine.nodes), "orders": orders}


def layers(dims: Sequence[int], node_of: Sequence[int]) -> list[list[Sequence[int]]]:
    """Cells as rows, layer by layer: the last dimension runs along a row, all but the last two are layers."""
    columns = dims[-1] if dims else 1
    rows = dims[-2] if len(dims) > 1 else 1
    lines = [node_of[i : i + columns] for i in range(0, len(node_of), columns)]
    return [lines[i : i + rows] for i in range(0, len(lines), rows)]


def drawing(dims: Sequence[int], count: Count) -> Group:
    """The grid with nodes as colours and letters."""
    lines = [Text(count.name, style="bold")]
    for layer in layers(dims, count.node_of):
        for row in layer:
            line = Text()
            for node in row:
                line.append(f"{chr(ord('a') + node % 26)} ", style=f"black on {COLOURS[node % len(COLOURS)]}")
            lines.append(line)
        lines.append(Text())
    return Group(*lines)


def draw(dims: Sequence[int], counts: Sequence[Count], links: bool, path: Path) -> None:
    """A picture of each order, its layers beside each other; the format by the file's name."""
    from matplotlib import pyplot
    from matplotlib.colors import ListedColormap

    from plait.files import replacing

    pyplot.switch_backend("Agg")
    nodes = max(max(c.node_of) for c in counts) + 1
    colours = ListedColormap([COLOURS[node % len(COLOURS)] for node in range(nodes)])
    depth = len(layers(dims, counts[0].node_of))
    figure, all_axes = pyplot.subplots(len(counts), depth, squeeze=False, figsize=(2 + 3 * depth, 3 * len(counts)), layout="constrained")
    for count, row in zip(counts, all_axes, strict=True):
        for layer, axes in zip(layers(dims, count.node_of), row, strict=True):
            look = {"edgecolors": "white", "linewidth": 0.5} if dims[-1] <= 64 else {"rasterized": True}  # a path a cell is a large file
            axes.pcolormesh(layer, cmap=colours, vmin=-0.5, vmax=nodes - 0.5, **look)
            axes.set_aspect("equal")
            axes.invert_yaxis()
            axes.set_axis_off()
        leaves = f"{count.nodes // 2} links" if links else f"{count.nodes} bytes"
        row[0].set_title(f"{count.name}: {leaves} between nodes", loc="left", fontsize=9)
    with replacing(path) as file:
        pyplot.savefig(file, format=path.suffix[1:])
    pyplot.close(figure)


def topology(
    mpi: Mpi,
    console: Console,
    dims: str,
    nodes: str | None = None,
    cores: int | None = None,
    sockets: int = 1,
    periodic: bool = False,
    stencil: str | None = None,
    map_: str = "sequence",
    output: Path | None = None,
    json_: bool = False,
) -> None:
    """Prints the counts and draws the grid, as it stands and reordered. `map_`: one of ORDERS, or a hostfile, which names the nodes."""
    grid = dims_of(dims)
    cells = math.prod(grid)
    offsets = nearest(len(grid)) if stencil is None else stencil_of(stencil, len(grid))
    if output and output.suffix not in FORMATS:
        raise PlaitError(f"-o wants a file that ends with {', '.join(FORMATS)}, not '{output}'")
    if output and math.prod(grid[:-2]) > MOST_LAYERS:
        raise PlaitError(f"-o draws grids of at most {MOST_LAYERS} layers, and {dims} has {math.prod(grid[:-2])}")
    if map_ not in ORDERS:
        order = hosts_in(Path(map_), cells)
        if nodes or cores:
            raise PlaitError("the hostfile of --map says which nodes there are, and --nodes and --cores go without")
        ranks_of = Counter(order)
        machine = Machine(tuple(ranks_of[node] for node in range(len(ranks_of))), sockets)
    elif nodes is None:
        raise PlaitError("say on how many nodes, like --nodes 16, or by a hostfile, like --map hosts.txt")
    else:
        machine = machine_of(cells, nodes, cores, sockets)
        order = machine.in_sequence() if map_ == "sequence" else machine.round_robin()
    counts = count(mpi, grid, periodic, offsets, machine, order)
    there = {o.by for o in offsets}
    links = len(there) == len(offsets) and all(o.bytes == 1 and tuple(-x for x in o.by) in there for o in offsets)
    if json_:
        print(json.dumps(as_json(counts, grid, machine)))
    else:
        if 2 * grid[-1] <= console.width and cells <= MOST_LINES * grid[-1]:
            for shown in (counts[0], counts[-1]):
                console.print(drawing(grid, shown))
        elif not output:
            console.print("Too large to draw here: -o grid.svg makes a picture.")
        console.print(table(counts, grid, machine, links))
    if output:
        draw(grid, [counts[0], counts[-1]], links, output)
        if not json_:
            console.print(f"Written: {output}")
