"""`plait --version`: of the command, and of the libplait that is built for the chosen MPI."""

from __future__ import annotations

import re

from plait import built, store
from plait.mpis import ROOT, Mpi


def versions(mpi: Mpi) -> str:
    release = re.search(r"project\(plait VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    stamp = built.stamp_of(mpi.library)
    library = f"{stamp['version']} for {stamp['title']} {stamp['release']}" if stamp else f"not built for {mpi.name}"
    return f"plait {release} ({store.plait_version()})\nlibplait {library}"
