"""The arithmetic of priced calls in a ledger of docket's own (spec/receipt.md, Components).

Rules:
1. A family is written once, before the first reply it prices; patterns name one model, or are the fallback.
2. A reply's components sum to its cost; each costs what the embedded table says of its tokens.
3. Components account for the usage: token components add up to input, cached input and output; a component with a
   kind (`model+kind`) carries exactly the count that the usage states for it. The base component stands last.
4. A reply is marked as assumed exactly when a component of it is priced by the fallback.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from docket.errors import InvalidDocumentError
from docket.formats.amount import ZERO
from docket.formats.ledger.event import Event
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.payloads import Component, ModelResponse, PriceRow
from docket.formats.run.usage import Usage
from docket.rules.receipt.families import Families
from docket.rules.receipt.prices import ordered

_INPUT_KINDS: Mapping[str, str] = {
    "cache-write": "cache_write_tokens",
    "cache-write-5m": "cache_write_5m_tokens",
    "cache-write-1h": "cache_write_1h_tokens",
    "audio-input": "audio_input_tokens",
}
_OUTPUT_KINDS: Mapping[str, str] = {"audio-output": "audio_output_tokens", "reasoning": "reasoning_tokens"}
_FEE_KINDS: Mapping[str, str] = {"web-search": "web_searches"}


@dataclass(slots=True)
class Arithmetic:
    """The families so far."""

    rows: list[PriceRow] = field(default_factory=list)
    families: Families = field(default_factory=lambda: Families(()))

    def take(self, _event: Event, payload: Payload | None) -> str | None:
        """Return what is wrong with the next event, or None."""
        if isinstance(payload, PriceRow):
            return self._family(payload)
        if isinstance(payload, ModelResponse):
            return self._sum(payload) or self._prices(payload) or _accounts(payload)
        return None

    def _family(self, row: PriceRow) -> str | None:
        if any(known.pattern == row.pattern for known in self.rows):
            return f"the family {row.pattern!r} is written twice"
        self.rows.append(row)
        try:
            self.families = Families.of({"families": [item.to_data() for item in ordered(self.rows)]})
        except InvalidDocumentError as error:
            self.rows.pop()
            return error.detail
        return None

    def _sum(self, payload: ModelResponse) -> str | None:
        if not payload.components:
            return "it has no component"
        total = sum((part.cost_usd for part in payload.components), ZERO)
        if total != payload.cost_usd:
            return f"the components add up to {total}, cost_usd is {payload.cost_usd}"
        return None

    def _prices(self, payload: ModelResponse) -> str | None:
        assumed = False
        for index, part in enumerate(payload.components):
            family = self.families.find(part.model)
            if family is None:
                return f"components[{index}]: no family of the table prices {part.model!r}"
            cost = family.cost(
                input_tokens=part.input_tokens,
                cached_input_tokens=part.cached_input_tokens,
                output_tokens=part.output_tokens,
            )
            if cost != part.cost_usd:
                return f"components[{index}]: its tokens cost {cost}, cost_usd is {part.cost_usd}"
            assumed = assumed or family.is_fallback
        if assumed is not payload.assumed_price:
            return f"assumed_price is {payload.assumed_price}, the table says {assumed}"
        return None


def _accounts(payload: ModelResponse) -> str | None:
    *extra, base = payload.components
    tokens = [base]
    for part in extra:
        kind = part.model.removeprefix(f"{base.model}+")
        if kind in _FEE_KINDS:
            fault = _carries(part, payload.usage, _FEE_KINDS[kind], part.input_tokens)
        elif kind in _INPUT_KINDS:
            fault = _carries(part, payload.usage, _INPUT_KINDS[kind], part.input_tokens)
            tokens.append(part)
        elif kind in _OUTPUT_KINDS:
            fault = _carries(part, payload.usage, _OUTPUT_KINDS[kind], part.output_tokens)
            tokens.append(part)
        else:
            fault = f"{part.model!r} is no known component of {base.model!r}"
        if fault is not None:
            return fault
    return _whole(tokens, payload.usage)


def _carries(part: Component, usage: Usage, member: str, count: int) -> str | None:
    wanted = getattr(usage, member)
    return None if count == wanted else f"{part.model!r} carries {count}, usage.{member} is {wanted}"


def _whole(tokens: Sequence[Component], usage: Usage) -> str | None:
    for member in ("input_tokens", "cached_input_tokens", "output_tokens"):
        total, wanted = sum(getattr(part, member) for part in tokens), getattr(usage, member)
        if total != wanted:
            return f"the components' {member} add up to {total}, usage says {wanted}"
    return None
