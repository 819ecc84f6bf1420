"""Tool windows in words: a line a window, and a delta as a diff without context."""

from __future__ import annotations

from collections.abc import Iterator

from docket.formats.canonical import JsonValue
from docket.formats.visible import visible
from docket.formats.windows.delta import Delta, FileDelta, Hunk
from docket.formats.windows.names import ABSENT_MODE, Scope, Status
from docket.formats.windows.records import ClosedWindow
from docket.formats.windows.registry import OpenWindow, WindowStatus
from docket.rules.windows.cost import AskedBy

ID_SHOWN = 12
_SIGNS = {"create": "A", "edit": "M", "delete": "D", "typechange": "T"}


def closed_line(record: ClosedWindow, delta: Delta | None, asked: AskedBy | None = None) -> str:
    """Return the line of a window that is over; `asked` is the call that asked for its tool, where one is known."""
    if delta is None:
        what = "its delta cannot be read"
    elif delta.status is Status.PARTIAL:
        what = f"unknown: {delta.reason}"
    else:
        count = len(delta.files)
        what = "nothing changed" if not count else f"{count} file{'s' if count > 1 else ''} changed"
    beside = f", with {record.members - 1} other{'s' if record.members > 2 else ''}" if record.members > 1 else ""
    cost = "" if asked is None else f", ${asked.share_usd} (derived)"
    who = f"{record.key.provider} {record.tool_name}"
    return _line(record.key.window_id, record.closed_at, who, f"{what}{beside}{cost}")


def open_line(window: OpenWindow) -> str:
    """Return the line of a window that is open."""
    state = "running" if window.status is WindowStatus.ACTIVE else "waiting for others"
    who = f"{window.key.provider} {window.tool_name}"
    return _line(window.key.window_id, window.started.at, who, state)


def _line(window_id: str, instant: str, who: str, what: str) -> str:
    return f"{window_id[:ID_SHOWN]}  {instant[:19].replace('T', ' ')}  {who:<24}  {what}"


def shown(record: ClosedWindow, delta: Delta, asked: AskedBy | None = None) -> Iterator[str]:
    """Yield the lines that tell one window whole."""
    key = record.key
    yield f"window {key.window_id}"
    yield f"{key.provider} {record.tool_name} {key.tool_use_id}, session {key.session_id}"
    if record.command_summary:
        yield f"  {record.command_summary}"
    yield f"{delta.window.started_at} to {delta.window.completed_at}, {delta.window.duration_ms:,} ms"
    if asked is not None:
        yield _cost(asked)
    yield f"delta {record.delta_sha256}"
    if delta.scope is Scope.CONCURRENT_GROUP:
        names = ", ".join(f"{use.tool_name} {use.tool_use_id}" for use in delta.tool_uses)
        yield f"these ran at the same time, and what changed is of them all: {names}"
    if delta.head_before != delta.head_after or delta.head_moves:
        yield f"HEAD went from {delta.head_before or 'nothing'} to {delta.head_after or 'nothing'}"
    if delta.status is Status.PARTIAL:
        yield f"what changed is unknown: {delta.reason}"
    elif not delta.files:
        yield "nothing changed"
    number = 1
    for file in delta.files:
        yield from file_lines(file, number)
        number += len(file.hunks)


def _cost(asked: AskedBy) -> str:
    whole = "its whole cost" if asked.tools == 1 else f"its part of a call that asked for {asked.tools} tools"
    return f"${asked.share_usd} (derived: {whole}), asked for by call {asked.call}, {asked.provider} {asked.model}"


def cost_members(asked: AskedBy) -> dict[str, JsonValue]:
    """Return what a tool use cost as JSON."""
    return {
        "share_usd": str(asked.share_usd),
        "derived": True,
        "call": asked.call,
        "seq": asked.seq,
        "tools": asked.tools,
        "provider": asked.provider,
        "model": asked.model,
    }


def file_lines(file: FileDelta, number: int) -> Iterator[str]:
    """Yield the lines that tell what became of one path; its first hunk is the one of that number."""
    mode = ""
    if file.before_mode != file.after_mode and ABSENT_MODE not in (file.before_mode, file.after_mode):
        mode = f" (mode {file.before_mode} to {file.after_mode})"
    how = " (binary)" if file.binary else " (not read whole)" if file.truncated else ""
    yield f"{_SIGNS[file.operation.value]} {file.path}{mode}{how}"
    for hunk_number, hunk in enumerate(file.hunks, number):
        places = f"-{_range(hunk.old_start, hunk.old_lines)} +{_range(hunk.new_start, hunk.new_lines)}"
        yield f"@@ {places} @@ hunk {hunk_number}"
        yield from _lines(hunk)
    if file.old_no_eof_newline != file.new_no_eof_newline:
        side = "before" if file.old_no_eof_newline else "after"
        yield f"\\ no newline at the end {side}"


def _lines(hunk: Hunk) -> Iterator[str]:
    for sign, lines in (("-", hunk.old_lines), ("+", hunk.new_lines)):
        for line in lines:
            yield sign + visible(line)


def _range(start: int, lines: tuple[bytes, ...]) -> str:
    return f"{start},{len(lines)}"
