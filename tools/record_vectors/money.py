"""Money of the vectors: micro-dollars as integers, prices as fractions, a row rounded half to even."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

Json = dict[str, Any]


def amount(micros: int) -> str:
    """Two digits where it is whole cents, else six."""
    whole, rest = divmod(micros, 1_000_000)
    return f"{whole}.{rest // 10_000:02}" if rest % 10_000 == 0 else f"{whole}.{rest:06}"


def micros(text: str) -> int:
    """The micro-dollars of an amount."""
    return int(Fraction(text) * 1_000_000)


def cost_micros(row: Json, families: Sequence[Json]) -> int:
    """What a row costs; round() of a fraction rounds half to even."""
    family = family_of(row["model"], families)
    fresh = max(row["input_tokens"] - row["cached_input_tokens"], 0)
    cached_price = Fraction(family.get("cached_input") or family["input"])
    cost = fresh * Fraction(family["input"]) + row["cached_input_tokens"] * cached_price
    return round(cost + row["output_tokens"] * Fraction(family["output"]))


def family_of(model: str, families: Sequence[Json]) -> Json:
    """The first family that matches, `*` last; the vectors' patterns are names and the `*` alone."""
    named = [item for item in families if item["pattern"] != "*" and fnmatch.fnmatchcase(model, item["pattern"])]
    return (named or [item for item in families if item["pattern"] == "*"])[0]


def rank(family: Json) -> tuple[bool, int, str]:
    """Where a family stands: without `*`, then with fewer `?`, then by name."""
    pattern = family["pattern"]
    return "*" in pattern, pattern.count("?"), pattern
