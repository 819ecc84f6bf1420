"""Members of a document that anybody may have written, read for what they are good for: by type, or as not there.

Rules:
1. Nothing raises. A member that is missing, or of another type, gives the empty value of the type that is asked for.
2. `…_of` takes a value, `…_at` the names that lead to it, level by level.

What is verified is read with `formats.reading`, which refuses. This is for what is told, found or exported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue, LazyArray
from docket.formats.reading import is_instant


def part(document: JsonObject, *names: str) -> JsonValue:
    """Return a nested member, None where a level is missing or is no object."""
    value: JsonValue = document
    for name in names:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def text_of(value: JsonValue) -> str:
    """Return a text, the empty one for what is none."""
    return value if isinstance(value, str) else ""


def integer_of(value: JsonValue) -> int:
    """Return an integer, 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def count_of(value: JsonValue) -> int:
    """Return an integer that counts something, 0 for what is none or below."""
    return max(0, integer_of(value))


def object_of(value: JsonValue) -> JsonObject:
    """Return an object, an empty one for what is none."""
    return value if isinstance(value, Mapping) else {}


def items_of(value: JsonValue) -> Sequence[JsonValue]:
    """Return an array, an empty one for what is none."""
    return value if isinstance(value, (list, tuple, LazyArray)) else ()


def amount_of(value: JsonValue) -> Usd | None:
    """Return an amount as it is written anywhere, None for anything else."""
    try:
        return Usd.parse(value)
    except InvalidDocumentError:
        return None


def instant_of(value: JsonValue) -> str | None:
    """Return an RFC 3339 instant in UTC, None for anything else."""
    return value if isinstance(value, str) and is_instant(value) else None


def text_at(document: JsonObject, *names: str) -> str:
    """Return a nested text."""
    return text_of(part(document, *names))


def count_at(document: JsonObject, *names: str) -> int:
    """Return a nested count."""
    return count_of(part(document, *names))


def rows_at(document: JsonObject, *names: str) -> tuple[JsonObject, ...]:
    """Return the objects of a nested array; what else stands in it is left out."""
    return tuple(item for item in items_of(part(document, *names)) if isinstance(item, Mapping))


def texts_at(document: JsonObject, *names: str) -> tuple[str, ...]:
    """Return the texts of a nested array; what else stands in it is left out."""
    return tuple(item for item in items_of(part(document, *names)) if isinstance(item, str))
