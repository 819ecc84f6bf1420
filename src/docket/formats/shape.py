"""Shapes of JSON documents as values: small checks put together, each naming the member that is wrong.

A shape is a function (value, where) that returns nothing or raises InvalidDocumentError. It converts nothing: a
document that passed is read with the knowledge that it did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.digest import parse_digest
from docket.formats.reading import Reader, is_instant
from docket.formats.reason import Reason

Shape: TypeAlias = Callable[[JsonValue, str], None]


def anything(_value: JsonValue, _where: str) -> None:
    """Accept any value."""


def text(value: JsonValue, where: str) -> None:
    """Accept a text."""
    _demand(isinstance(value, str), where, "a text")


def flag(value: JsonValue, where: str) -> None:
    """Accept true or false."""
    _demand(isinstance(value, bool), where, "true or false")


def count(value: JsonValue, where: str) -> None:
    """Accept a non-negative integer."""
    _demand(_is_integer(value), where, "an integer")
    if isinstance(value, int) and value < 0:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{where} is below 0")


def integer(value: JsonValue, where: str) -> None:
    """Accept any integer."""
    _demand(_is_integer(value), where, "an integer")


def digest(value: JsonValue, where: str) -> None:
    """Accept a SHA-256."""
    _rename(where, lambda: parse_digest(value))


def amount(value: JsonValue, where: str) -> None:
    """Accept a canonical amount."""
    _rename(where, lambda: Usd.parse_canonical(value))


def instant(value: JsonValue, where: str) -> None:
    """Accept an RFC 3339 UTC instant."""
    if type(value) is not str or not is_instant(value):
        Reader({where: value}, "the document").instant(where)


def nullable(shape: Shape) -> Shape:
    """Accept null or what `shape` accepts."""

    def check(value: JsonValue, where: str) -> None:
        if value is not None:
            shape(value, where)

    return check


def null(value: JsonValue, where: str) -> None:
    """Accept null."""
    _demand(value is None, where, "null")


def constant(wanted: JsonValue) -> Shape:
    """Accept one value, of the same type."""

    def check(value: JsonValue, where: str) -> None:
        if type(value) is not type(wanted) or value != wanted:
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"{where} is not {wanted!r}")

    return check


def array(shape: Shape) -> Shape:
    """Accept an array whose every item `shape` accepts."""

    def check(value: JsonValue, where: str) -> None:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise InvalidDocumentError(Reason.WRONG_TYPE, f"{where} is not an array")
        for index, item in enumerate(value):
            shape(item, f"{where}[{index}]")

    return check


def mapping(shape: Shape) -> Shape:
    """Accept an object of any keys whose every member `shape` accepts."""

    def check(value: JsonValue, where: str) -> None:
        if not isinstance(value, Mapping):
            raise InvalidDocumentError(Reason.WRONG_TYPE, f"{where} is not an object")
        for key, member in value.items():
            shape(member, f"{where}.{key}")

    return check


def record(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None, *, closed: bool = True) -> Shape:
    """Accept an object with these members; `closed` refuses any other."""
    known = {**required, **(optional or {})}

    def check(value: JsonValue, where: str) -> None:
        if not isinstance(value, Mapping):
            raise InvalidDocumentError(Reason.WRONG_TYPE, f"{where} is not an object")
        for name in required:
            if name not in value:
                raise InvalidDocumentError(Reason.MISSING_MEMBER, f"{where} has no member {name!r}")
        for name, member in value.items():
            shape = known.get(name)
            if shape is not None:
                shape(member, f"{where}.{name}")
            elif closed:
                raise InvalidDocumentError(Reason.UNKNOWN_MEMBER, f"{where} has the unknown member {name!r}")

    return check


def _is_integer(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _demand(held: bool, where: str, wanted: str) -> None:  # noqa: FBT001 - the one thing that is asked
    if not held:
        raise InvalidDocumentError(Reason.WRONG_TYPE, f"{where} is not {wanted}")


def _rename(where: str, read: Callable[[], object]) -> None:
    try:
        read()
    except InvalidDocumentError as error:
        raise InvalidDocumentError(error.reason, f"{where}: {error.detail}") from error
