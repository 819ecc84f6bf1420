"""The contents that undoing a tool call needs: of the windows' store by name, or made of others by the hunks of deltas.

Rules:
1. A content counts only under the name that the delta gives it: whatever it was read or made from, it is named anew.
2. Contents of the store are read when they are asked for, one at a time; what was made stays, up to MAX_MADE_BYTES.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable

from docket.engines.windows.derived_contents import DerivedContents
from docket.errors import DocketError, UnavailableError
from docket.formats.reason import Reason
from docket.formats.tree.address import Address
from docket.formats.windows.delta import Delta, FileDelta
from docket.formats.windows.names import ABSENT_MODE, Hashes
from docket.rules.windows.naming import content_name
from docket.stores.content import ContentStream, missing

MAX_CONTENT_BYTES = 256 * 1024 * 1024
MAX_MADE_BYTES = 256 * 1024 * 1024


class UndoContents:
    """Contents by the names of one delta, and by address for who writes them."""

    def __init__(
        self, load: Callable[[str, int], bytes | None], hashes: Hashes, deltas: Callable[[], Iterable[Delta]]
    ) -> None:
        """Begin; `deltas` are those that may lead from one content to another."""
        self._load, self._hashes = load, hashes
        self._derived = DerivedContents(deltas, hashes, self.stored)
        self._names: dict[Address, str] = {}
        self._made: dict[Address, bytes] = {}

    def name_of(self, content: bytes) -> str:
        """Return what the delta would call a content."""
        return content_name(content, self._hashes)

    def stored(self, name: str) -> bytes | None:
        """Return what the store has under a name; None where that is gone, damaged or too large."""
        try:
            content = self._load(name, MAX_CONTENT_BYTES)
        except DocketError:
            return None
        return content if content is not None and self.name_of(content) == name else None

    def before(self, file: FileDelta, now: bytes | None = None) -> bytes | None:
        """Return what stood at a path before the tool; `now` is what stands there, if that is known."""
        return b"" if file.before_mode == ABSENT_MODE else self._content(file.before_hash, now)

    def after(self, file: FileDelta, now: bytes | None = None) -> bytes | None:
        """Return what the tool left at a path."""
        return b"" if file.after_mode == ABSENT_MODE else self._content(file.after_hash, now)

    def keep(self, content: bytes) -> Address:
        """Have a content ready for who writes it; UnavailableError(TOO_LARGE) where that is too much in all."""
        address, name = Address.of(content), self.name_of(content)
        if address not in self._names and address not in self._made:
            if self.stored(name) is not None:
                self._names[address] = name
            elif sum(map(len, self._made.values())) + len(content) > MAX_MADE_BYTES:
                raise UnavailableError(Reason.TOO_LARGE, f"more than {MAX_MADE_BYTES:,} bytes would be made anew")
            else:
                self._made[address] = content
        return address

    def has(self, address: Address) -> bool:
        """Whether a content is ready."""
        return address in self._made or address in self._names

    def open(self, address: Address) -> ContentStream:
        """Return a content as a stream that checks it; UnavailableError(CONTENT_MISSING) where it is not there."""
        name = self._names.get(address)
        content = self._made.get(address) if name is None else self.stored(name)
        if content is None:
            raise missing(address)
        return ContentStream(address, io.BytesIO(content).read, lambda: None)

    def _content(self, name: str, now: bytes | None) -> bytes | None:
        known = {} if now is None else {self.name_of(now): now}
        found = known.get(name)
        if found is None:
            found = self.stored(name)
        return self._derived.get(name, known) if found is None else found
