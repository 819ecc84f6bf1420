"""The bytes of a reply as the agent gets them, for the cache that repeats them and the folder that keeps them.

Rules:
1. A copy holds no more than the larger of what the two may take; past that it only counts.
2. What was asked of the upstream for docket's own sake, and is taken out of the reply again, is not in the copy.
3. What becomes of a copy is decided once, when its call is settled, and stands in the reply's own event.

Which replies may be repeated is `cache`'s to say; the files are the driver's.
"""

from __future__ import annotations

from typing import Protocol

from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.cache_events import CacheMark
from docket.formats.ledger.model_events import ModelResponse
from docket.rules.boundary.http1 import ResponseHead
from docket.rules.boundary.protocol import Placed, Record
from docket.rules.providers.interface import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyEnd:
    """What is known of a reply when its call is settled, at `at_ns`.

    `whole` says that its framing came to its end and that the agent gets all of it.
    """

    head: ResponseHead | None
    reading: Reading
    whole: bool
    at_ns: int


class StoresReply(Protocol):
    """Who may store the copy of one reply."""

    def judged(self, end: ReplyEnd, body: bytes | None) -> CacheMark:
        """Say whether the reply is stored, or why not; `body` is None where it is longer than what may be."""
        ...

    def store(self, response: ModelResponse, end: ReplyEnd, body: bytes, placed: Placed) -> None:
        """Take a reply that is stored."""
        ...


class ReplyCopy:
    """One reply's bytes on their way; `stores` is None without a cache, `retain_bytes` without a folder."""

    def __init__(self, *, stores: StoresReply | None, store_bytes: int, retain_bytes: int | None) -> None:
        self._stores = stores
        self._store_bytes = store_bytes if stores is not None else 0
        self._retain_bytes = retain_bytes
        self._limit_bytes = max(self._store_bytes, retain_bytes or 0)
        self._data = bytearray()
        self._size_bytes = 0

    def take(self, data: bytes) -> None:
        """Take the next bytes that pass to the agent."""
        self._size_bytes += len(data)
        if len(self._data) < self._limit_bytes:
            self._data += data[: self._limit_bytes - len(self._data)]

    def settled(self, response: ModelResponse, end: ReplyEnd) -> Record:
        """Return the command that records the reply, with what becomes of its copy."""
        placed, kept = Placed(), None
        if self._stores is not None:
            body = bytes(self._data) if self._size_bytes <= self._store_bytes else None
            mark = self._stores.judged(end, body)
            response = replace(response, cache=mark)
            if mark.stored and body is not None:
                self._stores.store(response, end, body, placed)
        if self._retain_bytes is not None:
            kept = bytes(self._data[: self._retain_bytes])
        self._data.clear()
        return Record(response, placed=placed, body=kept)
