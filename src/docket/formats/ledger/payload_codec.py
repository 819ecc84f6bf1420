"""The codec between a frozen payload dataclass and an event's `data`, driven by the class's own annotations.

A member that is None is left out; `Usd` is its decimal string, a `RelPath` its `path` or `path_b64`, `Usage` and
`Component` their objects. Reading refuses unknown members, wrong types and missing ones.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Any, ClassVar, TypeAlias, TypeVar

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import MAX_INTEGER, JsonObject, JsonValue, quoted, spelled, utf8
from docket.formats.dataclass import dataclass, field_names, is_dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.event import DATA_DEPTH, Draft, draft_encoded
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.run.usage import Usage


class Payload:
    """A typed event payload; subclasses are frozen dataclasses that name their event type."""

    __slots__ = ()
    TYPE: ClassVar[str]

    def to_data(self) -> dict[str, JsonValue]:
        """Return the event data."""
        return to_members(self)

    def draft(self) -> Draft:
        """Return the event without a place; InvalidDocumentError if a member has no canonical form."""
        return draft_encoded(self.TYPE, encode_members(self, DATA_DEPTH))


P = TypeVar("P")


def to_members(value: object) -> dict[str, JsonValue]:
    """Return the JSON members of a dataclass value."""
    names, members_of = _getter(type(value))  # type: ignore[arg-type] # mypy doubts that a class can be hashed
    members: dict[str, JsonValue] = {}
    for name, member in zip(names, members_of(value), strict=True):
        if type(member) in _PLAIN:
            members[name] = member
        elif isinstance(member, RelPath):
            members.update(member.members())
        elif member is not None:
            members[name] = _to_json(member)
    return members


def encode_members(value: object, depth: int) -> bytes:
    """Return the canonical bytes of `to_members(value)` at `depth`, without building the members on the way."""
    return utf8(_object(value, depth))


def _object(value: object, depth: int) -> str:
    plan = _plan(type(value))  # type: ignore[arg-type] # as above
    if plan is None:
        return spelled(to_members(value), depth)
    inner, writer_of = depth + 1, _WRITERS.get
    parts = [
        f"{key}{_other(member, inner) if (write := writer_of(type(member))) is None else write(member)}"
        for key, member in zip(plan.keys, plan.members_of(value), strict=True)
        if member is not None
    ]
    return f"{{{','.join(parts)}}}"


def _other(member: Any, depth: int) -> str:  # noqa: ANN401 - as `_to_json`
    if isinstance(member, StrEnum):
        _WRITERS[type(member)] = quoted
        return quoted(member)
    if type(member) is tuple:
        return f"[{','.join([_item(inner, depth + 1) for inner in member])}]"
    if is_dataclass(member):
        return _object(member, depth)
    return spelled(_to_json(member), depth)


def _item(member: Any, depth: int) -> str:  # noqa: ANN401 - as `_to_json`
    write = _WRITERS.get(type(member))
    return _other(member, depth) if write is None else write(member)


def from_members(cls: type[P], value: JsonValue, where: str) -> P:
    """Read an object as `cls`; InvalidDocumentError names the member that is wrong."""
    reader = Reader(value, where)
    arguments: dict[str, Any] = {}
    for item in members_of_class(cls):  # type: ignore[arg-type] # as above
        if item.kind is RelPath:
            arguments[item.name] = _path(reader, optional=item.optional)
        elif reader.has(item.name):
            arguments[item.name] = item.read(reader, item.name)
        elif not item.optional:
            raise InvalidDocumentError(Reason.MISSING_MEMBER, f"{where} has no member {item.name!r}")
    reader.close()
    return cls(**arguments)


_PLAIN = frozenset((str, int, bool))
_USAGE_NAMES = sorted(field_names(Usage))
_USAGE_KEYS = tuple(f"{quoted(name)}:" for name in _USAGE_NAMES)
_USAGE_ALWAYS = frozenset(f"{quoted(name)}:" for name in Usage(input_tokens=0).to_json())
_USAGE_COUNTS = attrgetter(*_USAGE_NAMES)


def _whole(number: int) -> str:
    return str(number) if -MAX_INTEGER <= number <= MAX_INTEGER else spelled(number, 1)


def _usage(usage: Usage) -> str:
    counts = zip(_USAGE_KEYS, _USAGE_COUNTS(usage), strict=True)
    return f"{{{','.join([key + _whole(count) for key, count in counts if count or key in _USAGE_ALWAYS])}}}"


_WRITERS: dict[type, Callable[[Any], str]] = {
    str: quoted,
    int: _whole,
    bool: {True: "true", False: "false"}.__getitem__,
    Usd: lambda amount: f'"{amount!s}"',
    Usage: _usage,
}
"""How members of these very types are written, at whatever depth they stand; choices join them with their class."""


_MembersOf: TypeAlias = Callable[[object], tuple[Any, ...]]


@cache
def _getter(cls: type) -> tuple[tuple[str, ...], _MembersOf]:
    names = field_names(cls)
    return names, _members_of(names)


def _members_of(names: tuple[str, ...]) -> _MembersOf:
    if len(names) == 1:
        return lambda value: (getattr(value, names[0]),)
    return attrgetter(*names)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The members of a class in canonical order, each key with its colon."""

    keys: tuple[str, ...]
    members_of: _MembersOf


@cache
def _plan(cls: type) -> _Plan | None:
    if any(item.kind is RelPath for item in members_of_class(cls)):
        return None  # which key a path has depends on its bytes
    names = tuple(sorted(field_names(cls)))
    return _Plan(tuple(f"{quoted(name)}:" for name in names), _members_of(names))


def _to_json(member: Any) -> JsonValue:  # noqa: ANN401 - the annotations of the payload classes say which types come
    if isinstance(member, (Usd, StrEnum)):
        return str(member)
    if isinstance(member, Usage):
        return member.to_json()
    if isinstance(member, Mapping):
        return {key: _to_json(inner) for key, inner in member.items()}
    if isinstance(member, (tuple, list)):
        return [_to_json(inner) for inner in member]
    if is_dataclass(member):
        return to_members(member)
    return member  # type: ignore[no-any-return] # a plain value, or one that the encoder refuses


_Read: TypeAlias = Callable[[Reader, str], Any]


@dataclass(frozen=True, slots=True)
class MemberKind:
    """A member of a payload class: the annotation without its None, and how it is read strictly."""

    name: str
    kind: Any
    optional: bool
    read: _Read


@cache
def members_of_class(cls: type) -> tuple[MemberKind, ...]:
    """Return the members of a payload class, or of one that stands in a payload, as they are annotated."""
    # JsonValue is recursive text: its names are looked up here, not in the module of the payload.
    hints = typing.get_type_hints(cls, localns={"Sequence": Sequence, "Mapping": Mapping, "JsonValue": JsonValue})
    shape = []
    for name in field_names(cls):
        kind, optional = hints[name], False
        if typing.get_origin(kind) in (UnionType, typing.Union):
            kind, optional = next(arg for arg in typing.get_args(kind) if arg is not type(None)), True
        shape.append(MemberKind(name, kind, optional, _reading(kind)))
    return tuple(shape)


def _path(reader: Reader, *, optional: bool) -> RelPath | None:
    members: dict[str, JsonValue] = {name: reader.any(name) for name in ("path", "path_b64") if reader.has(name)}
    if optional and not members:
        return None
    return RelPath.from_members(members)


_READERS: dict[Any, _Read] = {
    str: Reader.text,
    bool: Reader.flag,
    int: lambda reader, name: reader.integer(name, minimum=-MAX_INTEGER),
    Usd: Reader.usd,
    Digest: Reader.digest,
    Usage: lambda reader, name: Usage.from_json(reader.any(name), f"{reader.where}.{name}"),
    tuple[str, ...]: Reader.texts,
}


def _reading(kind: Any) -> _Read:  # noqa: ANN401 - an annotation
    known = _READERS.get(kind)
    if known is not None:
        return known
    origin = typing.get_origin(kind)
    if origin is tuple:
        inner = typing.get_args(kind)[0]
        return lambda reader, name: tuple(
            from_members(inner, item, f"{reader.where}.{name}[{place}]")
            for place, item in enumerate(reader.items(name))
        )
    if origin is not None:
        return Reader.mapping
    if issubclass(kind, StrEnum):
        choices = tuple(str(item) for item in kind)
        return lambda reader, name: kind(reader.choice(name, choices))
    return lambda reader, name: from_members(kind, reader.any(name), f"{reader.where}.{name}")


__all__ = ["JsonObject", "MemberKind", "Payload", "from_members", "members_of_class", "to_members"]
