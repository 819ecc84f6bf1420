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

from docket.formats.ledger.model_events import Outcome
from docket.formats.reason import Reason
from docket.rules.boundary.access import Door
from docket.rules.boundary.admission import Admitted, Refused
from docket.rules.boundary.arrival import Answered, Closed, Denied, Metered, PassedOn, arrive
from docket.rules.boundary.asking import Asking, Step, exceeded_by
from docket.rules.boundary.egress import Egress
from docket.rules.boundary.forwarding import address_of, request_upstream
from docket.rules.boundary.gates import Answer
from docket.rules.boundary.handshake import Upgrading
from docket.rules.boundary.hooking import HookDoor, is_hook
from docket.rules.boundary.http1 import RequestHead, request_framing
from docket.rules.boundary.late import LateBooking, Unweighed
from docket.rules.boundary.own import OwnDoor, Visit, unrecorded_reply
from docket.rules.boundary.passing import Passing
from docket.rules.boundary.protocol import (
    Await,
    BodyChunk,
    BodyEnded,
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
    UpstreamWhole,
)
from docket.rules.boundary.proxy_door import (
    Barred,
    Malformed,
    Stranger,
    asks_for_proxy,
    at_proxy,
    challenge,
    turned_back,
)
from docket.rules.boundary.refusing import Asked, plain_text, refuse
from docket.rules.boundary.reply import ModelReply
from docket.rules.boundary.terms import Shared, Terms
from docket.rules.boundary.websocket import ResponsesSocket
from docket.rules.boundary.weighed import Weighed
from docket.rules.boundary.whose import agent_of
from docket.rules.providers.endpoints import ANY_WIRE
from docket.rules.providers.interface import RequestTarget, Wire
from docket.rules.providers.usage_chunk import ALTERATION

_MAX_BODY_BYTES = 512 * 1024 * 1024
_ENDS: frozenset[type[Command]] = frozenset((Finish, Reset))
_NOTHING, _BODY, _REPLY = Needs(), Needs(body=True), Needs(upstream=True)
_UNASKED = Asked(provider="", path="")
_WRITTEN, _DURABLE = Await(Mark.WRITTEN), Await(Mark.DURABLE)


class Exchange:
    """One request and its reply. `needs` and `deadline_ns` say what the driver waits for."""

    def __init__(self, terms: Terms, shared: Shared) -> None:
        self.needs = _NOTHING
        self.deadline_ns: int | None = None
        self.done = False
        self._terms = terms
        self._shared = shared
        self._desk = shared.desk
        self._at = ""
        self._asked = _UNASKED
        self._body = bytearray()
        self._passing: Passing | ResponsesSocket | Egress | OwnDoor | HookDoor | None = None
        self._weighed: Weighed | None = None
        self._asking: Asking | None = None
        self._reply: ModelReply | None = None
        self._failed = False

    @property
    def wire(self) -> Wire | None:
        """The wire format of the request, None while or where none is known."""
        return self._asked.wire

    @property
    def takes_whole(self) -> bool:
        """Whether a reply that came at once may be given as one event."""
        return self._reply is not None and self._reply.takes_whole

    def keep_nothing(self) -> None:
        """Have no copy of the reply kept."""
        if self._reply is not None:
            self._reply.copy = None

    def receive(self, event: Event, now_ns: int) -> list[Command]:
        """Take one event; return what is to be done, in order."""
        if self.done and not isinstance(event, EvidenceFailed):
            return []
        commands = self._on(event, now_ns)
        if not _ENDS.isdisjoint(map(type, commands)):
            self.done, self.needs, self.deadline_ns = True, _NOTHING, None
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
                self.needs, self.deadline_ns = self._passing.needs, self._passing.deadline_ns
                return commands
            case BodyChunk(data):
                return self._collect(data, now_ns)
            case BodyEnded():
                return self._weigh(now_ns)
            case Retry() | Tick():
                return self._again(now_ns, last=isinstance(event, Tick))
            case ClientGone() | Stopping():
                return self._left(Outcome.CLIENT_GONE if isinstance(event, ClientGone) else Outcome.CUT, now_ns)
            case _:
                return self._upstream(event, now_ns)

    # ---- the door

    def _arrived(self, head: RequestHead, now_ns: int) -> list[Command]:
        if self._terms.http_proxy and asks_for_proxy(head):
            return self._proxied(head, now_ns)
        arrival = arrive(head, self._terms)
        if isinstance(arrival, Closed):
            event = self._shared.door.count(arrival.kind, now_ns)
            return [*([] if event is None else [Record(event)]), *arrival.commands]
        self._asked = arrival.asked
        match arrival:
            case Denied(_, refused):
                return self._refused(refused, now_ns)
            case Answered(_, commands):
                return list(commands)
            case Metered(_, weighed):
                self._weighed = weighed
                self.needs = _BODY
                return []
            case Upgrading():
                unmetered = self._unmetered(
                    PassedOn(arrival.asked, arrival.provider, ANY_WIRE, arrival.entered, arrival.head)
                )
                self._passing = socket = ResponsesSocket(arrival, unmetered, self._terms, self._shared, self._at)
                self.needs = socket.needs
                return socket.begin()
            case Visit() if is_hook(arrival):
                self._passing = hook = HookDoor(self._shared)
                opened = hook.begin(head, arrival, now_ns)
                self.needs = hook.needs
                return opened
            case Visit():
                self._passing = door = OwnDoor(self._terms, self._shared)
                opened = door.begin(head, arrival)
                self.needs = door.needs
                return opened
            case _:
                return self._pass(arrival)

    def _proxied(self, head: RequestHead, now_ns: int) -> list[Command]:
        asking = at_proxy(head, self._terms)
        match asking:
            case Stranger():
                event = self._shared.door.count(Door.NO_TOKEN, now_ns)
                return [*([] if event is None else [Record(event)]), challenge(), Finish()]
            case Malformed(detail):
                return [plain_text(400, f"{detail}\n"), Finish()]
            case Barred():
                return turned_back(asking, self._terms, self._shared, now_ns)
            case _:
                self._passing = egress = Egress(asking, self._terms, self._shared, now_ns)
                return egress.begin(now_ns)

    def _pass(self, arrival: PassedOn) -> list[Command]:
        head = arrival.head
        self._passing = self._unmetered(arrival)
        framing = request_framing(head)
        address = address_of(arrival.provider, arrival.entered.rest)
        forwarded = request_upstream(head, address, framing)
        self.needs = self._passing.needs
        whole = b"" if framing.length == 0 else None
        return [Connect(address.origin, forwarded, whole, chunked=framing.chunked)]

    def _unmetered(self, arrival: PassedOn) -> Passing:
        head = arrival.head
        unweighed = Unweighed(
            provider=arrival.provider,
            wire=arrival.wire,
            prices=self._terms.prices,
            head=head,
            path=self._asked.path,
            target=RequestTarget(path=arrival.entered.rest, headers=head.headers),
            at=self._at,
            agent=agent_of(head, self._terms.agent_headers),
        )
        late = LateBooking(unweighed, self._desk, self._shared.retain_bytes)
        return Passing(head, self._asked, self._terms.refusal, self._terms.docket_number, late)

    # ---- a billed request before it is sent

    def _collect(self, data: bytes, now_ns: int) -> list[Command]:
        if len(self._body) + len(data) > _MAX_BODY_BYTES:
            return self._refused(
                Refused(reason=Reason.TOO_LARGE, detail=f"a model call's body is over {_MAX_BODY_BYTES} bytes"), now_ns
            )
        self._body += data
        return []

    def _weigh(self, now_ns: int) -> list[Command]:
        weighed = self._weighed
        assert weighed is not None  # noqa: S101 - only a billed request has its body read here
        body, self._body = bytes(self._body), bytearray()
        weighed.read(body)
        facts = weighed.facts
        self._asked = Asked(
            provider=weighed.provider.name,
            path=self._asked.path,
            wire=weighed.wire,
            model=facts.model or "unknown",
            streaming=facts.streaming,
        )
        asking = self._asking = Asking(weighed, self._terms, self._shared, self._at)
        return self._stepped(asking, asking.begin(now_ns), now_ns)

    def _again(self, now_ns: int, *, last: bool) -> list[Command]:
        asking = self._asking
        return [] if asking is None else self._stepped(asking, asking.again(now_ns, last=last), now_ns)

    def _stepped(self, asking: Asking, step: Step, now_ns: int) -> list[Command]:
        """Go on from what asking has come to: still waiting, or decided."""
        self.deadline_ns = asking.deadline_ns
        match step.verdict:
            case Admitted():
                return [*step.commands, *self._admit(asking, step.verdict, now_ns)]
            case Refused():
                return [*step.commands, *self._refused(step.verdict, now_ns)]
            case Answer(commands):
                return [*step.commands, *commands]
            case _:
                self.needs = Needs(release=True) if asking.waiting else self.needs
                return step.commands

    def _admit(self, asking: Asking, admitted: Admitted, now_ns: int) -> list[Command]:
        weighed = self._weighed
        assert weighed is not None and weighed.quote is not None  # noqa: S101,PT018 - an admitted call was quoted
        call = asking.call(admitted, weighed.quote)
        self._reply = ModelReply(call, self._desk, now_ns, asking.ended)
        self._reply.copy = self._shared.copy(weighed)
        self.needs = _REPLY
        objects = weighed.provider.name in self._desk.objects_to_usage
        forwarded = weighed.forwarded(ask_for_usage=self._terms.tolerates_usage_injection and not objects)
        if ALTERATION in forwarded.altered:
            self._reply.altered(weighed.forwarded(ask_for_usage=False).connect)
        event = asking.request(call, self._asked.path, forwarded)
        return [Record(event), _WRITTEN, forwarded.connect]

    def _refused(self, refused: Refused, now_ns: int) -> list[Command]:
        self._desk.denied += 1
        answer, event = refuse(refused, self._asked, self._terms.refusal, self._terms.docket_number)
        commands: list[Command] = [*self._withdraw(now_ns), Record(event)]
        effects = exceeded_by(refused, self._desk)
        commands += [Record(item) for item in effects.events]
        commands += [_DURABLE, answer, Finish()]
        # Whoever waits is refused too once a cap has ended the run.
        return [*commands, Released(), effects.breach] if effects.breach is not None else commands

    def _withdraw(self, now_ns: int) -> list[Command]:
        return [] if self._asking is None else self._asking.withdraw(now_ns)

    # ---- a call that was sent

    def _upstream(self, event: Event, now_ns: int) -> list[Command]:
        reply = self._reply
        if reply is None:
            return []
        match event:
            case UpstreamHead(head, framing):
                told = [] if self._asking is None else self._asking.begun(head.status, now_ns)
                return [*told, *reply.begin(head, framing)]
            case UpstreamWhole(head, framing, body):
                told = [] if self._asking is None else self._asking.begun(head.status, now_ns)
                return [*told, *reply.take_whole(head, framing, body, now_ns)]
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
                return [*told, _DURABLE, answer, Finish()]
            case _:
                return []

    def _left(self, outcome: Outcome, now_ns: int) -> list[Command]:
        if self._reply is not None and not self._reply.settled:
            return self._reply.abandoned(outcome, now_ns)
        return [*self._withdraw(now_ns), Reset()]

    def _unrecorded(self, detail: str, now_ns: int) -> list[Command]:
        sentence = f"the record of this run cannot be written: {detail}"
        self._desk.close(Reason.EVIDENCE_FAILED, sentence)
        reply, closing = self._reply, list[Command]()
        begun = self._passing is not None and self._passing.started
        if self._passing is not None:
            self._passing.unrecorded(now_ns)
        if self._failed or begun or (reply is not None and reply.settled and reply.started):
            return [CloseUpstream(), Released(), Reset()]
        self._failed = True
        if isinstance(self._passing, (OwnDoor, HookDoor)):
            return [Released(), unrecorded_reply(sentence), Finish()]
        if reply is not None and not reply.settled:
            closing = reply.unrecorded(now_ns)
        elif reply is None:
            self._withdraw(now_ns)
        answer, _ = refuse(
            Refused(reason=Reason.EVIDENCE_FAILED, detail=sentence),
            self._asked,
            self._terms.refusal,
            self._terms.docket_number,
        )
        return [*closing, Released(), answer, Finish()]
