"""Where the threads of a job are that takes too long: one line for each stack, with the ranks that have it. By gdb."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from plait import leftovers

SECONDS = 30  # for gdb, at each process
FRAMES = 16  # of a stack, the innermost ones
_RANK = re.compile(rb"(?:^|\0)(?:PMI_RANK|PMIX_RANK)=(\d+)\0")
_FRAME = re.compile(r"#\d+ +(?:0x[0-9a-f]+ in )?(?P<function>.+?) \(.*?(?: at (?:.*/)?(?P<line>[^/ ]+:\d+))?(?: from .*)?$")


def tell(marker: bytes, program: str, say: Callable[[str], None]) -> None:
    """Says what the marked processes of `program` do, each stack once."""
    if not (gdb := shutil.which("gdb")):
        say("plait run: gdb, which shows the stacks, is not installed")
        return
    ranks = {pid: rank for pid in leftovers.marked(marker) if _runs(pid, program) and (rank := _rank(pid)) is not None}
    used = {rank: _cpu_seconds(pid) for pid, rank in ranks.items()}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(ranks.values(), pool.map(lambda pid: _stacks(gdb, pid), ranks), strict=True))
    who: dict[tuple[str, int], list[int]] = {}
    for rank in sorted(found):
        for stack, threads in Counter(found[rank]).items():
            who.setdefault((stack, threads), []).append(rank)
    for (stack, threads), those in who.items():
        name = f"ranks {', '.join(map(str, those))}" if len(those) > 1 else f"rank {those[0]}"
        say(f"plait run: {name}" + (f", {threads} threads" if threads > 1 else "") + f": {stack}")
    if used:
        say("plait run: seconds of CPU time by rank: " + ", ".join(f"{used[rank]:.1f}" for rank in sorted(used)))


def _runs(pid: int, program: str) -> bool:
    """A script's processes run its interpreter."""
    try:
        running = os.readlink(f"/proc/{pid}/exe")
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:  # gone
        return False
    return running == os.path.realpath(program) or program.encode() in words[1:2]


def _rank(pid: int) -> int | None:
    try:
        found = _RANK.search(Path(f"/proc/{pid}/environ").read_bytes())
    except OSError:
        return None
    return int(found[1]) if found else None


def _cpu_seconds(pid: int) -> float:
    try:
        numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def _stacks(gdb: str, pid: int) -> list[str]:
    """Of each thread its calls, the outermost first."""
    line = [gdb, "-nx", "-batch", "-ex", "set print frame-arguments none", "-ex", f"thread apply all bt {FRAMES}", "-p", str(pid)]
    try:
        said = subprocess.run(line, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return [f"gdb did not answer in {SECONDS} s"]
    threads = []
    for text in said.stdout.splitlines():
        if text.startswith("Thread "):
            threads.append([])
        elif threads and (frame := _FRAME.match(text)):
            threads[-1].append(frame["function"] + (f" ({frame['line']})" if frame["line"] else ""))
    return [_chain(frames) for frames in threads if frames] or [f"gdb shows nothing: {said.stderr.strip()[-200:]}"]


def _chain(frames: list[str]) -> str:
    """Functions without a name in one word, and without how a thread begins."""
    text = re.sub(r"\?\?( > \?\?)*", "...", " > ".join(reversed(frames)))
    return re.sub(r"^clone3? \(\S+ > start_thread \(\S+ > (\.\.\. > )?", "", text)
