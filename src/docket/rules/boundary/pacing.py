"""Pacing: how many calls may be sent in any stretch of time, exactly, and who goes first.

Rules:
1. A `Span` lets `calls` calls go in any stretch of `length_ns`, wherever it begins; a rate of 2.5 a second is two in
   any 0.8 s. Several spans hold together. Instants are monotonic, so that a step of the wall clock changes nothing.
2. Whoever waits goes in the order of asking. A call goes as soon as every span has room for it and for all before it.
3. A call that would have to wait longer than the bound is refused at once, with the seconds until it could go; one
   that could go in time waits, and is refused at the bound if it was held up after all.
4. What was let go and is not sent gives its place back, and those that wait are asked again.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING

from docket.formats.dataclass import dataclass
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.resilience_events import Paced
from docket.formats.reason import Reason
from docket.formats.run.policy_spending import ResiliencePolicy
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.gates import Ended, GateAnswer, Go, Pause

if TYPE_CHECKING:
    from docket.rules.boundary.weighed import Weighed

SECOND_NS = 1_000_000_000
_MINUTE_NS = 60 * SECOND_NS
_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Span:
    """At most `calls` calls in any half-open stretch of `length_ns`."""

    calls: int
    length_ns: int


def spans_of(policy: ResiliencePolicy) -> tuple[Span, ...]:
    """Return the spans that a policy asks for; none where it does not pace."""
    spans = []
    if policy.max_calls_per_minute is not None:
        spans.append(Span(policy.max_calls_per_minute, _MINUTE_NS))
    rate = policy.max_calls_per_second
    if rate is not None:
        calls = max(1, int(rate))
        length = (Decimal(calls * SECOND_NS) / rate).to_integral_value(rounding=ROUND_CEILING)
        spans.append(Span(calls, int(length)))
    return tuple(spans)


class Course:
    """The instants at which calls were let go, oldest first, as far as a span still counts them."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = tuple(spans)
        self._longest_ns = max((span.length_ns for span in self._spans), default=0)
        self._instants: list[int] = []

    def take(self, now_ns: int) -> None:
        """Count a call that goes now; what no span reaches back to any more is forgotten."""
        insort(self._instants, now_ns)
        del self._instants[: bisect_right(self._instants, now_ns - self._longest_ns)]

    def give_back(self, instant_ns: int) -> None:
        """Count a call no longer that was let go at that instant; one that is forgotten already changes nothing."""
        at = bisect_right(self._instants, instant_ns) - 1
        if at >= 0 and self._instants[at] == instant_ns:
            del self._instants[at]

    def next_after(self, ahead: int, now_ns: int) -> int:
        """Return the earliest instant, not before `now_ns`, for a call with `ahead` others before it."""
        instants = list(self._instants)
        earliest = now_ns
        for _ in range(ahead + 1):
            for span in self._spans:
                if len(instants) >= span.calls:
                    earliest = max(earliest, instants[-span.calls] + span.length_ns)
            instants.append(earliest)
        return earliest


class Pacing:
    """The gate that paces calls; `max_wait_ns` bounds the wait of one call."""

    def __init__(self, spans: Iterable[Span], max_wait_ns: int) -> None:
        self._course = Course(spans)
        self._max_wait_ns = max_wait_ns
        self._waiting: dict[Weighed, int] = {}
        self._let_go: dict[Weighed, int] = {}

    def ask(self, weighed: Weighed, now_ns: int) -> GateAnswer:
        """Let the call go, have it wait its turn, or say when it could go."""
        came_ns = self._waiting.get(weighed)
        ahead = len(self._waiting) if came_ns is None else _place(self._waiting, weighed)
        due_ns = self._course.next_after(ahead, now_ns)
        if due_ns <= now_ns:
            self._waiting.pop(weighed, None)
            self._course.take(now_ns)
            self._let_go[weighed] = now_ns
            waited_ms = 0 if came_ns is None else (now_ns - came_ns) // _MS
            return Go((_paced(weighed, waited_ms),)) if came_ns is not None else Go()
        bound_ns = (now_ns if came_ns is None else came_ns) + self._max_wait_ns
        if bound_ns <= now_ns or (came_ns is None and due_ns > bound_ns):
            self._waiting.pop(weighed, None)
            return _too_many(due_ns - now_ns)
        self._waiting.setdefault(weighed, now_ns)
        return Pause(min(due_ns, bound_ns), heeds_release=True)

    def begun(self, weighed: Weighed, status: int, now_ns: int) -> tuple[Payload, ...]:  # noqa: ARG002 - a gate's form
        """Nothing follows from the head of a reply."""
        return ()

    def withdrawn(self, weighed: Weighed, now_ns: int) -> tuple[Payload, ...]:  # noqa: ARG002 - a gate's form
        """Take the call out of the line, or its place back."""
        self._waiting.pop(weighed, None)
        instant_ns = self._let_go.pop(weighed, None)
        if instant_ns is not None:
            self._course.give_back(instant_ns)
        return ()

    def ended(self, weighed: Weighed, ended: Ended, now_ns: int) -> tuple[Payload, ...]:
        """Keep the place of what was sent; nothing of a call reached an upstream that could not be reached."""
        if not ended.sent:
            return self.withdrawn(weighed, now_ns)
        self._let_go.pop(weighed, None)
        return ()


def _too_many(wait_ns: int) -> Refused:
    seconds = -(-wait_ns // SECOND_NS)
    return Refused(
        reason=Reason.RATE_LIMITED,
        detail=f"the policy lets no further call go for another {seconds} s",
        retry_after_seconds=seconds,
    )


def _place(waiting: dict[Weighed, int], weighed: Weighed) -> int:
    return next(place for place, other in enumerate(waiting) if other is weighed)


def _paced(weighed: Weighed, waited_ms: int) -> Paced:
    return Paced(provider=weighed.provider.name, model=weighed.facts.model or "unknown", waited_ms=waited_ms)
