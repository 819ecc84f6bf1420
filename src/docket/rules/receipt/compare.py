"""The first difference between two JSON values, as a sentence that names the member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.shown import shown


def difference(stated: JsonValue, wanted: JsonValue, where: str) -> str | None:
    """Return where `stated` departs from `wanted`, or None; types count, so that 1 is not true."""
    if isinstance(stated, Mapping) and isinstance(wanted, Mapping):
        return _in_object(stated, wanted, where)
    if _is_array(stated) and _is_array(wanted):
        return _in_array(stated, wanted, where)  # type: ignore[arg-type]
    if type(stated) is type(wanted) and stated == wanted:
        return None
    return f"{where} is {shown(stated)}, the ledger gives {shown(wanted)}"


_WHOLE = frozenset(("document", "by_provider", "event_counts"))
"""Members whose names are values: another one beside them is a difference."""


def missing_or_different(stated: JsonObject, wanted: JsonObject, where: str) -> str | None:
    """As `difference`, for a `wanted` that holds only some of the members: others may stand beside them."""
    for name, value in wanted.items():
        inner = stated.get(name)
        if isinstance(value, Mapping) and isinstance(inner, Mapping) and name not in _WHOLE:
            found = missing_or_different(inner, value, f"{where}.{name}")
        else:
            found = difference(inner, value, f"{where}.{name}")
        if found is not None:
            return found
    return None


def _in_object(stated: JsonObject, wanted: JsonObject, where: str) -> str | None:
    for name, value in wanted.items():
        if name not in stated:
            return f"{where} has no member {shown(name)}"
        found = difference(stated[name], value, f"{where}.{name}")
        if found is not None:
            return found
    for name in stated:
        if name not in wanted:
            return f"{where} has the member {shown(name)}, the ledger gives none"
    return None


def _in_array(stated: Sequence[JsonValue], wanted: Sequence[JsonValue], where: str) -> str | None:
    for index, (one, other) in enumerate(zip(stated, wanted, strict=False)):
        found = difference(one, other, f"{where}[{index}]")
        if found is not None:
            return found
    if len(stated) != len(wanted):
        return f"{where} has {len(stated)} items, the ledger gives {len(wanted)}"
    return None


def _is_array(value: JsonValue) -> bool:
    return isinstance(value, (list, tuple))
