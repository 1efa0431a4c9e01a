import sys
from pathlib import Path

# Compiled modules are kept in the checkout's own environment, also where PYTHONDONTWRITEBYTECODE is set: without them each command
# takes half a second longer.
environment = Path(__file__).resolve().parents[2] / ".venv"
if environment.is_dir():
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(environment / "compiled")

from plait.cli import main  # noqa: E402

main()
