"""The quick way of reading payloads: what is right at first sight is read without a word for what is wrong.

Rules: it accepts nothing that the strict reading of `payload_codec` refuses, and gives the same values; wherever it is
not sure it gives None, and the strict reading decides, and finds the words. A member costs one look and one comparison
of types: most of verifying a long ledger is reading payloads.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import MAX_INTEGER
from docket.formats.dataclass import field_names
from docket.formats.digest import Digest, is_digest
from docket.formats.relpath import RelPath
from docket.formats.run.usage import Usage

Glance: TypeAlias = "Callable[[Any], Any]"
"""Takes a member's JSON value and returns its typed value, or None where it is not sure."""

_Look: TypeAlias = "tuple[type | None, Glance]"
_PLAIN: Mapping[Any, type] = {str: str, bool: bool}
_MOST_PLANS = 256


class Member(NamedTuple):
    """A member as it is looked for: `plain` is the type of a value that is taken as it is, else `glance` reads it."""

    name: str
    optional: bool
    plain: type | None
    glance: Glance


class Quick:
    """The quick reading of one class; for each set of keys that came, what is looked at in their order."""

    __slots__ = ("_cls", "_members", "_plans")

    def __init__(self, cls: Callable[..., Any], members: tuple[Member, ...]) -> None:
        self._cls, self._members = cls, members
        self._plans: dict[tuple[str, ...], tuple[_Look, ...]] = {}

    def read(self, value: object) -> Any | None:  # noqa: ANN401 - as the codec
        """Return the object read as the class, or None where that is not sure."""
        if type(value) is not dict:
            return None
        keys = tuple(value)
        plan = self._plans.get(keys) or self._planned(keys)
        if plan is None:
            return None
        arguments = []
        try:
            for (plain, glance), found in zip(plan, value.values(), strict=True):
                if plain is None:
                    typed = glance(found)
                    if typed is None:
                        return None
                    arguments.append(typed)
                elif type(found) is plain:
                    arguments.append(found)
                else:
                    return None
            return self._cls(**dict(zip(keys, arguments, strict=True)))
        except InvalidDocumentError:
            return None

    def _planned(self, keys: tuple[str, ...]) -> tuple[_Look, ...] | None:
        known = {item.name: item for item in self._members}
        if not known.keys() >= set(keys) or any(not item.optional and item.name not in keys for item in self._members):
            return None
        if len(self._plans) >= _MOST_PLANS:
            self._plans.clear()
        plan = self._plans[keys] = tuple((known[key].plain, known[key].glance) for key in keys)
        return plan


def looked_for(name: str, kind: Any, quick_of: Callable[[type], Quick], *, optional: bool) -> Member:  # noqa: ANN401 - an annotation
    """Return how a member of this annotated kind is looked at; `quick_of` gives the reading of a class within."""
    return Member(name, optional, _PLAIN.get(kind), _glance(kind, quick_of))


def _glance(kind: Any, quick_of: Callable[[type], Quick]) -> Glance:  # noqa: ANN401 - an annotation
    known = _GLANCES.get(kind)
    if known is not None:
        return known
    origin = typing.get_origin(kind)
    if origin is tuple:
        return _sequence(_glance(typing.get_args(kind)[0], quick_of))
    if origin is not None:
        return lambda value: value if type(value) is dict else None
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        choices = {str(item): item for item in kind}
        return lambda value: choices.get(value) if type(value) is str else None
    inner = typing.cast("type", kind)
    return lambda value: quick_of(inner).read(value)


def _sequence(glance: Glance) -> Glance:
    def read(value: object) -> tuple[Any, ...] | None:
        if type(value) is not list:
            return None
        items = tuple([glance(item) for item in value])
        return None if any(item is None for item in items) else items

    return read


def _integer(value: object) -> int | None:
    return value if type(value) is int and -MAX_INTEGER <= value <= MAX_INTEGER else None


def _usage(value: object) -> Usage | None:
    if type(value) is not dict or not value.keys() >= _ALWAYS or 0 in [value[key] for key in value.keys() - _ALWAYS]:
        return None
    return Usage(**value) if value.keys() <= _COUNTS else None


@lru_cache(maxsize=4096)
def _amount(text: str) -> Usd:
    return Usd.parse_canonical(text)


_ALWAYS = frozenset(Usage().to_json())
_COUNTS = frozenset(field_names(Usage))
_GLANCES: Mapping[Any, Glance] = {
    str: lambda value: value if type(value) is str else None,
    bool: lambda value: value if type(value) is bool else None,
    int: _integer,
    Usd: lambda value: _amount(value) if type(value) is str else None,
    Digest: lambda value: value if type(value) is str and is_digest(value) else None,
    Usage: _usage,
    # A path of other bytes stands under another name, and is left to the strict reading.
    RelPath: lambda value: RelPath.from_members({"path": value}),
}
