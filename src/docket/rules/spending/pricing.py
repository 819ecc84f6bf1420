"""What a call costs: its components, their rows of the embedded table, and their sum.

Rules:
1. A call's cost is the sum of its components', each rounded once; the table of its rows alone recomputes it.
2. Several samplings of one call are priced each at its own model and length; equal families are added up before
   they are rounded. The base component of the reply's model stands last.
3. A call always has a cost: an unknown model is priced at the dearest and marked as assumed, never at zero.
4. A search is priced by the use: its row's input price is the fee of a million searches.

Which prices hold is `rules.spending.tariff`; how a usage falls apart is `rules.spending.components`.
"""

from __future__ import annotations

from typing import NamedTuple

from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass
from docket.formats.ledger.model_events import Component, PriceRow
from docket.formats.run.price_table import FALLBACK_PATTERN, Family, cost_row, literal_pattern, spell_price
from docket.formats.run.usage import Usage, UsagePart
from docket.rules.spending.components import (
    AUDIO,
    AUDIO_SECONDS,
    BASE,
    CODE_INTERPRETER,
    FILE_SEARCH,
    IMAGE,
    WEB_SEARCH,
    Share,
    split,
)
from docket.rules.spending.price_book import Found, PriceBook
from docket.rules.spending.tariff import (
    Asked,
    Limits,
    Rates,
    Tariff,
    Waiver,
    dearest,
    limits,
    lookup,
    resolve,
)

__all__ = [
    "CallFacts", "Limits", "PriceBook", "Priced", "Waiver", "WorstCase", "fallback_row", "known", "limits",
    "live_rates", "price_call", "worst_case",
]  # fmt: skip

_SCALE = 1_000_000
_DEFAULT_SEARCH_FEE = 10_000 * _SCALE
# Each row of a call is rounded by itself, by at most half a micro-dollar; no call has more rows than this.
_MOST_ROWS = 8
# Fees where a book has none: ten dollars a thousand searches, three cents a container, 36 cents an hour of audio.
_DEFAULT_FEES = {
    WEB_SEARCH: _DEFAULT_SEARCH_FEE,
    FILE_SEARCH: _DEFAULT_SEARCH_FEE,
    CODE_INTERPRETER: 30_000 * _SCALE,
    AUDIO_SECONDS: 100 * _SCALE,
}
_LONG_WRITES = ("+cache-write-1h", "+cache-write-12h")


class CallFacts(NamedTuple):
    """A call to be priced. `model` is the reply's if it named one; `section` the book's, where not the provider's.

    `priced_as` is what the person says `model` stands for.
    """

    provider: str
    model: str
    usage: Usage
    at: str
    parts: tuple[UsagePart, ...] = ()
    requested_model: str | None = None
    priced_as: str | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    section: str | None = None
    waiver: Waiver | None = None


class Priced(NamedTuple):
    """A priced call; `rows` hold one family for every component, in the same order."""

    components: tuple[Component, ...]
    rows: tuple[PriceRow, ...]
    cost: Usd
    assumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """The most a call may come to; `output_tokens` None stands for the model's limit, for all choices together."""

    provider: str
    model: str
    at: str
    input_tokens: int
    output_tokens: int | None = None
    searches: int = 0
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    section: str | None = None
    waiver: Waiver | None = None


def price_call(book: PriceBook, facts: CallFacts) -> Priced:
    """Return the components, rows and cost of a call."""
    lines: dict[str, tuple[_Row, Share]] = {}
    assumed = False
    last = ""
    for part in facts.parts or (UsagePart(model=facts.model, usage=facts.usage),):
        tariff = resolve(book, _asked(facts, part))
        assumed = assumed or tariff.assumed
        for share in split(part.usage, audio_apart=tariff.rates.audio_apart, image_apart=tariff.rates.image_apart):
            name = tariff.name + share.suffix
            before = lines.get(name)
            lines[name] = (_row(tariff, share.suffix), share if before is None else _added(before[1], share))
        last = tariff.name if part.model == facts.model or not last else last
    lines[last] = lines.pop(last)
    components = tuple(_component(name, row.family, share) for name, (row, share) in lines.items())
    cost = Usd(sum(component.cost_usd.micros for component in components))
    return Priced(components=components, rows=tuple(row.price for row, _ in lines.values()), cost=cost, assumed=assumed)


def known(book: PriceBook, provider: str, model: str, section: str | None = None) -> bool:
    """Return whether the book prices a model at a provider, be it by what its maker asks."""
    if book.table is not None:
        match = book.table.match(model)
        return match is not None and not match.assumed
    return isinstance(book.find(section or provider, model), Found)


def worst_case(book: PriceBook, case: WorstCase) -> Usd:
    """Return an amount that no such call exceeds: all input at its dearest, all output, every search."""
    output = case.output_tokens
    if output is None:
        output = limits(book, case.section or case.provider, case.model).max_output_tokens
    most = 0
    for rates in _possible(book, case):
        searches = case.searches * (_DEFAULT_SEARCH_FEE if rates.web_search is None else rates.web_search)
        most = max(most, case.input_tokens * rates.dearest_input + output * rates.dearest_output + searches)
    return Usd(-(-most // _SCALE) + _MOST_ROWS // 2 if most else 0)


def live_rates(book: PriceBook, case: WorstCase) -> tuple[int, int]:
    """Return (input, output) prices in micro-dollars per million tokens, the dearest that could apply to a call."""
    possible = _possible(book, case)
    return max(rates.dearest_input for rates in possible), max(rates.dearest_output for rates in possible)


def fallback_row(book: PriceBook) -> PriceRow:
    """Return the row for a table that must hold one though no call was priced."""
    rates = dearest(book, "anthropic")
    return _price_row(FALLBACK_PATTERN, rates, f"assumed: the dearest known, as of {book.as_of}")


def _possible(book: PriceBook, case: WorstCase) -> list[Rates]:
    asked = Asked(
        provider=case.provider,
        model=case.model,
        at=case.at,
        section=case.section,
        service_tier=case.service_tier,
        speed=case.speed,
        inference_geo=case.inference_geo,
        input_tokens=case.input_tokens,
        waiver=case.waiver,
    )
    found = [resolve(book, asked).rates]
    if (case.service_tier or "auto").lower() == "auto" and _has_priority(book, asked):
        # A project's own setting may serve `auto` at the priority tier; a request for `default` it may not.
        found.append(resolve(book, asked._replace(service_tier="priority")).rates)
    return found


def _has_priority(book: PriceBook, asked: Asked) -> bool:
    entry = None if book.table is not None or asked.waiver is not None else lookup(book, asked)
    variants = entry.entry.get("variants", ()) if isinstance(entry, Found) else ()
    return any(item["served"] == {"service_tier": "priority"} for item in variants)


def _asked(facts: CallFacts, part: UsagePart) -> Asked:
    return Asked(
        provider=facts.provider,
        model=part.model,
        at=facts.at,
        section=facts.section,
        requested_model=facts.requested_model,
        priced_as=facts.priced_as if part.model == facts.model else None,
        service_tier=facts.service_tier,
        speed=facts.speed,
        inference_geo=facts.inference_geo,
        input_tokens=part.usage.input_tokens,
        waiver=facts.waiver,
    )


def _added(share: Share, other: Share) -> Share:
    return Share(
        share.suffix,
        share.input_tokens + other.input_tokens,
        share.cached_input_tokens + other.cached_input_tokens,
        share.output_tokens + other.output_tokens,
    )


@dataclass(frozen=True, slots=True)
class _Row:
    price: PriceRow
    family: Family


def _row(tariff: Tariff, suffix: str) -> _Row:
    row: _Row | None = tariff.rows.get(suffix)
    if row is None:
        row = tariff.rows[suffix] = _made_row(tariff, suffix)
    return row


def _made_row(tariff: Tariff, suffix: str) -> _Row:
    pattern = literal_pattern(tariff.name + suffix)
    row = _price_row(pattern, _component_rates(tariff.rates, suffix), tariff.source)
    return _Row(row, Family(pattern=pattern, input=row.input, cached_input=row.cached_input, output=row.output))


def _price_row(pattern: str, rates: Rates, source: str) -> PriceRow:
    return PriceRow(
        pattern=pattern,
        input=spell_price(rates.input),
        cached_input=None if rates.cached_input is None else spell_price(rates.cached_input),
        output=spell_price(rates.output),
        source=source,
    )


def _component_rates(rates: Rates, suffix: str) -> Rates:
    """Return the rates of one component; a price that the model does not have is the one it is a kind of."""
    if suffix == BASE:
        return rates
    if suffix == AUDIO:
        return _kind_of(rates, rates.audio_input, rates.cached_audio_input, rates.audio_output)
    if suffix == IMAGE:
        return _kind_of(rates, rates.image_input, rates.cached_image_input, rates.image_output)
    if suffix in _DEFAULT_FEES:
        fee = {
            WEB_SEARCH: rates.web_search,
            FILE_SEARCH: rates.file_search,
            CODE_INTERPRETER: rates.code_interpreter,
            AUDIO_SECONDS: rates.audio_hour,
        }[suffix]
        return Rates(input=_DEFAULT_FEES[suffix] if fee is None else fee)
    return Rates(input=rates.long_write if suffix in _LONG_WRITES else rates.short_write)


def _kind_of(rates: Rates, given: int | None, cached: int | None, made: int | None) -> Rates:
    # Reading a kind of input from the cache costs what the book says of it, else the kind's own price.
    return Rates(
        input=rates.input if given is None else given,
        cached_input=rates.cached_input if given is None else cached,
        output=rates.output if made is None else made,
    )


def _component(name: str, family: Family, share: Share) -> Component:
    return Component(
        model=name,
        input_tokens=share.input_tokens,
        cached_input_tokens=share.cached_input_tokens,
        output_tokens=share.output_tokens,
        cost_usd=cost_row(family, share.input_tokens, share.cached_input_tokens, share.output_tokens),
    )
