"""Loop detection: the same request asked again and again although it was answered.

Rules:
1. Requests are the same that go to one endpoint of one provider with one fingerprint: the body without its ids and
   without what changes from one attempt to the next.
2. Only an answer makes the next one a repeat: a whole reply of a status below 300 that is no error in disguise. An
   agent that asks again after an error, or after it gave up, does not loop.
3. Calls in flight count, so that many at once cannot pass together.
4. More than `max_repeats` repeats in the run reach the cap `max_repeats`; what then happens is `caps.on_breach`'s.

What is remembered is bounded: the requests that were seen longest ago are forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, TypeAlias

from docket.formats.dataclass import dataclass
from docket.formats.ledger.model_events import Outcome
from docket.formats.ledger.payload_codec import Payload
from docket.formats.reason import Reason
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.gates import Ended, GateAnswer, Go

if TYPE_CHECKING:
    from docket.rules.boundary.weighed import Weighed

MAX_REMEMBERED = 65_536
_Key: TypeAlias = "tuple[str, str, str]"


@dataclass(slots=True)
class _Asked:
    answered: int = 0
    in_flight: int = 0


class RepeatGuard:
    """The gate that stops a loop; `max_repeats` is how often an answered request may be asked again."""

    def __init__(self, max_repeats: int) -> None:
        self._limit = max_repeats
        self._asked: OrderedDict[_Key, _Asked] = OrderedDict()

    def ask(self, weighed: Weighed, now_ns: int) -> GateAnswer:  # noqa: ARG002 - a gate's form
        """Let the call go unless it is one repeat too many."""
        key = _key(weighed)
        asked = self._asked.setdefault(key, _Asked())
        self._asked.move_to_end(key)
        sent = asked.answered + asked.in_flight
        if sent > self._limit:
            return _loops(sent, self._limit)
        asked.in_flight += 1
        if len(self._asked) > MAX_REMEMBERED:
            self._forget()
        return Go()

    def begun(self, weighed: Weighed, status: int, now_ns: int) -> tuple[Payload, ...]:  # noqa: ARG002 - a gate's form
        """Nothing follows from the head of a reply."""
        return ()

    def withdrawn(self, weighed: Weighed, now_ns: int) -> tuple[Payload, ...]:  # noqa: ARG002 - a gate's form
        """Count the call no longer."""
        self._over(weighed, answered=False)
        return ()

    def ended(self, weighed: Weighed, ended: Ended, now_ns: int) -> tuple[Payload, ...]:  # noqa: ARG002 - a gate's form
        """Count the call if it was answered."""
        whole = ended.outcome is Outcome.COMPLETE and ended.reason is None
        self._over(weighed, answered=whole and ended.status is not None and 200 <= ended.status < 300)
        return ()

    def _over(self, weighed: Weighed, *, answered: bool) -> None:
        asked = self._asked.get(_key(weighed))
        if asked is not None:
            asked.in_flight -= 1
            asked.answered += answered

    def _forget(self) -> None:
        """Forget the request that was seen longest ago and of which nothing is in flight."""
        for key, asked in self._asked.items():
            if not asked.in_flight:
                del self._asked[key]
                return


def _key(weighed: Weighed) -> _Key:
    return weighed.provider.name, weighed.entered.rest.partition("?")[0], weighed.facts.fingerprint


def _loops(sent: int, limit: int) -> Refused:
    times = "once" if sent == 1 else f"{sent} times"
    return Refused(
        reason=Reason.MAX_REPEATS,
        detail=f"the agent has sent this very request {times} already; caps.max_repeats lets {limit} repeats pass",
        cap=Reason.MAX_REPEATS,
        used=str(sent),
        limit=str(limit),
    )
