"""Reading one JSON object strictly: every member is asked for once, by type, and nothing may be left over.

`where` names the object in messages. All methods raise InvalidDocumentError with the member's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.digest import Digest, parse_digest
from docket.formats.reason import Reason
from docket.formats.visible import Base64Fault, base64_bytes

T = TypeVar("T")

INSTANT = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,9})?Z"
"""The form of an instant, for `re.ASCII`; nothing in it is a group."""
_INSTANT = re.compile(INSTANT, re.ASCII)


def is_instant(text: str) -> bool:
    """Whether `text` is an RFC 3339 instant in UTC, ending in Z."""
    return _INSTANT.fullmatch(text) is not None


class Reader:
    """The members of one object not yet read."""

    def __init__(self, value: JsonValue, where: str) -> None:
        if not isinstance(value, Mapping):
            raise InvalidDocumentError(Reason.WRONG_TYPE, f"{where} is not an object")
        self.where = where
        self._value: JsonObject = value
        self._left = set(value)

    def has(self, name: str) -> bool:
        """Whether the member stands in the object (null counts)."""
        return name in self._value

    def any(self, name: str) -> JsonValue:
        """Return a member of any type."""
        if name not in self._value:
            raise InvalidDocumentError(Reason.MISSING_MEMBER, f"{self.where} has no member {name!r}")
        self._left.discard(name)
        return self._value[name]

    def optional(self, name: str, read: Callable[[str], T]) -> T | None:
        """Return `read(name)`, or None where the member is absent or null."""
        if self._value.get(name) is None:
            self._left.discard(name)
            return None
        return read(name)

    def text(self, name: str) -> str:
        """Return a text member."""
        value = self.any(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def flag(self, name: str) -> bool:
        """Return a true/false member."""
        value = self.any(name)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def integer(self, name: str, *, minimum: int = 0) -> int:
        """Return an integer member not below `minimum`."""
        value = self.any(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(name, "an integer")
        if value < minimum:
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"{self.where}.{name} is below {minimum}")
        return value

    def digest(self, name: str) -> Digest:
        """Return a SHA-256 member."""
        try:
            return parse_digest(self.any(name))
        except InvalidDocumentError as error:
            raise InvalidDocumentError(error.reason, f"{self.where}.{name}: {error.detail}") from error

    def usd(self, name: str) -> Usd:
        """Return a canonical amount member."""
        try:
            return Usd.parse_canonical(self.any(name))
        except InvalidDocumentError as error:
            raise InvalidDocumentError(error.reason, f"{self.where}.{name}: {error.detail}") from error

    def instant(self, name: str) -> str:
        """Return an RFC 3339 UTC instant member, ending in Z."""
        value = self.text(name)
        if not is_instant(value):
            raise InvalidDocumentError(Reason.NOT_AN_INSTANT, f"{self.where}.{name} is not an RFC 3339 UTC instant")
        return value

    def base64(self, name: str) -> bytes:
        """Return the bytes of a member in base64, in its only spelling."""
        raw = base64_bytes(self.text(name))
        if raw is Base64Fault.UNREADABLE:
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"{self.where}.{name} is not base64")
        if raw is Base64Fault.RESPELLED:
            raise InvalidDocumentError(Reason.NOT_CANONICAL, f"{self.where}.{name} does not re-encode to itself")
        return raw

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return a text member that is one of `choices`."""
        value = self.text(name)
        if value not in choices:
            raise InvalidDocumentError(
                Reason.WRONG_VALUE, f"{self.where}.{name} is {value!r}, not one of {', '.join(choices)}"
            )
        return value

    def items(self, name: str) -> Sequence[JsonValue]:
        """Return an array member."""
        value = self.any(name)
        if not isinstance(value, (list, tuple)):
            raise self._wrong(name, "an array")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return an array-of-texts member."""
        value = self.items(name)
        if not all(isinstance(item, str) for item in value):
            raise self._wrong(name, "an array of texts")
        return tuple(str(item) for item in value)

    def object(self, name: str) -> Reader:
        """Return an object member as a reader of its own."""
        return Reader(self.any(name), f"{self.where}.{name}")

    def mapping(self, name: str) -> JsonObject:
        """Return an object member as it stands."""
        value = self.any(name)
        if not isinstance(value, Mapping):
            raise self._wrong(name, "an object")
        return value

    def close(self) -> None:
        """Refuse members that nobody asked for."""
        if self._left:
            raise InvalidDocumentError(
                Reason.UNKNOWN_MEMBER, f"{self.where} has the unknown member {min(self._left)!r}"
            )

    def _wrong(self, name: str, wanted: str) -> InvalidDocumentError:
        return InvalidDocumentError(Reason.WRONG_TYPE, f"{self.where}.{name} is not {wanted}")
