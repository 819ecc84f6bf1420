"""A weighed call on its way to admission: the policy, the gates in their order, the quote, the desk.

Rules:
1. What the policy does not allow, or what cannot be read under a rule that needs it, is asked of nobody else.
2. A gate that let the call go learns exactly once what became of it: `withdrawn`, or `ended` once it was sent.
3. A call that waits is asked again at a release, a gate's pause only at its end; the last time the desk says yes or no.

How a call comes in and goes on is its exchange's, or its socket's.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple, TypeAlias

from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelRequest
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.rules.boundary.admission import Admitted, Desk, Effects, Held, Refused
from docket.rules.boundary.billing import Call, Quote, base64_of
from docket.rules.boundary.fitting import fitting, may_lower
from docket.rules.boundary.gate_line import GateLine
from docket.rules.boundary.gates import Answer, Ended, Pause
from docket.rules.boundary.protocol import Command
from docket.rules.boundary.terms import Shared, Terms
from docket.rules.boundary.weighed import Forwarded, Weighed
from docket.rules.boundary.whose import whose
from docket.rules.providers.interface import RequestFacts
from docket.rules.spending.scope import MAIN_AGENT, Crossing

_MS = 1_000_000

Verdict: TypeAlias = "Admitted | Refused | Answer"


class Step(NamedTuple):
    """What is recorded now, and the verdict; None while the call waits."""

    commands: list[Command]
    verdict: Verdict | None = None


class Asking:
    """One weighed call until it is sent, and the gates' news of its end. `deadline_ns` is set while it waits."""

    def __init__(self, weighed: Weighed, terms: Terms, shared: Shared, at: str) -> None:
        self.deadline_ns: int | None = None
        self.waiting = False
        self.weighed = weighed
        self._whose = whose(weighed, terms)
        self._terms = terms
        self._desk = shared.desk
        self._at = at
        self._gates = GateLine(shared.gates)
        self._overdue = False

    def begin(self, now_ns: int) -> Step:
        """Ask for the first time."""
        refused = policy_refusal(self.weighed.facts, self.weighed.unreadable, self._terms)
        return self._through_gates(now_ns) if refused is None else Step([], refused)

    def again(self, now_ns: int, *, last: bool) -> Step:
        """Ask again at a release, or at the deadline where it is the `last` time."""
        if not self.waiting:
            return Step([])
        if self.weighed.quote is not None:
            return self._ask(self.weighed.quote, last=last)
        if self._desk.closed is not None:
            return self._decided(self._desk.closed)
        # A hold that was released is no news to most gates; the end of the pause they asked for is.
        return self._through_gates(now_ns) if last or self._gates.heeds_release else Step([])

    def withdraw(self, now_ns: int) -> list[Command]:
        """Tell the gates that the call is not sent; return what they want recorded."""
        return self._gates.withdraw(self.weighed, now_ns)

    def begun(self, status: int, now_ns: int) -> list[Command]:
        """Tell the gates that the head of a reply has come; return what they want recorded."""
        return self._gates.begun(self.weighed, status, now_ns)

    def ended(self, ended: Ended, now_ns: int) -> list[Command]:
        """Tell the gates how the call ended; return what they want recorded."""
        return self._gates.ended(self.weighed, ended, now_ns)

    def call(self, admitted: Admitted, quote: Quote) -> Call:
        """Return the admitted call."""
        weighed = self.weighed
        return Call(
            number=admitted.call,
            provider=weighed.provider,
            wire=weighed.wire,
            facts=weighed.facts,
            model=weighed.facts.model or "unknown",
            body_bytes=weighed.body_bytes,
            at=self._at,
            quote=quote,
            prices=self._terms.prices,
            head=weighed.head,
        )

    def request(self, call: Call, path: str, forwarded: Forwarded | None = None) -> ModelRequest:
        """Return the event of an admitted call; `path` is the recorded one, `forwarded` what goes on."""
        weighed, facts = self.weighed, call.facts
        agent = self._whose.agent
        return ModelRequest(
            call=call.number,
            provider=weighed.provider.name,
            wire=weighed.wire.name,
            model=call.model,
            model_b64=base64_of(facts.model_raw),
            method=weighed.head.method,
            path=path,
            streaming=facts.streaming,
            fingerprint=facts.fingerprint,
            request_sha256=weighed.request_sha256,
            body_bytes=len(weighed.body),
            forwarded_sha256=None if forwarded is None else forwarded.sha256,
            altered=(None if forwarded is None else forwarded.altered) or None,
            held_usd=self._held(call.number),
            agent_id=None if agent == MAIN_AGENT else agent,
        )

    def _held(self, call: int) -> Usd | None:
        return Usd(self._desk.held_micros(call)) if self._terms.prices.needed else None

    def _through_gates(self, now_ns: int) -> Step:
        commands, held_up = self._gates.ask(self.weighed, now_ns)
        if held_up is None:
            step = self._quote(now_ns)
            return Step([*commands, *step.commands], step.verdict)
        if isinstance(held_up, Pause):
            self.waiting, self.deadline_ns = True, held_up.until_ns
            return Step(commands)
        if isinstance(held_up, Answer):
            commands += self.withdraw(now_ns)
        return self._decided(held_up, commands)

    def _quote(self, now_ns: int) -> Step:
        weighed = self.weighed
        quote = self._quoted(weighed.facts)
        if isinstance(quote, Refused):
            return self._decided(quote)
        weighed.quote = quote
        wait_ms = self._terms.policy.caps.admission_wait_ms
        self.deadline_ns = now_ns + wait_ms * _MS
        return self._ask(quote, last=wait_ms == 0)

    def _quoted(self, facts: RequestFacts) -> Quote | Refused:
        return self._terms.prices.quote(
            self.weighed.provider,
            facts,
            body_bytes=self.weighed.body_bytes,
            at=self._at,
            calibration=self._desk.calibration.beside(self._desk.chains.tokens(facts.previous_response_id)),
        )

    def _ask(self, quote: Quote, *, last: bool) -> Step:
        self._overdue = self._overdue or last
        answer = self._desk.ask(quote.claim, last=self._overdue, whose=self._whose)
        if isinstance(answer, Held):
            self.waiting = True
            if self._overdue:
                # What it waits for now is a pool's answer, which always comes.
                self.deadline_ns = None
            return Step([])
        if isinstance(answer, Refused) and may_lower(self._terms.policy, self.weighed, answer):
            return self._lowered(answer)
        return self._decided(answer)

    def _lowered(self, refused: Refused) -> Step:
        """Ask again for a call that may give out less; the refusal stands where that does not help."""
        weighed = self.weighed
        quote = fitting(weighed, self._quoted, self._desk, self._whose)
        if quote is None:
            return self._decided(refused)
        weighed.quote = quote
        answer = self._desk.ask(quote.claim, last=True, whose=self._whose)
        if isinstance(answer, Held):
            self._overdue, self.waiting, self.deadline_ns = True, True, None
            return Step([])
        return self._decided(answer)

    def _decided(self, verdict: Verdict, commands: list[Command] | None = None) -> Step:
        self.waiting, self.deadline_ns = False, None
        return Step([] if commands is None else commands, verdict)


def policy_refusal(facts: RequestFacts, unreadable: str | None, terms: Terms) -> Refused | None:
    """Return why the policy does not let a call go, None if it does."""
    policy = terms.policy
    ruled = bool(policy.models.allow or policy.models.deny or policy.caps.per_model) or terms.prices.needed
    capped = policy.limits_tokens or policy.limits_calls
    if facts.ambiguous is not None and (ruled or capped):
        return Refused(reason=Reason.BODY_UNREADABLE, detail=facts.ambiguous)
    if ruled and (unreadable is not None or facts.model is None):
        detail = unreadable or facts.note or "the request names no model"
        return Refused(reason=Reason.BODY_UNREADABLE, detail=detail)
    reason = model_refused(facts.model or "unknown", terms.policy)
    return None if reason is None else Refused(reason=Reason.MODEL_POLICY, detail=reason)


def model_refused(model: str, policy: Policy) -> str | None:
    """Return why the policy does not allow a model, None if it does; deny wins over allow."""
    name = model.lower()
    for pattern in policy.models.deny:
        if fnmatchcase(name, pattern.lower()):
            return f"the policy denies the model {model} (models.deny has {pattern})"
    allowed = policy.models.allow
    if allowed and not any(fnmatchcase(name, pattern.lower()) for pattern in allowed):
        return f"the policy does not allow the model {model} (models.allow lists others)"
    return None


def exceeded_by(refused: Refused, desk: Desk) -> Effects:
    """Return what follows for the run from a refusal: where a cap stands for good, it has been reached."""
    if refused.cap is None or refused.passing:
        return Effects()
    return desk.exceeded(Crossing(refused.cap, refused.scope), refused.detail, used=refused.used, limit=refused.limit)
