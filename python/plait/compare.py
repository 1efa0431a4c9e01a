"""The main job: runs a deck in every hybrid model that fits the machine, in turn, and tells which one wins."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from rich.console import Console

from plait import applications, launch, leftovers, plan, results, store
from plait.applications import NO_CLUSTER, Application
from plait.files import FileError
from plait.guess import did_you_mean, nearest
from plait.mpis import Mpi, MpiError
from plait.progress import Pace, clock, progress
from plait.report import make as make_report
from plait.results import Row

CALIBRATION_STEPS = 12
# An oversubscribed row may take this part of the time for its calibration; more, and it is left out.
OVERSUBSCRIBED_SHARE = 0.1
# The time of the whole deck is an estimate from a short run.
WHOLE_MARGIN, OUTPUT_S = 1.25, 2.0


class CompareError(Exception):
    """Something went wrong; the text is one clear line."""


def compare(
    deck: Path,
    mpi: Mpi,
    out: Path,
    minutes: float = 5.0,
    models: list[str] | None = None,
    repeats: int = 3,
    settings: list[str] | None = None,
    hosts: int = 1,
) -> int:
    """Runs `deck` in every model (or only `models`) that fits the machine, `repeats` times in turn, within `minutes`, each time on
    `hosts` simulated nodes.

    Writes compare.json and compare.png, of a flow velocity.png and the fields, into `out`; `settings` are key=value lines that
    replace the deck's. Returns the exit status: 0; 1 where something went wrong (one line on stderr tells what) or
    the digests differ; 2 where nothing could be begun; 130 when interrupted. What was measured by then is in compare.json.
    """
    job = None
    try:
        job = prepare(deck, mpi, out, minutes, models, repeats, settings or [], hosts)
        status = job.run()
    except (CompareError, FileError, MpiError, OSError) as error:
        _complain(str(error))
        status = 1 if job else 2
    except KeyboardInterrupt:
        _complain("interrupted")
        status = 130
    if job and status and job.json in job.written:
        print(f"plait compare: what was measured until then is in {job.json}", file=sys.stderr)
    return status


def _complain(line: str) -> None:
    print(f"plait compare: {' '.join(line.split())}", file=sys.stderr)


def prepare(
    deck: Path, mpi: Mpi, out: Path, minutes: float, models: list[str] | None, repeats: int, settings: list[str], hosts: int
) -> Comparison:
    """Checks all that can be checked before anything runs."""
    if minutes <= 0 or repeats < 1:
        raise CompareError(f"minutes must be more than 0 and repeats at least 1, not {minutes:g} and {repeats}")
    content = read_deck(deck, settings)
    application = applications.of_deck(content)
    known = application.models
    models = [application.other_names.get(model, model) for model in models or []]
    for model in models:
        if model not in known:
            guess = did_you_mean(model, (*known, *application.other_names))
            raise CompareError(f"{application.program} has no model '{model}'{guess} (it has {', '.join(known)})")
    program = mpi.program(application.program)
    wanted = [model for model in models or known if (program.parent / application.program_of(model)).exists()]
    lacking = [model for model in models or known if model not in wanted]
    if models and lacking:
        raise CompareError(f"{lacking[0]}: {NO_CLUSTER}")
    _, cores = launch.usable_cores()
    rows = plan.shapes(cores, wanted, application=application, asked=bool(models))
    unable = [model for model in models if model not in {row.model for row in rows}]
    needs_two = f"keeps a thread for communication alone, and on {cores} core{'s' * (cores > 1)} no shape has two threads a process"
    if not rows:
        raise CompareError(f"{unable[0]} {needs_two}")
    rows, few = plan.on_nodes(rows, hosts)
    launch.require_nodes(mpi, hosts)
    check_deck(mpi, program, deck, settings)
    prepare_folder(out)
    notes = [f"{model} is left out: {NO_CLUSTER}." for model in lacking]
    notes += [f"{model} is left out: it {needs_two}." for model in unable]
    if few:
        notes.append(f"Left out, with fewer processes than the {hosts} nodes: {', '.join(row.name for row in few)}.")
    return Comparison(deck, content, mpi, application, out, 60 * minutes, repeats, settings, hosts, cores, rows, notes=notes)


def read_deck(deck: Path, settings: Sequence[str]) -> dict:
    """The deck's content, with the settings in their places."""
    try:
        content = tomllib.loads(deck.read_text())
    except FileNotFoundError:
        # Compared without .toml, which all have in common.
        decks = {path.stem: path for path in deck.parent.glob("*.toml")}
        near = nearest(deck.stem, decks)
        guess = f"; did you mean {decks[near]}?" if near else ""
        raise CompareError(f"there is no deck {deck}{guess}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CompareError(f"the deck {deck} cannot be read: {error}") from None
    for setting in settings:
        try:
            change = tomllib.loads(setting.replace("=", " = ", 1))
        except tomllib.TOMLDecodeError as error:
            raise CompareError(f"the setting {setting} must be key=value in TOML: {error}") from None
        _merge(content, change)
    return content


def check_deck(mpi: Mpi, program: Path, deck: Path, settings: Sequence[str]) -> None:
    """What the program itself says of the deck, before a model is blamed for it."""
    line = [str(program), str(deck), "--check", *(word for setting in settings for word in ("--set", setting))]
    done = launch.run(mpi, line, 1, 1, timeout=60, capture=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"{program.name} ended with status {done.returncode}"]
        raise CompareError(said[0].removeprefix(f"{program.name}: "))


def _merge(into: dict, change: dict) -> None:
    for key, value in change.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def prepare_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise CompareError(f"the folder {out} cannot be written to: {error.strerror}; choose another with --out") from None


@dataclass
class Comparison:
    """One comparison, from the first run to the pictures."""

    deck: Path
    content: dict
    mpi: Mpi
    application: Application
    out: Path
    seconds: float
    repeats: int
    settings: list[str]
    hosts: int
    cores: int
    rows: list[Row]
    steps: int = 0
    whole: dict | None = None  # the program's report of the whole deck
    notes: list[str] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)
    start: float = field(default=0.0, init=False)
    began: str = field(default="", init=False)
    load: float = field(default=0.0, init=False)
    console: Console = field(default_factory=results.make_console)
    show: Callable[[str], None] = lambda text: None

    def __post_init__(self) -> None:
        self.start = time.monotonic()
        self.began = datetime.now().astimezone().isoformat(timespec="seconds")
        self.load = os.getloadavg()[0]

    @property
    def json(self) -> Path:
        return self.out / "compare.json"

    @property
    def title(self) -> str:
        return str(self.content.get("title", self.deck.stem))

    @property
    def where(self) -> str:
        return f"{self.cores} cores" + (f", as {self.hosts} simulated nodes" if self.hosts > 1 else "")

    @property
    def left(self) -> float:
        return self.start + self.seconds - time.monotonic()

    def run(self) -> int:
        self.console.print(f"[bold]{self.title}[/]: {self.deck.name} with {self.mpi.name} on {self.where}", highlight=False)
        try:
            pace = Pace(lambda: (time.monotonic() - self.start) / self.seconds, lambda: f"at most {clock(self.left)} left")
            with progress(self.console, self.start, pace) as self.show:
                self.calibrate()
                self.measure()
                differing = results.differing(self.rows)
                if not differing:
                    self.run_whole()
        finally:
            self.report()
        if differing:
            raise CompareError(f"the runs do not agree, their digests differ: {'; '.join(differing)}")
        return 0

    # ---- the runs

    def calibrate(self) -> None:
        """A short run of every row tells how long its steps take. Oversubscribed rows may be too slow to go on.

        Where it had its ranks in another order than the launcher's, and sent less between nodes so, a row in that order follows.
        """
        rows = list(self.rows)
        for row in rows:
            self.show(f"short run first: {row.label}")
            most = OVERSUBSCRIBED_SHARE * self.seconds if row.oversubscribed else self.left
            started = time.monotonic()
            report = self.launch(row, ["--steps", str(CALIBRATION_STEPS), *self.application.short], min(most, self.left))
            if report is None and row.oversubscribed:
                self.rows.remove(row)
                self.notes.append(f"{row.label} is left out: {CALIBRATION_STEPS} steps took more than {most:.0f} s.")
                continue
            if report is None:
                raise CompareError(f"{row.name}: even {CALIBRATION_STEPS} steps did not fit the time; give it more with --minutes")
            row.calibration = report
            row.step_s = report["step_ms"]["median"] / 1e3
            row.overhead_s = max(0.0, time.monotonic() - started - CALIBRATION_STEPS * row.step_s)
            if other := row.with_ranks_in_order():
                for some in rows, self.rows:
                    some.insert(some.index(row) + 1, other)
        if not self.rows:
            raise CompareError("no model was fast enough to go on; give it more time with --minutes")

    def measure(self) -> None:
        """All rows in turn, and again."""
        whole = min(self.whole_seconds(self.fastest(writes=True)), self.seconds / 2)
        self.steps = plan.plan(self.rows, 0.95 * (self.left - whole), self.repeats)
        for turn in range(1, self.repeats + 1):
            for row in self.rows:
                if turn > row.rounds:
                    continue
                expected = row.overhead_s + self.steps * row.step_s
                # The first round of what fits the machine is what the user came for: it runs in any case.
                if expected > self.left - whole and (turn > 1 or row.oversubscribed):
                    row.note = f"only {turn - 1} of {self.repeats} rounds, to keep within the time"
                    row.rounds = turn - 1
                    continue
                self.show(f"round {turn} of {self.repeats}: {row.label}")
                self.add_sample(row, self.launch(row, ["--steps", str(self.steps), *self.application.short], self.left))

    def add_sample(self, row: Row, report: dict | None) -> None:
        if report is None and row.oversubscribed:
            row.note, row.rounds = "ended early, to keep within the time", len(row.samples)
        elif report is None:
            raise CompareError(f"{row.name}: {self.steps} steps did not fit the time that was left; give it more with --minutes")
        else:
            row.samples.append(report)
            self.write_json()

    def run_whole(self) -> None:
        """The deck as it is, once, by the fastest row that fits the machine and can write fields."""
        row = self.fastest(writes=True)
        wanted = self.content.get("run", {}).get("steps", 1)
        fitting = int((self.left - row.overhead_s - OUTPUT_S) / (WHOLE_MARGIN * row.step_s))
        if fitting < min(wanted, plan.LEAST_STEPS):
            what = self.application
            self.notes.append(f"No time was left for the whole {what.whole}: {what.missing}; give it more with --minutes.")
            return
        options = list(self.application.short)
        if row.model in self.application.writes:
            options = ["--output", str(self.out), "--set", "output.fields=true"]
        if fitting < wanted:
            # Not by --steps: it may still be found steady before.
            options += ["--set", f"run.steps={fitting}"]
        self.show(f"the whole {self.application.whole}: {row.label}, at most {min(wanted, fitting)} steps")
        try:
            self.whole = self.launch(row, options, self.left)
        finally:
            for left in self.out.glob("*.vti.partial"):  # plait-lbm's, where it could not end them
                left.unlink(missing_ok=True)
        if self.whole is None:
            raise CompareError(f"the whole {self.application.whole} did not fit the time that was left; give it more with --minutes")
        if not self.whole["steady"] and self.content.get("run", {}).get("steady"):
            self.notes.append(f"The flow is not steady yet after {self.whole['steps']} steps: take its permeability with care.")
        self.write_json()

    def launch(self, row: Row, options: list[str], timeout: float) -> dict | None:
        """The program's report, or None where the run took too long."""
        with leftovers.scratch() as folder:
            report = folder / "report.json"
            program = self.mpi.build / "bin" / self.application.program_of(row.model)
            line = [str(program), str(self.deck), "--model", row.model, "--json", str(report)]
            for setting in self.settings:
                line += ["--set", setting]
            order = self.application.not_reordered if row.reordered is False else ()
            shape = row.processes, row.threads, row.hosts
            done = launch.run(self.mpi, [*line, *options, *order], *shape, timeout=max(1.0, timeout), capture=True)
            if done.returncode == launch.TIMED_OUT:
                return None
            found = json.loads(report.read_text()) if report.exists() else {}
        # A deck's check against published figures does not hold after few steps; the run itself is right.
        if done.returncode and not any(not check["passed"] for check in found.get("checks", [])):
            said = done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"]
            raise CompareError(f"{row.label} failed: {said[0]}")
        if not found:
            raise CompareError(f"{row.label} wrote no results")
        return found

    def fastest(self, writes: bool = False) -> Row:
        # On several nodes there may be no other rows than oversubscribed ones.
        fitting = [row for row in self.rows if not row.oversubscribed] or self.rows
        if writes:
            fitting = [row for row in fitting if row.model in self.application.writes] or fitting
        return min(fitting, key=lambda row: row.step["median"] if row.samples else 1e3 * row.step_s)

    def whole_seconds(self, row: Row) -> float:
        steps = self.content.get("run", {}).get("steps", 1)
        return row.overhead_s + WHOLE_MARGIN * steps * row.step_s + OUTPUT_S

    # ---- what comes of them

    def write_json(self) -> None:
        measured = results.in_order(self.rows)
        # What runs by OpenMP alone knows of no MPI.
        version = next((sample["mpi"] for row in measured for sample in row.samples if "mpi" in sample), "")
        content = {
            "schema": store.SCHEMA,
            "benchmark": self.application.benchmark,
            "command": f"./plait --mpi {self.mpi.name} compare {self.deck}" + (f" --hosts {self.hosts}" if self.hosts > 1 else ""),
            "date": self.began,
            "plait": store.plait_version(),
            "settings": {
                "nodes": self.hosts,
                "load": self.load,
                "steps": self.steps,
                "repeats": self.repeats,
                "seconds": self.seconds,
            },
            "skipped": {},
            "points": [point for row in measured for point in row.as_points()],
            "machine": results.machine(self.cores),
            "mpi": {"name": self.mpi.name, "version": version},
            "deck": {"name": self.deck.stem, "content": self.content},
            "steps": self.steps,
            **self.of_whole(),
            "runs": [row.as_json() for row in measured],
            "notes": self.notes,
        }
        results.write_json(content, self.json)

    def of_whole(self) -> dict:
        if self.application is not applications.LBM:
            return {"whole": self.whole}
        return {"permeability": self.whole["permeability"] if self.whole else None, "flow": self.whole}

    def report(self) -> None:
        """Table, sentences and pictures of what there is: also after an error or an interrupt."""
        if not any(row.samples for row in self.rows):
            self.keep_short_runs()
        if not any(row.samples for row in self.rows):
            return
        self.write_json()
        self.written = [self.json]
        say = self.console.print
        try:
            self.draw()
        except FileError as error:  # what was measured is shown all the same
            say(f"No picture: {error}", highlight=False, soft_wrap=True)
        say(results.table(self.rows))
        if any(row.samples and row.oversubscribed for row in self.rows):
            if self.application.halo:
                say("oversubscribed: more threads than cores. It shows what a model's halo exchange costs between processes,")
                say("where all cores in one process have no neighbour to talk to; the time per step compares with nothing.\n")
            else:
                say("oversubscribed: more threads than cores; the time per step compares with nothing.\n")
        for row in self.rows:
            if row.note:
                say(f"{row.label}: {row.note}.", highlight=False)
        for note in self.notes:
            say(note, highlight=False)
        if any(row.samples and not row.oversubscribed for row in self.rows):
            say(results.winner(self.rows), style="bold", highlight=False, soft_wrap=True)
        for sentence in results.reordering(self.rows):
            say(sentence, highlight=False, soft_wrap=True)
        if self.whole:
            self.tell_whole()
        say(f"Written: {', '.join(str(path) for path in self.written)}", highlight=False, soft_wrap=True)
        # Other results that lie in the folder are no reason to fail now.
        try:
            say(f"The report: {make_report([self.out])}", highlight=False, soft_wrap=True)
        except (FileError, store.StoreError) as error:
            say(f"No report: {error}", highlight=False, soft_wrap=True)

    def keep_short_runs(self) -> None:
        """They are all there is where the time ends before the first round."""
        for row in self.rows:
            if row.calibration:
                row.samples = [row.calibration]
        self.steps = CALIBRATION_STEPS
        self.notes.append(f"There was no time for more than the short runs of {CALIBRATION_STEPS} steps.")

    def tell_whole(self) -> None:
        end = f"{'steady after' if self.whole['steady'] else 'after'} {self.whole['steps']} steps"
        if "distance" in self.whole:
            self.console.print(f"The plate is at most {self.whole['distance']:.3g} from its steady state, {end}.", highlight=False)
        if self.whole.get("permeability") is not None:
            self.console.print(f"Permeability: {self.whole['permeability']:.5g} lattice spacings squared, {end}.", highlight=False)
        for check in self.whole.get("checks", []):
            verdict = "passed" if check["passed"] else "FAILED"
            size = f"error {check['error']:.2e}, at most {check['tolerance']:.2e}"
            self.console.print(f"Check against {check['against']}: {size}: {verdict}, {end}.", highlight=False)

    def draw(self) -> None:
        from plait import pictures  # a second that only those wait for who have something to draw

        self.show("drawing")
        times = self.out / "compare.png"
        pictures.draw_times(results.in_order(self.rows), f"{self.title}: {self.mpi.name}, {self.where}", times)
        self.written.append(times)
        fields = self.out / f"{self.deck.stem}-{self.whole.get('step', self.whole['steps'])}.vti" if self.whole else None
        if fields and fields.exists():
            picture = self.out / "velocity.png"
            pictures.draw_slice(fields, self.title, picture)
            self.written += [picture, fields]
