"""The embedded price table as a receipt's checks use it: a model's family, and what a row costs by it.

What a table means is `formats.run.price_table`; here a table of any writer is read, and finding is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.reason import Reason
from docket.formats.run.price_table import Family, Match, PriceTable, cost_row


class Families:
    """The families of a table in order."""

    def __init__(self, families: Iterable[Family] = ()) -> None:
        self._table = PriceTable(meta={}, families=tuple(families))
        self._found: dict[str, Match | None] = {}

    @classmethod
    def of(cls, document: JsonObject) -> Families:
        """Read the `families` of a table document; InvalidDocumentError names the family that is wrong."""
        families = document.get("families")
        if not isinstance(families, Sequence) or isinstance(families, str):
            raise InvalidDocumentError(Reason.WRONG_TYPE, "price_table.document.families is not an array")
        return cls(_family(item, f"price_table.document.families[{index}]") for index, item in enumerate(families))

    def find(self, model: str) -> Match | None:
        """Return the family that prices `model`."""
        if model not in self._found:
            self._found[model] = self._table.match(model)
        return self._found[model]

    def cost(self, model: str, tokens: tuple[int, int, int]) -> Usd | None:
        """Return what a row of (input, cached input, output) tokens costs; None where no family prices the model."""
        match = self.find(model)
        return None if match is None else cost_row(match.family, *tokens)

    def assumed(self, models: Iterable[str]) -> list[str]:
        """Return those of the models that the fallback prices, sorted."""
        found = {model: self.find(model) for model in models}
        return sorted(model for model, match in found.items() if match is not None and match.assumed)


def _family(item: JsonValue, where: str) -> Family:
    members = item if isinstance(item, Mapping) else {}
    cached = members.get("cached_input")
    try:
        return Family(
            pattern=_text(members, "pattern"),
            input=_text(members, "input"),
            cached_input=None if cached is None else _text(members, "cached_input"),
            output=_text(members, "output"),
        )
    except InvalidDocumentError as error:
        raise InvalidDocumentError(error.reason, f"{where}: {error.detail}") from error


def _text(members: JsonObject, name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise InvalidDocumentError(Reason.WRONG_TYPE, f"{name} is not a text")
    return value
