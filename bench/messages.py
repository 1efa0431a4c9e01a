#!/usr/bin/env python3
"""Message rate, latency and bandwidth through libplait against the MPIs alone and the machine's limits.

    .venv/bin/python bench/messages.py [--quick] [MPI...]

Runs bench-msgrate and bench-latency under each MPI (default: mpich openmpi impi), on one node and on two simulated
ones, and prints what streams reach under each; docs/benchmarks.md says what is measured. The figures
lie in out/messages.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from plait.launch import run, why_no_nodes  # noqa: E402
from plait.mpis import Mpi, MpiError, find  # noqa: E402

OUT = ROOT / "out" / "messages"
LARGE = 64 << 10
# Rates: threads in each process, on one node and on two.
RATES = {1: (1, 2), 2: (1, 2, 4)}


def start(mpi: Mpi, name: str, hosts: int, threads: int, *options: str) -> dict | None:
    """The report of one run, None where it failed, which has then been said."""
    out = OUT / f"{mpi.name}-{name}-{hosts}x{threads}.json"
    out.unlink(missing_ok=True)
    words = [str(mpi.build / "bin" / f"bench-{name}"), "-o", str(out), *options]
    print(f"\n# {mpi.name}: bench-{name}, {hosts} node{'s' if hosts > 1 else ''}", flush=True)
    if run(mpi, words, 2, threads, hosts=hosts, timeout=300).returncode:
        return None
    return json.loads(out.read_text())


def measure(mpis: list[Mpi], short: list[str]) -> dict[str, dict]:
    """All reports by MPI and by (benchmark, nodes, threads). The MPIs take turns at each: what lies between two of them is
    then least apart in time, and the machine most alike."""
    every = {mpi.name: {} for mpi in mpis}
    for hosts, threads in RATES.items():
        able = []
        for mpi in mpis:
            if hosts > 1 and (reason := why_no_nodes(mpi)):
                print(f"\n# {mpi.name}: not between nodes, {reason}")
            else:
                able.append(mpi)
        for t in threads:
            for mpi in able:
                every[mpi.name]["msgrate", hosts, t] = start(mpi, "msgrate", hosts, t, "-t", str(t), *short)
        sizes = ["--sizes", "8"] if hosts > 1 else []
        for mpi in able:
            every[mpi.name]["latency", hosts, 1] = start(mpi, "latency", hosts, 1, *sizes, *short)
    return {name: {key: report for key, report in reports.items() if report} for name, reports in every.items()}


# ---- figures out of reports; KeyError where there is none. Within one run: the median of the rounds' quotients;
# between runs: the quotient of the medians.

Figures = dict[str, list[float]]  # the rounds by side


def rates(reports: dict, hosts: int, threads: int) -> Figures:
    """Messages a second."""
    return {p["side"]: p["samples"] for p in reports["msgrate", hosts, threads]["points"]}


def trips(reports: dict, hosts: int, size: int) -> Figures:
    """Seconds of half a round trip."""
    points = reports["latency", hosts, 1]["points"]
    return {p["side"]: p["samples"] for p in points if p["quantity"] == "half_round_trip" and p["at"]["bytes"] == size}


def best_mode(figures: Figures) -> str:
    """In which the MPI alone is fastest."""
    return max((side for side in figures if side.startswith("mpi-")), key=lambda side: median(figures[side]))


def quotient(figures: Figures, over: str, under: str) -> float:
    return median(a / b for a, b in zip(figures[over], figures[under], strict=True))


def rows(every: dict[str, dict]):
    """What is compared, what is to be reached, and the figure from an MPI's reports."""

    def best_rate(threads):
        alone = [rates(r, 1, threads) for r in every.values() if ("msgrate", 1, threads) in r]
        return max(median(figures[best_mode(figures)]) for figures in alone)

    def best_trip(size):
        return min(median(trips(r, 1, size)["mpi"]) for r in every.values() if ("latency", 1, 1) in r)

    def trip(r, n):
        return median(trips(r, 1, n)["plait-stream"])

    def copy(r, n, kind):
        return quotient(trips(r, 1, n), kind, "plait-stream")

    def between(r, t):
        figures = rates(r, 2, t)
        return quotient(figures, "plait-streams", best_mode(figures))

    yield "rate, 1 stream / best MPI", ">= 4", lambda r: median(rates(r, 1, 1)["plait-streams"]) / best_rate(1)
    yield "rate, 1 stream / raw ring", ">= 0.25", lambda r: quotient(rates(r, 1, 1), "plait-streams", "raw-ring")
    yield "rate, 2 streams / best MPI", ">= 4", lambda r: median(rates(r, 1, 2)["plait-streams"]) / best_rate(2)
    yield "half trip, 8 B / hand-over", "<= 1.8", lambda r: quotient(trips(r, 1, 8), "plait-stream", "hand-over")
    measured = [r["latency", 1, 1]["points"] for r in every.values() if ("latency", 1, 1) in r]
    sizes = sorted({p["at"]["bytes"] for points in measured for p in points if p["quantity"] == "half_round_trip"})
    for n in sizes:
        yield f"half trip, {n} B / best MPI", "<= 1", lambda r, n=n: trip(r, n) / best_trip(n)
    for kind in ("memcpy", "memcpy-shared"):
        for n in (n for n in sizes if n >= LARGE):
            yield f"{kind} / half trip, {n} B", ">= 0.7", lambda r, n=n, kind=kind: copy(r, n, kind)
    for t in RATES[2]:
        yield f"nodes: rate, {t} streams / same MPI", ">= 10", lambda r, t=t: between(r, t)
    yield "nodes: half trip, 8 B / same MPI", "<= 1.15", lambda r: quotient(trips(r, 2, 8), "plait-stream", "mpi")
    for t in RATES[1]:
        for m in ("single", "per-thread")[:t]:
            what = f"ordinary {m}, {t} threads / MPI"
            yield what, ">= 0.97", lambda r, t=t, m=m: quotient(rates(r, 1, t), f"plait-{m}", f"mpi-{m}")


def figure(compute, reports: dict) -> str:
    try:
        return f"{compute(reports):.3g}"
    except (KeyError, StopIteration, ValueError):
        return "-"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mpi", nargs="*", default=["mpich", "openmpi", "impi"])
    parser.add_argument("--quick", action="store_true", help="few and short rounds, to see that all runs")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    short = ["--rounds", "3", "--time", "0.002"] if arguments.quick else []
    try:
        every = measure([find(name) for name in arguments.mpi], short)
    except MpiError as problem:
        print(f"messages.py: {problem}", file=sys.stderr)
        return 2
    print(f"\nload average {os.getloadavg()[0]:.2f} at the end\n")
    print(f"{'':<38}{'to reach':>10}" + "".join(f"{name:>10}" for name in every))
    for what, goal, compute in rows(every):
        print(f"{what:<38}{goal:>10}" + "".join(f"{figure(compute, reports):>10}" for reports in every.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
