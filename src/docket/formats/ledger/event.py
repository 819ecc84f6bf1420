"""One event of a ledger and its hash (spec/ledger.md).

hash = sha256(canonical of {seq, ts, type, data, prev}); `prev` of event 0 is GENESIS; seq is dense from 0.
What the agent asserted carries `reported_by: "agent"` in data; what docket observed does not.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue, encode, encode_trusted
from docket.formats.digest import Digest
from docket.formats.reading import Reader
from docket.formats.reason import Reason

FORMAT = "docket/ledger/v1"
GENESIS = Digest(hashlib.sha256(b"docket/genesis/v1").hexdigest())
MAX_LINE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A chained event; `data` is plain JSON, `line` its canonical bytes without the newline."""

    seq: int
    ts: str
    type: str
    data: JsonObject
    prev: Digest
    hash: Digest
    line: bytes


def seal(*, seq: int, ts: str, type_: str, data: JsonObject, prev: Digest) -> Event:
    """Return the event with its hash computed; InvalidDocumentError if `data` has no canonical form."""
    body: dict[str, JsonValue] = {"seq": seq, "ts": ts, "type": type_, "data": data, "prev": prev}
    digest = Digest(hashlib.sha256(encode(body)).hexdigest())
    line = encode_trusted({**body, "hash": digest})
    if len(line) > MAX_LINE_BYTES:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"an event of {len(line)} bytes is over {MAX_LINE_BYTES}")
    return Event(seq=seq, ts=ts, type=type_, data=data, prev=prev, hash=digest, line=line)


def read_event(value: JsonValue, line: bytes) -> Event:
    """Read a decoded line as an event and recompute its hash; the chain is the caller's to follow."""
    reader = Reader(value, "event")
    seq, ts, type_ = reader.integer("seq"), reader.text("ts"), reader.text("type")
    data, prev, stated = reader.mapping("data"), reader.digest("prev"), reader.digest("hash")
    reader.close()
    body: dict[str, JsonValue] = {"seq": seq, "ts": ts, "type": type_, "data": data, "prev": prev}
    if hashlib.sha256(encode_trusted(body)).hexdigest() != stated:
        raise InvalidDocumentError(Reason.BROKEN_CHAIN, "its hash does not match its content")
    return Event(seq=seq, ts=ts, type=type_, data=data, prev=prev, hash=stated, line=line)
