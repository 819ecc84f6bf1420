"""The journal of one commit, `docket/workspace-journal/v1`: what was about to be done, and how far it surely came.

Rules (spec/workspace.md, Journal):
1. JSON Lines; each line carries the length and the SHA-256 of its record, so that a torn one shows.
2. A header names the base, the plan and its steps' count; the marks PREPARED and APPLIED follow. What was done between
   them is found by looking, never told.
3. A torn last line is no line: it was not durable. Anything else that is wrong is no journal.

The plan itself stands beside it, by its digest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, decode, encode
from docket.formats.digest import Digest, sha256
from docket.formats.ledger.payload_codec import from_members, to_members
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.workspace.state import Base

FORMAT = "docket/workspace-journal/v1"


class Mark(StrEnum):
    """How far a commit came: everything is built and durable; every path is as planned and durable."""

    PREPARED = "prepared"
    APPLIED = "applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalHeader:
    """Which commit it is: the base, the digest of the plan and the number of its steps."""

    base: Base
    plan_sha256: Digest
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """A journal as it was read: the marks in their order."""

    header: JournalHeader
    marks: tuple[Mark, ...] = ()


def encode_header(header: JournalHeader) -> bytes:
    """Return the first line."""
    return _line({"format": FORMAT, **to_members(header)})


def encode_mark(mark: Mark) -> bytes:
    """Return the line of a mark."""
    return _line({"mark": str(mark)})


def decode_journal(document: bytes) -> Journal | None:
    """Read a journal, None where not even its header was durable; InvalidDocumentError for anything else."""
    lines = document.split(b"\n")[:-1]
    if not lines:
        return None
    reader = Reader(_record(lines[0]), "the journal's header")
    if reader.text("format") != FORMAT:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"a journal begins with a {FORMAT} line")
    members = {name: reader.any(name) for name in ("base", "plan_sha256", "steps")}
    reader.close()
    header = from_members(JournalHeader, members, "the journal's header")
    marks = tuple(_mark(line) for line in lines[1:])
    if marks not in ((), (Mark.PREPARED,), (Mark.PREPARED, Mark.APPLIED)):
        raise InvalidDocumentError(Reason.WRONG_VALUE, "the journal's marks do not stand in their order")
    return Journal(header=header, marks=marks)


def _mark(line: bytes) -> Mark:
    reader = Reader(_record(line), "the journal's mark")
    mark = Mark(reader.choice("mark", tuple(Mark)))
    reader.close()
    return mark


def _line(record: JsonObject) -> bytes:
    body = encode(record)
    return encode({"length": len(body), "record": record, "sha256": sha256(body)}) + b"\n"


def _record(line: bytes) -> JsonObject:
    reader = Reader(decode(line), "a line of the journal")
    record = reader.mapping("record")
    body = encode(record)
    if (reader.integer("length"), reader.digest("sha256")) != (len(body), sha256(body)):
        raise InvalidDocumentError(Reason.BROKEN_CHAIN, "a line of the journal is not what its checksum says")
    reader.close()
    return record
