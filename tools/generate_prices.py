"""Write `src/docket/data/prices.json`, docket's own price book, from genai-prices and `tools/price_overlay.json`.

Run it when either changes: `python tools/generate_prices.py`. genai-prices (MIT, see NOTICE) is needed here and
nowhere else. The output is a function of its two inputs: the same inputs give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from decimal import ROUND_HALF_EVEN, Decimal
from importlib import metadata
from pathlib import Path
from typing import Any

from genai_prices import data as source
from genai_prices import types as kinds

from docket.rules.spending.price_forms import GENAI_RATES

ROOT = Path(__file__).resolve().parent.parent
OVERLAY = ROOT / "tools" / "price_overlay.json"
OUTPUT = ROOT / "src" / "docket" / "data" / "prices.json"
SCHEMA = "docket/price-book/v1"

# Sections of genai-prices that resell others' models under the others' names are left out: what a call there costs
# is not knowable from the model alone.
PROVIDERS = (
    "anthropic", "openai", "google", "aws", "azure", "deepseek", "mistral", "groq", "x-ai", "together", "fireworks",
    "cerebras", "cohere", "perplexity", "moonshotai", "zai", "minimax", "novita", "openrouter", "baseten", "meta",
)  # fmt: skip


def generate() -> bytes:
    """Return the bytes of the price book."""
    overlay = json.loads(OVERLAY.read_bytes())
    sections = {p.id: section(p, overlay["providers"].get(p.id, {})) for p in source.providers if p.id in PROVIDERS}
    missing = set(PROVIDERS) - set(sections)
    if missing:
        raise SystemExit(f"genai-prices has no section for {', '.join(sorted(missing))}")
    meta = {
        "schema": SCHEMA,
        "as_of": overlay["as_of"],
        "currency": "USD",
        "unit": "per_million_tokens",
        "sources": [
            {"name": "genai-prices", "version": metadata.version("genai-prices"), "license": "MIT"},
            {"name": "price_overlay.json", "sha256": hashlib.sha256(OVERLAY.read_bytes()).hexdigest()},
        ],
    }
    # One line a provider: a reader parses only the lines it needs.
    lines = ",\n".join(f"{_json(name)}:{_json(sections[name])}" for name in PROVIDERS)
    return f'{{"_meta":{_json(meta)},"providers":{{\n{lines}\n}}}}\n'.encode()


def section(provider: kinds.Provider, overlay: dict[str, Any]) -> dict[str, Any]:
    """Return one provider's section."""
    models = [entry for entry in map(model, provider.models) if entry is not None]
    by_id = {entry["id"]: entry for entry in models}
    for name, like in overlay.get("same_as", {}).items():
        models.insert(0, {**by_id[like], "id": name, "match": ["is", name]})
    for entry in models:
        if entry["id"] in overlay.get("max_output", {}):
            entry["max_output"] = overlay["max_output"][entry["id"]]
    result: dict[str, Any] = {
        name: overlay[name]
        for name in ("defaults", "unlisted", "geo", "max_output_default", "context_default")
        if name in overlay
    }
    if provider.model_match is not None:
        result["serves"] = clause(provider.model_match)
    return {**result, "models": models}


def model(info: kinds.ModelInfo) -> dict[str, Any] | None:
    """Return one model's entry, None where it is priced neither by input tokens nor by the length of its audio."""
    dated = info.prices if isinstance(info.prices, list) else [kinds.ConditionalPrice(prices=info.prices)]
    prices = [{**when(item.constraint), **rates(item.prices)} for item in dated]
    for price in prices:
        # What is billed by its length alone has no tokens to price.
        if "audio_hour" in price:
            price.setdefault("input", "0")
    if not all("input" in price for price in prices):
        return None
    entry: dict[str, Any] = {"id": info.id, "match": clause(info.match)}
    if info.context_window:
        entry["context"] = info.context_window
    entry["prices"] = prices
    variants = [
        {"served": dict(sorted(item.when.items())), **when(item.constraint), **rates(item.prices)}
        for item in info.price_variants or []
        if set(item.when) <= {"service_tier", "processing", "speed"}
    ]
    if variants:
        entry["variants"] = variants
    return entry


def rates(prices: kinds.ModelPrice) -> dict[str, Any]:
    """Return rates as decimal strings; `above` holds, by threshold, the rates that a long input changes."""
    found: dict[str, Any] = {}
    above: dict[int, dict[str, str]] = {}
    for key, name in GENAI_RATES.items():
        value = getattr(prices, key)
        if isinstance(value, kinds.TieredPrices):
            found[name] = decimal(value.base)
            for tier in value.tiers:
                above.setdefault(tier.start, {})[name] = decimal(tier.price)
        elif value is not None:
            found[name] = decimal(value)
    if above:
        found["above"] = [[start, above[start]] for start in sorted(above)]
    return found


def when(constraint: object) -> dict[str, Any]:
    """Return the condition under which a price holds."""
    if isinstance(constraint, kinds.StartDateConstraint):
        return {"from": constraint.start_date.isoformat()}
    if isinstance(constraint, kinds.TimeOfDateConstraint):
        return {"between": [f"{constraint.start_time:%H:%M}", f"{constraint.end_time:%H:%M}"]}
    return {}


def clause(match: Any) -> list[Any]:  # noqa: ANN401 - a union of the library's clause classes
    """Return a match clause as [operator, operand]."""
    for kind, operator, member in (
        (kinds.ClauseStartsWith, "starts", "starts_with"),
        (kinds.ClauseEndsWith, "ends", "ends_with"),
        (kinds.ClauseContains, "has", "contains"),
        (kinds.ClauseRegex, "re", "regex"),
        (kinds.ClauseEquals, "is", "equals"),
    ):
        if isinstance(match, kind):
            operand = getattr(match, member)
            return [operator, operand if operator == "re" else operand.lower()]
    if isinstance(match, kinds.ClauseOr):
        return ["or", [clause(item) for item in match.or_]]
    return ["and", [clause(item) for item in match.and_]]


def decimal(value: Decimal) -> str:
    """Return a price with at most six decimals; what stands behind them is the noise of somebody's division."""
    text = format(value.quantize(Decimal("0.000001"), rounding=ROUND_HALF_EVEN), "f")
    return text.rstrip("0").rstrip(".")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


if __name__ == "__main__":
    OUTPUT.write_bytes(generate())
    print(f"{OUTPUT.relative_to(ROOT)}: {OUTPUT.stat().st_size} bytes")
