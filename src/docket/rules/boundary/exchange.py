"""One exchange over the boundary as a machine: events in, commands out, no socket and no clock.

Rules:
1. A request is let in by `access`, told apart by its provider's endpoints, and then either passed through (free;
   booked late if its reply reports usage), metered (billed) or refused (unknown while a cap of dollars or tokens or a
   rule for models is set, and the policy does not list it).
2. A billed request is read whole before it is weighed; its bytes go on unchanged.
3. Its event is written before the request is sent and durable before the reply's first byte passes; a refusal's
   event is durable before the refusal passes.
4. Where the record cannot be written, nothing more is admitted and the call is refused or its reply broken off.
5. However an exchange ends, what it held is settled, released or kept; nothing stays open.

What happens once a call is sent is `reply`'s; a request that is not billed is `passing`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelRequest, Outcome
from docket.formats.ledger.network_events import OtherExchange
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import UnknownEndpoints
from docket.rules.agents.interface import RefusalStyle
from docket.rules.boundary.access import Door, Entered, TurnawayCounter, TurnedAway, knock
from docket.rules.boundary.admission import Admitted, Desk, Held, Refused, model_refused
from docket.rules.boundary.billing import Call, Prices, Quote, base64_of
from docket.rules.boundary.forwarding import (
    address_of,
    asks_for_upgrade,
    has_dot_segment,
    overrides_its_method,
    request_upstream,
)
from docket.rules.boundary.http1 import NO_BODY, RequestHead, joined, request_framing
from docket.rules.boundary.late import LateBooking, Unweighed
from docket.rules.boundary.passing import Passing
from docket.rules.boundary.protocol import (
    Await,
    BodyChunk,
    BodyEnded,
    Breach,
    ClientGone,
    CloseUpstream,
    Command,
    Connect,
    Event,
    EvidenceFailed,
    Finish,
    HeadArrived,
    Mark,
    Needs,
    Record,
    Released,
    Reset,
    Retry,
    Stopping,
    Tick,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
    UpstreamHead,
)
from docket.rules.boundary.refusing import Asked, not_found, plain_text, refuse
from docket.rules.boundary.reply import ModelReply
from docket.rules.boundary.weighed import Weighed
from docket.rules.providers.interface import Endpoint, EndpointKind, RequestFacts, Wire
from docket.rules.providers.registry import ANY_WIRE, Provider

_MAX_BODY_BYTES = 512 * 1024 * 1024
_ENDS: frozenset[type[Command]] = frozenset((Finish, Reset))
_TURNED_AWAY = {
    Door.CONNECT: "docket's boundary is no proxy: point the agent's base URL at it instead\n",
    Door.ABSOLUTE_FORM: "docket's boundary is no proxy: send requests to the base URL it was given\n",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What holds for every exchange of a run."""

    policy: Policy
    docket_number: str
    token: str
    providers: Mapping[str, Provider]
    prices: Prices
    refusal: RefusalStyle
    tolerates_usage_injection: bool = False


class Exchange:
    """One request and its reply. `needs` and `deadline_ns` say what the driver waits for."""

    def __init__(self, terms: Terms, desk: Desk, door: TurnawayCounter) -> None:
        self.needs = Needs()
        self.deadline_ns: int | None = None
        self.done = False
        self._terms = terms
        self._desk = desk
        self._door = door
        self._at = ""
        self._asked = Asked(provider="", path="")
        self._body = bytearray()
        self._passing: Passing | None = None
        self._weighed: Weighed | None = None
        self._reply: ModelReply | None = None
        self._admitted: int | None = None
        self._failed = False

    def receive(self, event: Event, now_ns: int) -> list[Command]:
        """Take one event; return what is to be done, in order."""
        if self.done and not isinstance(event, EvidenceFailed):
            return []
        commands = self._on(event, now_ns)
        if not _ENDS.isdisjoint(map(type, commands)):
            self.done, self.needs, self.deadline_ns = True, Needs(), None
        return commands

    def _on(self, event: Event, now_ns: int) -> list[Command]:
        match event:
            case HeadArrived(head, at):
                self._at = at
                return self._arrived(head, now_ns)
            case EvidenceFailed(detail):
                return self._unrecorded(detail, now_ns)
            case _ if self._passing is not None:
                commands = self._passing.receive(event, now_ns)
                self.needs = self._passing.needs
                return commands
            case BodyChunk(data):
                return self._collect(data)
            case BodyEnded():
                return self._weigh(now_ns)
            case Retry():
                return self._ask(now_ns, last=False)
            case Tick():
                return self._ask(now_ns, last=True)
            case ClientGone() | Stopping():
                return self._left(Outcome.CLIENT_GONE if isinstance(event, ClientGone) else Outcome.CUT, now_ns)
            case _:
                return self._upstream(event, now_ns)

    # ---- the door

    def _arrived(self, head: RequestHead, now_ns: int) -> list[Command]:
        entered = knock(head, self._terms.token)
        if isinstance(entered, TurnedAway):
            return self._turned_away(entered, now_ns)
        self._asked = Asked(provider=entered.provider, path=entered.recorded_path)
        provider = self._terms.providers.get(entered.provider)
        if provider is None:
            return self._unknown_provider(head, entered)
        if has_dot_segment(entered.path):
            return self._refused(Refused(reason=Reason.MALFORMED_MESSAGE, detail="the path has a dot segment"))
        endpoint = _endpoint(provider, head, entered)
        self._asked = Asked(provider=provider.name, path=entered.recorded_path, wire=endpoint.wire)
        if asks_for_upgrade(head):
            return self._no_upgrade(head)
        if endpoint.kind is EndpointKind.BILLED and endpoint.wire is not None:
            self._weighed = Weighed(provider=provider, wire=endpoint.wire, head=head, entered=entered)
            self.needs = Needs(body=True)
            return []
        if endpoint.kind is EndpointKind.UNKNOWN and not self._may_pass(entered):
            detail = f"{head.method} {entered.recorded_path} is no endpoint docket knows; it may bill unmetered"
            return self._refused(Refused(reason=Reason.UNKNOWN_ENDPOINT, detail=detail))
        return self._pass(head, provider, endpoint.wire or ANY_WIRE, entered)

    def _pass(self, head: RequestHead, provider: Provider, wire: Wire, entered: Entered) -> list[Command]:
        unweighed = Unweighed(
            provider=provider,
            wire=wire,
            prices=self._terms.prices,
            head=head,
            path=self._asked.path,
            at=self._at,
        )
        late = LateBooking(unweighed, self._desk)
        self._passing = Passing(head, self._asked, self._terms.refusal, self._terms.docket_number, late)
        framing = request_framing(head)
        address = address_of(provider, entered.rest)
        forwarded = request_upstream(head, address, framing)
        self.needs = self._passing.needs
        whole = b"" if framing.length == 0 else None
        return [Connect(address.origin, forwarded, whole, chunked=framing.chunked)]

    def _turned_away(self, entered: TurnedAway, now_ns: int) -> list[Command]:
        event = self._door.count(entered.kind, now_ns)
        told: list[Command] = [] if event is None else [Record(event)]
        text = _TURNED_AWAY.get(entered.kind)
        return [*told, not_found() if text is None else plain_text(405, text), Finish()]

    def _unknown_provider(self, head: RequestHead, entered: Entered) -> list[Command]:
        if head.method in ("HEAD", "OPTIONS"):
            return [not_found(), Finish()]
        known = ", ".join(sorted(self._terms.providers))
        detail = f"no provider is called {entered.provider[:64]!r} here; known: {known}"
        return self._refused(Refused(reason=Reason.UNKNOWN_PROVIDER, detail=detail))

    def _no_upgrade(self, head: RequestHead) -> list[Command]:
        detail = f"no {joined(head.headers, b'upgrade')[:40]} here; use plain HTTP"
        answer, _ = refuse(
            Refused(reason=Reason.UPGRADE_REFUSED, detail=detail),
            self._asked,
            self._terms.refusal,
            self._terms.docket_number,
        )
        other = OtherExchange(
            provider=self._asked.provider,
            method=head.method,
            path=self._asked.path,
            status=answer.head.status,
            response_bytes=len(answer.body),
        )
        return [Record(other), answer, Finish()]

    def _may_pass(self, entered: Entered) -> bool:
        policy, budget = self._terms.policy, self._terms.policy.budget
        bound = policy.caps.max_usd is not None or policy.caps.max_tokens is not None
        ruled = bool(policy.models.allow or policy.models.deny)
        if budget.unknown_endpoints is UnknownEndpoints.PASS or not (bound or ruled):
            return True
        named = entered.recorded_path.removeprefix("/").rstrip("/")
        return any(fnmatchcase(named, pattern) for pattern in budget.pass_endpoints)

    # ---- a billed request before it is sent

    def _collect(self, data: bytes) -> list[Command]:
        if len(self._body) + len(data) > _MAX_BODY_BYTES:
            return self._refused(
                Refused(reason=Reason.TOO_LARGE, detail=f"a model call's body is over {_MAX_BODY_BYTES} bytes")
            )
        self._body += data
        return []

    def _weigh(self, now_ns: int) -> list[Command]:
        weighed = self._weighed
        assert weighed is not None  # noqa: S101 - only a billed request has its body read here
        body, self._body = bytes(self._body), bytearray()
        weighed.read(body)
        facts, policy = weighed.facts, self._terms.policy
        self._asked = Asked(
            provider=weighed.provider.name,
            path=self._asked.path,
            wire=weighed.wire,
            model=facts.model or "unknown",
            streaming=facts.streaming,
        )
        refusal = self._policy_refusal(facts, weighed.unreadable)
        if refusal is not None:
            return self._refused(refusal)
        quote = self._terms.prices.quote(
            weighed.provider, facts, body_bytes=weighed.body_bytes, at=self._at, calibration=self._desk.calibration
        )
        if isinstance(quote, Refused):
            return self._refused(quote)
        weighed.quote = quote
        self.deadline_ns = now_ns + policy.caps.admission_wait_ms * 1_000_000
        return self._ask(now_ns, last=policy.caps.admission_wait_ms == 0)

    def _policy_refusal(self, facts: RequestFacts, unreadable: str | None) -> Refused | None:
        models, caps = self._terms.policy.models, self._terms.policy.caps
        ruled = bool(models.allow or models.deny) or self._terms.prices.needed
        capped = caps.max_tokens is not None or caps.max_model_calls is not None
        if facts.ambiguous is not None and (ruled or capped):
            return Refused(reason=Reason.BODY_UNREADABLE, detail=facts.ambiguous)
        if ruled and (unreadable is not None or facts.model is None):
            detail = unreadable or facts.note or "the request names no model"
            return Refused(reason=Reason.BODY_UNREADABLE, detail=detail)
        reason = model_refused(facts.model or "unknown", self._terms.policy)
        return None if reason is None else Refused(reason=Reason.MODEL_POLICY, detail=reason)

    def _ask(self, now_ns: int, *, last: bool) -> list[Command]:
        weighed = self._weighed
        if weighed is None or weighed.quote is None or self._admitted is not None:
            return []
        answer = self._desk.ask(weighed.quote.claim, last=last)
        if isinstance(answer, Held):
            self.needs = Needs(release=True)
            return []
        self.deadline_ns = None
        if isinstance(answer, Refused):
            return self._refused(answer)
        return self._admit(weighed, weighed.quote, answer, now_ns)

    def _admit(self, weighed: Weighed, quote: Quote, admitted: Admitted, now_ns: int) -> list[Command]:
        self._admitted = admitted.call
        facts = weighed.facts
        call = Call(
            number=admitted.call,
            provider=weighed.provider,
            wire=weighed.wire,
            facts=facts,
            model=facts.model or "unknown",
            body_bytes=weighed.body_bytes,
            at=self._at,
            quote=quote,
            prices=self._terms.prices,
        )
        self._reply = ModelReply(call, self._desk, now_ns)
        self.needs = Needs(upstream=True)
        objects = weighed.provider.name in self._desk.objects_to_usage
        forwarded = weighed.forwarded(ask_for_usage=self._terms.tolerates_usage_injection and not objects)
        if forwarded.altered:
            self._reply.altered(weighed.forwarded(ask_for_usage=False).connect)
        event = ModelRequest(
            call=admitted.call,
            provider=weighed.provider.name,
            wire=weighed.wire.name,
            model=call.model,
            model_b64=base64_of(facts.model_raw),
            method=weighed.head.method,
            path=self._asked.path,
            streaming=facts.streaming,
            fingerprint=facts.fingerprint,
            request_sha256=weighed.request_sha256,
            body_bytes=len(weighed.body),
            forwarded_sha256=forwarded.sha256,
            altered=forwarded.altered or None,
            held_usd=self._held(admitted.call),
        )
        return [Record(event), Await(Mark.WRITTEN), forwarded.connect]

    def _held(self, call: int) -> Usd | None:
        if self._terms.policy.caps.max_usd is None:
            return None
        return Usd(self._desk.account.holds[call].held.micros)

    def _refused(self, refused: Refused) -> list[Command]:
        self._desk.denied += 1
        answer, event = refuse(refused, self._asked, self._terms.refusal, self._terms.docket_number)
        commands: list[Command] = [Record(event)]
        breach: Breach | None = None
        if refused.cap is not None and not refused.passing:
            effects = self._desk.exceeded(refused.cap, refused.detail)
            commands += [Record(item) for item in effects.events]
            breach = effects.breach
        commands += [Await(Mark.DURABLE), answer, Finish()]
        # Whoever waits is refused too once a cap has ended the run.
        return [*commands, Released(), breach] if breach is not None else commands

    # ---- a call that was sent

    def _upstream(self, event: Event, now_ns: int) -> list[Command]:
        reply = self._reply
        if reply is None:
            return []
        match event:
            case UpstreamHead(head, framing):
                return reply.begin(head, framing)
            case UpstreamChunk(data):
                return reply.take(data, now_ns)
            case UpstreamEnded():
                return reply.end(now_ns)
            case UpstreamFailed(reason, detail, sent):
                if reply.started:
                    return reply.broken(reason, detail, now_ns)
                refused = Refused(reason=reason, detail=detail)
                answer, denied = refuse(refused, self._asked, self._terms.refusal, self._terms.docket_number)
                told = reply.unanswered(reason, detail, now_ns, sent=sent, status=denied.status)
                return [*told, Await(Mark.DURABLE), answer, Finish()]
            case _:
                return []

    def _left(self, outcome: Outcome, now_ns: int) -> list[Command]:
        if self._reply is not None and not self._reply.settled:
            return self._reply.abandoned(outcome, now_ns)
        return [Reset()]

    def _unrecorded(self, detail: str, now_ns: int) -> list[Command]:
        sentence = f"the record of this run cannot be written: {detail}"
        self._desk.close(Reason.EVIDENCE_FAILED, sentence)
        reply, closing = self._reply, list[Command]()
        begun = self._passing is not None and self._passing.started
        if self._failed or begun or (reply is not None and reply.settled and reply.started):
            return [CloseUpstream(), Released(), Reset()]
        self._failed = True
        if reply is not None and not reply.settled:
            closing = reply.unrecorded(now_ns)
        answer, _ = refuse(
            Refused(reason=Reason.EVIDENCE_FAILED, detail=sentence),
            self._asked,
            self._terms.refusal,
            self._terms.docket_number,
        )
        return [*closing, Released(), answer, Finish()]


def _endpoint(provider: Provider, head: RequestHead, entered: Entered) -> Endpoint:
    """Return what a request stands for; one that a server may serve as a billed one of another method is unknown."""
    endpoint = provider.classify(head.method, entered.rest)
    if endpoint.kind is not EndpointKind.FREE:
        return endpoint
    with_body = request_framing(head) != NO_BODY
    as_billed = with_body and provider.classify("POST", entered.rest).kind is EndpointKind.BILLED
    return Endpoint(EndpointKind.UNKNOWN, ANY_WIRE) if as_billed or overrides_its_method(head) else endpoint
