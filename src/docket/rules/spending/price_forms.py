"""Tables of prices that others publish, as sections of a price book: LiteLLM's JSON and genai-prices' data.

Rules:
1. Prices are read as the decimals they are written as; no float comes between. What stands behind the sixth decimal
   of dollars per million tokens is rounded half to even: it is the noise of somebody's division.
2. An entry that prices neither input tokens nor the length of its audio, or is written in no form that is known, is
   left out and counted.
3. A provider keeps docket's name for it; providers that docket has no name for keep their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Any

from docket.formats.dataclass import dataclass, field

MAX_MODELS = 50_000
_MILLION = Decimal(1_000_000)
_PLACES = Decimal("0.000001")
_SECTIONS = {
    "bedrock": "aws", "bedrock_converse": "aws", "gemini": "google", "vertex_ai-language-models": "google",
    "vertex_ai": "google", "xai": "x-ai", "together_ai": "together", "fireworks_ai": "fireworks",
    "fireworks_ai-embedding-models": "fireworks", "cohere_chat": "cohere", "moonshot": "moonshotai",
    "text-completion-openai": "openai",
}  # fmt: skip
_LITELLM = {
    "input": "input_cost_per_token",
    "cached_input": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
    "cache_write_1h": "cache_creation_input_token_cost_above_1hr",
    "output": "output_cost_per_token",
    "audio_input": "input_cost_per_audio_token",
    "audio_output": "output_cost_per_audio_token",
    "image_input": "input_cost_per_image_token",
    "image_output": "output_cost_per_image_token",
}
_STEPS = {100_000: "_above_100k_tokens", 128_000: "_above_128k_tokens", 200_000: "_above_200k_tokens",
          256_000: "_above_256k_tokens", 272_000: "_above_272k_tokens"}  # fmt: skip
_TIERS: tuple[tuple[str, dict[str, str]], ...] = (
    ("_priority", {"service_tier": "priority"}),
    ("_flex", {"service_tier": "flex"}),
    ("_batches", {"processing": "batch"}),
)
GENAI_RATES = {
    "input_mtok": "input",
    "cache_read_mtok": "cached_input",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "output_mtok": "output",
    "input_audio_mtok": "audio_input",
    "output_audio_mtok": "audio_output",
    "web_searches_kcount": "web_search",
    "storage_searches_kcount": "file_search",
    "cache_audio_read_mtok": "cached_audio_input",
    "input_image_mtok": "image_input",
    "cache_image_read_mtok": "cached_image_input",
    "output_image_mtok": "image_output",
    "audio_hours": "audio_hour",
    "input_audio_hours": "audio_hour",
}
"""What genai-prices calls a rate, and what a price book does."""
_CLAUSES = {
    "equals": "is", "starts_with": "starts", "ends_with": "ends", "contains": "has", "regex": "re", "or": "or",
    "and": "and",
}  # fmt: skip


@dataclass(slots=True)
class Sections:
    """Providers with the models that could be read; `left_out` counts the entries that could not."""

    models: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    left_out: int = 0

    def add(self, provider: str, entry: dict[str, Any] | None) -> None:
        """Take a model's entry, or that it could not be read."""
        if entry is None:
            self.left_out += 1
        else:
            self.models.setdefault(_SECTIONS.get(provider, provider), []).append(entry)


def is_litellm(value: object) -> bool:
    """Whether a document maps models to objects that name a `litellm_provider`."""
    if not isinstance(value, dict):
        return False
    return any(isinstance(item, dict) and "litellm_provider" in item for item in list(value.values())[:50])


def is_genai(value: object) -> bool:
    """Whether a document lists providers with their models."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and isinstance(item.get("models"), list) for item in value)
    )


def from_litellm(value: Mapping[str, Any]) -> Sections:
    """Return the sections of LiteLLM's `model_prices_and_context_window.json`."""
    found = Sections()
    for name, item in list(value.items())[:MAX_MODELS]:
        provider = item.get("litellm_provider") if isinstance(item, dict) else None
        if name == "sample_spec" or not isinstance(provider, str):
            continue
        # A name may carry its provider before a slash, which no request does.
        bare = name.partition("/")[2] if name.startswith((f"{provider}/", "vertex_ai/", "gemini/")) else name
        found.add(provider, _litellm_entry(bare, item))
    return found


def _litellm_entry(name: str, item: Mapping[str, Any]) -> dict[str, Any] | None:
    price = _litellm_rates(item, "")
    if price is None or "input" not in price:
        return None
    above = []
    for start, suffix in _STEPS.items():
        step = _litellm_rates(item, suffix)
        if step:
            above.append([start, step])
    entry: dict[str, Any] = {"id": name, "match": ["is", name.lower()]}
    for member, theirs in (("context", "max_input_tokens"), ("max_output", "max_output_tokens")):
        limit = item.get(theirs)
        if type(limit) is int and limit > 0:
            entry[member] = limit
    entry["prices"] = [{**price, "above": above} if above else price]
    tiers = [(served, _litellm_rates(item, suffix)) for suffix, served in _TIERS]
    variants = [{"served": served, **rates} for served, rates in tiers if rates]
    return {**entry, "variants": variants} if variants else entry


def _litellm_rates(item: Mapping[str, Any], suffix: str) -> dict[str, str] | None:
    """Return the rates whose names end so, None where one of them is no price."""
    rates: dict[str, str] = {}
    for name, member in _LITELLM.items():
        value = item.get(member + suffix)
        if value is not None:
            text = _spelled(value, _MILLION)
            if text is None:
                return None
            rates[name] = text
    return rates


def from_genai(value: list[Mapping[str, Any]]) -> Sections:
    """Return the sections of genai-prices' `data.json`."""
    found = Sections()
    for provider in value:
        name = provider.get("id")
        if not isinstance(name, str):
            found.left_out += len(provider["models"])
            continue
        for item in provider["models"][:MAX_MODELS]:
            found.add(name, _genai_entry(item) if isinstance(item, dict) else None)
    return found


def _genai_entry(item: Mapping[str, Any]) -> dict[str, Any] | None:
    match = _clause(item.get("match"), 1)
    listed = item.get("prices")
    dated = listed if isinstance(listed, list) else [{"prices": listed}]
    prices = [price for price in map(_genai_price, dated) if price is not None]
    if match is None or not isinstance(item.get("id"), str) or len(prices) < len(dated):
        return None
    for price in prices:
        # What is billed by its length alone has no tokens to price.
        if "audio_hour" in price:
            price.setdefault("input", "0")
    if not all("input" in price for price in prices):
        return None
    entry: dict[str, Any] = {"id": item["id"], "match": match}
    if type(item.get("context_window")) is int and item["context_window"] > 0:
        entry["context"] = item["context_window"]
    entry["prices"] = prices
    variants = list(_genai_variants(item.get("price_variants")))
    return {**entry, "variants": variants} if variants else entry


def _genai_variants(value: object) -> Iterator[dict[str, Any]]:
    for item in value if isinstance(value, list) else ():
        served = item.get("when") if isinstance(item, dict) else None
        price = _genai_price(item)
        if price is None or not isinstance(served, dict) or not set(served) <= {"service_tier", "processing", "speed"}:
            continue
        yield {"served": {name: str(served[name]) for name in sorted(served)}, **price}


def _genai_price(item: object) -> dict[str, Any] | None:
    prices = item.get("prices") if isinstance(item, dict) else None
    if not isinstance(prices, dict) or not isinstance(item, dict):
        return None
    found: dict[str, Any] = {}
    above: dict[int, dict[str, str]] = {}
    for theirs, name in GENAI_RATES.items():
        value = prices.get(theirs)
        tiers = value.get("tiers") if isinstance(value, dict) else None
        text = _spelled(value.get("base") if isinstance(value, dict) else value, Decimal(1))
        if value is not None and text is None:
            return None
        if text is not None:
            found[name] = text
        for tier in tiers if isinstance(tiers, list) else ():
            step = _spelled(tier.get("price"), Decimal(1)) if isinstance(tier, dict) else None
            if step is None or type(tier.get("start")) is not int:
                return None
            above.setdefault(tier["start"], {})[name] = step
    if above:
        found["above"] = [[start, above[start]] for start in sorted(above)]
    return {**_when(item.get("constraint")), **found}


def _when(constraint: object) -> dict[str, Any]:
    members = constraint if isinstance(constraint, dict) else {}
    if isinstance(members.get("start_date"), str):
        return {"from": members["start_date"]}
    if isinstance(members.get("start_time"), str) and isinstance(members.get("end_time"), str):
        return {"between": [members["start_time"][:5], members["end_time"][:5]]}
    return {}


def _clause(value: object, depth: int) -> list[Any] | None:
    if not isinstance(value, dict) or len(value) != 1 or depth > 8:
        return None
    name, operand = next(iter(value.items()))
    operator = _CLAUSES.get(name)
    if operator in ("or", "and"):
        clauses = [_clause(item, depth + 1) for item in operand] if isinstance(operand, list) else [None]
        return None if None in clauses else [operator, clauses]
    if operator is None or not isinstance(operand, str):
        return None
    return [operator, operand if operator == "re" else operand.lower()]


def _spelled(value: object, factor: Decimal) -> str | None:
    """Return dollars per million tokens as a book spells them, None for what is no price."""
    if isinstance(value, bool) or not isinstance(value, (int, Decimal, str)):
        return None
    try:
        exact = Decimal(value) * factor
        if not 0 <= exact < Decimal(10_000_000):
            return None
        text = format(exact.quantize(_PLACES, rounding=ROUND_HALF_EVEN), "f")
    except (InvalidOperation, ValueError):
        return None
    return text.rstrip("0").rstrip(".")
