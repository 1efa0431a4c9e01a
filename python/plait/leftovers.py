"""What jobs that end badly leave behind: folders of plait's own, and files of the MPI's. This run or the next removes it.

What belongs to somebody else is left alone. A folder is held by a lock as long as its plait lives. A segment of shared
memory must have come while the job ran, be this user's and held by no process; and where processes may be hidden, those of
another container with the same /dev/shm, one of the job's own must have been seen with it. So it must with a file in /tmp.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import re
import select
import shutil
import signal
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

SHARED = Path("/dev/shm")
FILES = Path("/tmp")  # where MPICH's launcher writes, whatever TMPDIR says
SEGMENTS = "segments"  # the file in a job's folder that lists them: how it is known, inode, path
CAME, OURS = "came", "ours"
MARKER = "marker"  # the file in a job's folder with what its processes have in their environment
_PREFIX, _NEW = "plait-job.", ".plait-job."


# ---- folders


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder for a time. It has its name only once it is locked, so that no other plait takes it for left behind."""
    sweep()
    made = Path(tempfile.mkdtemp(prefix=_NEW))
    lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = made.rename(made.with_name(_PREFIX + made.name.removeprefix(_NEW)))
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(lock)


def sweep() -> None:
    """Removes what runs of plait have left that were ended too abruptly to do it themselves."""
    below = Path(tempfile.gettempdir())
    for folder in [*below.glob(f"{_PREFIX}*"), *below.glob(f"{_NEW}*")]:
        try:
            found = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # gone meanwhile, or not ours
            continue
        try:
            if os.fstat(found).st_uid != os.geteuid() or (folder.name.startswith(_NEW) and time.time() - os.fstat(found).st_mtime < 60):
                continue
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _end_job(folder)
            remove_segments(folder)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:  # its plait lives
            pass
        finally:
            os.close(found)


# ---- processes


def marked(marker: bytes) -> list[int]:
    """Processes with that in their environment, whatever session or namespace they are in."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:  # gone, or somebody else's
                pass
    return found


def waited(marker: bytes) -> float:
    """For how many seconds that one of the job's threads was ready to run, and had no core, which had none for longest."""
    longest = 0
    for pid in marked(marker):
        for file in Path("/proc", str(pid), "task").glob("*/schedstat"):
            with contextlib.suppress(OSError):  # it has ended
                longest = max(longest, int(file.read_text().split()[1]))
    return longest / 1e9


def _end_job(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        marker = (folder / MARKER).read_bytes()
        if re.fullmatch(rb"PLAIT_JOB=[0-9a-f]{32}", marker):  # an unfinished one is found in others' processes, too
            end_marked(marker)


def end_marked(marker: bytes) -> None:
    """Ends what is left of a job. Open MPI 5.0.11 leaves its processes where its launcher has lost its plait."""
    until = time.monotonic() + 2.0
    while left := marked(marker):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > until:
            break
        time.sleep(0.02)


def _descendants(pid: int) -> Iterator[int]:
    """The process and those below it: what a look at all processes' environments finds, but at once."""
    yield pid
    try:
        below = [child for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]
    except OSError:  # gone
        return
    for child in below:
        yield from _descendants(int(child))


def _holds(pid: int, path: Path) -> bool:
    """Whether a process has the file open or mapped, by whatever path: it may have another root. First open: it maps, then it closes."""
    try:
        file = path.stat()
        for link in Path(f"/proc/{pid}/fd").iterdir():
            if Path(os.readlink(link)).name == path.name and os.path.samestat(link.stat(), file):
                return True
        number = f" {os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x} {file.st_ino} ".encode()
        maps = Path(f"/proc/{pid}/maps").read_bytes()
        # Some file systems have another number there.
        return number in maps or f" {path}\n".encode() in maps
    except OSError:
        return False


def _is_held(path: Path) -> bool:
    return any(_holds(int(entry.name), path) for entry in Path("/proc").iterdir() if entry.name.isdigit())


# ---- shared memory


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


class Segments:
    """Notes, while a job runs, which files with names of the MPI's segments its processes make in /dev/shm, and which others in /tmp."""

    def __init__(self, names: str, files: str, marker: str, folder: Path) -> None:
        self._marker, self._folder = marker.encode(), folder
        self.launcher = 0  # its process id, as soon as there is one
        libc = ctypes.CDLL(None, use_errno=True)
        self._events = libc.inotify_init1(os.O_CLOEXEC)
        created = 0x100
        self._thread = None
        if self._events < 0:
            return
        self._places = {}  # by inotify's number: the folder, and names there
        for place, pattern in ((SHARED, names), (FILES, files)):
            number = libc.inotify_add_watch(self._events, str(place).encode(), created) if pattern else -1
            if number >= 0:
                self._places[number] = place, re.compile(pattern)
        if self._places:
            self._stop, self._stopping = os.pipe()
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def close(self) -> None:
        """After the job's end: removes what is left of its segments."""
        if self._thread:
            os.close(self._stopping)
            self._thread.join()
            os.close(self._stop)
        if self._events >= 0:
            os.close(self._events)
        remove_segments(self._folder)

    def _watch(self) -> None:
        while True:
            ready, _, _ = select.select([self._events, self._stop], [], [])
            if self._events not in ready:
                return
            made = [(*self._places[number], name) for number, name in _names_in(os.read(self._events, 65536)) if number in self._places]
            self._note([place / name for place, names, name in made if names.fullmatch(name)])

    def _note(self, paths: list[Path]) -> None:
        """Whose they are can be told as soon as they are there: who makes a file has it open, as long as it lives."""
        found = [(path, inode) for path in paths if (inode := _inode(path))]  # most are gone at once
        with contextlib.suppress(OSError), (self._folder / SEGMENTS).open("a") as notes:
            notes.writelines(f"{CAME} {inode} {path}\n" for path, inode in found if path.parent == SHARED)
            notes.flush()
            notes.writelines(f"{OURS} {inode} {path}\n" for path, inode in found if self._is_ours(path))

    def _is_ours(self, path: Path) -> bool:
        if self.launcher and any(_holds(pid, path) for pid in _descendants(self.launcher)):
            return True
        return not _sees_all() and any(_holds(pid, path) for pid in marked(self._marker))


def _sees_all() -> bool:
    """Whether no process is hidden from us: in the first of all PID namespaces, which has this number."""
    return os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"


def _names_in(events: bytes) -> Iterator[tuple[int, str]]:
    at, head = 0, struct.Struct("iIII")
    while at < len(events):
        number, *_, length = head.unpack_from(events, at)
        yield number, os.fsdecode(events[at + head.size : at + head.size + length].rstrip(b"\0"))
        at += head.size + length


def remove_segments(folder: Path) -> None:
    """Those that are noted in the folder, as long as nobody has them: neither a process that is slow to end nor another one."""
    try:
        notes = (folder / SEGMENTS).read_text().splitlines()
    except OSError:
        return
    until = time.monotonic() + 1.0
    told = [line.split(" ", 2) for line in notes]
    ours = {path for whose, _, path in told if whose == OURS}
    for inode, path in {(int(inode), Path(path)) for whose, inode, path in told if whose == OURS or _sees_all()}:
        with contextlib.suppress(OSError):
            while (found := path.stat()).st_ino == inode and found.st_uid == os.geteuid():
                if not _is_held(path):
                    path.unlink()
                    break
                if str(path) not in ours or time.monotonic() > until:
                    break
                time.sleep(0.02)
