"""Lines that are like lines before them: read, held to their canonical form and typed by one look.

A long ledger says the same few things many times. Of a line that was read strictly a shape is learned: the text with a
gap for each value. Whatever fills the gaps is canonical JSON with the same keys, its values of the types that its
payload wants.

Rules:
1. What is read here is what the strict reading gives: `formats.canonical.decode`, `read_event` and `read_payload`. A
   line that no shape fits, or whose hash or payload is not right, is left to it, and so are the words for it.
2. A gap takes no more than its kind: a text without escapes, an integer of at most fifteen digits, an amount in its one
   spelling, a digest, a choice. No shape can take long over a line: where a gap ends, another character stands.
3. A shape is kept when it reads the line that it was learned from as the strict reading did. There is a bounded number
   of them, none for what is seldom said, and none for objects of any keys.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeAlias

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, quoted
from docket.formats.dataclass import blank_of, is_dataclass
from docket.formats.digest import Digest, is_digest
from docket.formats.ledger.event import HASH_MEMBER_BYTES, Event
from docket.formats.ledger.payload_codec import Payload, from_members, members_of_class
from docket.formats.reading import INSTANT
from docket.formats.relpath import MAX_PATH_BYTES, RelPath
from docket.formats.run.usage import Usage

_LEARN_EVERY = 16
_MOST_SHAPES = 12
_MOST_GAPS = 80
_TYPE, _END = b',"type":"', b'"}'
_TEXT = r'"([^"\\\x00-\x1f]*)"'
_DIGEST = '"([0-9a-f]{64})"'
# What is compared as a whole need not be looked at digit by digit before.
_COMPARED = '"(.{64})"'
_COUNT = "(0|[1-9][0-9]{0,14})"
_TAIL = rf',"hash":{_COMPARED},"prev":{_COMPARED},"seq":{_COUNT},"ts":"({INSTANT})","type":'
_TAIL_BYTES = HASH_MEMBER_BYTES + len(',"prev":""') + 64 + len(',"seq":,"ts":""')
_MOST_PATH_CHARACTERS = MAX_PATH_BYTES // 4

_Make: TypeAlias = Callable[..., Payload]
_new = tuple.__new__  # as the class itself would, without a call of its own in between


class _Unlike(Exception):  # noqa: N818 - no fault: there is no shape of it
    """This has no shape."""


class LineShapes:
    """The shapes that were learned of one ledger, by the type of event; `classes` are the payloads by type."""

    __slots__ = ("_classes", "_last", "_seen", "_shapes")

    def __init__(self, classes: Mapping[str, type[Payload]]) -> None:
        self._classes = classes
        self._last = ""  # the hash of the event that was read last: as a rule the next one's `prev`
        self._seen: dict[str, int] = {}
        self._shapes: dict[bytes, list[tuple[re.Pattern[str], _Make]]] = {}

    def read(self, line: bytes) -> Event | None:
        """Return the event of a line, its payload typed and its hash recomputed; None where no shape is sure of it."""
        at = line.rfind(_TYPE)
        shapes = self._shapes.get(line[at + len(_TYPE) : -len(_END)])
        if shapes is None:
            return None
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return None
        for place, (pattern, make) in enumerate(shapes):  # noqa: B007 - which it was is asked behind the loop
            found = pattern.fullmatch(text)
            if found is not None:
                break
        else:
            return None
        if place:
            shapes.insert(0, shapes.pop(place))
        values = found.groups()
        stated, prev, seq, ts = values[-4:]
        if prev != self._last and not is_digest(prev):
            return None
        # Of the tail all is ASCII now, or its hash is not that of the line.
        cut = at - _TAIL_BYTES - len(seq) - len(ts)
        if sha256(line[:cut] + line[cut + HASH_MEMBER_BYTES :]).hexdigest() != stated:
            return None
        try:
            payload = make(*values)
        except InvalidDocumentError:
            return None
        self._last = stated
        return _new(Event, (int(seq), ts, payload.TYPE, prev, stated, line, None, payload))

    def learn(self, event: Event) -> None:
        """Learn the shape of an event that was read strictly, if its like is often met and may have one."""
        cls = self._classes.get(event.type)
        if cls is None:
            return
        seen = self._seen[event.type] = self._seen.get(event.type, 0) + 1
        shapes = self._shapes.get(event.type.encode(), [])
        if seen % _LEARN_EVERY or len(shapes) >= _MOST_SHAPES:
            return
        try:
            known = from_members(cls, event.data, event.type)
            pattern, make = _shape(cls, event.data, event.type)
        except (InvalidDocumentError, _Unlike):
            return
        self._shapes[event.type.encode()] = [(pattern, make), *shapes]
        again = self.read(event.line)
        if again is None or again.payload != known or again[:6] != event[:6]:
            self._shapes[event.type.encode()] = shapes


def _shape(cls: type[Payload], data: JsonObject, type_: str) -> tuple[re.Pattern[str], _Make]:
    gaps = _Gaps()
    pattern, source = gaps.of_object(cls, data)
    whole = rf'\{{"data":{pattern}{_TAIL}{re.escape(quoted(type_))}\}}'
    # Nothing in it is from outside: the names are those of our own classes.
    body = "".join(f"    {line}\n" for line in (*gaps.lines, f"return {source}"))
    exec(f"def make({', '.join(gaps.names)}, *_tail):\n{body}", gaps.given)  # noqa: S102
    return re.compile(whole, re.ASCII), gaps.given["make"]


class _Gaps:
    """Writes, for the value of a kind, its pattern and the expression that makes it of what fills its gaps.

    `lines` are what is to be done before.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.lines: list[str] = []
        self.given: dict[str, Any] = {"usd": _usd, "path": _path}

    def of_object(self, cls: type, value: Any) -> tuple[str, str]:  # noqa: ANN401 - it was read strictly as its kind
        known = {item.name: item.kind for item in members_of_class(cls)}
        parts = [(name, self._of(known.get(name), member)) for name, member in value.items()]
        made = self._made(cls, {name: source for name, (_, source) in parts})
        return _braced([(name, pattern) for name, (pattern, _) in parts]), made

    def _of(self, kind: Any, value: Any) -> tuple[str, str]:  # noqa: ANN401 - an annotation, and a value of it
        plain = _PLAIN.get(kind)
        if plain is not None:
            return plain[0], plain[1].format(self._gap())
        if kind is Usage:
            return self._of_usage(value)
        if typing.get_origin(kind) is tuple:
            return self._of_array(typing.get_args(kind)[0], value)
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            choices = {str(item): item for item in kind}
            pattern = "|".join(re.escape(quoted(choice)[1:-1]) for choice in choices)
            return f'"({pattern})"', f"{self._called(choices)}[{self._gap()}]"
        if is_dataclass(kind):
            return self.of_object(kind, value)
        raise _Unlike

    def _of_array(self, kind: Any, value: Any) -> tuple[str, str]:  # noqa: ANN401 - as above
        items = [self._of(kind, item) for item in value]
        sources = "".join(f"{source}, " for _, source in items)
        return rf"\[{','.join(pattern for pattern, _ in items)}\]", f"({sources})"

    def _of_usage(self, value: JsonObject) -> tuple[str, str]:
        # A count that is always there may be nothing, any other stands where it is something.
        patterns = [(name, _COUNT if name in _ALWAYS else "([1-9][0-9]{0,14})") for name in value]
        return _braced(patterns), self._made(Usage, {name: f"int({self._gap()})" for name in value})

    def _made(self, cls: type, sources: Mapping[str, str]) -> str:
        blank = blank_of(cls)
        if blank is None:
            return f"{self._called(cls)}({', '.join(f'{name}={source}' for name, source in sources.items())})"
        name = self._called(None)
        self.lines.append(f"{name} = {self._called(blank.cls)}()")
        filled = {member: self._called(value) for member, value in blank.defaults.items()} | dict(sources)
        self.lines += [f"{name}.{member} = {source}" for member, source in filled.items()]
        self.lines.append(f"{name}.__class__ = {self._called(cls)}")
        if hasattr(cls, "__post_init__"):
            self.lines.append(f"{name}.__post_init__()")
        return name

    def _gap(self) -> str:
        if len(self.names) >= _MOST_GAPS:
            raise _Unlike
        self.names.append(f"v{len(self.names)}")
        return self.names[-1]

    def _called(self, value: object) -> str:
        name = f"given{len(self.given)}"
        self.given[name] = value
        return name


def _braced(members: list[tuple[str, str]]) -> str:
    """Return the pattern of an object whose keys stand as they do in the canonical line they are from."""
    return rf"\{{{','.join(f'{re.escape(quoted(name))}:{pattern}' for name, pattern in members)}\}}"


@lru_cache(maxsize=1024)
def _usd(text: str) -> Usd:
    return Usd(int(text.replace(".", "")) * (10_000 if text[-3] == "." else 1))


def _path(text: str) -> RelPath:
    # Names that begin with a dot are fit for a path, too: those and all that are none are looked at part by part.
    parted = f"/{text}/"
    if "//" in parted or "/." in parted or len(text) > _MOST_PATH_CHARACTERS:
        return RelPath.parse(text.encode())
    return RelPath(text.encode())


_ALWAYS = frozenset(Usage().to_json())
_AMOUNT = r'"((?:0|[1-9][0-9]{0,11})\.(?:[0-9]{2}|(?![0-9]{2}0000)[0-9]{6}))"'
_PLAIN: Mapping[Any, tuple[str, str]] = {
    str: (_TEXT, "{}"),
    bool: ("(true|false)", "{} == 'true'"),
    int: ("(0|-?[1-9][0-9]{0,14})", "int({})"),
    Usd: (_AMOUNT, "usd({})"),
    Digest: (_DIGEST, "{}"),
    # As the member `path`: one of other bytes stands under a name that no class has.
    RelPath: (_TEXT, "path({})"),
}
"""By kind: its pattern with one gap, and what makes it of the gap."""
