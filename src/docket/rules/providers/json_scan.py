"""Reading JSON that nobody vouches for: leniently when it is small, member by member when it is not.

Rules:
1. Nothing here raises on content; what cannot be read is None. Of members that stand twice the last one counts, and
   `loads_object` and `MemberScan` say that there were some, inside the members that are short and hold settings too:
   another reader may take the first.
2. `MemberScan` keeps only the members it was asked for, so that memory does not grow with the document.
3. Bytes that are not UTF-8 inside a text spoil that text and nothing else; bytes after the value are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

JsonMap = Mapping[str, Any]
MAX_CAPTURE_BYTES = 64 * 1024
_MAX_KEY_BYTES = 128
_EMPTY: JsonMap = {}

_DECODER = json.JSONDecoder()
_BOM = "\ufeff"
_BLANKS = " \t\r\n"
_STRING_RUN = re.compile(rb'[^"\\]*')
_TOKEN_RUN = re.compile(rb'[^"{}\[\],:]*')
_NESTED_RUN = re.compile(rb'[^"{}\[\]]*')
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_MEMBER_END = re.compile(r"[ \t\r\n]*([,}])[ \t\r\n]*")
_MAX_REMEMBERED_CHARACTERS = 512 * 1024
_OPENING = re.compile(r"\{[ \t\r\n]*(\}?)")


# Members that hold what is talked about, and no settings: long, and what repeats in them repeats in no one's reading.
_CONTENT = frozenset(("messages", "input", "contents", "content", "system", "prompt", "requests"))


class _Repeats:
    """Builds objects as the decoder does, and keeps the first name that stood in one of them twice."""

    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name: str | None = None

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs) and self.name is None:
            names = [name for name, _ in pairs]
            # Of a name that stands twice the index is not its own place the second time.
            first = {name: at for at, name in reversed(list(enumerate(names)))}
            self.name = next(name for at, name in enumerate(names) if first[name] != at)
        return members


class TopLevel(NamedTuple):
    """An object's members, and the first name that stands more than once, at its top level or in a setting."""

    members: JsonMap
    repeated: str | None


def loads_lenient(data: bytes) -> object | None:
    """Return the first JSON value of `data`, None if there is none; duplicate keys: the last one counts."""
    return _loads(data, _DECODER)


def _loads(data: bytes, decoder: json.JSONDecoder) -> object | None:
    text = data.decode("utf-8", "replace").lstrip(_BOM).lstrip(_BLANKS)
    try:
        value: object = decoder.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None
    return value


def loads_object(data: bytes) -> TopLevel | None:
    """Return the object that `data` begins with, None if it begins with anything else.

    The values are read as `loads_lenient` reads them; the top level is taken member by member, for the decoder keeps
    silent about names that stand twice.
    """
    text = data.decode("utf-8", "replace").lstrip(_BOM).lstrip(_BLANKS)
    opening = _OPENING.match(text)
    if opening is None:
        return None
    members: dict[str, Any] = {}
    repeated, nested, at, more = None, None, opening.end(), not opening[1]
    try:
        while more:
            name, at = _DECODER.raw_decode(text, at)
            colon = _COLON.match(text, at)
            if colon is None or not isinstance(name, str):
                return None
            value, at = _DECODER.raw_decode(text, colon.end())
            end = _MEMBER_END.match(text, at)
            if end is None:
                return None
            if name in members:
                repeated = repeated or name
            if nested is None and name not in _CONTENT and isinstance(value, (dict, list)):
                nested = repeated_in(text[colon.end() : at])
            members[name] = value
            at, more = end.end(), end[1] == ","
    except (ValueError, RecursionError):
        return None
    return TopLevel(members, repeated or nested)


def repeated_in(text: str) -> str | None:
    """Return the first name that stands twice in an object inside a JSON value, None if none does."""
    return _repeated_in(text) if len(text) <= _MAX_REMEMBERED_CHARACTERS else _repeated_in.__wrapped__(text)


@lru_cache(maxsize=16)
def _repeated_in(text: str) -> str | None:
    # Looking at every object of an agent's tools takes as long as all the rest, and they are the same in every call.
    nested = _Repeats()
    json.JSONDecoder(object_pairs_hook=nested).raw_decode(text)
    return nested.name


def as_map(value: object) -> JsonMap:
    """Return an object as it is and anything else as an empty one."""
    return value if isinstance(value, dict) else _EMPTY


def as_items(value: object) -> Sequence[Any]:
    """Return an array as it is and anything else as an empty one."""
    return value if isinstance(value, list) else ()


def as_text(value: object) -> str | None:
    """Return a non-empty text of at most 256 characters, fit for a record; None for anything else."""
    if not isinstance(value, str) or not 0 < len(value) <= 256:
        return None
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


class MemberScan:
    """An incremental reader that captures the members at `wanted` paths of one JSON document of any size.

    A path is a tuple of object keys; arrays are never entered. A captured member is at most 64 KiB of JSON;
    a longer one is dropped and `overflowed` is set. `repeated` is the first name of a wanted member that came again,
    in whatever case, or that stands in one twice.
    """

    __slots__ = (
        "_capture", "_depth", "_ended", "_escaped", "_found", "_in_string", "_key", "_key_open", "_met", "_path",
        "_prefixes", "_wanted", "overflowed", "repeated",
    )  # fmt: skip

    def __init__(self, wanted: Iterable[tuple[str, ...]]) -> None:
        self._wanted = frozenset(wanted)
        self._prefixes = frozenset(path[:size] for path in self._wanted for size in range(len(path)))
        self._depth = 0
        self._ended = False
        self._path: list[str] = []
        self._in_string = False
        self._escaped = False
        self._key: bytearray | None = None
        self._key_open = False
        self._capture: bytearray | None = None
        self._found: dict[tuple[str, ...], object] = {}
        self._met: set[tuple[str, ...]] = set()
        self.overflowed = False
        self.repeated: str | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the document."""
        at, size = 0, len(data)
        while at < size and not self._ended:
            at = self._string(data, at) if self._in_string else self._structure(data, at)

    def result(self) -> dict[str, Any]:
        """Return what was captured so far, as one nested object."""
        root: dict[str, Any] = {}
        for path, value in self._found.items():
            inner = root
            for name in path[:-1]:
                inner = inner.setdefault(name, {})
            inner[path[-1]] = value
        return root

    @property
    def ended(self) -> bool:
        """Whether the document's end has come."""
        return self._ended

    @property
    def _tracking(self) -> bool:
        """Whether the innermost open container is an object on the way to a wanted member."""
        return 0 < self._depth == len(self._path)

    def _string(self, data: bytes, at: int) -> int:
        if self._escaped:
            self._keep(data, at, at + 1)
            self._escaped = False
            return at + 1
        match = _STRING_RUN.match(data, at)
        end = match.end() if match is not None else at
        if end == len(data):
            self._keep(data, at, end)
            return end
        self._keep(data, at, end + 1)
        if data[end] == 0x5C:
            self._escaped = True
        else:
            self._in_string = self._key_open = False
        return end + 1

    def _structure(self, data: bytes, at: int) -> int:
        run = _TOKEN_RUN if self._tracking else _NESTED_RUN
        match = run.match(data, at)
        end = match.end() if match is not None else at
        if self._capture is not None:
            self._keep(data, at, end)
        if end == len(data):
            return end
        token = data[end : end + 1]
        if token == b'"':
            self._begin_string(data, end)
        elif token in b"{[":
            self._begin_container(data, end, is_object=token == b"{")
        elif token in b"}]":
            self._end_container(data, end)
        elif token == b":":
            self._begin_value()
        else:
            self._end_value()
        return end + 1

    def _begin_string(self, data: bytes, end: int) -> None:
        self._in_string = True
        if self._capture is not None:
            self._keep(data, end, end + 1)
        elif self._tracking and not self._path[-1]:
            self._key, self._key_open = bytearray(b'"'), True

    def _begin_container(self, data: bytes, end: int, *, is_object: bool) -> None:
        if self._capture is not None:
            self._keep(data, end, end + 1)
        elif is_object and (self._depth == 0 or (self._tracking and self._at() in self._prefixes)):
            self._path.append("")
        self._depth += 1

    def _end_container(self, data: bytes, end: int) -> None:
        if self._tracking:
            self._end_value()
            self._path.pop()
        elif self._capture is not None:
            self._keep(data, end, end + 1)
        self._depth -= 1
        self._ended = self._depth <= 0

    def _begin_value(self) -> None:
        if self._capture is not None or self._key is None:
            return
        name = loads_lenient(bytes(self._key))
        self._key = None
        self._path[-1] = name if isinstance(name, str) and name else "\0"
        at = self._at()
        folded = tuple(part.casefold() for part in at)
        if folded in self._wanted:
            if folded in self._met:
                self.repeated = self.repeated or at[-1]
            self._met.add(folded)
        if at in self._wanted:
            self._capture = bytearray()

    def _end_value(self) -> None:
        if self._capture is not None:
            nested = _Repeats()
            self._found[self._at()] = _loads(bytes(self._capture), json.JSONDecoder(object_pairs_hook=nested))
            self.repeated = self.repeated or nested.name
            self._capture = None
        self._key = None
        self._path[-1] = ""

    def _at(self) -> tuple[str, ...]:
        return tuple(self._path)

    def _keep(self, data: bytes, start: int, end: int) -> None:
        if self._capture is not None:
            if len(self._capture) + end - start > MAX_CAPTURE_BYTES:
                self.overflowed, self._capture = True, None
            else:
                self._capture += data[start:end]
        elif self._key_open and self._key is not None:
            self._key += data[start:end]
            if len(self._key) > _MAX_KEY_BYTES:
                self._key, self._key_open = bytearray(), False
