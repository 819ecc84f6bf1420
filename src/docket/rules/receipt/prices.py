"""The fold over `x-docket.price` events: the table a receipt embeds (spec/receipt.md, Price table)."""

from __future__ import annotations

from collections.abc import Mapping

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.digest import digest_of
from docket.formats.ledger.model_events import PriceRow
from docket.formats.run.price_table import SCHEMA, Family, embedded

# A v1 reader may refuse a table without a family; this one names no model and prices nothing.
_PLACEHOLDER = Family(pattern="(no call was priced)", input="0", output="0", source="placeholder")
_NOTE = "The families this run was priced by; `from` is the table they were taken from."


@dataclass(slots=True)
class PricesFold:
    """The families seen so far."""

    families: list[Family] = field(default_factory=list)

    def row(self, payload: PriceRow) -> None:
        """Take one family; InvalidDocumentError where a price is not spelled as one."""
        self.families.append(family_of(payload))

    def document(self, source: JsonObject) -> dict[str, JsonValue]:
        """Return the embedded document; `source` is session.start.prices, the whole table's identity."""
        meta: dict[str, JsonValue] = {"as_of": source.get("as_of"), "from": dict(source), "note": _NOTE}
        return embedded(self.families or [_PLACEHOLDER], meta).document()


def family_of(payload: PriceRow) -> Family:
    """Return the family of a price event."""
    return Family(
        pattern=payload.pattern,
        input=payload.input,
        cached_input=payload.cached_input,
        output=payload.output,
        source=payload.source,
    )


def price_table(document: JsonObject, source: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the receipt member `price_table`."""
    return {
        "schema": SCHEMA,
        "as_of": source.get("as_of"),
        "digest": digest_of(document),
        "document": document,
    }
