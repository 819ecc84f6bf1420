"""Canonical JSON: the one spelling of a value that is hashed, chained and stored.

Rules (spec/canonical.md):
1. UTF-8; object keys sorted by Unicode code point; `,` and `:` without blanks.
2. `\\" \\\\ \\n \\r \\t \\b \\f`, any other C0 character as `\\u00xx` in lower case; all else literal.
3. Integers within +-(2**53 - 1) only; a fraction is a decimal string in the value model.
4. `decode` accepts exactly what `encode` produces; `decode_document` reads what people edit (blanks, any key
   order, an integral float as its integer) and is otherwise as strict.

It does not know any document: shapes are read with `formats.reading`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NoReturn, TypeAlias

from docket.errors import InvalidDocumentError
from docket.formats.reason import Reason

JsonValue: TypeAlias = "bool | int | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = "Mapping[str, JsonValue]"

MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 64


def encode(value: JsonValue, *, depth: int = 1) -> bytes:
    """Return the canonical bytes of `value`; raise InvalidDocumentError for what has none.

    `depth` is the level at which the value will stand where it is a part of a larger one.
    """
    _check(value, depth)
    return encode_trusted(value)


def encode_trusted(value: JsonValue) -> bytes:
    """Return the canonical bytes of a value whose types and integers have already been checked."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidDocumentError(
            Reason.LONE_SURROGATE, "a text holds half of a surrogate pair and has no UTF-8 form"
        ) from error


def decode(data: bytes) -> JsonValue:
    """Return the value whose canonical bytes are exactly `data`; raise InvalidDocumentError otherwise."""
    value = _parse(data, _refuse_float)
    _check(value, 1)
    # Re-encoding catches blanks, key order, duplicate keys, other escapes and other spellings of a number.
    if encode_trusted(value) != data:
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "the bytes are JSON but not in canonical form")
    return value


def decode_document(data: bytes) -> JsonValue:
    """Return the value of a document written for people; strict but for blanks, key order and `1.0`."""
    value = _parse(data, _integral, pairs_hook=_unique)
    _check(value, 1)
    return value


def encode_document(value: JsonValue) -> bytes:
    """Return `value` indented for people, checked as `encode` checks it, with a final newline."""
    _check(value, 1)
    return (json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2) + "\n").encode("utf-8")


def _parse(data: bytes, float_hook: object, pairs_hook: object = None) -> JsonValue:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidDocumentError(Reason.NOT_UTF8, f"byte {error.start} is not UTF-8") from error
    if text.startswith("\ufeff"):
        raise InvalidDocumentError(Reason.BYTE_ORDER_MARK, "the document begins with a byte order mark")
    try:
        value: JsonValue = json.loads(
            text,
            parse_float=float_hook,  # type: ignore[arg-type]
            parse_constant=_refuse_constant,
            object_pairs_hook=pairs_hook,  # type: ignore[arg-type]
        )
    except RecursionError as error:
        raise InvalidDocumentError(Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels") from error
    except ValueError as error:
        raise InvalidDocumentError(Reason.NOT_JSON, f"not JSON: {error}") from error
    return value


def _check(value: object, depth: int) -> None:
    kind = type(value)
    if kind is str:
        if not value.isascii():  # type: ignore[attr-defined]
            _check_text(value)  # type: ignore[arg-type]
    elif kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:  # type: ignore[operator]
            raise InvalidDocumentError(Reason.INTEGER_TOO_LARGE, "an integer lies outside +-(2^53-1)")
    elif value is None or kind is bool:
        return
    elif isinstance(value, Mapping):
        _check_depth(depth)
        for key, member in value.items():
            if type(key) is not str:
                raise InvalidDocumentError(Reason.WRONG_TYPE, f"an object key is {type(key).__name__}, not text")
            _check_text(key)
            _check(member, depth + 1)
    elif isinstance(value, (list, tuple)):
        _check_depth(depth)
        for member in value:
            _check(member, depth + 1)
    else:
        raise InvalidDocumentError(Reason.WRONG_TYPE, f"{kind.__name__} has no canonical form")


def _check_text(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidDocumentError(
            Reason.LONE_SURROGATE, "a text holds half of a surrogate pair and has no UTF-8 form"
        ) from error


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidDocumentError(Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels")


def _refuse_float(text: str) -> NoReturn:
    raise InvalidDocumentError(Reason.FRACTION, f"{text[:40]} is not an integer; a fraction is a decimal string")


def _refuse_constant(text: str) -> NoReturn:
    raise InvalidDocumentError(Reason.NOT_JSON, f"{text} is not JSON")


def _integral(text: str) -> int:
    number = float(text)
    if not abs(number) <= MAX_INTEGER or number != int(number):
        _refuse_float(text)
    return int(number)


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InvalidDocumentError(Reason.DUPLICATE_KEY, f"the key {twice!r} stands twice in one object")
    return members
