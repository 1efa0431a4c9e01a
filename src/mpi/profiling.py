#!/usr/bin/env python3
"""Writes a linker script by which libplait.so has each function MPI_X that its objects define by the name PMPI_X, too, and mpi_x_ by
pmpi_x_. Run by CMake before libplait is linked; wants nothing but Python.

profiling.py OUTPUT NM OBJECT...
"""

import re
import subprocess
import sys
from pathlib import Path


def main(output, nm, *objects):
    listed = subprocess.run([nm, "--defined-only", "--extern-only", *objects], capture_output=True, text=True, check=True).stdout
    names = sorted(set(re.findall(r" [TW] ((?:MPIX?_|mpi_)\w+)$", listed, re.MULTILINE)))
    if not names:
        sys.exit(f"profiling.py: {nm} finds no function of the MPI's in libplait's objects")
    lines = [f"{'p' if name.startswith('mpi') else 'P'}{name} = {name};" for name in names]
    Path(output).write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
