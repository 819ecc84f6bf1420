"""The embedded price table as a receipt's checks use it: a model's family, and what a row costs by it.

What a table means is `formats.run.price_table`; here a table of any writer is read, and finding is remembered.
Finding ends where it would take more than `formats.effort` allows: then nothing prices what is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.effort import Effort
from docket.formats.letters import lowered
from docket.formats.reason import Reason
from docket.formats.run.price_table import Family, FamilyIndex, Match, at_place, cost_row, specificity


class Families:
    """The families of a table in order, as they come or the most specific first.

    A family may be added at any time. How they are found is `FamilyIndex`'s.
    """

    def __init__(self, families: Iterable[Family] = (), *, specific_first: bool = False) -> None:
        self._specific_first = specific_first
        self._count = 0
        self._effort = Effort()
        self._index = FamilyIndex(self._effort)
        self._found: dict[str, Match | None] = {}
        for family in families:
            self.add(family)

    def add(self, family: Family) -> None:
        """Take one more, in its place."""
        self._index.add(family, specificity(family) if self._specific_first else at_place(self._count))
        self._count += 1
        self._found.clear()

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
            name = lowered(model)
            borne = self._effort.take(self._index.steps(name))
            self._found[model] = self._index.match(name) if borne else None
        return self._found[model]

    @property
    def is_spent(self) -> bool:
        """Whether finding ended for what it would have taken."""
        return self._effort.is_spent

    def cost(self, model: str, tokens: tuple[int, int, int]) -> Usd | None:
        """Return what a row of (input, cached input, output) tokens costs; None where no family prices the model."""
        match = self.find(model)
        return None if match is None else cost_row(match.family, *tokens)

    def is_assumed(self, model: str) -> bool:
        """Whether the fallback prices `model`."""
        match = self.find(model)
        return match is not None and match.assumed

    def assumed(self, models: Iterable[str]) -> list[str]:
        """Return those of the models that the fallback prices, sorted."""
        return sorted(model for model in set(models) if self.is_assumed(model))


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
