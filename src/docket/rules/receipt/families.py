"""The embedded price table as a receipt's checks use it: a model's family, and what a row costs by it.

What a table means is `formats.run.price_table`; here a table of any writer is read, and finding is remembered.
Finding ends where it would take more than `formats.effort` allows: then nothing prices what is asked for.
"""

from __future__ import annotations

import fnmatch
import re
from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.effort import GLOB_STEPS, Effort, weight
from docket.formats.letters import lowered
from docket.formats.reason import Reason
from docket.formats.run.price_table import FALLBACK_PATTERN, Family, Match, alternatives, cost_row, specificity

_Rank = tuple[bool, int, int, str]
_Place = tuple[_Rank, Family]
_GLOB = re.compile(r"[*\[]")
_PLACES_STEPS = 32


class Families:
    """The families of a table in order, as they come or the most specific first.

    What has no glob in it but `?` is looked up by the rest of its text, so that a table of many names prices many
    models without a walk for each; a family may be added at any time.
    """

    def __init__(self, families: Iterable[Family] = (), *, specific_first: bool = False) -> None:
        self._specific_first = specific_first
        self._count = 0
        # By how long a pattern is and where it has a `?`: what prices each rest.
        self._names: dict[int, dict[tuple[int, ...], dict[str, _Place]]] = {}
        self._globs: list[tuple[_Rank, re.Pattern[str], Family]] = []
        self._fallback: _Place | None = None
        self._found: dict[str, Match | None] = {}
        self._effort = Effort()
        self._globs_weight = 0
        for family in families:
            self.add(family)

    def add(self, family: Family) -> None:
        """Take one more, in its place."""
        rank = specificity(family) if self._specific_first else (False, 0, self._count, "")
        self._count += 1
        self._found.clear()
        for pattern in alternatives(family.pattern):
            if pattern == FALLBACK_PATTERN:
                self._fallback = min(self._fallback or (rank, family), (rank, family), key=itemgetter(0))
            elif _GLOB.search(pattern):
                self._glob(pattern, (rank, family))
            else:
                self._name(pattern, (rank, family))

    def _glob(self, pattern: str, place: _Place) -> None:
        rank, family = place
        self._globs_weight += weight(pattern)
        if self._effort.take(GLOB_STEPS):
            insort(self._globs, (rank, re.compile(fnmatch.translate(pattern)), family), key=itemgetter(0))

    def _name(self, pattern: str, place: _Place) -> None:
        marks = tuple(at for at, character in enumerate(pattern) if character == "?")
        known = self._names.setdefault(len(pattern), {}).setdefault(marks, {})
        rest = _without(pattern, marks)
        known[rest] = min(known.get(rest, place), place, key=itemgetter(0))

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
            self._found[model] = self._match(name) if self._effort.take(self._steps(name)) else None
        return self._found[model]

    @property
    def is_spent(self) -> bool:
        """Whether finding ended for what it would have taken."""
        return self._effort.is_spent

    def _steps(self, name: str) -> int:
        known = self._names.get(len(name), {})
        return weight(name) * (_PLACES_STEPS * (len(known) - (() in known)) + self._globs_weight)

    def _match(self, name: str) -> Match | None:
        known = self._names.get(len(name), {})
        fitting = (texts.get(_without(name, marks)) for marks, texts in known.items())
        named = min((place for place in fitting if place is not None), key=itemgetter(0), default=None)
        for rank, pattern, family in self._globs:
            if named is not None and named[0] < rank:
                break
            if pattern.match(name):
                return Match(family, assumed=False)
        if named is not None:
            return Match(named[1], assumed=False)
        return None if self._fallback is None else Match(self._fallback[1], assumed=True)

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


def _without(text: str, places: tuple[int, ...]) -> str:
    if not places:
        return text
    begins, ends = (0, *(place + 1 for place in places)), (*places, len(text))
    return "".join(text[begin:end] for begin, end in zip(begins, ends, strict=True))


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
