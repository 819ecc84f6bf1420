"""The words of tool windows that are persisted: why evidence is partial, what a delta is about, what became of a file.

Rules (spec/windows.md):
1. A partial reason's text never changes, and the list only grows. A reader keeps a reason that it does not know.
"""

from __future__ import annotations

import re
from enum import StrEnum

REASON_FORM = re.compile(r"[a-z][a-z0-9_]{0,63}")


class PartialReason(StrEnum):
    """Why a window has no changes to show."""

    FILE_LIMIT = "file_limit"
    BYTE_LIMIT = "byte_limit"
    UNSUPPORTED_PATH = "unsupported_path"
    MALFORMED_STATUS = "malformed_status"
    HEAD_CHANGED = "head_changed"
    ALTERNATE_OBJECT_MISSING = "alternate_object_missing"
    TIMEOUT = "timeout"
    REGISTRY_LOCK_TIMEOUT = "registry_lock_timeout"
    SNAPSHOT_STORE_UNAVAILABLE = "snapshot_store_unavailable"
    POST_SNAPSHOT_LOST = "post_snapshot_lost"
    STALE_ACTIVE_WINDOW = "stale_active_window"
    PRE_SNAPSHOT_MISSING = "pre_snapshot_missing"
    PROCESS_GONE = "process_gone"


FAILED, INTERRUPTED, DENIED, UNENDED = "failed", "interrupted", "denied", "unended"
"""How a tool ended where it did not succeed, UNENDED where no end was told before its turn was over; a reader takes
other words as well."""
CLAIMING_NOTHING = frozenset({DENIED, UNENDED})
"""The outcomes of tools of which nobody may say that they wrote what their delta holds."""


class Scope(StrEnum):
    """Whether a delta is one tool's or that of several whose windows overlapped."""

    TOOL = "tool"
    CONCURRENT_GROUP = "concurrent_group"


class Status(StrEnum):
    """Whether a delta says what changed."""

    COMPLETE = "complete"
    PARTIAL = "partial"


class Operation(StrEnum):
    """What became of a path; a rename is a delete and a create."""

    CREATE = "create"
    EDIT = "edit"
    DELETE = "delete"
    TYPECHANGE = "typechange"


class Hashes(StrEnum):
    """What the hashes of a delta name: git objects, or plain SHA-256 of contents where there is no git."""

    SHA1 = "sha1"
    SHA256 = "sha256"
    CONTENT_SHA256 = "content-sha256"

    @property
    def digits(self) -> int:
        """How many hexadecimal digits a hash has."""
        return 40 if self is Hashes.SHA1 else 64


ABSENT_MODE = "000000"
REGULAR_MODE, EXECUTABLE_MODE, SYMLINK_MODE, GITLINK_MODE = "100644", "100755", "120000", "160000"
FILE_MODES = frozenset((REGULAR_MODE, EXECUTABLE_MODE))
MODES = FILE_MODES | {SYMLINK_MODE, GITLINK_MODE}


def kind_of(mode: str) -> str:
    """Return what decides between an edit and a typechange: a file with and without its executable bit is one kind."""
    return REGULAR_MODE if mode in FILE_MODES else mode
