"""Which prices hold for one call: by model, date, served tier, speed, geography and length of the input.

Rules:
1. The reply's model is priced; where the book does not know it, the request's; where it knows neither, the
   dearest prices of the provider, marked as assumed.
2. Of several dated prices the last that had begun counts. A tier's or speed's own prices replace the standard ones
   one by one; one that the book does not list is a stated multiple, marked as assumed.
3. A step for long inputs holds for the whole call, not for what exceeds it; at the threshold the lower price holds.
4. Every combination that has prices of its own has a family name of its own (`model+flex+long-context`), so that
   within one book equal names have equal prices, whatever was asked when.
5. `auto` and `default` name no tier.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from docket.formats.dataclass import dataclass, field, replace
from docket.formats.run.price_table import FALLBACK_PATTERN, Family, Match, PriceTable, family_name, parse_price
from docket.rules.spending.price_book import Found, PriceBook, UnknownModel
from docket.rules.spending.price_section import RATE_NAMES

STANDARD_TIERS = frozenset({"", "auto", "default", "standard", "standard-only", "standard_only"})
_STANDARD_SPEEDS = frozenset({"", "standard", "default"})
_FIRST_PARTY = ("anthropic", "openai")
# Fees are quoted by the thousand, audio that is billed by its length by the hour; a row holds a million of either.
_FEE_RATES = {
    "web_search": (1000, 1),
    "file_search": (1000, 1),
    "code_interpreter": (1000, 1),
    "audio_hour": (10**6, 3600),
}
_WRITE_SHARE = "1.25"
_LONG_WRITE_SHARE = "2"
_DEFAULT_SEARCH_FEE = "10"
_DEFAULT_CONTEXT_TOKENS = 1_050_000
_DEFAULT_OUTPUT_TOKENS = 128_000
_SCALE = 1_000_000
_MAX_REMEMBERED = 512
_NOT_LABEL = re.compile(r"[^a-z0-9._]")


class Waiver(StrEnum):
    """Why a call costs nothing."""

    LOCAL_HOST = "local-host"
    QUOTA = "quota"


class Asked(NamedTuple):
    """What decides about the prices of a call; `at` is an RFC 3339 UTC instant, `section` the book's provider.

    `priced_as` is the model that the person says `model` stands for.
    """

    provider: str
    model: str
    at: str
    section: str | None = None
    requested_model: str | None = None
    priced_as: str | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    input_tokens: int = 0
    waiver: Waiver | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Prices in micro-dollars per million tokens, fees per million uses, `audio_hour` per million seconds.

    None: no price of its own.
    """

    input: int = 0
    cached_input: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    output: int = 0
    audio_input: int | None = None
    audio_output: int | None = None
    web_search: int | None = None
    file_search: int | None = None
    cached_audio_input: int | None = None
    image_input: int | None = None
    cached_image_input: int | None = None
    image_output: int | None = None
    code_interpreter: int | None = None
    audio_hour: int | None = None

    @property
    def audio_apart(self) -> bool:
        """Whether audio has prices of its own."""
        return self.audio_input is not None or self.audio_output is not None

    @property
    def image_apart(self) -> bool:
        """Whether images have prices of their own."""
        return self.image_input is not None or self.image_output is not None

    @property
    def short_write(self) -> int:
        """What a token written to the cache for minutes costs: the input's price where writing is not billed apart."""
        return self.input if self.cache_write is None else self.cache_write

    @property
    def long_write(self) -> int:
        """What a token written for hours costs: twice the input's price where writing is billed and nobody says."""
        if self.cache_write_1h is not None:
            return self.cache_write_1h
        return self.input if self.cache_write is None else 2 * self.input

    @property
    def dearest_input(self) -> int:
        """The highest price that a token of input can have."""
        return max(self.input, self.short_write, self.long_write, self.audio_input or 0, self.image_input or 0)

    @property
    def dearest_output(self) -> int:
        """The highest price that a token of output can have."""
        return max(self.output, self.audio_output or 0, self.image_output or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """The prices of a call under the family name that stands for them.

    `rows` is room for `rules.spending.pricing` to remember the rows it has made of them.
    """

    name: str
    rates: Rates
    source: str
    assumed: bool
    rows: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """The most a model takes in and gives out, in tokens."""

    context_tokens: int
    max_output_tokens: int


def resolve(book: PriceBook, asked: Asked) -> Tariff:
    """Return the tariff of a call; there always is one."""
    # Prices change by the minute at most, and by the length of the input only at a step.
    key = (
        asked.provider, asked.section, asked.model, asked.requested_model, asked.priced_as, asked.service_tier,
        asked.speed, asked.inference_geo, asked.waiver, asked.at[:16],
    )  # fmt: skip
    steps, tariffs = book.tariffs.get(key, ((), None))
    place = bisect_left(steps, asked.input_tokens)
    if tariffs is None:
        if len(book.tariffs) >= _MAX_REMEMBERED:
            book.tariffs.clear()
        steps, tariffs = _steps(book, asked), {}
        book.tariffs[key] = steps, tariffs
        place = bisect_left(steps, asked.input_tokens)
    tariff: Tariff | None = tariffs.get(place)
    if tariff is None:
        tariff = tariffs[place] = _resolve(book, asked)
    return tariff


def _steps(book: PriceBook, asked: Asked) -> tuple[int, ...]:
    found = None if asked.waiver is not None or book.table is not None else lookup(book, asked)
    return found.steps if isinstance(found, Found) else ()


def _resolve(book: PriceBook, asked: Asked) -> Tariff:
    name = family_name(asked.model)
    section = asked.section or asked.provider
    if asked.waiver is not None:
        return _waived(name, asked)
    if asked.priced_as is not None:
        # The family keeps the name that was called, and says after it what that stands for.
        tariff = _resolve(book, asked._replace(model=asked.priced_as, requested_model=None, priced_as=None))
        rest = tariff.name.removeprefix(family_name(asked.priced_as))
        return replace(tariff, name=f"{name}+as-{family_name(asked.priced_as)}{rest}", rows={})
    if book.table is not None:
        return _from_table(book, book.table, asked)
    found = lookup(book, asked)
    if isinstance(found, UnknownModel):
        rates = dearest(book, section)
        source = f"assumed: the dearest prices of {section}, {book.schema} as of {book.as_of}"
        return Tariff(name=f"{name}+assumed+at-{asked.provider}", rates=rates, source=source, assumed=True)
    return tariff_of(book, asked, found)


def tariff_of(book: PriceBook, asked: Asked, found: Found) -> Tariff:
    """Return the tariff of a call by an entry of the book."""
    labels, rates, assumed = _listed(book.section(found.section), found.entry, asked)
    assumed = assumed or found.assumed
    source = f"{found.section}/{found.entry['id']}{''.join(labels)}, {book.schema} as of {book.as_of}"
    return Tariff(
        name=family_name(asked.model) + "".join(labels) + _stand_in(found, asked) + _reseller(asked, found.section),
        rates=rates,
        source=f"assumed: {source}" if assumed else source,
        assumed=assumed,
    )


def lookup(book: PriceBook, asked: Asked) -> Found | UnknownModel:
    """Return the book's entry for a call's model, for the requested one where the reply's is not listed."""
    section = asked.section or asked.provider
    found = book.find(section, asked.priced_as or asked.model)
    if isinstance(found, UnknownModel) and asked.requested_model:
        other = book.find(section, asked.requested_model)
        return found if isinstance(other, UnknownModel) else replace(other, assumed=True, stands_in=True)
    return found


def limits(book: PriceBook, section: str, model: str) -> Limits:
    """Return a model's limits, conservative defaults where the book has none."""
    found = None if book.table is not None else book.find(section, model)
    entry: Mapping[str, Any] = found.entry if isinstance(found, Found) else {}
    defaults = book.section(found.section if isinstance(found, Found) else section)
    context = entry.get("context") or defaults.get("context_default") or _DEFAULT_CONTEXT_TOKENS
    most = entry.get("max_output") or defaults.get("max_output_default") or _DEFAULT_OUTPUT_TOKENS
    return Limits(context_tokens=int(context), max_output_tokens=min(int(most), int(context)))


def dearest(book: PriceBook, section: str) -> Rates:
    """Return, rate by rate, the highest standard price of a section, of the best-known ones where it is empty."""
    sections = (section,) if book.section(section) else _FIRST_PARTY
    found: dict[str, int] = {}
    for name in sections:
        for entry in book.section(name).get("models", ()):
            for price in entry["prices"]:
                for rate, value in _parsed(price).items():
                    found[rate] = max(value, found.get(rate, 0))
    return Rates(**found)


def _waived(name: str, asked: Asked) -> Tariff:
    quota = asked.waiver is Waiver.QUOTA
    return Tariff(
        name=f"{name}+quota" if quota else f"{name}+at-{asked.provider}",
        rates=Rates(web_search=0, file_search=0, code_interpreter=0, audio_hour=0),
        source="quota mode: counted, not priced" if quota else "free by rule: the provider's host is local",
        assumed=False,
    )


def _reseller(asked: Asked, section: str) -> str:
    """Return the label that keeps a name apart which several providers use for prices of their own."""
    own = asked.provider in _FIRST_PARTY and section == asked.provider
    return "" if own else f"+at-{asked.provider}"


def _stand_in(found: Found, asked: Asked) -> str:
    """Return the label of a name that is priced as the requested model, whichever that was."""
    return f"+as-{family_name(asked.requested_model or '')}" if found.stands_in else ""


def _listed(section: Mapping[str, Any], entry: Mapping[str, Any], asked: Asked) -> tuple[list[str], Rates, bool]:
    at, price = _dated(entry["prices"], asked.at)
    labels = [] if at + 1 == len(entry["prices"]) else [f"+price-{at + 1}"]
    merged, factor, assumed = dict(price), [], False
    for kind, served in _served(asked):
        labels.append(f"+{served}")
        variants = [item for item in entry.get("variants", ()) if item["served"] == {kind: served}]
        active = [at for at, item in enumerate(variants) if _holds(item, asked.at)]
        for at in reversed(active):
            merged = _replaced(merged, variants[at])
        if active and len(active) < len(variants):
            labels[-1] += "".join(f"-{at + 1}" for at in active)
        if not active:
            labels[-1] += "-unlisted"
            multiples = section.get("unlisted", {}).get("speed" if kind == "speed" else "service_tier", {})
            factor.append(str(multiples.get(served, multiples.get("*", "1"))))
            assumed = True
    steps = [step for start, step in merged.get("above", ()) if asked.input_tokens > start]
    for step in steps:
        merged = {**merged, **step}
    if steps:
        labels.append("+long-context" if len(steps) == 1 else f"+long-context-{len(steps)}")
    geo = section.get("geo", {}).get(asked.inference_geo or "", {})
    if entry["id"] in geo.get("models", ()):
        factor.append(geo["multiplier"])
        labels.append(f"+{asked.inference_geo}")
    parsed = {**_parsed(section.get("defaults", {})), **_parsed(merged)}
    return labels, Rates(**_multiplied(parsed, factor)), assumed


def _served(asked: Asked) -> Iterator[tuple[str, str]]:
    tier, speed = _label(asked.service_tier), _label(asked.speed)
    if tier not in STANDARD_TIERS:
        yield ("processing" if tier == "batch" else "service_tier"), tier
    if speed not in _STANDARD_SPEEDS:
        yield "speed", speed


def _label(served: str | None) -> str:
    return _NOT_LABEL.sub("-", (served or "").lower())[:32]


def _dated(prices: Sequence[Mapping[str, Any]], at: str) -> tuple[int, Mapping[str, Any]]:
    for index in range(len(prices) - 1, 0, -1):
        if _holds(prices[index], at):
            return index, prices[index]
    return 0, prices[0]


def _holds(condition: Mapping[str, Any], at: str) -> bool:
    if "from" in condition and at[:10] < condition["from"]:
        return False
    if "between" in condition:
        start, end = condition["between"]
        now = at[11:16]
        return bool(start <= now < end if start <= end else now >= start or now < end)
    return True


def _replaced(price: dict[str, Any], variant: Mapping[str, Any]) -> dict[str, Any]:
    """Return `price` with the variant's rates; a rate it replaces loses its own steps."""
    changed = {name: value for name, value in variant.items() if name in RATE_NAMES}
    above = [
        (start, {name: value for name, value in step.items() if name not in changed})
        for start, step in price.get("above", ())
    ]
    merged: dict[int, dict[str, str]] = {start: step for start, step in above if step}
    for start, step in variant.get("above", ()):
        merged[start] = {**merged.get(start, {}), **step}
    return {**price, **changed, "above": sorted(merged.items())}


def _parsed(price: Mapping[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in RATE_NAMES:
        if name in price:
            times, parts = _FEE_RATES.get(name, (1, 1))
            found[name] = -(-parse_price(price[name]) * times // parts)
    return found


def _multiplied(rates: dict[str, int], factors: Sequence[str]) -> dict[str, int]:
    for factor in factors:
        scale = parse_price(factor)
        # A fraction of a micro-dollar per million tokens is rounded up: no table has room for it.
        rates = {name: value if name in _FEE_RATES else -(-value * scale // _SCALE) for name, value in rates.items()}
    return rates


def _from_table(book: PriceBook, table: PriceTable, asked: Asked) -> Tariff:
    labels = "".join(f"+{served}" for _, served in _served(asked))
    model, stand_in, match = asked.model, "", table.match(asked.model)
    if (match is None or match.assumed) and asked.requested_model:
        other = table.match(asked.requested_model)
        if other is not None and not other.assumed:
            model, stand_in = asked.requested_model, f"+as-{family_name(asked.requested_model)}"
            match = Match(other.family, assumed=True)
    variant = _variant(table, model + labels) if labels else None
    family = variant or (match.family if match is not None else _dearest_family(table))
    assumed = match is None or match.assumed or (bool(labels) and variant is None)
    source = f"{'assumed: ' if assumed else ''}{book.schema} as of {book.as_of}"
    name = family_name(asked.model) + labels + stand_in + _reseller(asked, asked.section or asked.provider)
    return Tariff(name=name, rates=_table_rates(table, model + labels, family), source=source, assumed=assumed)


def _dearest_family(table: PriceTable) -> Family:
    prices_in = (family.input for family in table.families)
    prices_out = (family.output for family in table.families)
    return Family(
        pattern=FALLBACK_PATTERN, input=max(prices_in, key=parse_price), output=max(prices_out, key=parse_price)
    )


def _variant(table: PriceTable, name: str) -> Family | None:
    """Return a family that was written for a component or a tier."""
    match = table.match_variant(name)
    return None if match is None else match.family


def _table_rates(table: PriceTable, name: str, family: Family) -> Rates:
    price = parse_price(family.input)

    def own(suffix: str, default: str) -> int:
        found = _variant(table, name + suffix)
        return price * parse_price(default) // _SCALE if found is None else parse_price(found.input)

    search = _variant(table, f"{name}+web-search")
    return Rates(
        input=price,
        cached_input=None if family.cached_input is None else parse_price(family.cached_input),
        cache_write=own("+cache-write-5m", _WRITE_SHARE),
        cache_write_1h=own("+cache-write-1h", _LONG_WRITE_SHARE),
        output=parse_price(family.output),
        web_search=parse_price(_DEFAULT_SEARCH_FEE) * 1000 if search is None else parse_price(search.input),
    )
