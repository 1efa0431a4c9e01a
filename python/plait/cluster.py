"""What `plait cc --cluster` adds to a compiler's line, and what it refuses: OpenMP over several nodes needs every object compiled so."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

from plait.mpis import ROOT, Mpi, MpiError, links

OWNER = b"Plait cluster\0"
# Why an object cannot be taken as it is.
REASON = "its atomics are the processor's instructions, which reach no other node's memory"
# What would undo the flags below.
AGAINST = {
    "-flto": "the mark in each object and calls in place of atomics are lost when the program is compiled again as it is linked",
    "-finline-atomics": REASON,
    "-mdirect-extern-access": "variables of libc and other libraries would be copied into the memory that is shared",
    "-static": "the library comes in front of the system's at run time",
    "-pie": "all processes need the program at the same address",
    "-static-pie": "all processes need the program at the same address",
}


def line(mpi: Mpi, language: str, arguments: list[str], show: bool) -> list[str]:
    """The whole command. `arguments` are the user's, without --cluster."""
    for argument in arguments:
        why = AGAINST.get(argument.partition("=")[0])
        if why:
            raise MpiError(f"--cluster does not go with {argument}: {why}")
    _check_compiler(mpi, language)
    folder = mpi.built(mpi.library.parent / "libplait_cluster.so").parent
    flags = ["-fopenmp", "-fno-inline-atomics", "-mno-direct-extern-access", "-fno-lto", f"-Wa,{ROOT / 'src/cluster/mark.s'}"]
    if language != "fc":
        flags += ["-include", str(ROOT / "include/plait/cluster/atomics.h")]
    if "-shared" not in arguments and not any(re.fullmatch(r"-f(pic|PIC)", a) for a in arguments):
        flags += ["-fno-pie"]
    if links(arguments):
        _check_objects(arguments)
        flags += ["-Wl,-z,now", f"-L{folder}", f"-Wl,-rpath,{folder}"]
        if "-shared" not in arguments:
            # The start object is in front of main.
            flags += ["-no-pie", "-Wl,--wrap=main", str(folder / "libplait_cluster_start.a")]
        # In front of libgomp, libatomic and libc, whose functions it replaces.
        flags += ["-Wl,--push-state,--no-as-needed", "-lplait_cluster", "-Wl,--pop-state"]
    if language == "fc":
        return [*(["echo"] if show else []), *os.environ.get("FC", "gfortran").split(), *flags, *arguments]
    return mpi.compiler(language, [*flags, *arguments], show)


def _check_compiler(mpi: Mpi, language: str) -> None:
    command = os.environ.get("FC", "gfortran").split() if language == "fc" else mpi.compiler(language, [])
    try:
        asked = subprocess.run([*command, "-v"], capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    except OSError as error:
        raise MpiError(f"--cluster: {command[0]}: {error.strerror}") from None
    found = re.search(r"^gcc version (\d+)", asked.stderr, re.MULTILINE)
    if not found:
        raise MpiError("--cluster wants gcc: other compilers call another OpenMP library, which is not carried over several nodes yet")
    if int(found[1]) < 12:
        raise MpiError(f"--cluster wants gcc 12 or newer, not {found[1]}")


# -- objects


def _check_objects(arguments: list[str]) -> None:
    for before, argument in zip(["", *arguments], arguments, strict=False):
        path = Path(argument)
        # What is there from the last time will be replaced.
        if before != "-o" and not argument.startswith("-") and path.suffix in (".o", ".a", ".so", ".obj") and path.is_file():
            for name, content in _members(path):
                if why := why_not(content):
                    raise MpiError(f"'{name}' was not compiled with --cluster, and {why}: compile it with plait cc --cluster")


def why_not(content: bytes) -> str | None:
    """Why an object or library cannot be part of a program over several nodes; None where it can."""
    if content[:6] != b"\x7fELF\x02\x01":
        return None
    try:
        sections = list(_sections(content))
    except struct.error:
        return None
    if any(kind == 7 and OWNER in content[offset : offset + size] for kind, offset, size, _, _ in sections):
        return None
    if any(name.startswith(b".gnu.lto_") for name in _section_names(content)):
        return "it is for link-time optimization, where " + REASON
    calls = sorted(name.decode(errors="replace") for name in _undefined(content, sections) if name.startswith((b"GOMP_", b"omp_")))
    called = next((name for name in calls if name.startswith("GOMP_")), calls[0] if calls else None)
    return f"it uses OpenMP ({called}): {REASON}" if called else None


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    content = path.read_bytes()
    if not content.startswith(b"!<arch>\n"):
        yield str(path), content
        return
    names = b""
    at = 8
    while at + 60 <= len(content):
        name, size = content[at : at + 16].rstrip(), int(content[at + 48 : at + 58])
        member = content[at + 60 : at + 60 + size]
        if name == b"//":
            names = member
        elif name not in (b"/", b"/SYM64/"):
            if name[:1] == b"/":
                name = names[int(name[1:]) :].partition(b"\n")[0]
            yield f"{path}({name.rstrip(b'/').decode(errors='replace')})", member
        at += 60 + size + size % 2


def _sections(content: bytes) -> Iterator[tuple[int, int, int, int, int]]:
    """Kind, offset, size, link and name of each section."""
    start, size, count = struct.unpack_from("<Q", content, 40)[0], *struct.unpack_from("<HH", content, 58)
    for n in range(count):
        name, kind, _, _, offset, length, link = struct.unpack_from("<IIQQQQI", content, start + n * size)
        yield kind, offset, length, link, name


def _section_names(content: bytes) -> list[bytes]:
    sections = list(_sections(content))
    index = struct.unpack_from("<H", content, 62)[0]
    if index >= len(sections):
        return []
    start = sections[index][1]
    return [content[start + name : content.index(b"\0", start + name)] for *_, name in sections]


def _undefined(content: bytes, sections: list[tuple[int, int, int, int, int]]) -> Iterator[bytes]:
    for kind, offset, size, link, _ in sections:
        if kind not in (2, 11) or link >= len(sections):  # SHT_SYMTAB, SHT_DYNSYM
            continue
        names = sections[link][1]
        for at in range(offset, offset + size, 24):
            name, _, _, section = struct.unpack_from("<IBBH", content, at)
            if section == 0 and name:
                yield content[names + name : content.index(b"\0", names + name)]
