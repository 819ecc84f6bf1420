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
    if family is None:
        raise ValueError(f"nothing prices {row['model']}")
    fresh = max(row["input_tokens"] - row["cached_input_tokens"], 0)
    cached_price = Fraction(family.get("cached_input") or family["input"])
    cost = fresh * Fraction(family["input"]) + row["cached_input_tokens"] * cached_price
    return round(cost + row["output_tokens"] * Fraction(family["output"]))


def family_of(model: str, families: Sequence[Json]) -> Json | None:
    """The first family that matches, `*` last; letter case does not count."""
    for family in families:
        globs = [part.strip().lower() for part in family["pattern"].split("/") if part.strip()]
        if any(glob != "*" and fnmatch.fnmatchcase(model.lower(), glob) for glob in globs):
            return family
    return next((item for item in families if item["pattern"].strip() == "*"), None)


def rank(family: Json) -> tuple[bool, int, int, str]:
    """Where a family stands: `*` last, then those with fewer `*`, with fewer `?`, by name."""
    pattern = family["pattern"]
    return pattern == "*", pattern.count("*"), pattern.count("?"), pattern
