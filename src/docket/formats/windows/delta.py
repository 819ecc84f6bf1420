"""The delta of a tool window or of a group of overlapping ones, `agent_tool_delta` version 1 (spec/windows.md).

Rules:
1. Equal evidence has equal bytes: repeated members stand in a fixed order, what is false or empty is left out, and the
   bytes are canonical JSON, so their SHA-256 names the delta.
2. Decoding accepts exactly what encoding gives, and refuses what contradicts itself (`delta_check`).
3. A path or a line that is no UTF-8 stands in base64: two names never become one, and no name is without a delta.
"""

from __future__ import annotations

import base64
import binascii

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue, decode, encode
from docket.formats.dataclass import dataclass, replace
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.visible import base64_text
from docket.formats.windows.names import Hashes, Operation, Scope, Status

VERSION, KIND = 1, "agent_tool_delta"
MAX_DELTA_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One run of lines that were replaced, without context; lines are bytes without their line feed.

    Positions count from 1. The side that has no lines has the position of the line that follows.
    """

    old_start: int
    new_start: int
    old_lines: tuple[bytes, ...] = ()
    new_lines: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDelta:
    """What became of one path; modes are git's in octal, hashes zeros where there is nothing or it was not read."""

    path: RelPath
    operation: Operation
    before_hash: str
    after_hash: str
    before_mode: str
    after_mode: str
    binary: bool = False
    truncated: bool = False
    old_no_eof_newline: bool = False
    new_no_eof_newline: bool = False
    hunks: tuple[Hunk, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Actor:
    """Who called: an agent's session and turn."""

    provider: str
    session_id: str
    turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One tool call; `actor` is an index into the delta's actors, `outcome` how it ended where it did not succeed."""

    tool_use_id: str
    tool_name: str
    event_id: str
    actor: int
    command_summary: str | None = None
    outcome: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From the first tool's start to the last one's end: instants of the wall clock, the length of the monotonic."""

    started_at: str
    completed_at: str
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much was looked at; `truncated` where of some file less than everything."""

    files_observed: int = 0
    bytes_read: int = 0
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What changed in the tree between the first tool's start and the last one's end.

    `head_before` and `head_after` are the commits that were checked out, None on an unborn branch and without git;
    `head_moves` is how often HEAD moved meanwhile.
    """

    scope: Scope
    status: Status
    window: Span
    actors: tuple[Actor, ...]
    tool_uses: tuple[ToolUse, ...]
    files: tuple[FileDelta, ...] = ()
    limits: Limits = Limits()
    reason: str | None = None
    hashes: Hashes | None = None
    head_before: str | None = None
    head_after: str | None = None
    head_moves: int = 0


def normalised(delta: Delta) -> Delta:
    """Return the delta with its repeated members in their order and each actor once."""
    actors = tuple(sorted(set(delta.actors)))
    for use in delta.tool_uses:
        if not 0 <= use.actor < len(delta.actors):
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"a tool use names actor {use.actor}, whom there is not")
    uses = (replace(use, actor=actors.index(delta.actors[use.actor])) for use in delta.tool_uses)
    return replace(
        delta,
        actors=actors,
        tool_uses=tuple(sorted(uses, key=tool_use_order)),
        files=tuple(sorted(delta.files, key=lambda file: file.path)),
    )


def tool_use_order(use: ToolUse) -> tuple[int, str]:
    """Return what decides the place of a tool use, and what no two may share."""
    return use.actor, use.tool_use_id


def encode_delta(delta: Delta) -> bytes:
    """Return the canonical bytes; InvalidDocumentError where it contradicts itself."""
    from docket.formats.windows.delta_check import check_delta  # noqa: PLC0415 - it reads these classes

    ordered = normalised(delta)
    check_delta(ordered)
    return encode(_members(ordered))


def decode_delta(document: bytes) -> Delta:
    """Read what `encode_delta` gives and nothing else; InvalidDocumentError names what is wrong."""
    if len(document) > MAX_DELTA_BYTES:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"a delta has more than {MAX_DELTA_BYTES} bytes")
    delta = _read_delta(Reader(decode(document), "the delta"))
    if encode_delta(delta) != document:
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "the delta is not in its only spelling")
    return delta


def _members(delta: Delta) -> dict[str, JsonValue]:
    members: dict[str, JsonValue] = {
        "version": VERSION,
        "kind": KIND,
        "scope": delta.scope.value,
        "status": delta.status.value,
        "window": {
            "started_at": delta.window.started_at,
            "completed_at": delta.window.completed_at,
            "duration_ms": delta.window.duration_ms,
        },
        "actors": [_of(actor, "provider", "session_id", "turn_id") for actor in delta.actors],
        "tool_uses": [
            _of(use, "tool_use_id", "tool_name", "event_id", "actor", "command_summary", "outcome")
            for use in delta.tool_uses
        ],
        "files": [_file(file) for file in delta.files],
        "limits": _of(delta.limits, "files_observed", "bytes_read", "truncated"),
    }
    members.update(_of(delta, "head_before", "head_after"))
    if delta.reason is not None:
        members["reason"] = str(delta.reason)  # a code of the enumeration as the text that it is
    if delta.hashes is not None:
        members["hashes"] = delta.hashes.value
    if delta.head_moves:
        members["head_moves"] = delta.head_moves
    return members


def _of(value: object, *names: str) -> dict[str, JsonValue]:
    return {name: member for name in names if (member := getattr(value, name)) is not None}


def _file(file: FileDelta) -> dict[str, JsonValue]:
    members: dict[str, JsonValue] = {
        **file.path.members(),
        "operation": file.operation.value,
        **_of(file, "before_hash", "after_hash", "before_mode", "after_mode"),
    }
    members.update((name, True) for name in _FLAGS if getattr(file, name))
    if file.hunks:
        members["hunks"] = [_hunk(hunk) for hunk in file.hunks]
    return members


_FLAGS = ("binary", "truncated", "old_no_eof_newline", "new_no_eof_newline")


def _hunk(hunk: Hunk) -> dict[str, JsonValue]:
    return {
        "old_start": hunk.old_start,
        "old_count": len(hunk.old_lines),
        "new_start": hunk.new_start,
        "new_count": len(hunk.new_lines),
        **_lines("old_lines", hunk.old_lines),
        **_lines("new_lines", hunk.new_lines),
    }


def _lines(name: str, lines: tuple[bytes, ...]) -> dict[str, JsonValue]:
    try:
        return {name: [line.decode("utf-8") for line in lines]}
    except UnicodeDecodeError:
        return {f"{name}_b64": [base64_text(line) for line in lines]}


def _read_delta(reader: Reader) -> Delta:
    if reader.any("version") != VERSION or reader.any("kind") != KIND:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"the document is no {KIND} of version {VERSION}")
    delta = Delta(
        scope=Scope(reader.choice("scope", tuple(Scope))),
        status=Status(reader.choice("status", tuple(Status))),
        window=_read_span(reader.object("window")),
        actors=tuple(_read_actor(Reader(item, "an actor")) for item in reader.items("actors")),
        tool_uses=tuple(_read_use(Reader(item, "a tool use")) for item in reader.items("tool_uses")),
        files=tuple(_read_file(item) for item in reader.items("files")),
        limits=_read_limits(reader.object("limits")),
        reason=reader.optional("reason", reader.text),
        hashes=reader.optional("hashes", lambda name: Hashes(reader.choice(name, tuple(Hashes)))),
        head_before=reader.optional("head_before", reader.text),
        head_after=reader.optional("head_after", reader.text),
        head_moves=reader.optional("head_moves", reader.integer) or 0,
    )
    reader.close()
    return delta


def _read_span(reader: Reader) -> Span:
    span = Span(
        started_at=reader.instant("started_at"),
        completed_at=reader.instant("completed_at"),
        duration_ms=reader.integer("duration_ms"),
    )
    reader.close()
    return span


def _read_actor(reader: Reader) -> Actor:
    actor = Actor(
        provider=reader.text("provider"), session_id=reader.text("session_id"), turn_id=reader.text("turn_id")
    )
    reader.close()
    return actor


def _read_use(reader: Reader) -> ToolUse:
    use = ToolUse(
        tool_use_id=reader.text("tool_use_id"),
        tool_name=reader.text("tool_name"),
        event_id=reader.text("event_id"),
        actor=reader.integer("actor"),
        command_summary=reader.optional("command_summary", reader.text),
        outcome=reader.optional("outcome", reader.text),
    )
    reader.close()
    return use


def _read_limits(reader: Reader) -> Limits:
    limits = Limits(
        files_observed=reader.integer("files_observed"),
        bytes_read=reader.integer("bytes_read"),
        truncated=reader.flag("truncated"),
    )
    reader.close()
    return limits


def _read_file(item: JsonValue) -> FileDelta:
    reader = Reader(item, "a file")
    named = {name: reader.any(name) for name in ("path", "path_b64") if reader.has(name)}
    file = FileDelta(
        path=RelPath.from_members(named),
        operation=Operation(reader.choice("operation", tuple(Operation))),
        before_hash=reader.text("before_hash"),
        after_hash=reader.text("after_hash"),
        before_mode=reader.text("before_mode"),
        after_mode=reader.text("after_mode"),
        **{name: bool(reader.optional(name, reader.flag)) for name in _FLAGS},
        hunks=tuple(_read_hunk(Reader(hunk, "a hunk")) for hunk in reader.optional("hunks", reader.items) or ()),
    )
    reader.close()
    return file


def _read_hunk(reader: Reader) -> Hunk:
    counts = reader.integer("old_count"), reader.integer("new_count")
    hunk = Hunk(
        old_start=reader.integer("old_start"),
        new_start=reader.integer("new_start"),
        old_lines=_read_lines(reader, "old_lines"),
        new_lines=_read_lines(reader, "new_lines"),
    )
    reader.close()
    if counts != (len(hunk.old_lines), len(hunk.new_lines)):
        raise InvalidDocumentError(Reason.WRONG_VALUE, "a hunk's counts are not those of its lines")
    return hunk


def _read_lines(reader: Reader, name: str) -> tuple[bytes, ...]:
    if not reader.has(f"{name}_b64"):
        return tuple(line.encode("utf-8") for line in reader.texts(name))
    try:
        return tuple(base64.b64decode(line, validate=True) for line in reader.texts(f"{name}_b64"))
    except (binascii.Error, ValueError) as error:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{name}_b64 is not base64") from error
