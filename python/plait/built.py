"""Which MPI a program was built for, as the loader finds it. Under another's launcher each process would be rank 0 of 1."""

from __future__ import annotations

import functools
import mmap
import re
import struct
import subprocess
from pathlib import Path

from plait import cluster
from plait.mpis import FAMILIES, Mpi

# What only one MPI's library has in it, in this order: MPICH's names are also in Intel's.
SIGNS = ((b"ompi_mpi_comm_world", "openmpi"), (b"Intel(R) MPI Library", "impi"), (b"MPIR_", "mpich"))
# libplait tells of itself.
STAMP = re.compile(rb"@\(#\)libplait (?P<version>[^\s\0]+) for (?P<title>[^\0]+) (?P<release>[^\s\0]+)\0")


def why_not(mpi: Mpi, program: str, environment: dict[str, str], preload: Path | None = None) -> str | None:
    """Why the program cannot run under this MPI, in one line; None where it can, or where nothing can be told of it."""
    listed = _listed(program, environment)
    libraries = _carriers(listed)
    found = {library: family for library in libraries if (family := family_of(library))}
    for library, family in found.items():
        if family != mpi.family:
            return f"'{program}' was built for {FAMILIES[family].title} ({library}), not for {mpi.title}: {_advice(mpi, family)}"
    for library in libraries:
        if library.name.startswith("libplait.so") and (stamp := stamp_of(library)) and stamp["title"] != mpi.title:
            return f"'{program}' is linked with the libplait of {stamp['title']} ({library}), not with that of {mpi.title}"
    if reason := _why_not_over_nodes(program, listed, preload is not None):
        return reason
    if preload and found:
        ours = [library for library in loaded(str(preload), environment) if family_of(library)]
        if ours and set(ours) != set(found):
            return f"'{program}' was built for the MPI in {next(iter(found))}, libplait for that in {ours[0]}: --preload wants the same"
    return None


def _why_not_over_nodes(program: str, listed: str, preload: bool) -> str | None:
    """What is wrong with a program of `plait cc --cluster`."""
    if "libplait_cluster" in listed:
        if re.search(r"^\s*libplait_cluster\.so => not found$", listed, re.MULTILINE):
            return f"'{program}' wants libplait_cluster.so, which is not where it was when the program was linked: link it again"
        return f"'{program}' was linked by --cluster: --preload or --lend would keep its MPI calls from shared memory" if preload else None
    try:
        with Path(program).open("rb") as file:
            marked = listed and cluster.OWNER in file.read(1 << 16)
    except OSError:
        return None
    return f"'{program}' was compiled with --cluster, but linked without it: link it by plait cc --cluster, too" if marked else None


def _advice(mpi: Mpi, family: str) -> str:
    return f"take --mpi {family}, or compile it with plait --mpi {mpi.name} cc"


def loaded(program: str, environment: dict[str, str]) -> list[Path]:
    """The MPIs and libplaits among the libraries that a program is given; nothing where it is no dynamic program."""
    return _carriers(_listed(program, environment))


def comes_first(program: str, environment: dict[str, str]) -> str | None:
    """A library of the program's that has to be loaded before all others, as the run time of an address sanitizer."""
    found = re.search(r"^\s*lib(?:clang_rt\.)?asan\S* => (/.+) \(0x[0-9a-f]+\)$", _listed(program, environment), re.MULTILINE)
    return found[1] if found else None


def _carriers(listed: str) -> list[Path]:
    found = re.findall(r"^\s*lib(?:mpi|mpich|mpi_abi|plait)\.so\S* => (/.+) \(0x[0-9a-f]+\)$", listed, re.MULTILINE)
    return list(dict.fromkeys(Path(path).resolve() for path in found))


def _listed(program: str, environment: dict[str, str]) -> str:
    """What the loader says of a program's libraries."""
    loader = interpreter(Path(program))
    if not loader:
        return ""
    # The loader tells; the program itself does not run. Not what is preloaded for our own sake.
    line = [loader, "--list", program]
    own = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
    return subprocess.run(line, env=own, capture_output=True, text=True, errors="replace", check=False).stdout


@functools.cache
def family_of(library: Path) -> str | None:
    if library.name.startswith("libplait"):
        return None
    try:
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return next((family for sign, family in SIGNS if content.find(sign) >= 0), None)
    except (OSError, ValueError):
        return None


def stamp_of(libplait: Path) -> dict[str, str] | None:
    """What a libplait tells of itself: its version, and the MPI that it was built for."""
    try:
        with libplait.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = STAMP.search(content)
            return {name: word.decode() for name, word in found.groupdict().items()} if found else None
    except (OSError, ValueError):
        return None


def interpreter(program: Path) -> str | None:
    """The loader that a 64-bit ELF program or library of this machine's byte order names; the default one for a library."""
    try:
        with program.open("rb") as file:
            content = file.read(1 << 16)
    except OSError:
        return None
    if content[:6] != b"\x7fELF\x02\x01":
        return None
    offset, size, count = struct.unpack_from("<Q", content, 32)[0], *struct.unpack_from("<HH", content, 54)
    for at in range(offset, offset + size * count, size):
        if at + 56 > len(content):
            return None
        kind, place, length = struct.unpack_from("<I", content, at)[0], *struct.unpack_from("<8xQ16xQ", content, at)
        if kind == 3:  # PT_INTERP
            return content[place : place + length].rstrip(b"\0").decode()
    return _own_loader() if program.name.startswith("libplait") else None


def _own_loader() -> str | None:
    return interpreter(Path("/bin/sh").resolve())
