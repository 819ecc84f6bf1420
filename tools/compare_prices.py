"""Compare docket's price book with LiteLLM's public table and write `docs/reference/price-differences.md`.

LiteLLM's table (`model_prices_and_context_window_backup.json` of its package, MIT) is read where litellm is
installed, or from the file given: `python tools/compare_prices.py [FILE]`. Neither table is taken to be right: a
difference is something to look up at the provider.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from importlib import metadata, util
from pathlib import Path
from typing import Any

from docket.formats.run.price_table import spell_price
from docket.rules.spending.price_book import Found, PriceBook
from docket.rules.spending.tariff import Asked, Tariff, resolve

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "src" / "docket" / "data" / "prices.json"
OUTPUT = ROOT / "docs" / "reference" / "price-differences.md"
PROVIDERS = ("anthropic", "openai")
MEMBERS = {
    "input": "input_cost_per_token",
    "cached_input": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
    "cache_write_1h": "cache_creation_input_token_cost_above_1hr",
    "output": "output_cost_per_token",
}
# What LiteLLM appends to a price's name, and what docket is asked for it.
TERMS: dict[str, dict[str, Any]] = {
    "": {},
    "_priority": {"service_tier": "priority"},
    "_flex": {"service_tier": "flex"},
    "_batches": {"service_tier": "batch"},
    "_above_100k_tokens": {"input_tokens": 100_001},
    "_above_200k_tokens": {"input_tokens": 200_001},
    "_above_272k_tokens": {"input_tokens": 272_001},
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One price of one model, in dollars per million tokens, on which the tables differ; None: no such price."""

    provider: str
    model: str
    member: str
    ours: str | None
    theirs: str | None


def litellm_table() -> Path | None:
    """Return where LiteLLM's table stands, None if litellm is not installed."""
    spec = util.find_spec("litellm")
    if spec is None or not spec.origin:
        return None
    path = Path(spec.origin).parent / "model_prices_and_context_window_backup.json"
    return path if path.is_file() else None


def differences(book: PriceBook, table: dict[str, dict[str, Any]]) -> Iterator[Difference | tuple[str, str]]:
    """Yield every difference, and (provider, model) for a model that the book does not list."""
    for model, entry in sorted(table.items()):
        provider = entry.get("litellm_provider")
        if provider not in PROVIDERS or entry.get("mode") not in ("chat", "responses") or model.startswith("ft:"):
            continue
        found = book.find(provider, model)
        if not isinstance(found, Found) or found.assumed:
            yield provider, model
            continue
        for suffix, terms in TERMS.items():
            asked = Asked(provider=provider, model=model, at=f"{book.as_of}T00:00:00Z", **terms)
            yield from _differing(asked, resolve(book, asked), entry, suffix)


def _differing(asked: Asked, tariff: Tariff, entry: dict[str, Any], suffix: str) -> Iterator[Difference]:
    for member, theirs_name in MEMBERS.items():
        theirs = _per_million(entry.get(theirs_name + suffix))
        if suffix and theirs is None:
            continue
        ours = None if tariff.assumed else getattr(tariff.rates, member)
        if ours != theirs and not (ours is None and theirs == 0):
            yield Difference(asked.provider, asked.model, member + suffix, _spelled(ours), _spelled(theirs))


def page(book: PriceBook, table: dict[str, dict[str, Any]], version: str) -> str:
    """Return the page that lists the differences."""
    rows, missing = [], []
    for item in differences(book, table):
        if isinstance(item, Difference):
            rows.append(item)
        else:
            missing.append(item)
    compared = {
        (entry["litellm_provider"], model)
        for model, entry in table.items()
        if entry.get("litellm_provider") in PROVIDERS and entry.get("mode") in ("chat", "responses")
    }
    lines = [
        "# Where docket's price book and LiteLLM's table differ",
        "",
        f"Written by `tools/compare_prices.py`: docket's book as of {book.as_of} beside LiteLLM {version},",
        f"{len(compared)} chat models of {' and '.join(PROVIDERS)}, in US dollars per million tokens: standard",
        "prices, and those of tiers and long inputs where LiteLLM has them (named as it names them).",
        "A dash means that a table has no such price. Neither is taken to be right; each line is something to look up.",
        "",
        "| provider | model | price | docket | LiteLLM |",
        "|---|---|---|---|---|",
        *(f"| {d.provider} | {d.model} | {d.member} | {d.ours or '-'} | {d.theirs or '-'} |" for d in rows),
        "",
        "Models that LiteLLM lists and the book does not; under a dollar cap they are refused, or priced at the",
        "dearest where the policy says so:",
        "",
        *(f"- {provider}: {model}" for provider, model in missing),
        "",
    ]
    return "\n".join(lines)


def _per_million(price: object) -> int | None:
    if not isinstance(price, (int, float)):
        return None
    return int((Decimal(repr(price)) * 10**12).to_integral_value())


def _spelled(micros: int | None) -> str | None:
    return None if micros is None else spell_price(micros)


def main() -> None:
    """Write the page."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else litellm_table()
    if path is None:
        raise SystemExit("litellm is not installed and no file was given")
    try:
        version = metadata.version("litellm")
    except metadata.PackageNotFoundError:
        version = path.name
    book = PriceBook.parse(BOOK.read_bytes())
    OUTPUT.write_text(page(book, json.loads(path.read_bytes()), version), encoding="utf-8")
    print(f"wrote {OUTPUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
