"""Long text on a terminal through the person's pager.

Rules:
1. The pager is `$PAGER` where that is set, else `less -R`, else none. What the tree says (git's configuration, a file
   in it) counts for nothing, and no program is looked for in a folder that is not named absolutely.
2. The text is safe for a terminal before it comes here; nothing of it is an argument or a command.
3. A pager that ends early, cannot be started or fails ends nothing; Ctrl-C is the pager's while it runs.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress

from docket.surfaces.cli import console

_DEFAULT = "less -R"
_NONE = ("", "cat")


def command(environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the pager's program and arguments, None where the text is simply printed."""
    wanted = environment.get("PAGER", _DEFAULT).strip()
    if wanted in _NONE or environment.get("TERM") == "dumb":
        return None
    try:
        words = shlex.split(wanted)
    except ValueError:  # a quotation without an end
        return None
    folders = [folder for folder in environment.get("PATH", os.defpath).split(os.pathsep) if folder.startswith("/")]
    program = shutil.which(words[0], path=os.pathsep.join(folders))
    is_named = program is not None and os.path.isabs(program)  # noqa: PTH117 - as it was named
    return (program, *words[1:]) if program is not None and is_named else None


def page(lines: Iterable[str]) -> None:
    """Show the lines through the pager, or print them."""
    words = command(os.environ)
    if words is None or not _paged(words, lines := list(lines)):
        for line in lines:
            console.result(line)


def _paged(words: tuple[str, ...], lines: list[str]) -> bool:
    """Show the lines; False where the pager cannot be started."""
    environment = {"LESS": "FRX", **os.environ}
    # A handler of its own, not "ignored", which a program inherits: the pager must hear Ctrl-C, and docket go on.
    before = signal.signal(signal.SIGINT, lambda _signal, _frame: None)
    try:
        started = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment)
    except OSError:
        return False
    else:
        with started as pager, suppress(BrokenPipeError):
            assert pager.stdin is not None  # noqa: S101 - told to the type checker
            pager.stdin.write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
            pager.stdin.close()
            pager.wait()
        return True
    finally:
        signal.signal(signal.SIGINT, before)
