"""The windows of a tree for a person: those that are open, those that are over, and the delta of one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from docket.errors import DocketError, UnavailableError, UsageError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.windows.delta import Delta
from docket.formats.windows.records import ClosedWindow
from docket.formats.windows.registry import OpenWindow
from docket.stores.windows.evidence import Evidence
from docket.stores.windows.registry_file import RegistryFile

MIN_PREFIX = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowList:
    """Windows, the oldest first."""

    closed: tuple[ClosedWindow, ...]
    open: tuple[OpenWindow, ...]


def list_windows(registry: RegistryFile, evidence: Evidence) -> WindowList:
    """Return all windows; UnavailableError(REGISTRY_CORRUPT) where the registry cannot be read."""
    closed = sorted(evidence.every_closed(), key=lambda record: (record.closed_at, record.key))
    return WindowList(closed=tuple(closed), open=registry.read().windows)


def find_window(evidence: Evidence, name: str) -> ClosedWindow:
    """Return the window that is over and that a person means by a tool use's id, or by its own id or a start of it.

    UnavailableError(NOT_FOUND) where there is none, UsageError where there are several.
    """
    every = tuple(evidence.every_closed())
    found = [record for record in every if name in (record.key.tool_use_id, record.key.window_id)]
    if not found and len(name) >= MIN_PREFIX:
        found = [record for record in every if record.key.window_id.startswith(name)]
    if not found:
        raise UnavailableError(
            Reason.NOT_FOUND, f"no window that is over is called {name!r}", hint="docket windows list shows them"
        )
    if len(found) > 1:
        ids = ", ".join(sorted(record.key.window_id for record in found))
        raise UsageError(Reason.USAGE, f"{name!r} is the name of several windows: {ids}")
    return found[0]


def newest_deltas(evidence: Evidence) -> Iterator[Delta]:
    """Yield the deltas of all windows that are over, the newest first, each once, those that can be read."""
    records = sorted(evidence.every_closed(), key=lambda record: (record.closed_at, record.key), reverse=True)
    for digest in dict.fromkeys(record.delta_sha256 for record in records):
        with suppress(DocketError):
            yield evidence.delta(digest)


def show_window(evidence: Evidence, name: str) -> tuple[ClosedWindow, Delta]:
    """Return a window that is over, and what it changed."""
    record = find_window(evidence, name)
    return record, evidence.delta(record.delta_sha256)
