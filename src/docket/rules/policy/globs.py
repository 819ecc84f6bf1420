"""Whether one model pattern allows no more than another, and what two lists of them allow together.

Rules:
1. `within` errs to the safe side: a yes is always true, a no may be too careful.
2. What two lists allow together is never more than either allows.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\*+|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)


def within(inner: str, outer: str) -> bool:
    """Whether everything that `inner` matches is matched by `outer` (fnmatch patterns, case left aside)."""
    small, large = _tokens(inner), _tokens(outer)
    reached = _closure({0}, large)
    for token in small:
        reached = _closure(_step(reached, token, large), large)
    return len(large) in reached


def allowed_by_both(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Return patterns that allow only what both lists allow; an empty tuple allows nothing here."""
    kept = [pattern for pattern in second if any(within(pattern, outer) for outer in first)]
    kept += [pattern for pattern in first if any(within(pattern, outer) for outer in second)]
    return tuple(dict.fromkeys(kept))


def _tokens(pattern: str) -> list[str]:
    return ["*" if token.startswith("*") else token for token in _TOKEN.findall(pattern.lower())]


def _closure(positions: set[int], large: list[str]) -> set[int]:
    reached = set(positions)
    for position in sorted(positions):
        at = position
        while at < len(large) and large[at] == "*":
            at += 1
            reached.add(at)
    return reached


def _step(positions: set[int], token: str, large: list[str]) -> set[int]:
    after: set[int] = set()
    for at in positions:
        if at == len(large):
            continue
        if large[at] == "*":
            after.add(at)
        elif token != "*" and (large[at] == "?" or large[at] == token):  # noqa: S105 - a pattern's token
            after.add(at + 1)
    return after
