"""A person's own price table: what an imported file becomes, checked whole before anything uses it.

Rules:
1. Four forms are read: docket's price book, a `docket/prices/v1` table, genai-prices' `data.json` and LiteLLM's
   public JSON. The first two stand as they are; the others become a book, and what they do not say (regions,
   surcharges, the models and providers they lack) is the shipped book's.
2. Every section is read strictly; a file with one wrong price is refused whole.
3. `_meta.imported` says where the table comes from: the file's name, the day, and the SHA-256 of its bytes.
4. The output is a function of its inputs: the same file on the same day gives the same bytes. A kept book carries the
   digest of its own sections, so that damage is found without reading them all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.rules.spending.price_book import SCHEMA, PriceBook
from docket.rules.spending.price_forms import Sections, from_genai, from_litellm, is_genai, is_litellm

_KEPT = ("serves", "defaults", "unlisted", "geo", "max_output_default", "context_default")
_MAX_SOURCE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Imported:
    """A table fit to be kept: its bytes, the book they are, and how many of the file's entries it lacks."""

    data: bytes
    book: PriceBook
    form: str
    left_out: int


def import_prices(data: bytes, *, source: str, day: str, shipped: PriceBook) -> Imported:
    """Return what a file becomes; InvalidDocumentError says what is wrong with it. `day` is `YYYY-MM-DD`."""
    origin = {"source": source[:_MAX_SOURCE_CHARACTERS], "date": day, "sha256": _digest(data)}
    value = _document(data)
    if is_litellm(value):
        return _converted(from_litellm(value), "LiteLLM", origin, shipped)
    if is_genai(value):
        return _converted(from_genai(value), "genai-prices", origin, shipped)
    meta = value.get("_meta") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(meta, dict):
        raise InvalidDocumentError(
            Reason.UNKNOWN_FORMAT,
            "it is no price table docket can read: neither its own price book, a docket/prices/v1 table, genai-prices' "
            "data.json nor LiteLLM's JSON",
        )
    meta = {**meta, "imported": origin}
    if meta.get("schema") == SCHEMA and isinstance(value.get("providers"), dict):
        return _checked(_book(meta, value["providers"]), "docket price book", 0)
    return _checked(_json({**value, "_meta": meta}).encode(), "docket/prices/v1 table", 0)


def is_whole(data: bytes) -> bool:
    """Whether a kept book's sections are those it was kept with; a table is read whole anyway."""
    head, _, rest = data.partition(b"\n")
    return b'"body_sha256":' not in head or f'"body_sha256":"{_digest(rest)}"'.encode() in head


def check_book(book: PriceBook) -> None:
    """Read every section of a book; InvalidDocumentError names the first that is wrong."""
    for name in book.providers():
        book.section(name)


def _converted(sections: Sections, form: str, origin: Mapping[str, str], shipped: PriceBook) -> Imported:
    if not sections.models:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"no entry of this {form} table prices input tokens")
    known = {name: shipped.section(name) for name in shipped.providers()}
    providers: dict[str, Any] = {}
    for name in (*known, *(name for name in sections.models if name not in known)):
        ours, models = known.get(name, {}), sections.models.get(name)
        providers[name] = ours if models is None else _merged(models, ours)
    meta = {
        "schema": SCHEMA,
        "as_of": origin["date"],
        "currency": "USD",
        "unit": "per_million_tokens",
        "sources": [{"name": form, "sha256": origin["sha256"]}, {"name": "docket", "as_of": shipped.as_of}],
        "imported": dict(origin),
    }
    return _checked(_book(meta, providers), form, sections.left_out)


def _merged(models: list[dict[str, Any]], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section of the file's models, before those that only the shipped one lists."""
    kept = {member: ours[member] for member in _KEPT if member in ours}
    by_id = {entry["id"]: entry for entry in ours.get("models", ())}
    for entry in models:
        if "max_output" in by_id.get(entry["id"], {}):
            entry.setdefault("max_output", by_id[entry["id"]]["max_output"])
    listed = {entry["id"] for entry in models}
    return {**kept, "models": [*models, *(entry for name, entry in by_id.items() if name not in listed)]}


def _checked(data: bytes, form: str, left_out: int) -> Imported:
    book = PriceBook.parse(data)
    check_book(book)
    return Imported(data, book, form, left_out)


def _book(meta: Mapping[str, Any], providers: Mapping[str, Any]) -> bytes:
    lines = ",\n".join(f"{_json(name)}:{_json(section)}" for name, section in providers.items())
    body = f"{lines}\n}}}}\n".encode()
    meta = {**meta, "imported": {**meta["imported"], "body_sha256": _digest(body)}}
    return f'{{"_meta":{_json(meta)},"providers":{{\n'.encode() + body


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _document(data: bytes) -> Any:  # noqa: ANN401 - JSON of any shape
    try:
        return json.loads(data, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise InvalidDocumentError(Reason.NOT_JSON, f"it is not JSON: {error}") from error


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    except TypeError as error:  # a price as a number, where a book has decimal strings
        raise InvalidDocumentError(
            Reason.FRACTION, "it holds a number with a fraction: write prices as text"
        ) from error
