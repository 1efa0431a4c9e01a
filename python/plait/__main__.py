import os
import sys
from pathlib import Path

# Who closes a stream wants neither its words nor an error; and no pipe of a job's may get its number.
for number, name in enumerate(("stdin", "stdout", "stderr")):
    if getattr(sys, name) is None:
        nothing = os.open(os.devnull, os.O_RDWR)
        if nothing != number:
            os.dup2(nothing, number)
            os.close(nothing)
        setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115 as long as the process lives

# Compiled modules are kept in the checkout's own environment, also where PYTHONDONTWRITEBYTECODE is set: without them each command
# takes half a second longer.
environment = Path(__file__).resolve().parents[2] / ".venv"
if environment.is_dir():
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(environment / "compiled")

from plait.cli import main  # noqa: E402

main()
