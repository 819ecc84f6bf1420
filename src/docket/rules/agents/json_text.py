"""JSON as a text with places, so that a part of it can be changed and every other byte stays.

Rules:
1. Only JSON is read: a comment, a comma too many or a name that stands twice is refused, with its line.
2. What is added to something that held nothing is marked by blanks behind the bracket, so that taking it out again
   gives the same bytes: one blank where nothing stood between the brackets, two where something did.
3. What is added to something that held something stands behind its last part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from json.decoder import scanstring  # type: ignore[attr-defined] # typeshed has it for the module's own use alone
from typing import NoReturn

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason

MAX_DEPTH = 64
MAX_CHARACTERS = 4 * 1024 * 1024
_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_INDENT = re.compile(r"\n([ \t]+)\S")
_ALONE, _BESIDE_SPACE = " \n", "  \n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A value in a text, from `start` to `end`.

    An object has `members` (name to value), with `starts` where each name begins; an array has `items`; a text has
    `text`. Everything else is told by its place alone.
    """

    start: int
    end: int
    members: Mapping[str, Part] | None = None
    starts: Mapping[str, int] = field(default_factory=dict)
    items: tuple[Part, ...] | None = None
    text: str | None = None

    def spans(self) -> list[tuple[int, int]]:
        """Return where the parts of an object or array stand, a member with its name."""
        if self.members is not None:
            return [(self.starts[name], part.end) for name, part in self.members.items()]
        return [(part.start, part.end) for part in self.items or ()]


def parse(text: str) -> Part:
    """Return the value that is the whole text; InvalidDocumentError names the line of what is wrong."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"it has more than {MAX_CHARACTERS:,} characters")
    reader = _Reader(text)
    part = reader.value(reader.skip(0), 0)
    rest = reader.skip(part.end)
    if rest < len(text):
        reader.refuse(rest, "something stands behind the end")
    return part


def added(text: str, place: Part, addition: str, margins: tuple[str, str]) -> str:
    """Return the text with `addition` as the last part of the object or array at `place`.

    `margins` are what its line is set in by, and what the closing bracket's is.
    """
    line = f"\n{margins[0]}{addition}"
    spans = place.spans()
    if spans:
        return f"{text[: spans[-1][1]]},{line}{text[spans[-1][1] :]}"
    at = place.start + 1
    inner = text[at : place.end - 1]
    if inner:
        return f"{text[:at]}  {line}{text[at:]}"
    return f"{text[:at]} {line}\n{margins[1]}{text[at:]}"


def taken(text: str, place: Part, index: int) -> tuple[str, bool]:
    """Return the text without the part of that number, and whether what is left holds nothing and never did before.

    The opposite of `added`.
    """
    spans = place.spans()
    start, end = spans[index]
    if index:
        return text[: spans[index - 1][1]] + text[end:], False
    if len(spans) > 1:
        return text[:start] + text[spans[1][0] :], False
    at = place.start + 1
    before = text[at:start]
    if before.startswith(_BESIDE_SPACE):
        return text[:at] + text[end:], False
    return text[:at] + text[place.end - 1 :], not before.startswith(_ALONE)


def indent_of(text: str) -> str:
    """Return by what a text sets its lines in, two blanks where it has none."""
    found = _INDENT.search(text)
    return found[1] if found else "  "


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return at if found is None else found.end()

    def value(self, at: int, depth: int) -> Part:
        if depth > MAX_DEPTH:
            self.refuse(at, "it is too deep")
        mark = self._text[at : at + 1]
        if mark == "{":
            return self._object(at, depth)
        if mark == "[":
            return self._array(at, depth)
        if mark == '"':
            text, end = self._string(at)
            return Part(start=at, end=end, text=text)
        found = _SCALAR.match(self._text, at)
        if found is None:
            self.refuse(at, _what(self._text[at : at + 2]))
        return Part(start=at, end=found.end())

    def _object(self, start: int, depth: int) -> Part:
        members: dict[str, Part] = {}
        starts: dict[str, int] = {}
        at = self.skip(start + 1)
        while self._text[at : at + 1] != "}" or members:
            if self._text[at : at + 1] != '"':
                self.refuse(at, _what(self._text[at : at + 2]))
            name, end = self._string(at)
            if name in members:
                self.refuse(at, f"the name {name!r} stands twice")
            colon = self.skip(end)
            if self._text[colon : colon + 1] != ":":
                self.refuse(colon, "a name without a value")
            starts[name] = at
            members[name] = self.value(self.skip(colon + 1), depth + 1)
            at, is_over = self._next(members[name].end, "}")
            if is_over:
                break
        return Part(start=start, end=at + 1, members=members, starts=starts)

    def _array(self, start: int, depth: int) -> Part:
        items: list[Part] = []
        at = self.skip(start + 1)
        while self._text[at : at + 1] != "]" or items:
            items.append(self.value(at, depth + 1))
            at, is_over = self._next(items[-1].end, "]")
            if is_over:
                break
        return Part(start=start, end=at + 1, items=tuple(items))

    def _next(self, end: int, closing: str) -> tuple[int, bool]:
        at = self.skip(end)
        mark = self._text[at : at + 1]
        if mark == closing:
            return at, True
        if mark != ",":
            self.refuse(at, _what(self._text[at : at + 2]))
        return self.skip(at + 1), False

    def _string(self, at: int) -> tuple[str, int]:
        try:
            text, end = scanstring(self._text, at + 1, True)  # noqa: FBT003 - has no keyword
        except ValueError:
            self.refuse(at, "a text without an end, or with a character that may not stand in it")
        return str(text), int(end)

    def refuse(self, at: int, what: str) -> NoReturn:
        line = self._text.count("\n", 0, at) + 1
        raise InvalidDocumentError(Reason.NOT_JSON, f"line {line}: {what}")


def _what(mark: str) -> str:
    if mark[:1] == "/" or mark[:1] == "#":
        return "a comment, which JSON does not have"
    if mark[:1] in ("}", "]"):
        return "a comma too many"
    return "it ends here, and should not" if not mark else f"{mark[:1]!r} should not stand here"
