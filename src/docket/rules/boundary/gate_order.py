"""Which gates a policy puts before its calls, and in which order.

Rules:
1. A loop is refused before anything waits for it, and what is answered from the cache neither waits nor needs a
   provider; pacing comes before the breaker, so that the breaker's word is the last one before a call is sent.
2. A gate that the policy does not ask for does not stand there.
"""

from __future__ import annotations

from docket.formats.run.policy import Policy
from docket.rules.boundary.breaker import Breaker
from docket.rules.boundary.cache import ResponseCache
from docket.rules.boundary.gates import Gate
from docket.rules.boundary.pacing import SECOND_NS, Pacing, spans_of
from docket.rules.boundary.repeats import RepeatGuard


def gates_under(policy: Policy, cache: ResponseCache | None = None) -> tuple[Gate, ...]:
    """Return the gates of a run in their order, the cache among them where there is one."""
    gates: list[Gate] = []
    if policy.caps.max_repeats is not None:
        gates.append(RepeatGuard(policy.caps.max_repeats))
    if cache is not None:
        gates.append(cache)
    spans = spans_of(policy.resilience)
    if spans:
        gates.append(Pacing(spans, policy.resilience.max_pace_wait_seconds * SECOND_NS))
    return (*gates, Breaker(policy.resilience))
