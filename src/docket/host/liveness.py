"""Which process this is, and whether a process that once was is still there.

Rules:
1. A process is its id, the instant it started (in ticks since the boot) and the boot itself: an id that was given
   away again stands for somebody else.
2. A process that has ended and that nobody has waited for yet is gone.
3. What cannot be told counts as there: nothing is taken from a process on a guess.
"""

from __future__ import annotations

import os
from pathlib import Path

from docket.formats.process_identity import ProcessIdentity

_START_TIME_FIELD = 19  # field 22 of proc(5) stat, counted after the command's closing parenthesis
_ENDED_STATES = frozenset("ZXx")
_PROC = Path("/proc")
_BOOT_ID = _PROC / "sys/kernel/random/boot_id"


def own_identity() -> ProcessIdentity:
    """Return this process."""
    _, started = _state_and_start(os.getpid()) or ("", "")
    return ProcessIdentity(pid=os.getpid(), started=started, boot_id=_boot_id())


def is_gone(identity: ProcessIdentity) -> bool:
    """Whether a process is surely no more."""
    boot_id = _boot_id()
    if identity.boot_id and boot_id and identity.boot_id != boot_id:
        return True
    if not _PROC.is_dir() or not identity.started:
        return False
    found = _state_and_start(identity.pid)
    if found is None:
        return True
    state, started = found
    return state in _ENDED_STATES or started != identity.started


def _state_and_start(pid: int) -> tuple[str, str] | None:
    try:
        fields = (_PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return fields[0], fields[_START_TIME_FIELD]
    except (FileNotFoundError, ProcessLookupError):
        return None
    except (OSError, IndexError):
        return "", ""


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
