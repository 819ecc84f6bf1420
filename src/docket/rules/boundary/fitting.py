"""Lowering what a call may give out until its worst case fits, where the policy lets that be done.

Rules:
1. It is done under `strict` alone, for a cap of dollars or tokens of the run or of a sub-budget, and only where the
   request states its limit in a body that goes out as it came in.
2. The limit becomes the largest that fits, never less than `_LEAST_TOKENS`, nor than what the request's own thinking
   needs beside them.
3. The digest of what went on and the name of what was changed stand in the call's event.
"""

from __future__ import annotations

from collections.abc import Callable

from docket.formats.dataclass import replace
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import Admission
from docket.rules.boundary.admission import Desk, Refused
from docket.rules.boundary.billing import Quote
from docket.rules.boundary.weighed import Weighed
from docket.rules.providers.interface import RequestFacts
from docket.rules.spending.scope import ScopeKind, Whose

_LEAST_TOKENS = 256
_CAPS = (Reason.MAX_USD, Reason.MAX_TOKENS)

QuoteOf = Callable[[RequestFacts], "Quote | Refused"]


def may_lower(policy: Policy, weighed: Weighed, refused: Refused) -> bool:
    """Whether a refused call may have its limit lowered."""
    wanted = policy.budget.lower_max_tokens and policy.budget.admission is Admission.STRICT
    by_pool = refused.scope is not None and refused.scope.kind is ScopeKind.POOL
    return wanted and refused.cap in _CAPS and not by_pool and weighed.may_be_altered


def fitting(weighed: Weighed, quote_of: QuoteOf, desk: Desk, whose: Whose) -> Quote | None:
    """Lower the limit of a request to what fits now; return the quote of what goes on, None where nothing does."""
    facts = weighed.facts
    stated = facts.max_output_tokens
    least = _LEAST_TOKENS + (facts.thinking_tokens or 0)
    if stated is None or stated <= least:
        return None
    most = _largest(least, stated - 1, lambda tokens: _fits(facts, tokens, quote_of, desk, whose))
    if most is None or not weighed.lower_output(most):
        return None
    quote = quote_of(weighed.facts)
    return None if isinstance(quote, Refused) else quote


def _fits(facts: RequestFacts, tokens: int, quote_of: QuoteOf, desk: Desk, whose: Whose) -> bool:
    quote = quote_of(replace(facts, max_output_tokens=tokens))
    return not isinstance(quote, Refused) and desk.has_room(quote.claim, whose)


def _largest(least: int, most: int, fits: Callable[[int], bool]) -> int | None:
    """Return the largest number from `least` to `most` that fits; what fits a number fits every smaller one."""
    if not fits(least):
        return None
    low, high = least, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
