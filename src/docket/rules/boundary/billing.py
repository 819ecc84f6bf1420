"""What a call may cost before it is sent, what it has cost so far, and what it is billed at the end.

Rules:
1. Before: the likely cost is the estimated input, what is expected from the cache at the price of reading it and
   the rest at the plain one. The worst case knows no estimate: the input by its bytes (by the context window where
   the bytes do not bound it) at the dearest price, as if no cache held any of it, and all the output it may give.
2. While it runs: reported input, or the estimate until then; output as reported or counted, whichever is more.
3. At the end: what was reported is billed and nothing else; what was reported only in part, or not at all, is
   completed by the estimate and marked so, and nothing unreported is billed as cached. A reported zero stays zero.
4. The reply's model is priced, at the served tier; where the reply does not say, or says less than the request did,
   what was asked for.
5. A model without a price is refused under a dollar cap, unless the policy lets its price be assumed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import NamedTuple

from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass, field, replace
from docket.formats.ledger.model_events import Component, PriceRow
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import BudgetMode, UnknownModels
from docket.formats.run.usage import Usage, UsagePart, UsageSource
from docket.formats.visible import base64_text
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.http1 import RequestHead
from docket.rules.providers.estimate import BYTES_PER_TOKEN, settle, tokens_of_bytes
from docket.rules.providers.interface import Hidden, Meter, Reading, RequestFacts, Wire
from docket.rules.providers.registry import Provider
from docket.rules.spending.caps import Tally
from docket.rules.spending.meter import Calibration, InputEstimate
from docket.rules.spending.price_book import PriceBook
from docket.rules.spending.pricing import (
    CallFacts,
    Limits,
    Priced,
    Waiver,
    WorstCase,
    known,
    limits,
    live_rates,
    price_call,
    worst_case,
)
from docket.rules.spending.reservation import Claim

_UNBOUNDED_INPUT = frozenset(
    (Hidden.SERVER_TOOLS, Hidden.STORED_HISTORY, Hidden.REMOTE_INPUT, Hidden.SEVERAL_MODELS, Hidden.UNREADABLE)
)
_USUAL_SEARCHES = 10
_MILLION = 1_000_000
# Every component of a call is rounded by itself, by half a micro-dollar at most.
_ROUNDING_MICROS = 4
# Lengths at which providers' prices step; between two of them one look-up serves every call.
_LENGTHS = (16_000, 32_000, 64_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288)
_MAX_REMEMBERED = 512


class Quote(NamedTuple):
    """What a call claims, and the input that is expected of it."""

    claim: Claim
    expected: InputEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rates:
    """Prices of one model for calls of one length, in micro-dollars per million tokens; a search by itself."""

    input_micros: int
    cached_micros: int
    dearest_input: int
    dearest_output: int
    search_micros: int
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The price book under a policy. `needed`: dollars are limited, so every call must have a price.

    `names` says what names that the book does not list stand for.
    """

    book: PriceBook
    mode: BudgetMode
    unknown_models: UnknownModels
    needed: bool
    weighed: bool
    names: Mapping[str, str] = field(default_factory=dict)
    _remembered: dict[tuple[object, ...], _Rates] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def under(cls, policy: Policy, book: PriceBook) -> Prices:
        """Return the book as this policy uses it."""
        return cls(
            book=book,
            mode=policy.budget.mode,
            unknown_models=policy.budget.unknown_models,
            needed=policy.limits_dollars,
            names=policy.models.price_names(),
            weighed=policy.limits_dollars or policy.limits_tokens,
        )

    def waiver(self, provider: Provider) -> Waiver | None:
        """Return why a provider's calls cost nothing, None where they do."""
        if self.mode is BudgetMode.QUOTA:
            return Waiver.QUOTA
        return Waiver.LOCAL_HOST if provider.free else None

    def quote(
        self, provider: Provider, facts: RequestFacts, *, body_bytes: int, at: str, calibration: Calibration
    ) -> Quote | Refused:
        """Return what a call claims, or why it may not be sent at all."""
        model = facts.model or "unknown"
        refusal = self._unknown(provider, model)
        if refusal is not None:
            return refusal
        context_tokens = self._at(provider, facts, body_bytes, at).limits.context_tokens
        expected = calibration.expected(calibration_key(provider, model), body_bytes, context_tokens)
        if not self.weighed:
            call = Tally(calls=1)
            return Quote(Claim(likely=call, worst=call, hidden=False), expected)
        likely = self._likely(provider, facts, expected, at)
        worst = self._worst(provider, facts, body_bytes, at).at_least(likely)
        return Quote(Claim(likely=likely, worst=worst, hidden=bool(facts.hidden)), expected)

    def priced(self, provider: Provider, facts: RequestFacts, usage: Usage, reading: Reading, at: str) -> Priced:
        """Return the price of a usage of this call, at what its reply says was served."""
        requested = facts.model or "unknown"
        return price_call(
            self.book,
            CallFacts(
                provider=provider.name,
                section=provider.prices,
                model=served_model(facts, reading) or requested,
                requested_model=self.names.get(requested, requested),
                priced_as=self.names.get(served_model(facts, reading) or requested),
                usage=usage,
                parts=tuple(_renamed(part, facts, reading) for part in reading.parts),
                at=at,
                service_tier=reading.service_tier or facts.service_tier,
                speed=reading.speed or facts.speed,
                inference_geo=reading.inference_geo or facts.inference_geo,
                waiver=self.waiver(provider),
            ),
        )

    def _unknown(self, provider: Provider, model: str) -> Refused | None:
        if not self.needed or self.unknown_models is UnknownModels.ASSUME or self.waiver(provider) is not None:
            return None
        if known(self.book, provider.name, self.names.get(model, model), provider.prices):
            return None
        near = self.book.nearest(provider.prices, model)
        hint = f"; models like it that have one: {', '.join(near)}" if near else ""
        return Refused(
            reason=Reason.UNKNOWN_MODEL,
            detail=f"no price is known for the model {model}, and a dollar cap is set{hint}",
        )

    def _likely(self, provider: Provider, facts: RequestFacts, expected: InputEstimate, at: str) -> Tally:
        tokens, cached = expected
        rates = self._at(provider, facts, tokens, at)
        micros = -(-((tokens - cached) * rates.input_micros + cached * rates.cached_micros) // _MILLION)
        return Tally(micros, tokens, 1)

    def _worst(self, provider: Provider, facts: RequestFacts, body_bytes: int, at: str) -> Tally:
        bounds = self._at(provider, facts, body_bytes, at).limits
        unbounded = not _UNBOUNDED_INPUT.isdisjoint(facts.hidden)
        input_tokens = bounds.context_tokens if unbounded else min(body_bytes, bounds.context_tokens)
        most = bounds.max_output_tokens if facts.max_output_tokens is None else facts.max_output_tokens
        output_tokens = most * facts.choices
        searches = _USUAL_SEARCHES if facts.web_search_limit is None else facts.web_search_limit
        rates = self._at(provider, facts, input_tokens, at)
        micros = -(-(input_tokens * rates.dearest_input + output_tokens * rates.dearest_output) // _MILLION)
        if Hidden.SERVER_TOOLS in facts.hidden:
            micros += searches * rates.search_micros
        return Tally(micros + _ROUNDING_MICROS if micros else 0, input_tokens + output_tokens, 1)

    def _at(self, provider: Provider, facts: RequestFacts, input_tokens: int, at: str) -> _Rates:
        """Return the rates of a call of about this length: of the most input that no step of a price lies below."""
        place = bisect_left(_LENGTHS, input_tokens)
        length = _LENGTHS[place] if place < len(_LENGTHS) else input_tokens
        # Prices change by the day and the minute at most.
        key = (
            provider.name, provider.prices, facts.model, facts.service_tier, facts.speed, facts.inference_geo,
            length, at[:16],
        )  # fmt: skip
        rates = self._remembered.get(key)
        if rates is None:
            if len(self._remembered) >= _MAX_REMEMBERED:
                self._remembered.clear()
            rates = self._remembered[key] = self._look_up(provider, facts, length, at)
        return rates

    def _look_up(self, provider: Provider, facts: RequestFacts, length: int, at: str) -> _Rates:
        named = facts.model or "unknown"
        model = self.names.get(named, named)
        case = WorstCase(
            provider=provider.name,
            section=provider.prices,
            model=model,
            at=at,
            input_tokens=length,
            output_tokens=0,
            service_tier=facts.service_tier,
            speed=facts.speed,
            inference_geo=facts.inference_geo,
            waiver=self.waiver(provider),
        )
        dearest_input, dearest_output = live_rates(self.book, case)
        plain = self.priced(provider, facts, Usage(input_tokens=length), Reading(), at)
        cached = self.priced(provider, facts, Usage(input_tokens=length, cached_input_tokens=length), Reading(), at)
        search = worst_case(self.book, replace(case, input_tokens=0, searches=1))
        return _Rates(
            input_micros=-(-plain.cost.micros * _MILLION // length),
            cached_micros=-(-cached.cost.micros * _MILLION // length),
            dearest_input=dearest_input,
            dearest_output=dearest_output,
            search_micros=search.micros,
            limits=limits(self.book, provider.prices, model),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An admitted call: who asks whom for what, and what it was quoted; `head` is its request's own."""

    number: int
    provider: Provider
    wire: Wire
    facts: RequestFacts
    model: str
    body_bytes: int
    at: str
    quote: Quote
    prices: Prices
    head: RequestHead | None = None

    @property
    def followed(self) -> bool:
        """Whether what the reply shows is followed against the caps while it runs."""
        return self.prices.weighed and self.facts.streaming

    @property
    def calibration_key(self) -> str:
        """Under which name input estimates are learned."""
        return calibration_key(self.provider, self.model)

    def shown(self, meter: Meter) -> Tally:
        """Return what the call has surely used so far."""
        reading = meter.reading()
        usage = reading.usage
        if usage is None:
            tokens, cached = self.quote.expected
            usage = Usage(input_tokens=tokens, cached_input_tokens=cached)
        seen = max(usage.output_tokens, tokens_of_bytes(meter.visible_output_bytes))
        live = usage if reading.usage_final else replace(usage, output_tokens=seen)
        whole = reading if reading.usage_final else replace(reading, parts=())
        cost = self.prices.priced(self.provider, self.facts, live, whole, self.at).cost
        return Tally(cost.micros, live.total_tokens, 1)


class Seen(NamedTuple):
    """What came of a reply."""

    status: int
    reading: Reading = Reading()
    visible_output_bytes: int = 0


class Bill(NamedTuple):
    """What a call is billed, with the price rows that recompute it."""

    usage: Usage
    parts: tuple[UsagePart, ...]
    source: UsageSource
    note: str | None
    model: str
    model_b64: str | None
    components: tuple[Component, ...]
    rows: tuple[PriceRow, ...]
    cost: Usd
    assumed: bool

    @property
    def tally(self) -> Tally:
        """What the call counts against the caps."""
        return Tally(self.cost.micros, self.usage.total_tokens, calls=1)


def bill(call: Call, seen: Seen) -> Bill:
    """Return the bill of a call from what was seen of its reply."""
    reading = seen.reading
    if reading.usage is None and Hidden.BACKGROUND in call.facts.hidden and 200 <= seen.status < 300:
        reading = replace(reading, usage=Usage(), note="it runs in the background and is booked when it is fetched")
    # The estimate of the input is the calibrated one, handed on in the size that stands for it.
    settled = settle(reading, call.quote.expected.input_tokens * BYTES_PER_TOKEN, seen.visible_output_bytes)
    if settled.parts != reading.parts:
        reading = replace(reading, parts=settled.parts)
    priced = call.prices.priced(call.provider, call.facts, settled.usage, reading, call.at)
    model = served_model(call.facts, reading)
    return Bill(
        usage=settled.usage,
        parts=tuple(_renamed(part, call.facts, reading) for part in reading.parts),
        source=settled.source,
        note=settled.note,
        model=model or call.model,
        model_b64=base64_of(reading.model_raw if model else call.facts.model_raw),
        components=priced.components,
        rows=priced.rows,
        cost=priced.cost,
        assumed=priced.assumed,
    )


def served_model(facts: RequestFacts, reading: Reading) -> str | None:
    """Return the model a reply names, None where it names none, or only a part of what the request named."""
    return None if facts.model_is_exact else reading.model


def _renamed(part: UsagePart, facts: RequestFacts, reading: Reading) -> UsagePart:
    own = facts.model if facts.model_is_exact and part.model == reading.model else None
    return part if own is None else replace(part, model=own)


def calibration_key(provider: Provider, model: str) -> str:
    """Return the name under which input estimates of a model are learned."""
    return f"{provider.name}/{model}"


def base64_of(raw: bytes | None) -> str | None:
    """Return exact bytes for a `_b64` member, None for none."""
    return None if raw is None else base64_text(raw)
