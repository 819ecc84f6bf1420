"""A ledger as JSON Lines: LF, one canonical event a line, the file ends with LF.

`follow` streams events from chunks and checks the chain; a last line without LF is a torn tail, returned as such
and never repaired here. `Follower` does the same for chunks that are still to come. `events_again` streams the events
of bytes that were followed before, which it knows by their digest. None reads a file: the caller supplies the chunks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Protocol

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.event import GENESIS, MAX_LINE_BYTES, Event, known_event, read_event
from docket.formats.reason import Reason


@dataclass(frozen=True, slots=True)
class TornTail:
    """Bytes after the last LF; `offset` is where they begin in the file."""

    offset: int
    data: bytes


def encode_line(event: Event) -> bytes:
    """Return the event's line with its LF."""
    return event.line + b"\n"


class Glance(Protocol):
    """Reads lines that are like lines before them, as the strict reading does (`line_shape`)."""

    def read(self, line: bytes, /) -> Event | None:
        """Return the event of a line, its hash recomputed; None leaves it to the strict reading."""
        ...

    def learn(self, event: Event, /) -> None:
        """Take an event that was read strictly."""
        ...


def follow(chunks: Iterable[bytes], glance: Glance | None = None) -> Iterator[Event | TornTail]:
    """Yield each event in order, chain checked; at most one TornTail, last.

    Raises InvalidDocumentError at the first line that is not canonical, not an event, or not the successor of
    the one before; the message names the sequence number that line should have had.
    """
    follower = Follower(glance)
    for chunk in chunks:
        yield from follower.feed(chunk)
    if follower.pending:
        yield TornTail(follower.offset, follower.pending)


class Follower:
    """Follows a chain through chunks as they come.

    `pending` are the bytes of a line that is not whole yet, `offset` is where they begin, `expected` the number of
    the event they are to be.
    """

    __slots__ = ("_glance", "_prev", "expected", "offset", "pending")

    def __init__(self, glance: Glance | None = None) -> None:
        self._glance = glance
        self.expected, self.offset, self.pending = 0, 0, b""
        self._prev = GENESIS

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that are whole with `chunk`; to be exhausted before the next. Raises as `follow` does."""
        read = None if self._glance is None else self._glance.read
        try:
            *lines, self.pending = (self.pending + chunk).split(b"\n")
            for line in lines:
                event = None if read is None or len(line) > MAX_LINE_BYTES else read(line)
                if event is None or event.prev != self._prev or event.seq != self.expected:
                    event = self._successor(_bounded(line))
                yield event
                self._prev, self.expected, self.offset = event.hash, self.expected + 1, self.offset + len(line) + 1
            _bounded(self.pending)
        except InvalidDocumentError as error:
            raise InvalidDocumentError(error.reason, f"event {self.expected}: {error.detail}") from error

    def _successor(self, line: bytes) -> Event:
        event = read_event(decode(line), line)
        if self._glance is not None:
            self._glance.learn(event)
        if event.seq != self.expected:
            raise InvalidDocumentError(Reason.BROKEN_CHAIN, f"the line there carries the number {event.seq}")
        if event.prev != self._prev:
            raise InvalidDocumentError(Reason.BROKEN_CHAIN, "it does not follow the event before it")
        return event


def events_again(chunks: Iterable[bytes], file_sha256: Digest) -> Iterator[Event]:
    """Yield the events of bytes that were followed before, a torn tail left out.

    That they are those bytes is known at the end: InvalidDocumentError then, or at the first line that is no event,
    says that they are others.
    """
    digest, pending = hashlib.sha256(), b""
    for chunk in chunks:
        digest.update(chunk)
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            yield known_event(_bounded(line))
        _bounded(pending)
    if digest.hexdigest() != file_sha256:
        raise InvalidDocumentError(Reason.CHANGED_WHILE_READ, "the ledger is not the one that was read before")


def _bounded(line: bytes) -> bytes:
    if len(line) > MAX_LINE_BYTES:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"a line is longer than {MAX_LINE_BYTES} bytes")
    return line
