"""The fold over `x-docket.price` events: the table a receipt embeds (spec/receipt.md, Price table).

Families keep the order of their events, except that a pattern in which `?` stands for a slash comes after those
that name one model exactly, and the fallback `*` comes last: the first family that matches is the one meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
_ESCAPED = re.compile(r"\[[*?\[]\]")
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
        return {
            "_meta": {
                "schema": PRICE_SCHEMA,
                "as_of": source.get("as_of"),
                "currency": "USD",
                "unit": "per_million_tokens",
                "from": dict(source),
                "note": _NOTE,
            },
            "families": [row.to_data() for row in ordered(self.rows)] or [_PLACEHOLDER],
        }


def ordered(rows: Sequence[PriceRow]) -> list[PriceRow]:
    """Return the rows most specific first."""
    return sorted(rows, key=lambda row: (row.pattern == FALLBACK_PATTERN, "?" in _ESCAPED.sub("", row.pattern)))


def price_table(document: dict[str, JsonValue], source: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the receipt member `price_table`."""
    return {
        "schema": PRICE_SCHEMA,
        "as_of": source.get("as_of"),
        "digest": digest_of(document),
        "document": document,
    }
