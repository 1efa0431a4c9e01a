"""What `plait info` tells: the MPI, the machine, and what was tried on them and works."""

from __future__ import annotations

import platform
import subprocess
from typing import Any

from rich.table import Table

from plait import launch, leftovers, machine, queues
from plait.mpis import ROOT, Mpi, MpiError


def gather(mpi: Mpi) -> dict[str, Any]:
    tried = _probe(mpi)
    return {
        "mpi": {
            "name": mpi.name,
            "title": mpi.title,
            "version": mpi.version,
            "library": " ".join(tried["library"].split()),
            "standard": tried["standard"],
            "thread_level": tried["thread_level"],
            "abi": mpi.has_header("mpi_abi.h"),
            "launcher": mpi.mpiexec,
        },
        "machine": _facts(),
        "works": {
            "process_vm_readv": tried["process_vm_readv"],
            "shared_windows": tried["shared_windows"],
            "simulated_nodes": launch.why_no_nodes(mpi) or "yes",
        },
        "queues": queues.gather(),
    }


def _facts() -> dict[str, Any]:
    threads, cores = launch.usable_cores()
    return {
        "cpu": machine.processor(),
        "usable_threads": threads,
        "usable_cores": cores,
        "caches": machine.caches(),
        "numa_nodes": len(list(machine.NODES.glob("node[0-9]*"))) or 1,
        "memory_gib": round(machine.memory() / 2**30, 1),
        "kernel": platform.release(),
    }


def _probe(mpi: Mpi) -> dict[str, str]:
    """Compiles tools/probe.c, as a user's program would be, and runs it with two processes."""
    with leftovers.scratch() as folder:
        program = folder / "plait-probe"
        if subprocess.run(mpi.compiler("c", [str(ROOT / "tools/probe.c"), "-o", str(program)]), check=False).returncode:
            raise MpiError("the compiler cannot make a program for this MPI")
        done = launch.run(mpi, [str(program)], 2, 1, timeout=60, capture=True)
    if done.returncode:
        raise MpiError(f"the probe ended with status {done.returncode}: {(done.stderr.strip() or '?').splitlines()[-1]}")
    return dict(line.split("\t", 1) for line in done.stdout.splitlines() if "\t" in line)


def table(facts: dict[str, Any]) -> Table:
    mpi, host, works = facts["mpi"], facts["machine"], facts["works"]
    shown = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    shown.add_column(style="bold")
    shown.add_column()
    shown.add_row("MPI", f"{mpi['title']} {mpi['version']} ({mpi['name']}), MPI {mpi['standard']}")
    shown.add_row("thread level", mpi["thread_level"])
    shown.add_row("standard ABI", "yes, mpi_abi.h" if mpi["abi"] else "no")
    shown.add_row("processor", f"{host['cpu']}: {host['usable_cores']} cores, {host['usable_threads']} hardware threads may be used")
    shown.add_row("caches", ", ".join(f"L{c['level']} {_size(c['kib'])} (cpus {c['shared_by_cpus']})" for c in host["caches"]) or "?")
    shown.add_row("memory", f"{host['memory_gib']} GiB in {host['numa_nodes']} NUMA node{'s'[: host['numa_nodes'] > 1]}")
    for name, answer in works.items():
        shown.add_row(name.replace("_", " ") if name != "process_vm_readv" else name, answer if answer == "yes" else f"no: {answer}")
    for name, answer in facts["queues"].items():
        shown.add_row(f"queues: {name}", answer)
    return shown


def _size(kib: int) -> str:
    return f"{kib} KiB" if kib < 1024 else f"{kib / 1024:g} MiB"
