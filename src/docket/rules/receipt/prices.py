"""The fold over `x-docket.price` events: the table a receipt embeds (spec/receipt.md, Price table).

Families keep the order of their events, except that the fallback `*` stands last: a literal pattern matches one
name only, so the order among literals decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from docket.formats.canonical import JsonValue
from docket.formats.digest import digest_of
from docket.formats.ledger.payloads import PriceRow
from docket.formats.run.receipt import FALLBACK_PATTERN, PRICE_SCHEMA

# A v1 reader may refuse a table without a family; this one matches no model and prices nothing.
_PLACEHOLDER: dict[str, JsonValue] = {
    "pattern": "(no call was priced)",
    "input": "0.00",
    "output": "0.00",
    "source": "placeholder",
}
_NOTE = "The families this run was priced by, in dollars per million tokens; `*` prices what has no known price."


@dataclass(slots=True)
class PricesFold:
    """The rows seen so far."""

    rows: list[PriceRow] = field(default_factory=list)

    def row(self, payload: PriceRow) -> None:
        """Take one family."""
        self.rows.append(payload)

    def document(self, source: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return the embedded document; `source` is session.start.prices, the whole table's identity."""
        ordered = sorted(self.rows, key=lambda row: row.pattern == FALLBACK_PATTERN)
        return {
            "_meta": {
                "schema": PRICE_SCHEMA,
                "as_of": source.get("as_of"),
                "currency": "USD",
                "unit": "per_million_tokens",
                "from": dict(source),
                "note": _NOTE,
            },
            "families": [row.to_data() for row in ordered] or [_PLACEHOLDER],
        }


def price_table(document: dict[str, JsonValue], source: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the receipt member `price_table`."""
    return {
        "schema": PRICE_SCHEMA,
        "as_of": source.get("as_of"),
        "digest": digest_of(document),
        "document": document,
    }
