"""The codec between a frozen payload dataclass and an event's `data`, driven by the class's own annotations.

A member that is None is left out; `Usd` is its decimal string, a `RelPath` its `path` or `path_b64`, `Usage` and
`Component` their objects. Reading refuses unknown members, wrong types and missing ones.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from types import UnionType
from typing import Any, ClassVar, TypeVar

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.digest import Digest
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


P = TypeVar("P")


def to_members(value: object) -> dict[str, JsonValue]:
    """Return the JSON members of a dataclass value."""
    members: dict[str, JsonValue] = {}
    for item in fields(value):  # type: ignore[arg-type]
        member = getattr(value, item.name)
        if isinstance(member, RelPath):
            members.update(member.members())
        elif member is not None:
            members[item.name] = _to_json(member)
    return members


def from_members(cls: type[P], value: JsonValue, where: str) -> P:
    """Read an object as `cls`; InvalidDocumentError names the member that is wrong."""
    reader = Reader(value, where)
    arguments: dict[str, Any] = {}
    for name, kind, optional in _shape(cls):
        if kind is RelPath:
            arguments[name] = _path(reader, optional=optional)
        elif reader.has(name):
            arguments[name] = _member(reader, name, kind)
        elif not optional:
            raise InvalidDocumentError(Reason.MISSING_MEMBER, f"{where} has no member {name!r}")
    reader.close()
    return cls(**arguments)


def _to_json(member: Any) -> JsonValue:  # noqa: ANN401 - the annotations of the payload classes say which types come
    if isinstance(member, (Usd, StrEnum)):
        return str(member)
    if isinstance(member, Usage):
        return member.to_json()
    if isinstance(member, (bool, int, str)):
        return member
    if isinstance(member, Mapping):
        return {str(key): _to_json_or_none(inner) for key, inner in member.items()}
    if isinstance(member, (tuple, list)):
        return [_to_json_or_none(inner) for inner in member]
    return to_members(member)


def _to_json_or_none(member: Any) -> JsonValue:  # noqa: ANN401
    return None if member is None else _to_json(member)


_SHAPES: dict[type, tuple[tuple[str, Any, bool], ...]] = {}


def _shape(cls: type) -> tuple[tuple[str, Any, bool], ...]:
    known = _SHAPES.get(cls)
    if known is not None:
        return known
    # JsonValue is recursive text: its names are looked up here, not in the module of the payload.
    hints = typing.get_type_hints(cls, localns={"Sequence": Sequence, "Mapping": Mapping, "JsonValue": JsonValue})
    shape = []
    for item in fields(cls):
        kind, optional = hints[item.name], False
        if typing.get_origin(kind) in (UnionType, typing.Union):
            kind, optional = next(arg for arg in typing.get_args(kind) if arg is not type(None)), True
        shape.append((item.name, kind, optional))
    _SHAPES[cls] = tuple(shape)
    return _SHAPES[cls]


def _path(reader: Reader, *, optional: bool) -> RelPath | None:
    members: dict[str, JsonValue] = {name: reader.any(name) for name in ("path", "path_b64") if reader.has(name)}
    if optional and not members:
        return None
    return RelPath.from_members(members)


_READERS: dict[Any, Callable[[Reader, str], Any]] = {
    str: lambda reader, name: reader.text(name),
    bool: lambda reader, name: reader.flag(name),
    int: lambda reader, name: reader.integer(name, minimum=-(2**53) + 1),
    Usd: lambda reader, name: reader.usd(name),
    Digest: lambda reader, name: reader.digest(name),
    Usage: lambda reader, name: Usage.from_json(reader.any(name), f"{reader.where}.{name}"),
    tuple[str, ...]: lambda reader, name: reader.texts(name),
}


def _member(reader: Reader, name: str, kind: Any) -> Any:  # noqa: ANN401
    read = _READERS.get(kind)
    if read is not None:
        return read(reader, name)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(reader.choice(name, tuple(str(item) for item in kind)))
    origin = typing.get_origin(kind)
    if origin is tuple:
        inner = typing.get_args(kind)[0]
        items: Sequence[JsonValue] = reader.items(name)
        return tuple(from_members(inner, item, f"{reader.where}.{name}[{i}]") for i, item in enumerate(items))
    if origin is not None and issubclass(origin, Mapping):
        return reader.mapping(name)
    return from_members(kind, reader.any(name), f"{reader.where}.{name}")


__all__ = ["JsonObject", "Payload", "from_members", "to_members"]
