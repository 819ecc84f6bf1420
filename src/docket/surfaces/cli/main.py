"""The entry of the `docket` command.

Rules: `--version` answers before anything is imported; a command's module is imported only when that command
runs; no exception of docket's own ever reaches the terminal as a traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from docket import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (without the program's name) and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        sys.stdout.write(f"docket {__version__}\n")
        return 0
    from docket.surfaces.cli.root import run  # noqa: PLC0415 - keeps click out of `--version`

    return run(arguments)
