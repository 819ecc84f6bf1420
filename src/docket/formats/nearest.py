"""The names a mistyped one may have meant."""

from __future__ import annotations

from collections.abc import Collection


def nearest(name: str, known: Collection[str], *, most: int = 1) -> tuple[str, ...]:
    """Return at most `most` of the known names that are spelled like `name`, the nearest first."""
    import difflib  # noqa: PLC0415 - only what is mistyped asks

    return tuple(difflib.get_close_matches(name, known, n=most, cutoff=0.6))
