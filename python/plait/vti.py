"""Reads the fields that plait-lbm writes: VTK image data (.vti) with raw appended arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

TYPES = {"Float32": "f4", "Float64": "f8", "UInt8": "u1", "Int32": "i4", "Int64": "i8", "UInt32": "u4", "UInt64": "u8"}
MARK = b'<AppendedData encoding="raw">'


class VtiError(ValueError):
    """The file is not one that we can read; the text is one clear line."""


@dataclass
class Image:
    size: tuple[int, int, int]  # cells (or points) along x, y, z
    arrays: dict[str, np.ndarray]  # by name, indexed [z, y, x], vectors [z, y, x, component]


def read(path: Path) -> Image:
    """The arrays at the cells of the file, or at its points where it has none at cells."""
    content = path.read_bytes()
    head, mark, rest = content.partition(MARK)
    start = len(head) + len(mark) + rest.find(b"_") + 1
    if not mark or b"_" not in rest[:80]:
        raise VtiError(f"{path} has no raw appended data: is it a .vti file of plait-lbm?")
    try:
        root = ElementTree.fromstring(head + b"</VTKFile>")
    except ElementTree.ParseError as error:
        raise VtiError(f"{path} has a damaged header: {error}") from None
    order = "<" if root.get("byte_order", "LittleEndian") == "LittleEndian" else ">"
    header = np.dtype(order + TYPES[root.get("header_type", "UInt32")])
    extent = [int(word) for word in root.find("ImageData/Piece").get("Extent").split()]
    points = tuple(extent[2 * d + 1] - extent[2 * d] + 1 for d in range(3))
    cells = root.findall("ImageData/Piece/CellData/DataArray")
    found = cells or root.findall("ImageData/Piece/PointData/DataArray")
    size = tuple(n - 1 for n in points) if cells else points
    return Image(size, {array.get("Name"): _array(path, content, start, array, header, size) for array in found})


def _array(path: Path, content: bytes, start: int, array, header: np.dtype, size: tuple[int, int, int]) -> np.ndarray:
    """One array: its length in bytes, then its values, x fastest."""
    kind = np.dtype(header.str[0].replace("|", "<") + TYPES[array.get("type")])
    components = int(array.get("NumberOfComponents", 1))
    at = start + int(array.get("offset"))
    count = size[0] * size[1] * size[2] * components
    if len(content) < at + header.itemsize + count * kind.itemsize:
        raise VtiError(f"{path} is cut short: the array {array.get('Name')} is not whole")
    length = int(np.frombuffer(content, header, 1, at)[0])
    if length != count * kind.itemsize:
        raise VtiError(f"{path}: the array {array.get('Name')} has {length} bytes, not {count * kind.itemsize}")
    values = np.frombuffer(content, kind, count, at + header.itemsize)
    return values.reshape(size[::-1] + ((components,) if components > 1 else ()))
