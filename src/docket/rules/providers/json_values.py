"""A stream of JSON values cut into its objects: an array that arrives in pieces, or one value a line.

Rules:
1. The objects of one array, or those that stand side by side, are handed on one by one; what stands between them
   is skipped. After the array's end nothing counts.
2. The same bytes give the same objects however they are cut.
3. An object is handed on whole up to 1 MiB; a longer one is read by a `MemberScan` as it passes.
4. Between objects a line's end ends a text too: junk on one line spoils no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from docket.rules.providers.json_scan import MemberScan

MAX_VALUE_BYTES = 1024 * 1024
_OUTSIDE = re.compile(rb'[^"{}\[\]]*')
_STRING = re.compile(rb'[^"\\]*')
_STRAY_STRING = re.compile(rb'[^"\\\n]*')


class JsonValues:
    """Cuts a stream into the bytes of its objects."""

    __slots__ = ("_array", "_depth", "_ended", "_escaped", "_held", "_in_string", "_scan", "_wanted")

    def __init__(self, wanted: Iterable[tuple[str, ...]] = ()) -> None:
        self._wanted = tuple(wanted)
        self._held = bytearray()
        self._scan: MemberScan | None = None
        self._depth = 0
        self._array = False
        self._in_string = False
        self._escaped = False
        self._ended = False

    def feed(self, chunk: bytes) -> list[bytes | MemberScan]:
        """Return every object that these bytes complete."""
        values: list[bytes | MemberScan] = []
        at, start = 0, 0
        while at < len(chunk) and not self._ended:
            inside = self._depth > 0
            at = self._string(chunk, at) if self._in_string else self._structure(chunk, at)
            if not inside and self._depth:
                start = at - 1
            elif inside and not self._depth:
                self._keep(chunk[start:at])
                values.append(self._taken())
                start = at
        if self._depth:
            self._keep(chunk[start:])
        return values

    def pending(self) -> MemberScan | None:
        """Return what has been read of a long object that has not ended; of a short one nothing can be said."""
        return self._scan

    def _string(self, chunk: bytes, at: int) -> int:
        if self._escaped:
            self._escaped = False
            return at + 1
        run = _STRING if self._depth else _STRAY_STRING
        match = run.match(chunk, at)
        end = at if match is None else match.end()
        if end == len(chunk):
            return end
        self._escaped = chunk[end] == 0x5C
        self._in_string = self._escaped
        return end + 1

    def _structure(self, chunk: bytes, at: int) -> int:
        match = _OUTSIDE.match(chunk, at)
        end = at if match is None else match.end()
        if end == len(chunk):
            return end
        token = chunk[end : end + 1]
        if token == b'"':
            self._in_string = True
        elif token == b"{" or (token == b"[" and self._depth):
            self._depth += 1
        elif token == b"[":
            self._array = True
        elif self._depth:
            self._depth -= 1
        elif token == b"]":
            self._ended = self._array
        return end + 1

    def _keep(self, piece: bytes) -> None:
        if self._scan is not None:
            self._scan.feed(piece)
            return
        self._held += piece
        if len(self._held) > MAX_VALUE_BYTES:
            self._scan = MemberScan(self._wanted)
            self._scan.feed(bytes(self._held))
            self._held.clear()

    def _taken(self) -> bytes | MemberScan:
        if self._scan is not None:
            scan, self._scan = self._scan, None
            return scan
        value = bytes(self._held)
        self._held.clear()
        return value
