"""What docket keeps of windows beside their deltas: canonical JSON documents, each written once (spec/windows.md).

Rules:
1. Each says what it is (`schema`); decoding accepts exactly what encoding gives: canonical bytes, every member that is
   always written, none that is null.
2. None is written a second time: whoever comes later reads the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeVar

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode, encode
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.payload_codec import Payload, from_members, to_members
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.windows.key import ID_FORM, WindowKey
from docket.formats.windows.names import REASON_FORM, Status

MAX_RECORD_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """An instant: by the wall clock, and by the monotonic one of a boot, in milliseconds."""

    at: str
    monotonic_ms: int
    boot_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UseFacts:
    """What a hook says of a tool use beside its name.

    `joins` is what its id is worth: `wire`, the id of the model's call; `own`, one that the agent made; `derived`, one
    that docket made of the tool, what it was asked for and when. `agent_id` is the sub-agent whose tool it is.
    """

    joins: str
    input_sha256: Digest | None = None
    agent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a post hook says of its tool; `outcome` is how it ended where it did not succeed."""

    moment: Moment
    event_id: str
    command_summary: str | None = None
    outcome: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFinal(Payload):
    """A group's closing state, found once: a tree that a ref keeps, or why there is none."""

    TYPE: ClassVar[str] = "docket/windows-final/v1"

    group_id: str
    moment: Moment
    tree: str | None = None
    reason: str | None = None
    head: str | None = None
    head_moves: int = 0
    bytes_read: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone(Payload):
    """A window that may never be opened, or was given up, and why."""

    TYPE: ClassVar[str] = "docket/windows-tombstone/v1"

    key: WindowKey
    at: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPartial(Payload):
    """What a partial delta of a window without a group is made of, so that it comes out the same each time."""

    TYPE: ClassVar[str] = "docket/windows-partial/v1"

    key: WindowKey
    event_id: str
    reason: str
    tool_name: str
    at: str
    command_summary: str | None = None
    outcome: str | None = None
    use: UseFacts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedWindow(Payload):
    """A window that is over, and the delta that says what it changed: the link, and what makes a second post nothing.

    `trees` are named where both stood; `members` counts the windows of its group. `seq` is the window's sequence
    number, `rules` the digest of the ignore patterns outside the tree before its group; what has no group has neither.
    """

    TYPE: ClassVar[str] = "docket/window/v1"

    key: WindowKey
    tool_name: str
    event_id: str
    closed_at: str
    delta_sha256: Digest
    status: Status
    members: int
    group_id: str | None = None
    reason: str | None = None
    command_summary: str | None = None
    outcome: str | None = None
    tree_before: str | None = None
    tree_after: str | None = None
    use: UseFacts | None = None
    seq: int | None = None
    rules: str | None = None


Record = TypeVar("Record", GroupFinal, Tombstone, PendingPartial, ClosedWindow)


def encode_record(record: GroupFinal | Tombstone | PendingPartial | ClosedWindow) -> bytes:
    """Return the document."""
    return encode({"schema": record.TYPE, **to_members(record)})


def decode_record(kind: type[Record], document: bytes) -> Record:
    """Read what `encode_record` wrote of that kind; InvalidDocumentError names what is wrong."""
    if len(document) > MAX_RECORD_BYTES:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"a record has more than {MAX_RECORD_BYTES} bytes")
    value = decode(document)
    if not isinstance(value, Mapping) or value.get("schema") != kind.TYPE:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"the document is no {kind.TYPE}")
    members = {name: member for name, member in value.items() if name != "schema"}
    record = from_members(kind, members, "the record")
    if isinstance(record, GroupFinal):
        _check_final(record)
    else:
        _check_reason(record.reason)
    for name in ("at", "closed_at"):
        reader = Reader(members, "the record")
        reader.optional(name, reader.instant)
    return record


def _check_final(final: GroupFinal) -> None:
    if not ID_FORM.fullmatch(final.group_id):
        raise InvalidDocumentError(Reason.WRONG_VALUE, "a group's id is 32 hexadecimal digits")
    if (final.tree is None) == (final.reason is None):
        raise InvalidDocumentError(Reason.WRONG_VALUE, "a final state has a tree or a reason why there is none")
    if min(final.head_moves, final.bytes_read) < 0:
        raise InvalidDocumentError(Reason.WRONG_VALUE, "a count is below 0")
    _check_reason(final.reason)


def _check_reason(reason: str | None) -> None:
    if reason is not None and not REASON_FORM.fullmatch(reason):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reason!r} has not the form of a reason")
