"""`plait bench`: runs jobs of the catalogue into a folder of results, each once, and goes on where it was interrupted."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from datetime import datetime
from pathlib import Path
from statistics import median

from rich import box
from rich.console import Console
from rich.table import Table

from plait import catalogue, launch, leftovers, results, store
from plait.applications import NO_CLUSTER
from plait.catalogue import BenchError, Choice, Job
from plait.files import FileError
from plait.mpis import ROOT, Mpi
from plait.progress import Pace, clock, progress
from plait.store import StoreError

LONGEST = 240  # seconds that one job may take
INTERRUPTED = 130


def show_catalogue(console: Console, mpi: Mpi) -> None:
    cores = launch.usable_cores()[0]
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column("benchmark", no_wrap=True)
    shown.add_column("of", no_wrap=True)
    shown.add_column("what it measures")
    shown.add_column("quick, all", justify="right", no_wrap=True)
    for benchmark in catalogue.ALL:
        seconds = [sum(job.expected for job in benchmark.jobs(cores, Choice(quick=quick))) for quick in (True, False)]
        shown.add_row(benchmark.name, benchmark.group, benchmark.what, ", ".join(f"{s:.0f} s" for s in seconds))
    console.print(shown)
    console.print(
        f"Times are estimates for {cores} cores. A name or a group chooses: ./plait --mpi {mpi.name} bench NAME...", highlight=False
    )


def bench(mpi: Mpi, names: list[str], choice: Choice, out: Path | None, anew: bool, console: Console) -> int:
    """Runs the benchmarks that are not in the folder yet. The exit status: 0; 1 where jobs failed; 130 when interrupted."""
    benchmarks = catalogue.find(names)
    cores = launch.usable_cores()[0]
    jobs = [job for benchmark in benchmarks for job in benchmark.jobs(cores, choice)]
    # Turn by turn, so that sides that are jobs of their own alternate.
    jobs.sort(key=lambda job: job.turn)
    programs = {job.program for job in jobs} | {launch.SWITCH for job in jobs if job.shape.delay}
    missing = {program for program in programs if not (mpi.build / "bin" / program).exists()}
    missing -= {catalogue.HEAT_CLUSTER}  # not built everywhere; the results say so
    if missing:
        raise BenchError(f"{', '.join(sorted(missing))}: not built for this MPI yet; type: make MPI={mpi.name} bench")
    plan = {"schema": store.SCHEMA, "mpi": mpi.name, "cores": cores, "jobs": [[job.key, *job.arguments] for job in jobs]}
    folder = out or _folder(mpi, plan, anew)
    run = Run(mpi, jobs, plan, folder, console)
    return run.run()


def _folder(mpi: Mpi, plan: dict, anew: bool) -> Path:
    """The newest folder of such a run that was not finished, or a new one."""
    below = store.OUT / "bench"
    for path in [] if anew else sorted(below.glob(f"{mpi.name}-*/{store.PLAN}"), reverse=True):
        try:
            found = store.read_json(path)
        except StoreError:
            continue  # another version's
        if found == plan and any(not (path.parent / f"{job[0]}.json").exists() for job in plan["jobs"]):
            return path.parent
    return below / f"{mpi.name}-{datetime.now():%Y%m%d-%H%M%S}"


class Run:
    def __init__(self, mpi: Mpi, jobs: list[Job], plan: dict, folder: Path, console: Console) -> None:
        self.mpi, self.jobs, self.folder, self.console = mpi, jobs, folder, console
        self.no_nodes = launch.why_no_nodes(mpi) if any(job.shape.hosts > 1 for job in jobs) else None
        self.cores = plan["cores"]
        self.failed: list[str] = []
        self._open(plan)

    def _open(self, plan: dict) -> None:
        """Makes the folder ready. What lies in it must be of the same run, and whole."""
        path = self.folder / store.PLAN
        if path.exists():
            if store.read_json(path) != plan:
                raise BenchError(f"{self.folder} holds results of other settings or another MPI: take another folder with --out")
            for job in self.jobs:
                if (found := self._path(job)).exists():
                    store.read(found)
        elif self.folder.exists() and any(self.folder.glob("*.json")):
            raise BenchError(f"{self.folder} holds results that are not of plait bench: take another folder with --out")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            results.write_json(plan, path)
        except (OSError, FileError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise BenchError(f"the folder {self.folder} cannot be written to: {reason}; choose another with --out") from None

    def _path(self, job: Job) -> Path:
        return self.folder / f"{job.key}.json"

    def run(self) -> int:
        left = [job for job in self.jobs if not self._path(job).exists()]
        say = self.console.print
        if len(left) < len(self.jobs):
            say(f"{len(self.jobs) - len(left)} of {len(self.jobs)} jobs are measured already in {self.folder}", highlight=False)
        done = 0
        start = time.monotonic()
        expected = sum(job.expected for job in left)
        behind = 0.0  # seconds that the jobs done so far were expected to take

        def seconds_left() -> float:
            # Estimates are too short or too long by a factor that the jobs done so far tell.
            return (time.monotonic() - start + 5) / (behind + 5) * (expected - behind)

        pace = Pace(lambda: behind / max(expected, 1e-9), lambda: f"about {clock(seconds_left())} left")
        try:
            with progress(self.console, start, pace, lines_tell_left=True) as show:
                for job in left:
                    show(job.key)
                    self._measure(job)
                    behind += job.expected
                    done += 1
        except KeyboardInterrupt:
            print(f"plait bench: interrupted; the same command goes on with the {len(left) - done} jobs that are left", file=sys.stderr)
            return INTERRUPTED
        for line in self.failed:
            print(f"plait bench: {line}", file=sys.stderr)
        say(f"Written: {self.folder}; the page of it: ./plait report {shlex.quote(str(self.folder))}", highlight=False, soft_wrap=True)
        return 1 if self.failed else 0

    def _measure(self, job: Job) -> None:
        shape = job.shape
        began = datetime.now().astimezone()
        load = os.getloadavg()[0]
        if shape.hosts > 1 and self.no_nodes:
            self.console.print(f"{job.key}: skipped, {self.no_nodes}", highlight=False, soft_wrap=True)
            self._write(job, began, load, {"skipped": {f"{shape.hosts} nodes": self.no_nodes}})
            return
        if not (self.mpi.build / "bin" / job.program).exists():
            self.console.print(f"{job.key}: skipped, {NO_CLUSTER}", highlight=False, soft_wrap=True)
            self._write(job, began, load, {"skipped": {_side_of_plate(job): NO_CLUSTER}})
            return
        with leftovers.scratch() as scratch:
            written = scratch / "report.json"
            words = [
                str(self.mpi.build / "bin" / job.program),
                *job.arguments,
                "--json" if job.benchmark.is_application else "-o",
                str(written),
            ]
            words = [str(ROOT / word) if word.startswith("decks/") else word for word in words]
            options = {"hosts": shape.hosts, "delay": shape.delay, "env": job.environment, "preload": job.preloads}
            ended = launch.run(self.mpi, words, shape.processes, shape.threads, timeout=LONGEST, capture=True, **options)
            report = json.loads(written.read_text()) if ended.returncode == 0 and written.exists() else None
        if report is None:
            said = ended.stderr.strip().splitlines() or [f"ended with status {ended.returncode}"]
            self.failed.append(f"{job.key}: {said[0]}")
            return
        if job.benchmark.is_application:
            report = _of_plate(job, report) if job.benchmark.is_heat else _of_lbm(job, report, self.cores)
        self._write(job, began, load, report)

    def _write(self, job: Job, began: datetime, load: float, report: dict) -> None:
        shape = job.shape
        common = {
            "processes": shape.processes,
            "threads": shape.threads,
            "nodes": shape.hosts,
            **({"delay": shape.delay} if shape.delay else {}),
            "oversubscribed": report.pop("oversubscribed", shape.busy > self.cores),
        }
        points = [{**common, **point, "threads": point["at"].get("threads", shape.threads)} for point in report.pop("points", [])]
        skipped, version = report.pop("skipped", {}), report.pop("mpi", self.mpi.version)
        hosts = ["--hosts", str(shape.hosts)] if shape.hosts > 1 else []
        hosts += ["--delay", launch.microseconds(shape.delay)] if shape.delay else []
        settings = [word for name, value in job.environment.items() for word in ("--env", f"{name}={value}")]
        settings += ["--preload"] if job.preloads else []
        words = [
            *("./plait", "--mpi", self.mpi.name, "run", "-n", str(shape.processes), "-t", str(shape.threads)),
            *(*hosts, *settings, job.program, *job.arguments),
        ]
        content = {
            "schema": store.SCHEMA,
            "benchmark": job.benchmark.name,
            "command": shlex.join(words),
            "date": began.isoformat(timespec="seconds"),
            "plait": store.plait_version(),
            "mpi": {"name": self.mpi.name, "version": version},
            "machine": results.machine(self.cores),
            "settings": {**common, "turn": job.turn, "load": load, **_rest(report)},
            "skipped": skipped,
            "points": points,
        }
        store.write(self.folder, job.key, content)


def _rest(report: dict) -> dict:
    """What a program tells of its settings."""
    return {
        key: report[key]
        for key in ("rounds", "seconds_a_measurement", "clock_resolution", "window", "steps", "grid", "digest")
        if key in report
    }


def _of_lbm(job: Job, report: dict, cores: int) -> dict:
    """plait-lbm's report as points: the halo's and the step's time."""
    side, at = job.shape.side or job.shape.model, {"lattice": job.size}
    samples, pairs = report.pop("samples"), job.benchmark.steps // 2  # plait-lbm's own samples are of two steps
    points = [
        # A model without messages has no halo: a sample of 0 has no place on a logarithmic axis.
        {"quantity": quantity, "unit": "s", "side": side, "at": at, "samples": [1e-3 * v for v in _medians(samples[key], pairs) if v > 0]}
        for quantity, key in (("halo", "halo_ms"), ("step", "step_ms"))
    ]
    return {**report, "points": [point for point in points if point["samples"]]}


def _of_plate(job: Job, report: dict) -> dict:
    """plait-heat's report as points: the time of a step."""
    times = report["samples"]["step_ms"]
    # Of few steps plait-heat keeps the first two, which touch the memory first.
    times = times[2:] if len(times) == report["steps"] > 2 else times
    samples = [1e-3 * value for value in _medians(times, job.sample)]
    points = [{"quantity": "step", "unit": "s", "side": _side_of_plate(job), "at": {"plate": job.size}, "samples": samples}]
    return {"points": points, **{key: report[key] for key in ("steps", "digest", "mpi") if key in report}}


def _side_of_plate(job: Job) -> str:
    return f"cluster, {job.shape.schedule}" if job.shape.model == "cluster" else job.shape.model


def _medians(samples: list[float], each: int) -> list[float]:
    return [median(samples[k : k + each]) for k in range(0, len(samples), each)]
