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
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any, NoReturn, TypeAlias, overload

from docket.errors import InvalidDocumentError
from docket.formats.reason import Reason

JsonValue: TypeAlias = "bool | int | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = "Mapping[str, JsonValue]"

MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 64
_MOST_DIGITS = len(str(MAX_INTEGER))
NEW_LINE = "\n"


class LazyArray(Sequence["JsonValue"]):
    """An array whose items are made when they are asked for, and that writes itself as `encode` would write them."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment] # as a list

    @abstractmethod
    def item(self, index: int, /) -> JsonValue:
        """Return an item; `index` is within the array."""

    @abstractmethod
    def spelled(self) -> str:
        """Return the canonical text."""

    @abstractmethod
    def indented(self, margin: str, /) -> str:
        """Return the text that `encode_document` writes; `margin` is an LF and the blanks before the last bracket."""

    @overload
    def __getitem__(self, index: int, /) -> JsonValue: ...

    @overload
    def __getitem__(self, index: slice, /) -> list[JsonValue]: ...

    def __getitem__(self, index: int | slice, /) -> JsonValue | list[JsonValue]:
        places = range(len(self))[index]
        return [self.item(place) for place in places] if isinstance(places, range) else self.item(places)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (list, tuple, LazyArray)) else NotImplemented


quoted: Callable[[str], str] = encode_basestring
"""A text in quotes, escaped as rule 2 says; half of a surrogate pair passes."""


def encode(value: JsonValue, *, depth: int = 1) -> bytes:
    """Return the canonical bytes of `value`; raise InvalidDocumentError for what has none.

    `depth` is the level at which the value will stand where it is a part of a larger one.
    """
    return utf8(spelled(value, depth))


def decode(data: bytes) -> JsonValue:
    """Return the value whose canonical bytes are exactly `data`; raise InvalidDocumentError otherwise."""
    value = _parse(data, _CANONICAL)
    # Re-encoding catches blanks, key order, duplicate keys, other escapes and other spellings of a number.
    if not _is_spelled(value, data) and encode(value) != data:
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "the bytes are JSON but not in canonical form")
    return value


def decode_document(data: bytes, *, shared: bool = False) -> JsonValue:
    """Return the value of a document written for people; strict but for blanks, key order and `1.0`.

    `shared`: equal small objects of two texts are one object, which must not be changed. The paths of a receipt's rows
    meet on their way to the root, and say the same steps many times.
    """
    value = _parse(data, _for_people(_sharing()) if shared else _FOR_PEOPLE)
    if b"\\u" in data:
        encode(value)  # only an escape can have made half of a surrogate pair
    else:
        _check_depth(value)
    return value


def first_member(data: bytes, name: str) -> JsonValue:
    """Return a member of the object that a document begins as, read no further; None where none can be read so far.

    A look at what is not decoded yet, and may be none: nothing of it is certain but what leads to the next step.
    """
    text = data.decode("utf-8", "ignore")
    try:
        at = _behind(text, 0, "{")
        while True:
            key, at = _FOR_PEOPLE.raw_decode(text, _behind(text, at))
            value, at = _FOR_PEOPLE.raw_decode(text, _behind(text, at, ":"))
            if key == name:
                found: JsonValue = value
                return found
            at = _behind(text, at, ",")
    except (ValueError, RecursionError, InvalidDocumentError):
        return None


def _behind(text: str, at: int, mark: str = "") -> int:
    """Return where the next value begins, behind blanks and a mark that must stand there."""
    at = _BLANKS.match(text, at).end()  # type: ignore[union-attr] # no blank is one, too
    if not text.startswith(mark, at):
        raise ValueError(mark)
    return _BLANKS.match(text, at + len(mark)).end()  # type: ignore[union-attr] # as above


def encode_document(value: JsonValue) -> bytes:
    """Return `value` indented for people, checked as `encode` checks it, with a final newline."""
    return utf8(f"{_indented(value, 1, NEW_LINE)}\n")


def object_at(document: JsonObject, name: str) -> JsonObject:
    """Return the object that a document has under this name, empty where it has none or something else there."""
    value = document.get(name)
    return value if isinstance(value, Mapping) else {}


def utf8(text: str) -> bytes:
    """Return the UTF-8 bytes of canonical text; InvalidDocumentError for half of a surrogate pair."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidDocumentError(
            Reason.LONE_SURROGATE, "a text holds half of a surrogate pair and has no UTF-8 form"
        ) from error


def _is_spelled(value: JsonValue, data: bytes) -> bool:
    """Whether these are surely the canonical bytes of what was parsed from them; False leaves it to `encode`.

    The standard library's encoder in C writes as rules 1 and 2 say, in a fifth of the time. It knows no bounds
    of rule 3 and no depth: where a number may be out of bounds, or so many levels be open, it is not asked.
    """
    if _MANY_DIGITS.search(data) or data.count(b"{") + data.count(b"[") > MAX_DEPTH:
        return False
    try:
        return _IN_C(value).encode("utf-8") == data
    except UnicodeEncodeError:
        return False


def _parse(data: bytes, decoder: json.JSONDecoder) -> JsonValue:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidDocumentError(Reason.NOT_UTF8, f"byte {error.start} is not UTF-8") from error
    if text.startswith("\ufeff"):
        raise InvalidDocumentError(Reason.BYTE_ORDER_MARK, "the document begins with a byte order mark")
    try:
        value: JsonValue = decoder.decode(text)
    except RecursionError as error:
        raise _too_deep() from error
    except json.JSONDecodeError as error:
        why = error if text.strip() else "there is nothing in it"
        raise InvalidDocumentError(Reason.NOT_JSON, f"not JSON: {why}") from error
    except ValueError as error:  # an integer of more digits than the interpreter takes
        raise _too_large() from error
    return value


def spelled(value: object, depth: int) -> str:
    """Return canonical text that stands at `depth`; what is not exactly a value of the model is refused where it is.

    Half of a surrogate pair passes here and stops at `utf8`.
    """
    kind = type(value)
    if kind is str:
        return quoted(value)  # type: ignore[arg-type]
    if kind is int:
        return _integer(value)  # type: ignore[arg-type]
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if depth > MAX_DEPTH:
        raise _too_deep()
    if kind is dict or isinstance(value, Mapping):
        return _object(value, depth)  # type: ignore[arg-type]
    if isinstance(value, (list, tuple)):
        return f"[{','.join([spelled(member, depth + 1) for member in value])}]"
    if isinstance(value, LazyArray):
        return value.spelled()
    raise InvalidDocumentError(Reason.WRONG_TYPE, f"{kind.__name__} has no canonical form")


def _object(value: Mapping[Any, object], depth: int) -> str:
    try:
        keys = sorted(value)
    except TypeError as error:
        raise InvalidDocumentError(Reason.WRONG_TYPE, "an object has keys that are not text") from error
    parts = []
    for key in keys:
        if type(key) is not str:
            raise InvalidDocumentError(Reason.WRONG_TYPE, f"an object key is {type(key).__name__}, not text")
        member = value[key]
        # Most members are texts: one call less for each is a quarter of the time an event takes.
        shown = quoted(member) if type(member) is str else spelled(member, depth + 1)
        parts.append(f"{quoted(key)}:{shown}")
    return f"{{{','.join(parts)}}}"


def _indented(value: object, depth: int, margin: str) -> str:
    """Write as `spelled` does, but each member on a line of its own and in the order it stands."""
    if not isinstance(value, (Mapping, list, tuple)) or not value:
        return value.indented(margin) if isinstance(value, LazyArray) else spelled(value, depth)
    if depth > MAX_DEPTH:
        raise _too_deep()
    inner = margin + "  "
    if isinstance(value, Mapping):
        parts = [f"{_key(key)}: {_indented(member, depth + 1, inner)}" for key, member in value.items()]
        return f"{{{inner}{f',{inner}'.join(parts)}{margin}}}"
    parts = [_indented(member, depth + 1, inner) for member in value]
    return f"[{inner}{f',{inner}'.join(parts)}{margin}]"


def _key(key: object) -> str:
    if type(key) is not str:
        raise InvalidDocumentError(Reason.WRONG_TYPE, f"an object key is {type(key).__name__}, not text")
    return quoted(key)


def _check_depth(value: JsonValue) -> None:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return
        # A level at a time and not by recursion: a receipt of a long run has half a million objects.
        level = [
            member
            for outer in level
            for member in (outer.values() if type(outer) is dict else outer)
            if type(member) is dict or type(member) is list
        ]
    if level:
        raise _too_deep()


def _integer(value: int) -> str:
    if not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise _too_large()
    return str(value)


def _too_large() -> InvalidDocumentError:
    return InvalidDocumentError(Reason.INTEGER_TOO_LARGE, "an integer lies outside +-(2^53-1)")


def _too_deep() -> InvalidDocumentError:
    return InvalidDocumentError(Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels")


def _refuse_float(text: str) -> NoReturn:
    raise InvalidDocumentError(Reason.FRACTION, f"{text[:40]} is not an integer; a fraction is a decimal string")


def _refuse_constant(text: str) -> NoReturn:
    raise InvalidDocumentError(Reason.NOT_JSON, f"{text} is not JSON")


def _integral(text: str) -> int:
    """Return what a number with a point or an exponent says, decided on its digits."""
    mantissa, _, power = text.lower().partition("e")
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    if not kept:
        return 0
    zeros = _power(power) - len(fraction) + len(digits) - len(kept)
    if zeros < 0:
        _refuse_float(text)
    if len(kept) + zeros > _MOST_DIGITS:
        raise _too_large()
    number = int(kept + "0" * zeros)
    return _small(f"-{number}" if text.startswith("-") else str(number))


def _power(text: str) -> int:
    digits = text.lstrip("+-").lstrip("0")
    # No text is so long that its digits could make up for more.
    size = int(digits or "0") if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS
    return -size if text.startswith("-") else size


def _small(text: str) -> int:
    if len(text) > _MOST_DIGITS + 1:
        raise _too_large()
    number = int(text)
    _integer(number)
    return number


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InvalidDocumentError(Reason.DUPLICATE_KEY, f"the key {twice!r} stands twice in one object")
    return members


def _sharing() -> Callable[[list[tuple[str, JsonValue]]], dict[str, JsonValue]]:
    known: dict[tuple[str, JsonValue, str, JsonValue], dict[str, JsonValue]] = {}

    def members(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        if len(pairs) == 2:
            (one, first), (other, second) = pairs
            if type(first) is str and type(second) is str and one != other:
                key = (one, first, other, second)
                found = known.get(key)
                if found is None:
                    found = known[key] = {one: first, other: second}
                return found
        return _unique(pairs)

    return members


def _for_people(members: Callable[[list[tuple[str, JsonValue]]], dict[str, JsonValue]]) -> json.JSONDecoder:
    return json.JSONDecoder(
        parse_float=_integral, parse_int=_small, parse_constant=_refuse_constant, object_pairs_hook=members
    )


_BLANKS = re.compile(r"[ \t\n\r]*")
_MANY_DIGITS = re.compile(rb"(?:^|[:,\[-])[0-9]{16}")
_IN_C = json.JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":")).encode
_CANONICAL = json.JSONDecoder(parse_float=_refuse_float, parse_constant=_refuse_constant)
_FOR_PEOPLE = _for_people(_unique)
