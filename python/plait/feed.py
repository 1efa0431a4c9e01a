"""Hands our standard input to the first process of a job, by a named pipe.

The launchers cannot be left to it: Open MPI 5.0.11 does not pass on the end of the input, MPICH 5.0.2 and Intel MPI 2021.19
lose a part of 1 MB. And to other processes they give an input that never ends.
"""

from __future__ import annotations

import os
import shlex
import sys
import threading
from pathlib import Path

# How launchers tell a process its rank.
RANK = "${OMPI_COMM_WORLD_RANK-${PMI_RANK-${PMIX_RANK-${SLURM_PROCID-0}}}}"


class Feed:
    def __init__(self, pipe: Path) -> None:
        self._pipe = pipe
        self._ended = False
        os.mkfifo(pipe)
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        into = os.open(self._pipe, os.O_WRONLY)  # waits for the first process
        try:
            while not self._ended and (data := os.read(sys.stdin.fileno(), 65536)):
                while data:
                    data = data[os.write(into, data) :]
        except OSError:  # the first process has seen enough, or our own input is none
            pass
        finally:
            os.close(into)

    def close(self) -> None:
        """After the job's end. A thread that waits for our own input, at a terminal, ends with us."""
        self._ended = True
        os.close(os.open(self._pipe, os.O_RDONLY | os.O_NONBLOCK))


def take(pipe: Path) -> str:
    """What a shell does in front of the program: the first process reads the pipe, the others an empty input."""
    name = shlex.quote(str(pipe))
    elsewhere = "echo 'plait run: --stdin: the first process is on another machine than plait' >&2; exit 2"
    return f'if [ "{RANK}" = 0 ]; then [ -p {name} ] || {{ {elsewhere}; }}; exec <{name}; else exec </dev/null; fi; '
