"""A program of docket's own in a fresh interpreter: it shares no thread, no memory and no variable with this one.

Rules:
1. It starts in milliseconds: the package's own start is not run, and what it imports must import little.
2. It is given descriptors and words, and nothing of docket's environment that it could hand on.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Only an interpreter that finds its own library through this variable could not start without it.
_VARIABLES = ("LD_LIBRARY_PATH",)
_BOOTSTRAP = """\
import sys
for name, folder in (("docket", sys.argv[1]), ("docket.host", sys.argv[2])):
    module = type(sys)(name)
    module.__path__ = [folder]
    sys.modules[name] = module
from docket.host.{module} import main
main(*map(int, sys.argv[3:]))
"""


def command(module: str, *numbers: int) -> list[str]:
    """Return the command that calls `main` of a module of docket.host with these numbers."""
    package = Path(__file__).resolve().parent.parent
    arguments = (package, package / "host", *numbers)
    return [sys.executable, "-I", "-S", "-c", _BOOTSTRAP.format(module=module), *(str(item) for item in arguments)]


def environment() -> dict[str, str]:
    """Return what such a program has for its environment."""
    return {name: os.environ[name] for name in _VARIABLES if name in os.environ}
