"""Word that a hook leaves when it has no time for anything else: one small file, without docket's libraries.

Rules (spec/windows.md, Hooks):
1. It holds the agent, the event, and of the payload the names and ids alone; nothing that a tool was given or gave.
2. It appears whole, with a rename. Whoever reads it makes of it what the hook would have (`surfaces.hooks.windows`),
   and removes it then: what is made of it comes out the same however often. Where nothing can be made of it, for a
   disk that is full or a registry that is damaged, it stays for KEPT_SECONDS.
3. MAX_LEFT files stand there at most, whoever comes later leaves none; what a death left half written goes after
   KEPT_SECONDS.
4. Where it stands is the state folder of all projects: which project the hook is of is not known yet.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import Any

FOLDER = "hooks-left"
MAX_TEXT = 1024
MAX_FILES = 64
MAX_LEFT = 1024
MAX_BYTES = 64 * 1024
KEPT_SECONDS = 24 * 3600
_SUFFIX, _HALF = ".json", ".new"
_MAX_DIGITS = 24
_TOLD = re.compile(r"(?i)(?:^|[a-z_])id$|ids?$|name|^cwd$|workspace|directory")


def state_folder() -> str | None:
    """Return the state folder of all projects, None where it cannot be named without more."""
    state = os.environ.get("DOCKET_STATE_DIR")
    if not state and sys.platform == "linux":
        own = os.environ.get("XDG_STATE_HOME", "").strip() or os.path.expanduser("~/.local/state")  # noqa: PTH111
        state = os.path.join(own, "docket")  # noqa: PTH118 - pathlib is not loaded yet
    return state if state and os.path.isabs(state) else None  # noqa: PTH117 - as above


def left_folder() -> str | None:
    """Return the folder of what was left, None where there is no state folder."""
    state = state_folder()
    return None if state is None else os.path.join(state, FOLDER)  # noqa: PTH118 - as above


class LeftWord:
    """What a hook left: `project` is the folder that its agent's variable named, `folder` the one it was in."""

    __slots__ = ("agent", "event", "folder", "payload", "project")

    def __init__(self, value: Any) -> None:  # noqa: ANN401 - whatever stands in a file
        """Read it; ValueError, KeyError or TypeError for anything else."""
        self.agent, self.event, self.payload = value["agent"], value["event"], value["payload"]
        self.project, self.folder = value["project"], value["folder"]
        if not isinstance(self.payload, dict) or not all(isinstance(text, str) for text in self._texts()):
            raise ValueError("no word of a hook")

    def _texts(self) -> tuple[object, ...]:
        return self.agent, self.event, self.project, self.folder


def leave(agent: str, event: str, body: bytes | None, project: str) -> str | None:
    """Leave word of a hook; return the file, None where nothing could be left."""
    folder = left_folder()
    try:
        payload = json.loads((body or b"").decode("utf-8", "surrogateescape"))
        told = {name: value for name, value in payload.items() if _is_told(name, value)}
        where = {"project": project, "folder": os.getcwd()}  # noqa: PTH109
        document = json.dumps({"agent": agent, "event": event, "payload": told, **where}).encode()
        if folder is None or len(document) > MAX_BYTES:
            return None
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        if len(os.listdir(folder)) >= MAX_LEFT:  # noqa: PTH208
            return None
        path = os.path.join(folder, f"{os.getpid()}-{time.time_ns()}{_SUFFIX}")  # noqa: PTH118
        descriptor = os.open(f"{path}{_HALF}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, document)
        finally:
            os.close(descriptor)
        os.rename(f"{path}{_HALF}", path)  # noqa: PTH104
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return path


def left() -> list[str]:
    """Return the files that were left, the oldest first, at most MAX_FILES."""
    folder = left_folder()
    try:
        names = [] if folder is None else os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []
    for name in names:
        if name.endswith(_HALF) and is_old(name.removesuffix(_HALF)):
            forget(os.path.join(folder or "", name))  # noqa: PTH118
    found = sorted((name for name in names if name.endswith(_SUFFIX)), key=lambda name: name.rpartition("-")[2])
    return [os.path.join(folder or "", name) for name in found[:MAX_FILES]]  # noqa: PTH118


def read_left(path: str) -> LeftWord | None:
    """Return what was left; None for what is nothing of that kind."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return LeftWord(json.loads(file.read(MAX_BYTES + 1)))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def is_old(path: str) -> bool:
    """Whether a file was left so long ago that nothing will be made of it any more; so is one with another name."""
    left_ns = path.removesuffix(_SUFFIX).rpartition("-")[2]
    return not (left_ns.isdecimal() and len(left_ns) < _MAX_DIGITS) or (
        time.time_ns() - int(left_ns) > KEPT_SECONDS * 10**9
    )


def forget(path: str | None) -> None:
    """Remove what was left."""
    if path is not None:
        try:
            os.unlink(path)  # noqa: PTH108
        except OSError:
            return


def _is_told(name: object, value: object) -> bool:
    is_text = isinstance(value, str) and len(value) <= MAX_TEXT
    is_list = isinstance(value, list) and all(isinstance(item, str) and len(item) <= MAX_TEXT for item in value)
    return isinstance(name, str) and _TOLD.search(name) is not None and (is_text or is_list)
