"""Server-sent events as bytes: lines, events, and nothing else (WHATWG HTML, Server-sent events, 9.2).

Rules:
1. A line ends at CR LF, LF or CR; a byte order mark before the first line is ignored; `data:` may lack its blank.
2. The same bytes give the same events however they are cut.
3. An event's data is handed on whole up to 1 MiB; a longer one is read by a `MemberScan` as it passes.
4. Fields other than `data`, comments and junk are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable

from docket.rules.providers.json_scan import MemberScan

MAX_EVENT_BYTES = 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class EventStream:
    """Cuts a stream into the data of its events."""

    __slots__ = ("_data", "_data_bytes", "_first", "_ignoring", "_line", "_scan", "_scanning", "_skip_lf", "_wanted")

    def __init__(self, wanted: Iterable[tuple[str, ...]] = ()) -> None:
        self._wanted = tuple(wanted)
        self._line = bytearray()
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._scan: MemberScan | None = None
        self._scanning = False
        self._ignoring = False
        self._skip_lf = False
        self._first = True

    def feed(self, chunk: bytes) -> list[bytes | MemberScan]:
        """Return the data of every event that these bytes complete."""
        if not chunk:
            return []
        data = chunk
        if self._skip_lf and data.startswith(b"\n"):
            data = data[1:]
        self._skip_lf = chunk.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        events: list[bytes | MemberScan] = []
        *lines, rest = data.split(b"\n")
        for line in lines:
            event = self._end_line(line)
            if event is not None:
                events.append(event)
        self._continue_line(rest)
        return events

    def pending(self) -> bytes | MemberScan | None:
        """Return the data of an event that has begun and not been ended by a blank line."""
        if self._scan is not None:
            return self._scan
        value = None if self._ignoring else self._value(bytes(self._line))
        parts = self._data if value is None else [*self._data, value]
        return b"\n".join(parts) if parts else None

    def _end_line(self, rest: bytes) -> bytes | MemberScan | None:
        self._continue_line(rest)
        if self._scanning or self._ignoring:
            self._scanning = self._ignoring = False
            return None
        line = bytes(self._line)
        self._line.clear()
        value = self._value(line)
        self._first = False
        if value is not None:
            self._add(value)
        return self._dispatch() if not line else None

    def _continue_line(self, piece: bytes) -> None:
        if self._ignoring or not piece:
            return
        if self._scanning and self._scan is not None:
            self._scan.feed(piece)
            return
        self._line += piece
        if len(self._line) > MAX_EVENT_BYTES:
            self._overflow()

    def _overflow(self) -> None:
        value = self._value(bytes(self._line))
        self._line.clear()
        self._first = False
        if value is None:
            self._ignoring = True
        else:
            self._begin_scan().feed(value)
            self._scanning = True

    def _add(self, value: bytes) -> None:
        if self._scan is not None:
            self._scan.feed(b"\n" + value)
            return
        self._data.append(value)
        self._data_bytes += len(value) + 1
        if self._data_bytes > MAX_EVENT_BYTES:
            self._begin_scan()

    def _begin_scan(self) -> MemberScan:
        if self._scan is None:
            self._scan = MemberScan(self._wanted)
        for held in self._data:
            self._scan.feed(held + b"\n")
        self._data, self._data_bytes = [], 0
        return self._scan

    def _dispatch(self) -> bytes | MemberScan | None:
        if self._scan is not None:
            scan, self._scan = self._scan, None
            return scan
        if not self._data:
            return None
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data, self._data_bytes = [], 0
        return data

    def _value(self, line: bytes) -> bytes | None:
        if self._first and line.startswith(_BOM):
            line = line[len(_BOM) :]
        if line.startswith(b"data:"):
            return line[6:] if line[5:6] == b" " else line[5:]
        return b"" if line == b"data" else None
