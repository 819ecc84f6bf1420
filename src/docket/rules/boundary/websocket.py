"""The Responses API over a WebSocket: the handshake passed on, each `response.create` weighed as a POST is.

Rules:
1. Frames pass as they came, in their order; docket reads copies. No extension is agreed on, so that they can be read.
2. A client's message is held until it is whole. One that asks for a response passes policy, gates and admission, has
   a number of its own, and goes on unchanged; those behind it wait. Pings, pongs and closes pass at once.
3. A refused one never reaches the upstream: the agent gets an error message in the protocol's own shape, between two
   messages of the upstream, and the socket stays as it is.
4. A message that may bill and cannot be read, or is of a kind nobody knows, is refused under the rules for endpoints.
5. A call's last message passes once its event is durable. What would carry the run across a cap breaks the socket.
6. However the socket ends, the calls in flight on it are settled from what was seen, each once.
7. What a batch records is recorded before anything of it waits: one read may end or begin several calls.
"""

from __future__ import annotations

from collections import deque

from docket.formats.dataclass import replace
from docket.formats.ledger.model_events import Outcome
from docket.formats.ledger.network_events import OtherExchange
from docket.formats.ledger.session_events import Note
from docket.formats.reason import Reason
from docket.rules.boundary.admission import Admitted, Refused
from docket.rules.boundary.asking import Asking, Step, exceeded_by
from docket.rules.boundary.frames import FrameReader, Opcode, Piece, close_frame, encode_frame
from docket.rules.boundary.handshake import Upgrading, accepted, handshake_upstream, is_switch
from docket.rules.boundary.hearing import Hearing
from docket.rules.boundary.lanes import Lanes
from docket.rules.boundary.passing import Passing
from docket.rules.boundary.protocol import (
    Await,
    BodyChunk,
    BodyEnded,
    Breach,
    ClientGone,
    CloseUpstream,
    Command,
    EndUpstream,
    Event,
    Finish,
    Mark,
    Needs,
    Record,
    Released,
    Reset,
    Retry,
    SendClient,
    SendUpstream,
    Stopping,
    SwitchClient,
    Tick,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
    UpstreamHead,
    recorded_first,
)
from docket.rules.boundary.refusing import Asked, refusal_of, refuse
from docket.rules.boundary.reply import ModelReply
from docket.rules.boundary.saying import Message, Said, Saying, what_is
from docket.rules.boundary.terms import Shared, Terms
from docket.rules.providers.refusal import socket_refusal
from docket.rules.spending.scope import Crossing

_MAX_WAITING_BYTES = 1024 * 1024


class ResponsesSocket:
    """One WebSocket, from its handshake to its end. `deadline_ns` is set while a call waits."""

    def __init__(self, arrival: Upgrading, unmetered: Passing, terms: Terms, shared: Shared, at: str) -> None:
        """Prepare it; `unmetered` passes on an answer other than a switch of protocols."""
        self.needs = Needs(upstream=True)
        self.deadline_ns: int | None = None
        self.started = False
        self._arrival = arrival
        self._unmetered = unmetered
        self._terms, self._shared, self._desk, self._at = terms, shared, shared.desk, at
        self._refused_upgrade = False
        self._agent, self._upstream = FrameReader(masked=True), FrameReader(masked=False)
        self._saying = Saying()
        self._waiting: deque[Said] = deque()
        self._waiting_bytes = 0
        self._message: Message | None = None
        self._asking: Asking | None = None
        self._lanes = Lanes()
        self._hearing = Hearing(self._lanes, ())
        self._own: list[bytes] = []
        self._unsure = False
        self._bytes = 0

    def begin(self) -> list[Command]:
        """Return the handshake for the upstream."""
        return [handshake_upstream(self._arrival)]

    def receive(self, event: Event, now_ns: int) -> list[Command]:
        """Take one event; return what is to be done."""
        commands = recorded_first(self._on(event, now_ns))
        if self._refused_upgrade:
            return commands
        waits = self._asking is not None and self._asking.waiting
        self.deadline_ns = self._asking.deadline_ns if self._asking is not None else None
        takes = self.started and not self._agent.closed and self._waiting_bytes <= _MAX_WAITING_BYTES
        self.needs = Needs(body=takes or self._agent.closed, release=waits, upstream=True)
        return commands

    def unrecorded(self, now_ns: int) -> None:
        """Take the news that the ledger takes nothing more."""
        self._withdraw(now_ns)
        for flight in self._lanes:
            # The socket does not tell which of them stood behind the record that failed.
            flight.reply.unrecorded(now_ns, may_be_sent=True)
            self._lanes.ended(flight)

    def _on(self, event: Event, now_ns: int) -> list[Command]:
        if not self.started:
            return self._before_the_answer(event, now_ns)
        match event:
            case BodyChunk(data):
                return self._from_agent(data, now_ns)
            case UpstreamChunk(data):
                return self._from_upstream(data, now_ns)
            case Retry() | Tick() if self._asking is not None:
                return self._stepped(self._asking.again(now_ns, last=isinstance(event, Tick)), now_ns)
            case BodyEnded():
                if self._agent.closed:
                    return [EndUpstream()]
                return self._broken(Outcome.CLIENT_GONE, now_ns)
            case UpstreamEnded():
                return self._upstream_ended(now_ns)
            case UpstreamFailed(_, detail, _):
                return self._broken(Outcome.UPSTREAM_BROKEN, now_ns, detail)
            case ClientGone() | Stopping():
                return self._broken(Outcome.CLIENT_GONE if isinstance(event, ClientGone) else Outcome.CUT, now_ns)
            case _:
                return []

    # ---- the handshake

    def _before_the_answer(self, event: Event, now_ns: int) -> list[Command]:
        head = event.head if isinstance(event, UpstreamHead) else None
        if self._refused_upgrade or head is None or head.status != 101:
            self._refused_upgrade = True
            return self._pass(event, now_ns)
        if not is_switch(head):
            self._refused_upgrade = True
            detail = "the upstream switched to something other than a plain WebSocket"
            return [CloseUpstream(), *self._pass(UpstreamFailed(Reason.UPSTREAM_BROKEN, detail, sent=True), now_ns)]
        self.started = True
        self._hearing = Hearing(self._lanes, head.headers)
        return [SwitchClient(accepted(head))]

    def _pass(self, event: Event, now_ns: int) -> list[Command]:
        commands = self._unmetered.receive(event, now_ns)
        self.needs = Needs(upstream=True)
        return commands

    # ---- from the agent

    def _from_agent(self, data: bytes, now_ns: int) -> list[Command]:
        commands: list[Command] = []
        for piece in self._agent.feed(data):
            said = self._saying.take(piece)
            if said is None:
                continue
            if said.control:
                # What waits behind a close can no longer be said.
                commands += self._drop_waiting(now_ns) if self._agent.closed else []
                commands.append(SendUpstream(said.raw))
            else:
                self._waiting.append(said)
                self._waiting_bytes += len(said.raw)
                commands += self._go_on(now_ns)
        if self._agent.fault is not None:
            commands += self._agents_fault(now_ns)
        return commands

    def _go_on(self, now_ns: int) -> list[Command]:
        """Take the messages that wait, up to one that has to wait itself."""
        commands: list[Command] = []
        while self._waiting and self._asking is None:
            said = self._waiting.popleft()
            self._waiting_bytes -= len(said.raw)
            commands += self._take(said, now_ns)
        return commands

    def _take(self, said: Said, now_ns: int) -> list[Command]:
        message = what_is(said, self._terms.policy)
        if message.refused is not None:
            return self._refuse(message.refused, self._arrival.asked, message)
        if not message.asks:
            return [SendUpstream(message.raw)]
        weighed = self._arrival.weighed()
        weighed.read_message(said.payload)
        if message.warms:
            weighed.facts = replace(weighed.facts, max_output_tokens=0)
        self._message = message
        self._asking = Asking(weighed, self._terms, self._shared, self._at)
        return self._stepped(self._asking.begin(now_ns), now_ns, going_on=True)

    def _stepped(self, step: Step, now_ns: int, *, going_on: bool = False) -> list[Command]:
        """Go on from what asking has come to; `going_on`: the caller takes the messages behind."""
        if step.verdict is None:
            return step.commands
        asking, message = self._asking, self._message
        assert asking is not None and message is not None  # noqa: S101,PT018 - a verdict is one on a message
        self._asking = self._message = None
        match step.verdict:
            case Admitted():
                commands = self._send(asking, step.verdict, message, now_ns)
            case Refused():
                commands = asking.withdraw(now_ns)
                commands += self._refuse(step.verdict, self._about(asking), message)
            case _:  # an answer of HTTP
                detail = "a reply that was kept cannot be given on a WebSocket"
                refused = Refused(reason=Reason.UPGRADE_REFUSED, detail=detail)
                commands = self._refuse(refused, self._about(asking), message)
        return [*step.commands, *commands, *([] if going_on else self._go_on(now_ns))]

    def _about(self, asking: Asking) -> Asked:
        facts = asking.weighed.facts
        return replace(self._arrival.asked, wire=self._arrival.wire, model=facts.model or "unknown", streaming=True)

    def _send(self, asking: Asking, admitted: Admitted, message: Message, now_ns: int) -> list[Command]:
        quote = asking.weighed.quote
        assert quote is not None  # noqa: S101 - an admitted call was quoted
        call = asking.call(admitted, quote)
        reply = ModelReply(call, self._desk, now_ns, asking.ended)
        reply.copy = self._shared.copy(asking.weighed)
        self._lanes.add(message.stream_id, reply)
        self._unsure = True
        return [Record(asking.request(call, self._arrival.asked.path)), Await(Mark.WRITTEN), SendUpstream(message.raw)]

    def _refuse(self, refused: Refused, asked: Asked, message: Message) -> list[Command]:
        self._desk.denied += 1
        style, number = self._terms.refusal, self._terms.docket_number
        _, event = refuse(refused, asked, style, number)
        effects = exceeded_by(refused, self._desk)
        final = refused.cap is not None and not refused.passing
        text = socket_refusal(refusal_of(refused, style, number), message.stream_id, final=final)
        self._own.append(encode_frame(Opcode.TEXT, text))
        commands = [Record(event), *(Record(item) for item in effects.events), Await(Mark.DURABLE), *self._own_frames()]
        if effects.breach is None:
            return commands
        return [*commands, Released(), effects.breach]

    def _own_frames(self) -> list[Command]:
        """Return docket's own messages where one may stand: never inside a message of the upstream."""
        if not self._own or not self._upstream.between_messages or self._upstream.closed:
            return []
        own, self._own = b"".join(self._own), []
        self._bytes += len(own)
        return [SendClient(own)]

    def _agents_fault(self, now_ns: int) -> list[Command]:
        fault = self._agent.fault
        assert fault is not None  # noqa: S101 - asked only then
        note = Note(code="websocket-fault", message=f"the agent broke the WebSocket protocol: {fault.detail}")
        self._own.append(close_frame(fault))
        own = self._own_frames()
        commands, breach = self._settled(Outcome.CLIENT_GONE, now_ns)
        end: Command = Finish() if own else Reset()
        return [CloseUpstream(), Record(note), *commands, self._other(), Await(Mark.DURABLE), *own, end, *breach]

    # ---- from the upstream

    def _from_upstream(self, data: bytes, now_ns: int) -> list[Command]:
        commands: list[Command] = []
        passing = bytearray()
        breaches: list[Breach] = []
        for piece in self._upstream.feed(data):
            if piece.is_control:
                if self._upstream.closed and piece.closes and len(self._lanes):
                    settled, breach = self._settled(self._broken_outcome(), now_ns)
                    commands += [*self._passed(passing), *settled, Await(Mark.DURABLE)]
                    breaches += breach
                passing += piece.raw
                continue
            crossing, settled, breach = self._hear(piece, now_ns)
            if crossing is not None:
                return [*commands, *self._passed(passing), *self._cut(crossing, now_ns), *breaches]
            if settled:
                commands += [*self._passed(passing), *settled, Await(Mark.DURABLE)]
            breaches += breach
            passing += piece.raw
        commands += [*self._passed(passing), *self._own_frames()]
        if self._upstream.fault is not None:
            detail = f"the upstream broke the WebSocket protocol: {self._upstream.fault.detail}"
            return [*commands, *self._broken(Outcome.UPSTREAM_BROKEN, now_ns, detail), *breaches]
        return [*commands, *breaches]

    def _hear(self, piece: Piece, now_ns: int) -> tuple[Crossing | None, list[Command], list[Breach]]:
        heard = self._hearing.take(piece.payload, now_ns, ends=piece.closes)
        if heard.crossing is not None or not heard.ended or heard.flight is None:
            return heard.crossing, [], []
        self._lanes.ended(heard.flight)
        settled, breach = heard.flight.reply.settle(Outcome.COMPLETE, now_ns)
        return None, settled, breach

    def _passed(self, passing: bytearray) -> list[Command]:
        """Return what passes to the agent, the events of the calls it may belong to durable before it."""
        if not passing:
            return []
        data = bytes(passing)
        passing.clear()
        self._bytes += len(data)
        unsure, self._unsure = self._unsure, False
        return [*([Await(Mark.DURABLE)] if unsure else []), SendClient(data)]

    def _cut(self, crossing: Crossing, now_ns: int) -> list[Command]:
        settled, breach = self._settled(Outcome.CUT, now_ns)
        effects = self._desk.cut(crossing)
        breach = breach or ([] if effects.breach is None else [effects.breach])
        records = [Record(event) for event in effects.events]
        return [CloseUpstream(), *settled, *records, self._other(), Await(Mark.DURABLE), Reset(), *breach]

    def _upstream_ended(self, now_ns: int) -> list[Command]:
        if len(self._lanes) or not self._upstream.between_messages:
            return self._broken(self._broken_outcome(), now_ns)
        return [*self._drop_waiting(now_ns), self._other(), Finish()]

    def _broken_outcome(self) -> Outcome:
        return Outcome.CLIENT_GONE if self._agent.closed else Outcome.UPSTREAM_BROKEN

    # ---- the end

    def _broken(self, outcome: Outcome, now_ns: int, detail: str = "") -> list[Command]:
        commands, breach = self._settled(outcome, now_ns, detail)
        return [CloseUpstream(), *commands, self._other(), Reset(), *breach]

    def _settled(self, outcome: Outcome, now_ns: int, detail: str = "") -> tuple[list[Command], list[Breach]]:
        """Settle every call in flight, and take back what waits."""
        commands = self._drop_waiting(now_ns)
        breaches: list[Breach] = []
        words = detail or "the upstream closed the socket before its reply was whole"
        for flight in self._lanes:
            self._lanes.ended(flight)
            if outcome is Outcome.UPSTREAM_BROKEN and not flight.reply.started:
                commands += flight.reply.unanswered(Reason.UPSTREAM_BROKEN, words, now_ns, sent=True, status=502)
                continue
            settled, breach = flight.reply.settle(outcome, now_ns, reason=Reason.UPSTREAM_BROKEN, detail=words)
            commands += settled
            breaches += breach
        return commands, breaches

    def _drop_waiting(self, now_ns: int) -> list[Command]:
        self._waiting.clear()
        self._waiting_bytes = 0
        return self._withdraw(now_ns)

    def _withdraw(self, now_ns: int) -> list[Command]:
        asking, self._asking, self._message = self._asking, None, None
        return [] if asking is None else asking.withdraw(now_ns)

    def _other(self) -> Record:
        asked = self._arrival.asked
        return Record(
            OtherExchange(
                provider=asked.provider, method="GET", path=asked.path, status=101, response_bytes=self._bytes
            )
        )
