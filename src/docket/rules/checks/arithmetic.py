"""The arithmetic of priced calls in a ledger of docket's own (spec/receipt.md, Component rows).

Rules:
1. A family is written once, before the first reply it prices.
2. A reply's components sum to its cost; each costs what the table so far says of its tokens.
3. Components account for the usage: without the fees, they add up to its input, cached input and output; what was
   written to a cache and what was searched equals the usage's own counts. The base component stands last. The parts
   of a call that several models served add up to its usage.
4. A reply with a component that the fallback prices is marked as assumed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from operator import attrgetter

from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import Component, ModelResponse, PriceRow
from docket.formats.ledger.payload_codec import Payload
from docket.formats.run.price_table import family_name
from docket.formats.run.usage import Usage
from docket.formats.shown import shown
from docket.rules.receipt.families import Families
from docket.rules.receipt.prices import family_of
from docket.rules.spending.components import AUDIO, FEES, IMAGE, WRITES

_COUNTED: Mapping[str, str] = {**WRITES, **FEES}
_TOKENS = ("input_tokens", "cached_input_tokens", "output_tokens")
_ACCOUNTED = attrgetter(*_TOKENS, *_COUNTED.values())
_NOTHING_ELSE = (0,) * len(_COUNTED)


@dataclass(slots=True)
class Arithmetic:
    """The families so far."""

    known: set[str] = field(default_factory=set)
    families: Families = field(default_factory=lambda: Families(specific_first=True))

    def take(self, _event: Event, payload: Payload | None) -> str | None:
        """Return what is wrong with the next event, or None."""
        if isinstance(payload, PriceRow):
            return self._family(payload)
        if isinstance(payload, ModelResponse):
            return _sum(payload) or self._prices(payload) or (None if _is_base_alone(payload) else _accounts(payload))
        return None

    def _family(self, row: PriceRow) -> str | None:
        if row.pattern in self.known:
            return f"the family {shown(row.pattern)} is written twice"
        self.known.add(row.pattern)
        self.families.add(family_of(row))
        return None

    def _prices(self, payload: ModelResponse) -> str | None:
        families = self.families
        for index, part in enumerate(payload.components):
            if min(_tokens(part)) < 0:
                return f"components[{index}] counts less than nothing"
            cost = families.cost(part.model, _tokens(part))
            if cost is None:
                return f"components[{index}]: no family of the table prices {shown(part.model)}"
            if cost.micros != part.cost_usd.micros:
                return f"components[{index}]: its tokens cost {cost}, cost_usd is {part.cost_usd}"
        if not payload.assumed_price and any(families.is_assumed(part.model) for part in payload.components):
            return "assumed_price is false, the fallback prices a component"
        return None


def _sum(payload: ModelResponse) -> str | None:
    if not payload.components:
        return "it has no component"
    micros = sum([part.cost_usd.micros for part in payload.components])
    if micros != payload.cost_usd.micros:
        return f"the components add up to {Usd(micros)}, cost_usd is {payload.cost_usd}"
    return None


def _is_base_alone(payload: ModelResponse) -> bool:
    """Whether the one component is the base and all that was used: most calls are so, and nothing is to be added up."""
    (part, *others), model = payload.components, payload.model
    if others or payload.usage_parts is not None or part.model != model or "+" in model or "%" in model:
        return False
    return _ACCOUNTED(payload.usage) == (*_tokens(part), *_NOTHING_ELSE)


def _accounts(payload: ModelResponse) -> str | None:
    counted: Counter[str] = Counter()
    for part in payload.components:
        kind = _kind(part)
        if kind in _COUNTED:
            counted[_COUNTED[kind]] += part.input_tokens
        if kind not in FEES:
            counted.update(dict(zip(_TOKENS, _tokens(part), strict=True)))
    if payload.usage_parts is not None and sum((part.usage for part in payload.usage_parts), Usage()) != payload.usage:
        return "usage_parts do not add up to usage"
    return _base(payload) or _unequal(counted, payload.usage)


def _base(payload: ModelResponse) -> str | None:
    last = payload.components[-1]
    served = [payload.model, *(part.model for part in payload.usage_parts or ())]
    names = [family_name(model) for model in served]
    if not _kind(last) and any(last.model == name or last.model.startswith(f"{name}+") for name in names):
        return None
    return f"the last component is {shown(last.model)}, not the base of {shown(payload.model)}"


def _unequal(counted: Counter[str], usage: Usage) -> str | None:
    for member in (*_TOKENS, *_COUNTED.values()):
        wanted = getattr(usage, member)
        if counted[member] != wanted:
            return f"the components' {member} add up to {counted[member]}, usage says {wanted}"
    return None


def _kind(part: Component) -> str:
    """Return the suffix of a component that is no base, else nothing; a model's own `+` is escaped in its name."""
    _, plus, label = part.model.rpartition("+")
    suffix = plus + label
    return suffix if suffix in _COUNTED or suffix in (AUDIO, IMAGE) else ""


def _tokens(part: Component) -> tuple[int, int, int]:
    return part.input_tokens, part.cached_input_tokens, part.output_tokens
