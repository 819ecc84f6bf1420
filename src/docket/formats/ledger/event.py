"""One event of a ledger and its hash (spec/ledger.md).

hash = sha256(canonical of {seq, ts, type, data, prev}); `prev` of event 0 is GENESIS; seq is dense from 0.
What the agent asserted carries `reported_by: "agent"` in data; what docket observed does not.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue, decode, encode, quoted, utf8
from docket.formats.digest import Digest, is_digest
from docket.formats.reading import Reader
from docket.formats.reason import Reason

FORMAT = "docket/ledger/v1"
GENESIS = Digest(hashlib.sha256(b"docket/genesis/v1").hexdigest())
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_TYPE_CHARACTERS = 128
DATA_DEPTH = 2  # data stands one level down in its line
MAX_DATA_BYTES = MAX_LINE_BYTES - 4096  # room for the other members

HASH_KEY = b',"hash":"'
_DATA = b'{"data":'
_KINDS = (int, str, str, dict, str, str)
_MEMBER_COUNT = len(_KINDS)
HASH_MEMBER_BYTES = len(HASH_KEY) + 64 + len(b'"')


class Event(NamedTuple):
    """A chained event; `line` is its canonical bytes without the newline, and all that two events are compared by.

    A tuple and no dataclass: one is made for every append, at a third of the time. `payload` is the typed payload of an
    event that was read by its shape (`line_shape`), whose `ts` is then an instant; `vocabulary` gives any event's.
    """

    seq: int
    ts: str
    type: str
    prev: Digest
    hash: Digest
    line: bytes
    read_data: JsonObject | None = None
    payload: Any = None

    @property
    def data(self) -> JsonObject:
        """The event's data as plain JSON; decoded from the line, each time, where the event was not read so."""
        if self.read_data is not None:
            return self.read_data
        return Reader(decode(self.line), "event").mapping("data")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.line == other.line

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.line)


class Draft(NamedTuple):
    """An event that has no place in a chain yet; `encoded` is the canonical form of its data."""

    type: str
    encoded: bytes


def draft(type_: str, data: JsonObject) -> Draft:
    """Check and encode an event's data; InvalidDocumentError if it has no canonical form or is too large."""
    return draft_encoded(type_, encode(data, depth=DATA_DEPTH))


def draft_encoded(type_: str, encoded: bytes) -> Draft:
    """As `draft`, for data that has been encoded at DATA_DEPTH already."""
    if not 0 < len(type_) <= MAX_TYPE_CHARACTERS:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"an event type has 1 to {MAX_TYPE_CHARACTERS} characters")
    if len(encoded) > MAX_DATA_BYTES:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"event data of {len(encoded)} bytes is over {MAX_DATA_BYTES}")
    return Draft(type_, encoded)


def seal(item: Draft, *, seq: int, ts: str, prev: Digest) -> Event:
    """Give a draft its place: number, instant, predecessor, and the hash over all five."""
    # The members stand in canonical order (data, hash, prev, seq, ts, type): the line is its parts put together.
    head, rest = _DATA + item.encoded, _rest(prev, seq, ts, item.type)
    digest = Digest(hashlib.sha256(head + rest).hexdigest())
    line = head + HASH_KEY + digest.encode("ascii") + b'"' + rest
    return Event(seq, ts, item.type, prev, digest, line)


def read_event(value: JsonValue, line: bytes) -> Event:
    """Read the value of a canonical line as an event and recompute its hash; the chain is the caller's to follow."""
    seq, ts, type_, data, prev, stated = _members(value)
    rest = _rest(prev, seq, ts, type_)
    # What stands before the hash in a canonical line is the data; the hash member itself is not hashed.
    body = line[: len(line) - len(rest) - HASH_MEMBER_BYTES] + rest
    if hashlib.sha256(body).hexdigest() != stated:
        _strictly(value)
        raise InvalidDocumentError(Reason.BROKEN_CHAIN, "its hash does not match its content")
    return Event(seq=seq, ts=ts, type=type_, prev=prev, hash=stated, line=line, read_data=data)


def known_event(line: bytes) -> Event:
    """Return the event of a line that was read before; its hash is taken as it stands there."""
    try:
        seq, ts, type_, data, prev, stated = _members(json.loads(line))
    except (ValueError, RecursionError) as error:
        raise InvalidDocumentError(Reason.NOT_JSON, "it is not JSON") from error
    return Event(seq, ts, type_, prev, stated, line, data)


_Members: TypeAlias = tuple[int, str, str, JsonObject, Digest, Digest]


def _members(value: JsonValue) -> _Members:
    """Return seq, ts, type, data, prev and hash; the form of the hash is left to who compares it."""
    if type(value) is dict and len(value) == _MEMBER_COUNT:
        seq, ts, type_, data, prev = map(value.get, ("seq", "ts", "type", "data", "prev"))
        kinds = (type(seq), type(ts), type(type_), type(data), type(prev), type(value.get("hash")))
        if kinds == _KINDS and seq >= 0 and is_digest(prev):  # type: ignore[operator, arg-type] # as `_KINDS` says
            return seq, ts, type_, data, prev, value["hash"]  # type: ignore[return-value] # as above
    return _strictly(value)


def _strictly(value: JsonValue) -> _Members:
    reader = Reader(value, "event")
    # Foreign writers put other texts into `ts`; the checks hold docket's own to an instant.
    seq, ts, type_ = reader.integer("seq"), reader.text("ts"), reader.text("type")
    data, prev, stated = reader.mapping("data"), reader.digest("prev"), reader.digest("hash")
    reader.close()
    return seq, ts, type_, data, prev, stated


def _rest(prev: Digest, seq: int, ts: str, type_: str) -> bytes:
    return utf8(f',"prev":"{prev}","seq":{seq},"ts":{quoted(ts)},"type":{_quoted_type(type_)}}}')


@lru_cache(maxsize=256)
def _quoted_type(type_: str) -> str:
    return quoted(type_)
