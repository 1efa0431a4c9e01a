"""The machine that this process may use: processor, cores, caches, memory."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

CPU = Path("/sys/devices/system/cpu")
NODES = Path("/sys/devices/system/node")


def usable_cores() -> tuple[int, int]:
    """How many hardware threads, and how many cores, this process may use."""
    cpus = os.sched_getaffinity(0)
    cores = set()
    for cpu in cpus:
        siblings = CPU / f"cpu{cpu}/topology/thread_siblings_list"
        cores.add(siblings.read_text() if siblings.exists() else cpu)
    return len(cpus), len(cores)


def processor() -> str:
    described = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.+)$", described.read_text() if described.exists() else "", re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def memory() -> int:
    """In bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def system() -> str:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        name = platform.system()
    return f"{name}, Linux {platform.release()}"


def numa_domains() -> int:
    """How many NUMA domains have cores that this process may use."""
    usable = os.sched_getaffinity(0)
    return max(1, sum(bool(usable & cpus_in(path.read_text())) for path in NODES.glob("node[0-9]*/cpulist")))


def cpus_in(text: str) -> set[int]:
    """0-3,8 -> {0, 1, 2, 3, 8}"""
    cpus: set[int] = set()
    for piece in filter(None, text.strip().split(",")):
        first, _, last = piece.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def caches() -> list[dict[str, Any]]:
    """Of the first core that may be used, without those for instructions."""
    found = []
    first = min(os.sched_getaffinity(0))
    for index in sorted((CPU / f"cpu{first}/cache").glob("index*")):
        level, kind, size, shared = ((index / name).read_text().strip() for name in ("level", "type", "size", "shared_cpu_list"))
        if kind != "Instruction":
            found.append({"level": int(level), "kib": int(size.removesuffix("K")), "shared_by_cpus": shared})
    return found
