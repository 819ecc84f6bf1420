"""Reading one provider's section of a price book, strictly: what is used later without a look is checked here.

The members of a section: `models`, and optionally `serves` (a match: whose models these are), `defaults` (rates),
`unlisted` (multiples for tiers and speeds without prices), `geo`, `context_default`, `max_output_default`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from docket.errors import InvalidDocumentError
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.run.price_table import parse_price

RATE_NAMES = (
    "input", "cached_input", "cache_write", "cache_write_1h", "output", "audio_input", "audio_output", "web_search",
    "file_search", "cached_audio_input", "image_input", "cached_image_input", "image_output", "code_interpreter",
    "audio_hour",
)  # fmt: skip
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HOUR = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_MAX_CLAUSE_DEPTH = 8


def read_section(line: bytes, name: str) -> Mapping[str, Any]:
    """Return the section that stands in one line of a book; InvalidDocumentError names what is wrong."""
    where = f"price book.{name}"
    section = load_object(b"{" + line.rstrip(b"\r").rstrip(b",") + b"}", where).get(name)
    reader = Reader(section, where)
    for item in reader.items("models"):
        _entry(item, f"{where}.models")
    if reader.has("serves"):
        _clause(reader.any("serves"), f"{where}.serves", 1)
    if reader.has("defaults"):
        _rates(reader.mapping("defaults"), f"{where}.defaults", RATE_NAMES)
    if reader.has("unlisted"):
        for multiples in reader.mapping("unlisted").values():
            _multiples(multiples, f"{where}.unlisted")
    if reader.has("geo"):
        for region in reader.mapping("geo").values():
            geo = Reader(region, f"{where}.geo")
            parse_price(geo.text("multiplier"))
            geo.texts("models")
            geo.close()
    for limit in ("context_default", "max_output_default"):
        reader.optional(limit, lambda member: reader.integer(member, minimum=1))
    reader.close()
    return cast("Mapping[str, Any]", section)


def load_object(data: bytes, where: str) -> dict[str, Any]:
    """Return the JSON object of `data`, which begins with a brace."""
    try:
        value: dict[str, Any] = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidDocumentError(Reason.NOT_JSON, f"{where} is not JSON: {error}") from error
    return value


def fits(clause: Sequence[Any], name: str) -> bool:
    """Return whether a model's name fits a match clause of a section that was read."""
    return _OPERATORS[clause[0]](clause[1], name)


_OPERATORS: Mapping[str, Callable[[Any, str], bool]] = {
    "is": lambda operand, name: name == operand,
    "starts": lambda operand, name: name.startswith(operand),
    "ends": lambda operand, name: name.endswith(operand),
    "has": lambda operand, name: operand in name,
    "re": lambda operand, name: re.search(operand, name) is not None,
    "or": lambda operand, name: any(fits(clause, name) for clause in operand),
    "and": lambda operand, name: all(fits(clause, name) for clause in operand),
}


def _entry(value: Any, where: str) -> None:  # noqa: ANN401 - JSON of any shape
    reader = Reader(value, where)
    where = f"{where}.{reader.text('id')}"
    _clause(reader.any("match"), f"{where}.match", 1)
    for limit in ("context", "max_output"):
        reader.optional(limit, lambda member: reader.integer(member, minimum=1))
    prices = reader.items("prices")
    if not prices:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{where}.prices is empty")
    for price in prices:
        _price(price, f"{where}.prices", ("from", "between", "above"))
        Reader(price, f"{where}.prices").text("input")
    for variant in reader.items("variants") if reader.has("variants") else ():
        _price(variant, f"{where}.variants", ("from", "between", "above", "served"))
        served = Reader(variant, f"{where}.variants").mapping("served")
        _multiples(served, f"{where}.variants.served", check=lambda text: text)
    reader.close()


def _price(value: Any, where: str, others: tuple[str, ...]) -> None:  # noqa: ANN401
    _rates(value, where, (*RATE_NAMES, *others))
    if "from" in value and not _DATE.fullmatch(str(value["from"])):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{where}.from is not a date")
    if "between" in value:
        hours = Reader(value, where).texts("between")
        if len(hours) != 2 or not all(_HOUR.fullmatch(hour) for hour in hours):
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"{where}.between is not two times of day")
    for step in Reader(value, where).items("above") if "above" in value else ():
        if not isinstance(step, list) or len(step) != 2 or type(step[0]) is not int:
            raise InvalidDocumentError(Reason.WRONG_TYPE, f"{where}.above holds no [threshold, rates]")
        _rates(step[1], f"{where}.above", RATE_NAMES)


def _rates(value: Any, where: str, allowed: tuple[str, ...]) -> None:  # noqa: ANN401
    reader = Reader(value, where)
    for name in allowed:
        if reader.has(name):
            reader.any(name)
            if name in RATE_NAMES:
                parse_price(reader.text(name))
    reader.close()


def _multiples(value: Any, where: str, check: Callable[[str], object] = parse_price) -> None:  # noqa: ANN401
    reader = Reader(value, where)
    for name in value if isinstance(value, dict) else ():
        check(reader.text(name))


def _clause(value: Any, where: str, depth: int) -> None:  # noqa: ANN401
    if not isinstance(value, list) or len(value) != 2 or value[0] not in _OPERATORS or depth > _MAX_CLAUSE_DEPTH:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{where} is no match clause")
    operator, operand = value
    if operator in ("or", "and"):
        if not isinstance(operand, list):
            raise InvalidDocumentError(Reason.WRONG_TYPE, f"{where} has no list of clauses")
        for clause in operand:
            _clause(clause, where, depth + 1)
    elif not isinstance(operand, str):
        raise InvalidDocumentError(Reason.WRONG_TYPE, f"{where} has no text to match")
    elif operator == "re":
        try:
            re.compile(operand)
        except re.error as error:
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"{where}: {error}") from error
