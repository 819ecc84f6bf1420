"""Where the keys of a TOML text stand: a walk over its structure that keeps line numbers, which `tomllib` drops.

Rules:
1. For a text that `tomllib` accepts, every key path it yields has the line on which it was first written.
2. Text inside strings, comments and multi-line strings is never taken for a key.
3. A key written twice is reported with both lines, since the parser's own message may name neither.
4. For any other text the walk stops quietly at the first thing it does not understand; what it found stands.

It reads no values and judges nothing: `policy_toml` does.
"""

from __future__ import annotations

import contextlib
import re

from docket.formats.dataclass import dataclass

KeyPath = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"[ \t]*")
_FILL = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_LETTERS = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}
_MAX_NESTING = 200


class _NotUnderstoodError(Exception):
    """The text is not TOML from here on."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A key written again where it already has a value."""

    path: KeyPath
    line: int
    first_line: int


@dataclass(frozen=True, slots=True)
class Lines:
    """The first line of every key path (an int is an index in an array), and the keys written twice."""

    first: dict[KeyPath, int]
    repeated: tuple[Repeated, ...]

    def of(self, *path: str | int) -> int | None:
        """Return the line of a key, or of the nearest table around it that has one."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.first:
                return self.first[path[:length]]
        return None


def locate(text: str) -> Lines:
    """Walk a TOML text; never raises."""
    walk = _Walk(text)
    with contextlib.suppress(_NotUnderstoodError, RecursionError):
        walk.document()
    return Lines(walk.first, tuple(walk.repeated))


class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.first: dict[KeyPath, int] = {}
        self.repeated: list[Repeated] = []
        self._assigned: dict[KeyPath, int] = {}
        self._table_arrays: dict[KeyPath, int] = {}
        self._counted_to = 0
        self._line = 1

    def document(self) -> None:
        table: KeyPath = ()
        while True:
            self._skip(_FILL)
            if self.at >= len(self.text):
                return
            if self._take("[["):
                table = self._array_header()
            elif self._take("["):
                table = self._table_header()
            else:
                self._pair(table, 0)
            self._end_of_statement()

    def _table_header(self) -> KeyPath:
        line = self._line_here()
        path = self._resolved(self._dotted("]"))
        self._expect("]")
        self._note(path, line)
        self._assign(path, line)
        return path

    def _array_header(self) -> KeyPath:
        line = self._line_here()
        path = self._resolved(self._dotted("]"), last=False)
        self._expect("]]")
        index = self._table_arrays.get(path, -1) + 1
        self._table_arrays[path] = index
        self._note((*path, index), line)
        return (*path, index)

    def _pair(self, table: KeyPath, depth: int) -> None:
        line = self._line_here()
        path = (*table, *self._dotted("="))
        self._expect("=")
        self._note(path, line)
        self._assign(path, line)
        self._skip(_BLANK)
        self._value(path, depth)

    def _value(self, path: KeyPath, depth: int) -> None:
        if depth > _MAX_NESTING:
            raise _NotUnderstoodError
        head = self.text[self.at : self.at + 1]
        if head in ('"', "'") and head:
            self._string()
        elif self._take("["):
            self._array(path, depth)
        elif self._take("{"):
            self._inline_table(path, depth)
        else:
            self._skip(_SCALAR)

    def _array(self, path: KeyPath, depth: int) -> None:
        index = 0
        while True:
            self._skip(_FILL)
            if self._take("]"):
                return
            self._note((*path, index), self._line_here())
            self._value((*path, index), depth + 1)
            self._comma_or("]")
            index += 1

    def _inline_table(self, path: KeyPath, depth: int) -> None:
        while True:
            self._skip(_FILL)
            if self._take("}"):
                return
            self._pair(path, depth + 1)
            self._comma_or("}")

    def _comma_or(self, closing: str) -> None:
        self._skip(_FILL)
        if not self._take(",") and self.text[self.at : self.at + 1] != closing:
            raise _NotUnderstoodError

    def _dotted(self, closing: str) -> tuple[str, ...]:
        parts = [self._key()]
        while self._take("."):
            parts.append(self._key())
        if self.text[self.at : self.at + 1] != closing:
            raise _NotUnderstoodError
        return tuple(parts)

    def _key(self) -> str:
        self._skip(_BLANK)
        if self.text[self.at : self.at + 1] in ('"', "'") and self.at < len(self.text):
            key = self._string()
        else:
            match = _BARE.match(self.text, self.at)
            if match is None:
                raise _NotUnderstoodError
            key = match.group()
            self.at = match.end()
        self._skip(_BLANK)
        return key

    def _string(self) -> str:
        quote = self.text[self.at]
        if self.text.startswith(quote * 3, self.at):
            return self._long_string(quote)
        start = self.at + 1
        self.at = self._closing(quote, start, multiline=False)
        body = self.text[start : self.at]
        self.at += 1
        return _unescaped(body) if quote == '"' else body

    def _long_string(self, quote: str) -> str:
        start = self.at + 3
        self.at = self._closing(quote * 3, start, multiline=True)
        # Up to two quotes may stand right before the closing three.
        for _ in range(2):
            if self.text.startswith(quote * 3, self.at + 1):
                self.at += 1
        body = self.text[start : self.at]
        self.at += 3
        return body

    def _closing(self, mark: str, at: int, *, multiline: bool) -> int:
        while at < len(self.text):
            if self.text.startswith(mark, at):
                return at
            if self.text[at] == "\n" and not multiline:
                break
            at += 2 if self.text[at] == "\\" and mark[0] == '"' else 1
        raise _NotUnderstoodError

    def _end_of_statement(self) -> None:
        self._skip(_BLANK)
        if self.text[self.at : self.at + 1] not in ("", "\n", "\r", "#"):
            raise _NotUnderstoodError

    def _resolved(self, path: KeyPath, *, last: bool = True) -> KeyPath:
        # A header under an array of tables means the array's latest table.
        out: KeyPath = ()
        for position, part in enumerate(path):
            out = (*out, part)
            if (last or position < len(path) - 1) and out in self._table_arrays:
                out = (*out, self._table_arrays[out])
        return out

    def _note(self, path: KeyPath, line: int) -> None:
        for length in range(1, len(path) + 1):
            self.first.setdefault(path[:length], line)

    def _assign(self, path: KeyPath, line: int) -> None:
        if path in self._assigned:
            self.repeated.append(Repeated(path, line, self._assigned[path]))
        else:
            self._assigned[path] = line

    def _line_here(self) -> int:
        self._line += self.text.count("\n", self._counted_to, self.at)
        self._counted_to = self.at
        return self._line

    def _skip(self, pattern: re.Pattern[str]) -> None:
        # Every pattern that is skipped also matches nothing.
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _take(self, mark: str) -> bool:
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            raise _NotUnderstoodError


def _unescaped(body: str) -> str:
    return _ESCAPE.sub(_escaped, body)


def _escaped(match: re.Match[str]) -> str:
    code = match.group(1) or match.group(2) or match.group(3)
    if code is None:
        return _LETTERS.get(match.group(4), match.group())
    number = int(code, 16)
    return chr(number) if number < 0x110000 else match.group()
