"""Runs a program under any MPI with the same words: pins, sets the environment, keeps time, hides the launcher's noise."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from plait import built, feed, leftovers, stacks
from plait.machine import usable_cores
from plait.mpis import Job, Mpi, MpiError, Noise

TIMED_OUT = 124
STDIN = "stdin"  # the pipe in a job's folder
NODES = Path(__file__).parent / "nodes"
SWITCH = "plait-delay"  # between nodes, where there is a delay
LONGEST_DELAY = 1_000_000  # microseconds


@dataclass
class CompletedRun:
    returncode: int  # the program's; 124 when it took too long
    stdout: str = ""  # empty unless captured
    stderr: str = ""


def run(
    mpi: Mpi,
    program: list[str],
    processes: int,
    threads: int,
    hosts: int = 1,
    env: dict[str, str] | None = None,
    timeout: float | None = None,
    capture: bool = False,
    stdin: bool = False,
    preload: bool = False,
    lend: bool = False,
    show_stacks: bool = False,
    own_time: bool = False,
    delay: float = 0,
) -> CompletedRun:
    """Runs `program` with `processes` x `threads`, spread evenly over `hosts` simulated nodes, and waits for its end.

    Output goes to our own streams as it comes, or with `capture` into the answer. Raises MpiError with one clear line
    where the job cannot be started. After `timeout` seconds, and when interrupted, every process of the job is ended.
    With `show_stacks` a job that took too long says before where its threads are. With `own_time` the limit leaves out the
    seconds for which one of its threads waited for a core, but is no more than three times as long. What goes between nodes
    is held for `delay` microseconds, one way.
    """
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(leftovers.scratch())
        line, environment = command(mpi, program, processes, threads, hosts, env or {}, str(scratch), stdin, preload, delay, lend)
        marker = f"PLAIT_JOB={uuid.uuid4().hex}"
        environment.update([marker.split("=")])
        (scratch / leftovers.MARKER).write_text(marker)
        # A simulated node's shared memory is its own and goes with it.
        segments = leftovers.Segments(mpi.segments, mpi.files, marker, scratch) if hosts == 1 else None
        if segments:
            stack.callback(segments.close)
        if stdin:
            stack.callback(feed.Feed(scratch / STDIN).close)
        launcher = _start(line, environment)
        if segments:
            segments.launcher = launcher.pid
        return _wait(mpi, program[0], launcher, marker, timeout, capture, show_stacks, own_time)


def _start(line: list[str], environment: dict[str, str]) -> subprocess.Popen:
    return subprocess.Popen(
        line,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=_die_with_parent,  # noqa: PLW1509 one system call, of a library that is loaded
    )


def _wait(
    mpi: Mpi,
    program: str,
    launcher: subprocess.Popen,
    marker: str,
    timeout: float | None,
    capture: bool,
    show_stacks: bool,
    own_time: bool,
) -> CompletedRun:
    out = _Stream(launcher.stdout, None if capture else sys.stdout, mpi.noise)
    err = _Stream(launcher.stderr, None if capture else sys.stderr, mpi.noise)
    try:
        code = _wait_until(launcher, marker, timeout, 3 * timeout if timeout and own_time else timeout)
    except subprocess.TimeoutExpired:
        if show_stacks:
            stacks.tell(marker.encode(), _resolve(mpi, program), err.say)
        _end(launcher, marker, out, err)
        code = None
    except BaseException:
        _end(launcher, marker, out, err)
        raise
    out.close()
    err.close()
    if code is None:
        code = TIMED_OUT
        err.say(f"plait run: {program} took longer than {timeout:g} s and was ended")
    elif lost := mpi.lost(out.hidden() + err.hidden()):
        code = code or 1
        err.say(f"plait run: {program}: {lost} is gone, with the launcher's process there")
    elif code:
        code = _explain(mpi, program, code if code > 0 else 128 - code, out, err)
    if failure := out.failure or err.failure:
        code = code or 1
        err.say(f"plait run: what {program} wrote could not be handed on: {failure.strerror}")
    return CompletedRun(code, out.text(), err.text())


def _wait_until(launcher: subprocess.Popen, marker: str, timeout: float | None, most: float | None) -> int:
    """The launcher's status. The limit becomes longer, up to `most`, by what a thread of the job has waited for a core."""
    began = time.monotonic()
    limit = timeout
    while True:
        try:
            return launcher.wait(limit and limit - (time.monotonic() - began))
        except subprocess.TimeoutExpired:
            limit = min(most, timeout + leftovers.waited(marker.encode()))
            if limit <= time.monotonic() - began:
                raise


def require_shape(processes: int, threads: int, hosts: int) -> None:
    for name, value in (("processes", processes), ("threads", threads), ("hosts", hosts)):
        if value < 1:
            raise MpiError(f"{name} must be at least 1, not {value}")
    if hosts > processes:
        raise MpiError(f"{hosts} hosts need at least {hosts} processes, there are only {processes}")


def require_delay(delay: float, hosts: int) -> None:
    if not 0 <= delay <= LONGEST_DELAY:
        raise MpiError(f"the delay between nodes must be 0 to {LONGEST_DELAY} microseconds, not {delay:g}")
    if delay and hosts < 2:
        raise MpiError("a delay is between simulated nodes: it needs --hosts 2 or more")


def command(
    mpi: Mpi,
    program: list[str],
    processes: int,
    threads: int,
    hosts: int,
    env: dict[str, str],
    scratch: str = "",
    stdin: bool = False,
    preload: bool = False,
    delay: float = 0,
    lend: bool = False,
) -> tuple[list[str], dict[str, str]]:
    """The launch line and the whole environment for it."""
    require_shape(processes, threads, hosts)
    require_delay(delay, hosts)
    logical, physical = usable_cores()
    allocated = allocated_nodes()
    here = -(-processes // allocated)  # of a batch job's nodes, ours is as good as any
    busy = here * threads
    pin = "" if hosts > 1 or busy > logical else "core" if busy <= physical else "hwthread"
    # A share of the machine, not as many cores as threads are told: a program may start threads of its own.
    share = max(1, (physical if pin == "core" else logical) // here)
    nodes = tuple((f"n{i}", (processes + hosts - 1 - i) // hosts) for i in range(hosts)) if hosts > 1 else ()
    job = Job(processes, threads, nodes, pin, share, busy > logical, str(NODES / "netns-rsh"), hosts == allocated == 1, scratch, lends=lend)
    program = [_resolve(mpi, program[0]), *program[1:]]
    needed = mpi.needs()
    if mpi.folder and not built.loaded(program[0], {**os.environ, **needed}):
        # It may look for the MPI's library when it runs, as mpi4py's wheels do.
        paths = [needed.get("LD_LIBRARY_PATH", os.environ.get("LD_LIBRARY_PATH")), str(mpi.folder / "lib")]
        needed["LD_LIBRARY_PATH"] = ":".join(dict.fromkeys(filter(None, paths)))
    if lend:
        needed["PLAIT_LEND"] = "1"
    forced = {"OMP_NUM_THREADS": str(threads), **needed, **env}
    settings = mpi.settings(job)
    environment = {**settings, **os.environ, **forced}
    exported = tuple({**settings, **forced, **{name: "" for name in os.environ if name.startswith("PLAIT_")}})
    preload = preload or lend
    if preload:
        mpi.built(mpi.library)
    if reason := built.why_not(mpi, program[0], environment, mpi.library if preload else None):
        raise MpiError(reason)
    # A shell in front of the program does what only its processes, not the launcher's, are to see. Launchers leave processes a
    # standard input that never ends: MPICH 5.0.2 and Intel MPI 2021.19 all but the first, Open MPI 5.0.11 now and then the
    # first. A program that reads it would wait for ever.
    script = feed.take(Path(scratch) / STDIN) if stdin else "exec </dev/null; "
    if preload:
        script += _preloading(mpi.library, built.comes_first(program[0], environment))
    if lend:
        script += f'LD_PRELOAD="$LD_PRELOAD":{shlex.quote(str(mpi.built(mpi.library.parent / "libplait_lend.so")))}; '
    program = ["/bin/sh", "-c", script + 'exec "$0" "$@"', *program]
    line = mpi.launch(replace(job, exported=exported), program)
    return [*_sandbox(mpi, hosts, delay), *line] if hosts > 1 else line, environment


def _preloading(libplait: Path, first: str | None) -> str:
    """For a shell: what is preloaded already, a tool say, stays in front of libplait, unless libplait stands there, too."""
    front = f"{shlex.quote(first)}:" if first else ""
    put = f'LD_PRELOAD={front}"${{LD_PRELOAD:+$LD_PRELOAD:}}"{shlex.quote(str(libplait))}'
    return f'case "$LD_PRELOAD" in *libplait.so*) ;; *) {put};; esac; export LD_PRELOAD; '


def allocated_nodes() -> int:
    """How many nodes a batch system gave us; 1 outside of one."""
    if count := os.environ.get("SLURM_JOB_NUM_NODES"):
        return max(1, int(count))
    listing = Path(os.environ.get("PBS_NODEFILE") or os.environ.get("LSB_DJOB_HOSTFILE") or os.devnull)
    return max(1, len(set(listing.read_text().split()))) if listing.exists() else 1


def why_no_nodes(mpi: Mpi) -> str | None:
    """Why this machine cannot simulate nodes for this MPI, in a few words; None where it can."""
    if reason := mpi.why_no_nodes():
        return reason
    for tool in ("unshare", "ip", "nsenter"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    if not (NODES / "mpinodes").exists():
        return f"{NODES / 'mpinodes'} is missing"
    probe = [*_namespace_root(), "unshare", "--mount", "--pid", "--fork", "--net", "--uts", "--ipc", "--mount-proc", "true"]
    refused = subprocess.run(probe, capture_output=True, text=True, check=False)
    return None if refused.returncode == 0 else f"namespaces are not allowed here ({refused.stderr.strip().splitlines()[-1]})"


def _namespace_root() -> list[str]:
    return [] if os.geteuid() == 0 else ["unshare", "-Ur", "--"]


def require_nodes(mpi: Mpi, hosts: int) -> None:
    if hosts > 1 and (reason := why_no_nodes(mpi)):
        raise MpiError(f"cannot simulate {hosts} hosts: {reason}")


def _sandbox(mpi: Mpi, hosts: int, delay: float) -> list[str]:
    require_nodes(mpi, hosts)
    nodes = [str(NODES / "mpinodes"), "with", str(hosts)]
    if delay:
        nodes = ["env", f"MPINODES_SWITCH={mpi.program(SWITCH)}", *nodes, "--delay", microseconds(delay)]
    return [*_namespace_root(), *nodes]


def microseconds(delay: float) -> str:
    """As options want it: 50, not 50.0 or 1e+06."""
    return f"{delay:.3f}".rstrip("0").rstrip(".")


def _resolve(mpi: Mpi, program: str) -> str:
    """The program's path: as given, or by its bare name from our own build or the PATH."""
    path = Path(program)
    if "/" not in program:
        ours = mpi.build / "bin" / program
        found = str(ours) if ours.is_file() else shutil.which(program)
        if not found:
            raise MpiError(f"there is no program '{program}'" + (f"; did you mean ./{program}?" if path.exists() else ""))
        return found
    if not path.exists():
        raise MpiError(f"there is no program '{program}'")
    if path.is_dir() or not os.access(path, os.X_OK):
        raise MpiError(f"'{program}' is not an executable program")
    return program


# ---- the job's end


_LIBC = ctypes.CDLL(None)


def _die_with_parent() -> None:
    _LIBC.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _end(launcher: subprocess.Popen, marker: str, *streams: _Stream) -> None:
    """Ends the launcher and then, whatever session or namespace they are in, all processes that carry our marker."""
    for stream in streams:
        stream.mute()  # what a launcher says of its own end is of no use
    for sent, seconds in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0)):
        try:
            os.killpg(launcher.pid, sent)
            launcher.wait(seconds)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    leftovers.end_marked(marker.encode())
    launcher.wait()


def _explain(mpi: Mpi, program: str, code: int, out: _Stream, err: _Stream) -> int:
    """One line where the program ended without a word of its own, or was ended by a signal. The status, as a shell's."""
    if cause := mpi.cause(out.hidden() + err.hidden()):
        rank = f", rank {cause.rank}," if cause.rank is not None else ""
        err.say(f"plait run: {program}{rank} was ended by signal {cause.signal} ({signal.strsignal(cause.signal)})")
        return 128 + cause.signal
    if not err.wrote:
        err.say(f"plait run: {program} ended with status {code}")
    return code


# ---- what the job writes


@dataclass
class _Filter:
    """Takes whole launcher's messages out of a stream of bytes and lets everything else through at once.

    Only a line that may open such a message is held back, until the next ones tell what it is.
    """

    noise: tuple[Noise, ...]
    hidden: list[bytes] = field(default_factory=list)
    _held: list[bytes] = field(default_factory=list)
    _tail: bytes = b""  # the line that has no end yet
    _passed: int = 0  # how much of it is through already
    _closing: str | None = None

    def feed(self, data: bytes) -> bytes:
        passed = []
        *lines, self._tail = (self._tail + data).split(b"\n")
        for line in lines:
            passed.append(self._line(self._without_appended(line + b"\n")))
        if not self._closing and not self._held and not self._may_open(self._tail):
            end = max(self._passed, self._appended_at())
            passed.append(self._tail[self._passed : end])
            self._passed = end
        return b"".join(passed)

    def _without_appended(self, line: bytes) -> bytes:
        """The line without a launcher's message that follows upon the program's own, which then has no end yet."""
        for noise in self.noise:
            at = line.find(noise.begins.encode(), 1) if noise.begins else -1
            if at > 0 and _matches(noise.opening[0], line[at:]):
                self.hidden.append(line[at:])
                return line[:at]
        return line

    def _appended_at(self) -> int:
        """Where in the line that has no end yet such a message may begin; else its length."""
        for begins in (noise.begins.encode() for noise in self.noise if noise.begins):
            if (at := self._tail.find(begins)) > 0:
                return at
            for length in range(len(begins) - 1, 0, -1):
                if self._tail.endswith(begins[:length]):
                    return len(self._tail) - length
        return len(self._tail)

    def flush(self) -> bytes:
        last, self._tail = self._tail, b""
        passed = self._line(self._without_appended(last)) if last else b""
        rest = passed + b"".join(self._held)
        self._held, self._passed = [], 0
        # 5.0.11: Open MPI's banners end with a NUL byte.
        return b"" if self.hidden and not rest.strip(b"\0 \n") else rest

    def _line(self, line: bytes) -> bytes:
        if self._passed:  # its beginning is out
            line, self._passed = line[self._passed :], 0
            return line
        if self._closing:
            self.hidden.append(line)
            if _matches(self._closing, line):
                self._closing = None
            return b""
        # Lines that stand for themselves may come in the midst of others.
        if any(len(n.opening) == 1 and n.closing is None and _matches(n.opening[0], line) for n in self.noise):
            self.hidden.append(line)
            return b""
        self._held.append(line)
        passed = b""
        while self._held:
            kinds = [n for n in self.noise if all(map(_matches, n.opening, self._held))]
            whole = [n for n in kinds if len(self._held) == len(n.opening)]
            if whole:
                self.hidden += self._held
                self._held, self._closing = [], whole[0].closing
            elif kinds:
                break
            else:
                passed += self._held.pop(0)
        return passed

    def _may_open(self, tail: bytes) -> bool:
        """Whether a line that begins so may be the first of a launcher's message."""
        # 5.0.11: Open MPI ends its messages with a NUL byte. A line that goes back to its start is a progress bar.
        text = _text(tail)
        starts = filter(None, (_literal(noise.opening[0]) for noise in self.noise))
        return len(text) < 200 and "\r" not in text and any(text.startswith(start[: len(text)]) for start in starts)


def _literal(pattern: str) -> str:
    """The plain text that a pattern begins with: -{60,} gives -."""
    return re.match(r"(\\\W|[^\\.*+?{(\[])*", pattern)[0].replace("\\", "")


def _text(line: bytes) -> str:
    return line.decode(errors="replace").strip("\0\n")


def _matches(pattern: str, line: bytes) -> bool:
    return re.fullmatch(pattern, _text(line)) is not None


class _Stream:
    """One of the job's two streams: read by a thread of its own, filtered, handed on or kept."""

    def __init__(self, source, target, noise: tuple[Noise, ...]) -> None:
        self.wrote = False
        self.failure: OSError | None = None  # why not all could be handed on
        self._muted = False
        self._filter = _Filter(noise)
        self._kept: list[bytes] = []
        self._source = source
        self._put: Callable[[bytes], object] = self._kept.append if target is None else _writer(target)
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        while data := os.read(self._source.fileno(), 65536):
            self._pass(self._filter.feed(data))

    def mute(self) -> None:
        self._muted = True

    def _pass(self, data: bytes) -> None:
        if data and not self._muted:
            self.wrote = True
            try:
                self._put(data)
            except OSError as error:  # the job may still have files to write
                self.mute()
                if not isinstance(error, BrokenPipeError):  # our reader has seen enough
                    self.failure = error

    def close(self) -> None:
        # Whoever still holds the pipe after the launcher's end has nothing to say.
        self._thread.join(5.0)
        self._pass(self._filter.flush())

    def say(self, line: str) -> None:
        with contextlib.suppress(OSError):
            self._put(line.encode() + b"\n")

    def text(self) -> str:
        return b"".join(self._kept).decode(errors="replace")

    def hidden(self) -> str:
        return b"".join(self._filter.hidden).decode(errors="replace")


def _writer(target) -> Callable[[bytes], object]:
    target.flush()

    def write(data: bytes) -> None:
        while data:
            data = data[os.write(target.fileno(), data) :]

    return write
