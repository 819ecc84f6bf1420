"""A ledger as JSON Lines: LF, one canonical event a line, the file ends with LF.

`follow` streams events from chunks and checks the chain; a last line without LF is a torn tail, returned as such
and never repaired here. It reads no file: the caller supplies the chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode
from docket.formats.digest import Digest
from docket.formats.ledger.event import GENESIS, MAX_LINE_BYTES, Event, read_event
from docket.formats.reason import Reason


@dataclass(frozen=True, slots=True)
class TornTail:
    """Bytes after the last LF; `offset` is where they begin in the file."""

    offset: int
    data: bytes


def encode_line(event: Event) -> bytes:
    """Return the event's line with its LF."""
    return event.line + b"\n"


def follow(chunks: Iterable[bytes]) -> Iterator[Event | TornTail]:
    """Yield each event in order, chain checked; at most one TornTail, last.

    Raises InvalidDocumentError at the first line that is not canonical, not an event, or not the successor of
    the one before; the message names the sequence number that line should have had.
    """
    prev, expected, offset = GENESIS, 0, 0
    try:
        for line, complete in _split(chunks):
            if not complete:
                yield TornTail(offset, line)
                return
            event = _successor(line, expected, prev)
            yield event
            prev, expected, offset = event.hash, expected + 1, offset + len(line) + 1
    except InvalidDocumentError as error:
        raise InvalidDocumentError(error.reason, f"event {expected}: {error.detail}") from error


def _successor(line: bytes, expected: int, prev: Digest) -> Event:
    event = read_event(decode(line), line)
    if event.seq != expected:
        raise InvalidDocumentError(Reason.BROKEN_CHAIN, f"the line there carries the number {event.seq}")
    if event.prev != prev:
        raise InvalidDocumentError(Reason.BROKEN_CHAIN, "it does not follow the event before it")
    return event


def _split(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    pending = b""
    for chunk in chunks:
        lines = (pending + chunk).split(b"\n")
        pending = lines.pop()
        for line in lines:
            yield _bounded(line), True
        _bounded(pending)
    if pending:
        yield pending, False


def _bounded(line: bytes) -> bytes:
    if len(line) > MAX_LINE_BYTES:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"a line is longer than {MAX_LINE_BYTES} bytes")
    return line
