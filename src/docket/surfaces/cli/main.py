"""The entry of the `docket` command.

Rules: `--version` answers before anything is imported; a command's module is imported only when that command
runs; no exception of docket's own ever reaches the terminal as a traceback; standard streams that docket was started
without are empty ones.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence

from docket import __version__

# As in exits.py, which is not imported for `--version`.
_FAILED, _UNAVAILABLE, _INTERRUPTED = 1, 75, 130
_HOOK_WORDS = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (without the program's name) and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        gc.disable()  # nothing that is loaded is garbage; who has loaded a command goes on with it
    try:
        _settle_streams()
        if arguments in (["--version"], ["-V"]):
            return _tell_version()
        if len(arguments) == _HOOK_WORDS and arguments[0] == "hook" and not arguments[1].startswith("-"):
            return _run_hook(arguments[1:], ends=argv is None)
        from docket.surfaces.cli.root import run  # noqa: PLC0415 - keeps click out of `--version`

        return run(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run_hook(words: Sequence[str], *, ends: bool) -> int:
    """Handle a hook, which an agent waits for: what its end gives back anyway is neither collected nor tidied away."""
    from docket.surfaces.hooks.cold import run as run_hook  # noqa: PLC0415 - a hook starts light

    code = run_hook(words)
    if ends:
        try:  # noqa: SIM105 - what suppresses is not loaded yet
            sys.stderr.flush()
        except (OSError, ValueError):
            pass
        os._exit(code)
    return code


def _tell_version() -> int:
    try:
        os.write(1, f"docket {__version__}\n".encode())
    except BrokenPipeError:
        return _FAILED
    except OSError:
        return _UNAVAILABLE
    return 0


def _settle_streams() -> None:
    """Open what docket was started without, before anything else is opened under its number.

    A ledger that stood as descriptor 2 would be the agent's standard error.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - has no keyword
        if getattr(sys, name) is None:
            mode = "r" if descriptor == 0 else "w"
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal's encoding cannot show is told by its number, and never ends a command.
            stream.reconfigure(errors="backslashreplace")
