"""Which agents are installed, and in which version: read from the packages they came in, without starting them.

Rules:
1. A program is looked for in PATH; its version is what its npm or PyPI package says of itself, else what the path it
   leads to names. Neither opens a connection.
2. Only where neither tells is the program asked for its version, for `PATIENCE_SECONDS` at most.
3. What cannot be found out is None; nothing here fails.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass
from docket.host.regular_file import read_regular_file
from docket.rules.agents.interface import AgentFacts

PATIENCE_SECONDS = 3.0
_MAX_BYTES = 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)*(?:[-+][0-9A-Za-z.-]+)?")
_LEVELS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A program that was found; `version` is None where it could not be found out."""

    path: str
    version: str | None


def find(facts: AgentFacts) -> Installed | None:
    """Return where an agent's program is and its version, None where it is not installed."""
    path = shutil.which(facts.program) if facts.program else None
    if path is None:
        return None
    real = Path(os.path.realpath(path))
    version = _of_npm(real, facts.packages) or _of_python(real, path, facts.packages) or _of_path(real) or _asked(path)
    return Installed(path=path, version=version)


def _of_npm(real: Path, packages: tuple[str, ...]) -> str | None:
    for folder in list(real.parents)[:_LEVELS]:
        named = _package(folder / "package.json")
        # A launcher's own package is named as what it launches for this platform: @cline/cli-linux-x64 for cline.
        if named is not None and any(_is_of(named[0], package) for package in packages):
            return named[1]
    for folder in list(real.parents)[:_LEVELS]:
        for package in packages:
            named = _package(folder / "node_modules" / package / "package.json")
            if named is not None:
                return named[1]
    return None


def _is_of(name: str, package: str) -> bool:
    return name == package or name.startswith(f"@{package}/")


def _package(path: Path) -> tuple[str, str] | None:
    try:
        document = json.loads(read_regular_file(path, _MAX_BYTES))
    except (UnavailableError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    name, version = document.get("name"), document.get("version")
    return (name, version) if isinstance(name, str) and isinstance(version, str) else None


def _of_python(real: Path, path: str, packages: tuple[str, ...]) -> str | None:
    for bin_folder in dict.fromkeys((Path(path).parent, real.parent, *_interpreters(real))):
        for package in packages:
            stem = package.replace("-", "_")
            for info in sorted(bin_folder.parent.glob(f"lib/python*/site-packages/{stem}-*.dist-info")):
                return info.name.removeprefix(f"{stem}-").removesuffix(".dist-info")
    return None


def _interpreters(script: Path) -> Iterator[Path]:
    """Yield the folder of the interpreter that a script's first line names."""
    try:
        with script.open("rb") as stream:
            first = stream.readline(512)
    except OSError:
        return
    if first.startswith(b"#!/"):
        yield Path(os.fsdecode(first[2:].split()[0])).parent


def _of_path(real: Path) -> str | None:
    return real.name if _VERSION.fullmatch(real.name) else None


def _asked(path: str) -> str | None:
    try:
        # In a session of its own: whatever it has started by the end of our patience ends with it.
        process = subprocess.Popen(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    with process:
        try:
            said = _heard(process)
        finally:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
    found = _VERSION.search(said.decode("utf-8", "replace"))
    return found[0] if found else None


def _heard(process: subprocess.Popen[bytes]) -> bytes:
    """Return what a program says until it ends, is silent for too long or has said too much."""
    assert process.stdout is not None  # noqa: S101 - it was started with a pipe
    said, until, poll = b"", time.monotonic() + PATIENCE_SECONDS, select.poll()
    poll.register(process.stdout, select.POLLIN)
    while len(said) < _MAX_BYTES and poll.poll(max(0.0, until - time.monotonic()) * 1000):
        part = os.read(process.stdout.fileno(), _CHUNK_BYTES)
        if not part:
            break
        said += part
    return said
