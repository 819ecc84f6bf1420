"""The breaker: calls to an upstream that fails are stopped for a while, then tried one at a time.

Rules:
1. A failure is an upstream that could not be reached or broke off, or a status from 500 on. Any other status ends a
   row of failures, 4xx and 429 too: the upstream answers. What ends on the agent's or docket's own side counts as
   neither. Each call counts once.
2. `threshold` failures in a row open it: calls are refused, with the seconds until the next trial. Agents that get 503
   with Retry-After wait and come back, which is what an upstream's own trouble would have had them do.
3. After the pause exactly one call goes as a trial. Once its head has come with a status below 500 all calls go again,
   though the next failure opens it at once; a call that ends well closes it for good. A trial that fails doubles the
   pause, up to the longest; one that never was sent, or says nothing, leaves the way to another.
4. Calls that were sent before it opened change nothing when they end.

One breaker an upstream; another upstream's trouble is none of its.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docket.formats.dataclass import dataclass
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.resilience_events import BreakerChange, BreakerState
from docket.formats.reason import TRANSPORT_FAULTS, Reason
from docket.formats.run.policy_spending import ResiliencePolicy
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.gates import Ended, GateAnswer, Go

if TYPE_CHECKING:
    from docket.rules.boundary.weighed import Weighed

_SECOND_NS = 1_000_000_000
_MS = 1_000_000


def failed(ended: Ended) -> bool | None:
    """Return whether a call counts as the upstream's failure; None where it tells nothing of the upstream."""
    if ended.reason in TRANSPORT_FAULTS or (ended.status is not None and ended.status >= 500):
        return True
    if ended.status is None or ended.reason is not None:
        return None
    return False


@dataclass(slots=True)
class _Upstream:
    """What is known of one upstream; `generation` tells calls sent before a change from those sent after it."""

    provider: str
    name: str
    cooldown_ns: int
    state: BreakerState = BreakerState.CLOSED
    failures: int = 0
    until_ns: int = 0
    generation: int = 0
    trial: Weighed | None = None


class Breaker:
    """The gate that stops calls to a failing upstream."""

    def __init__(self, policy: ResiliencePolicy) -> None:
        self._threshold = policy.breaker_threshold
        self._shortest_ns = policy.breaker_cooldown_seconds * _SECOND_NS
        self._longest_ns = policy.breaker_max_cooldown_seconds * _SECOND_NS
        self._upstreams: dict[tuple[str, tuple[str, str, int]], _Upstream] = {}
        self._let_go: dict[Weighed, int] = {}

    def ask(self, weighed: Weighed, now_ns: int) -> GateAnswer:
        """Let the call go, as a trial too, or say when it may be tried."""
        upstream = self._of(weighed)
        record: tuple[Payload, ...] = ()
        if upstream.state is not BreakerState.CLOSED:
            if now_ns < upstream.until_ns or upstream.trial is not None:
                return _stopped(upstream, now_ns)
            upstream.trial = weighed
            if upstream.state is BreakerState.OPEN:
                record = self._change(upstream, BreakerState.HALF_OPEN)
        self._let_go[weighed] = upstream.generation
        return Go(record)

    def begun(self, weighed: Weighed, status: int, now_ns: int) -> tuple[Payload, ...]:  # noqa: ARG002 - a gate's form
        """Take a trial's head for the upstream's return."""
        upstream = self._of(weighed)
        if upstream.trial is not weighed or status >= 500:
            return ()
        upstream.trial = None
        upstream.failures = self._threshold - 1
        self._let_go[weighed] = upstream.generation + 1
        return self._change(upstream, BreakerState.CLOSED)

    def withdrawn(self, weighed: Weighed, now_ns: int) -> tuple[Payload, ...]:  # noqa: ARG002 - a gate's form
        """Leave the way to another trial."""
        self._let_go.pop(weighed, None)
        upstream = self._of(weighed)
        if upstream.trial is weighed:
            upstream.trial = None
        return ()

    def ended(self, weighed: Weighed, ended: Ended, now_ns: int) -> tuple[Payload, ...]:
        """Count the call, once."""
        upstream, generation = self._of(weighed), self._let_go.pop(weighed, -1)
        failure = failed(ended)
        trial, upstream.trial = upstream.trial is weighed, None if upstream.trial is weighed else upstream.trial
        if generation != upstream.generation or failure is None:
            return ()
        if not failure:
            upstream.failures, upstream.cooldown_ns = 0, self._shortest_ns
            return self._change(upstream, BreakerState.CLOSED) if trial else ()
        upstream.failures += 1
        if not trial and upstream.failures < self._threshold:
            return ()
        return self._open(upstream, now_ns)

    def _open(self, upstream: _Upstream, now_ns: int) -> tuple[Payload, ...]:
        upstream.until_ns = now_ns + upstream.cooldown_ns
        change = self._change(upstream, BreakerState.OPEN)
        upstream.cooldown_ns = min(upstream.cooldown_ns * 2, self._longest_ns)
        return change

    def _change(self, upstream: _Upstream, state: BreakerState) -> tuple[Payload, ...]:
        upstream.state = state
        upstream.generation += state is not BreakerState.HALF_OPEN
        return (
            BreakerChange(
                provider=upstream.provider,
                upstream=upstream.name,
                state=state,
                failures=upstream.failures,
                cooldown_ms=upstream.cooldown_ns // _MS if state is BreakerState.OPEN else 0,
            ),
        )

    def _of(self, weighed: Weighed) -> _Upstream:
        key = provider, (scheme, host, port) = weighed.provider.name, weighed.address.origin
        found = self._upstreams.get(key)
        if found is None:
            made = _Upstream(provider, f"{scheme}://{host}:{port}", cooldown_ns=self._shortest_ns)
            found = self._upstreams[key] = made
        return found


def _stopped(upstream: _Upstream, now_ns: int) -> Refused:
    seconds = max(1, -(-(upstream.until_ns - now_ns) // _SECOND_NS))
    return Refused(
        reason=Reason.CIRCUIT_OPEN,
        detail=f"{upstream.provider} has failed {upstream.failures} times in a row; it is tried again in {seconds} s",
        retry_after_seconds=seconds,
    )
