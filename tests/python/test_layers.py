"""Each folder of src may use those below it, never those above: what is included says so. docs/architecture.md has the picture."""

import re

import pytest
from plait.mpis import ROOT

pytestmark = pytest.mark.once  # the same whatever the MPI is

SOURCES = ROOT / "src"

# What each room may use beside itself. Features (grequest, stream, threadcomm, ordinary, partitioned, gaspi, shan) do not know each other.
BELOW_FEATURES = {"base", "lend", "progress", "layout", "transport", "lane", "p2p"}
MAY_USE = {
    "base": set(),
    "lend": {"base"},
    "progress": {"base", "lend"},
    "layout": {"base"},
    "transport": {"base", "progress"},
    "lane": {"base", "progress", "layout", "transport"},
    "p2p": {"base", "progress", "layout", "transport", "lane"},
    "collective": BELOW_FEATURES,
    "grequest": BELOW_FEATURES,
    "queue": BELOW_FEATURES | {"collective"},
    "stream": BELOW_FEATURES | {"queue"},
    "threadcomm": BELOW_FEATURES | {"collective", "topology"},
    "topology": {"base", "p2p"},
    "ordinary": BELOW_FEATURES | {"collective"},
    "partitioned": BELOW_FEATURES,
    "gaspi": BELOW_FEATURES,
    "shan": BELOW_FEATURES,
    "subteam": {"base", "progress"},
    "cluster": {"base"},
    "mpi": BELOW_FEATURES
    | {"collective", "grequest", "queue", "stream", "threadcomm", "ordinary", "partitioned", "gaspi", "shan", "subteam", "topology"},
}
# Compiled and tested without any MPI: files of these rooms that may include mpi.h.
WITHOUT_MPI = {
    "base": set(),
    "lend": set(),
    "progress": set(),
    "lane": set(),
    "subteam": set(),
    "transport": {"packets.cpp", "packets.hpp"},
    "topology": {"reorder.cpp", "reorder.hpp"},
}

INCLUDE = re.compile(r'^#include [<"]([^>"]+)[>"]', re.MULTILINE)


def files(room):
    return sorted(path for path in (SOURCES / room).iterdir() if path.suffix in (".hpp", ".cpp"))


def included(path):
    return INCLUDE.findall(path.read_text())


def test_every_room_is_in_the_table():
    assert {folder.name for folder in SOURCES.iterdir() if folder.is_dir()} == set(MAY_USE)


@pytest.mark.parametrize("room", MAY_USE)
def test_a_room_uses_only_those_below_it(room):
    wrong = []
    for path in files(room):
        for name in included(path):
            other = name.split("/")[0] if "/" in name else room
            if other in MAY_USE and other != room and other not in MAY_USE[room]:
                wrong.append(f"{path.relative_to(ROOT)} includes {name}")
    assert wrong == []


@pytest.mark.parametrize("room", WITHOUT_MPI)
def test_a_room_without_mpi_does_not_include_it(room):
    with_mpi = {path.name for path in files(room) if "mpi.h" in included(path)}
    assert with_mpi <= WITHOUT_MPI[room]


def test_headers_stand_alone():
    assert [str(path) for path in SOURCES.rglob("*.hpp") if "#pragma once" not in path.read_text()] == []
