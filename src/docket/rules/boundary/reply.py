"""The reply to a model call on its way to the agent: passed on, read, followed against the caps, settled.

Rules:
1. The agent gets the upstream's bytes as they come; the meter reads a decoded copy.
2. The last bytes wait until the response's event is durable: of a body with a stated length its last piece, of a
   chunked one the end mark.
3. A stream that carries the run across a cap is cut: nothing of that piece passes, the connection is reset.
4. A broken upstream is passed on as broken; so is a reply that lacks its own end (`reply_ends`).
5. Every call that was sent is settled exactly once, however it ended.

It is a part of `exchange`, which owns what comes before the reply.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from docket.formats.amount import Usd
from docket.formats.digest import Digest
from docket.formats.ledger.model_events import ModelError, ModelResponse, Outcome
from docket.formats.ledger.session_events import Note
from docket.formats.reason import Reason
from docket.formats.run.usage import Usage, UsageSource
from docket.rules.boundary.admission import Desk, Effects
from docket.rules.boundary.billing import Bill, Call, Seen, bill, served_model
from docket.rules.boundary.credentials import without_credentials
from docket.rules.boundary.forwarding import reply_downstream, reply_of_new_length, request_id_of
from docket.rules.boundary.gates import Ended
from docket.rules.boundary.http1 import UNTIL_CLOSE, Framing, ResponseHead, joined
from docket.rules.boundary.keeping import ReplyCopy, ReplyEnd
from docket.rules.boundary.onward import settled
from docket.rules.boundary.protocol import (
    Await,
    Breach,
    CloseUpstream,
    Command,
    Connect,
    Finish,
    Mark,
    Record,
    Released,
    Reset,
    SendClient,
    StartClient,
    recorded_first,
)
from docket.rules.boundary.reply_ends import is_stream, lacks_its_end, refusal_of
from docket.rules.providers.encoding import decoding
from docket.rules.providers.interface import Hidden, Meter, Reading
from docket.rules.providers.usage_chunk import UsageChunkFilter
from docket.rules.spending.scope import Crossing

_GONE_STATUS = 499
_FOLLOW_EVERY_BYTES = 64
_OBJECTIONS = (400, 422)
_MAX_SUSPECT_BYTES = 64 * 1024
_MS = 1_000_000
_DURABLE = Await(Mark.DURABLE)


class ModelReply:
    """One call from the moment it is sent to its settlement."""

    def __init__(
        self, call: Call, desk: Desk, sent_at_ns: int, told: Callable[[Ended, int], list[Command]] | None = None
    ) -> None:
        """Begin at `sent_at_ns`; `told` takes how the call ended and says what else is to be recorded."""
        self.settled = False
        self.call = call
        self.id_place = ""
        self.copy: ReplyCopy | None = None
        self._desk = desk
        self._told = told
        self._sent_at_ns = sent_at_ns
        self._head: ResponseHead | None = None
        self._framing: Framing = UNTIL_CLOSE
        self._meter: Meter | None = None
        self._first_byte_at_ns: int | None = None
        self._bytes = 0
        self._digest = hashlib.sha256()
        self._held = b""
        self._plain: Connect | None = None
        self._suspect: bytearray | None = None
        self._filter: UsageChunkFilter | None = None
        self._followed_bytes = 0
        self._input_known = False

    def altered(self, plain: Connect) -> None:
        """Say that the usage chunk was asked for on the agent's behalf; `plain` is the request without that.

        The chunk is taken out of the reply again. An upstream that objects to the question is asked without it.
        """
        self._plain = plain

    @property
    def started(self) -> bool:
        """Whether the upstream's head has come."""
        return self._head is not None

    @property
    def served_model(self) -> str | None:
        """The model that the reply names so far."""
        return served_model(self.call.facts, self._seen().reading)

    def begin(self, head: ResponseHead, framing: Framing) -> list[Command]:
        """Take the reply's head."""
        self._head, self._framing = head, framing
        content_type = joined(head.headers, b"content-type")
        meter = self.call.wire.meter(content_type, streaming=self.call.facts.streaming, headers=head.headers)
        self._meter = decoding(meter, joined(head.headers, b"content-encoding"))
        if self._plain is not None and head.status in _OBJECTIONS:
            self._suspect = bytearray()
            return []
        if self._plain is not None and is_stream(self._head):
            self._filter = UsageChunkFilter()
            self._framing = UNTIL_CLOSE if framing == UNTIL_CLOSE else Framing(chunked=True)
            return [_DURABLE, StartClient(reply_of_new_length(head), self._framing)]
        return [_DURABLE, StartClient(reply_downstream(head), framing)]

    def take(self, data: bytes, now_ns: int) -> list[Command]:
        """Take the next bytes of the reply."""
        if self._first_byte_at_ns is None:
            self._first_byte_at_ns = now_ns
        self._read(data)
        if self._suspect is not None:
            self._suspect += data
            return self._believe() if len(self._suspect) > _MAX_SUSPECT_BYTES else []
        crossing = self._followed()
        if crossing is not None:
            return self._cut(crossing, now_ns)
        if self._filter is not None:
            data = self._filter.feed(data)
            if not data:
                return []
        if self._framing.length is not None and self._bytes + len(data) >= self._framing.length:
            self._held = data
            return []
        self._passed(data)
        return [SendClient(data)]

    @property
    def takes_whole(self) -> bool:
        """Whether a reply that came at once may be taken as one event: nothing of it can be cut or changed."""
        return self._plain is None and not self.call.followed

    def take_whole(self, head: ResponseHead, framing: Framing, body: bytes, now_ns: int) -> list[Command]:
        """Take a reply that came at once: all of it waits for the event that tells of it, and so for those before."""
        start = self.begin(head, framing)[-1:]
        if body:
            self.take(body, now_ns)
        # A reply of a stated length has its end with its last byte: it is settled as whole, never as broken.
        passed = (commands := self.end(now_ns)).index(_DURABLE) + 1
        return [*commands[:passed], *start, *commands[passed:]]

    def observe(self, data: bytes, now_ns: int) -> None:
        """Take bytes that somebody else passes on."""
        if self._first_byte_at_ns is None:
            self._first_byte_at_ns = now_ns
        self._read(data)
        self._passed(data)

    def hear(self, event: bytes, data: bytes, now_ns: int) -> Crossing | None:
        """Take bytes of a socket's message, which somebody else passes on; return a cap that they carry the run across.

        `event` are they as they would stand in a stream of events.
        """
        if self._first_byte_at_ns is None:
            self._first_byte_at_ns = now_ns
        self._read(event)
        self._passed(data)
        return self._followed()

    def reports_usage(self) -> bool:
        """Whether the reply carries usage that has not been booked before; zeros alone are none yet."""
        reading = self._seen().reading
        if reading.usage in (None, Usage()):
            return False
        ids = reading.response_id, self._booking_id(reading)
        return not any(map(self._desk.has_booked, ids))

    def _booking_id(self, reading: Reading) -> str | None:
        """Return under which id the reply is remembered: its own, at `id_place` where that is not to be believed."""
        own = reading.response_id
        return own if own is None or not self.id_place else f"{self.id_place} {own}"

    def end(self, now_ns: int) -> list[Command]:
        """Take the end of a whole reply."""
        if self._suspect is not None:
            if b"stream_options" in self._suspect:
                return self._ask_plainly()
            return recorded_first([*self._believe(), *self.end(now_ns)])
        if lacks_its_end(self._head, self._framing, self._seen().reading):
            return self.broken(Reason.UPSTREAM_BROKEN, "the reply ended without its end", now_ns)
        held = self._held if self._filter is None else self._filter.finish()
        self._passed(held)
        commands, breach = self.settle(Outcome.COMPLETE, now_ns, whole=True)
        commands.append(_DURABLE)
        if held:
            commands.append(SendClient(held))
        return [*commands, Finish(), *breach]

    def broken(self, reason: Reason, detail: str, now_ns: int) -> list[Command]:
        """Take the news that the upstream broke after its head had come."""
        commands, breach = self.settle(Outcome.UPSTREAM_BROKEN, now_ns, reason=reason, detail=detail)
        return [CloseUpstream(), *commands, Reset(), *breach]

    def abandoned(self, outcome: Outcome, now_ns: int) -> list[Command]:
        """Take the news that the agent went away, or that the boundary stops: settle from what was seen."""
        if outcome is Outcome.CLIENT_GONE and self._seen().reading.terminal:
            outcome = Outcome.COMPLETE
        commands, breach = self.settle(outcome, now_ns)
        return [CloseUpstream(), *commands, Reset(), *breach]

    def unanswered(self, reason: Reason, detail: str, now_ns: int, *, sent: bool, status: int) -> list[Command]:
        """Take the news that no reply came: nothing is billed, and what was sent keeps its hold."""
        if sent:
            self._desk.keep_unknown(self.call.number)
        else:
            self._desk.release(self.call.number)
        self.settled = True
        told = self._tell(Ended(status=None, outcome=None, reason=reason, sent=sent), now_ns)
        return [Released(), Record(self._error(reason, detail, status, now_ns)), *told]

    def unrecorded(self, now_ns: int, *, may_be_sent: bool = False) -> list[Command]:
        """Take the news that the ledger takes nothing more, before anything of the reply has passed.

        A call that `may_be_sent` and has no reply yet keeps its hold.
        """
        if self._head is None:
            self.settled = True
            let_go = self._desk.keep_unknown if may_be_sent else self._desk.release
            let_go(self.call.number)
            self._tell(Ended(status=None, outcome=None, reason=Reason.EVIDENCE_FAILED), now_ns)
            return []
        self.settle(Outcome.CUT, now_ns)
        return [CloseUpstream()]

    def _believe(self) -> list[Command]:
        """Pass on a refusal that has nothing to do with what was asked for on the agent's behalf."""
        assert self._head is not None  # noqa: S101 - a body follows its head
        assert self._suspect is not None  # noqa: S101 - only what was kept back is believed
        kept, self._suspect = bytes(self._suspect), None
        self._passed(kept)
        self._framing = self._framing if self._framing == UNTIL_CLOSE else Framing(chunked=True)
        start = StartClient(reply_of_new_length(self._head), self._framing)
        return [_DURABLE, start, *([SendClient(kept)] if kept else [])]

    def _ask_plainly(self) -> list[Command]:
        """Send the request as the agent made it: the upstream does not take the question for usage."""
        plain, self._plain, self._suspect = self._plain, None, None
        assert plain is not None  # noqa: S101 - only an altered request comes here
        self._head = self._meter = self._first_byte_at_ns = None
        self._desk.objects_to_usage.add(self.call.provider.name)
        note = Note(
            code="usage-not-asked-for",
            message=f"{self.call.provider.name} refuses to be asked for usage; the call was sent as the agent made it",
            detail={"call": self.call.number},
        )
        return [Record(note), Await(Mark.WRITTEN), plain]

    def _read(self, data: bytes) -> None:
        assert self._meter is not None  # noqa: S101 - a body follows its head
        self._meter.feed(data)

    def _passed(self, data: bytes) -> None:
        self._bytes += len(data)
        self._digest.update(data)
        if self.copy is not None:
            self.copy.take(data)

    def _seen(self) -> Seen:
        if self._meter is None:
            return Seen(status=_GONE_STATUS)
        status = _GONE_STATUS if self._head is None else self._head.status
        reading = self._meter.reading()
        return Seen(
            status=status,
            reading=reading,
            # Nobody asks what was seen where it was reported to the end.
            visible_output_bytes=0 if reading.usage_final else self._meter.visible_output_bytes,
        )

    def _followed(self) -> Crossing | None:
        meter = self._meter
        if not self.call.followed or meter is None:
            return None
        visible = meter.visible_output_bytes
        if self._input_known and visible - self._followed_bytes < _FOLLOW_EVERY_BYTES:
            return None
        self._followed_bytes = visible
        self._input_known = meter.reading().usage is not None
        return self._desk.advance(self.call.number, self.call.shown(meter))

    def _cut(self, crossing: Crossing, now_ns: int) -> list[Command]:
        commands, breach = self.settle(Outcome.CUT, now_ns)
        effects = self._desk.cut(crossing)
        commands += [Record(event) for event in effects.events]
        return [CloseUpstream(), *commands, _DURABLE, Reset(), *(breach or _breach(effects))]

    def settle(
        self,
        outcome: Outcome,
        now_ns: int,
        *,
        reason: Reason = Reason.UPSTREAM_STATUS,
        detail: str = "",
        whole: bool = False,
    ) -> tuple[list[Command], list[Breach]]:
        """Book the call as it ended, `whole` if the agent gets all of it; return what is recorded, and the breach."""
        self.settled = True
        seen = self._seen()
        refused = refusal_of(self._head, seen)
        fault = reason if outcome is Outcome.UPSTREAM_BROKEN else None
        if fault is None and refused is not None and refused[0] is Reason.UPSTREAM_ERROR_EVENT:
            fault = Reason.UPSTREAM_ERROR_EVENT
        told = self._tell(
            Ended(status=None if self._head is None else seen.status, outcome=outcome, reason=fault), now_ns
        )
        if refused is None:
            commands, breach = self._booked(outcome, seen, now_ns, whole=whole)
            return [*commands, *told], breach
        self._desk.release(self.call.number)
        why, text = (reason, detail) if outcome is Outcome.UPSTREAM_BROKEN else refused
        return [Released(), Record(self._error(why, text, seen.status, now_ns)), *told], []

    def _tell(self, ended: Ended, now_ns: int) -> list[Command]:
        # Forgotten once told: a reply that held on to its exchange would keep both alive until a collection.
        told, self._told = self._told, None
        return [] if told is None else told(ended, now_ns)

    def _booked(self, outcome: Outcome, seen: Seen, now_ns: int, *, whole: bool) -> tuple[list[Command], list[Breach]]:
        call = self.call
        billed = bill(call, seen)
        if billed.source is UsageSource.REPORTED:
            self._desk.chains.remember(seen.reading.response_id, billed.usage)
        if billed.source is UsageSource.REPORTED and Hidden.STORED_HISTORY not in call.facts.hidden:
            # What is stored at the provider is no measure of a body's size.
            self._desk.calibration = self._desk.calibration.learned(call.calibration_key, call.body_bytes, billed.usage)
        if seen.reading.usage is not None:
            self._desk.booked(self._booking_id(seen.reading))
        effects = settled(self._desk, call, billed, seen.reading.response_id)
        commands: list[Command] = [Released()]
        commands += [Record(row) for row in self._desk.new_rows(billed.rows)]
        response = self._response(outcome, seen, billed, now_ns)
        if self.copy is None:
            commands.append(Record(response))
        else:
            end = ReplyEnd(head=self._head, reading=seen.reading, whole=whole, at_ns=now_ns)
            commands.append(self.copy.settled(response, end))
        commands += [Record(event) for event in effects.events]
        return commands, _breach(effects)

    def _response(self, outcome: Outcome, seen: Seen, billed: Bill, now_ns: int) -> ModelResponse:
        call, first = self.call, self._first_byte_at_ns
        return ModelResponse(
            call=call.number,
            provider=call.provider.name,
            model=billed.model,
            model_b64=billed.model_b64,
            requested_model=call.model if call.model != billed.model else None,
            status=seen.status,
            outcome=outcome,
            latency_ms=(now_ns - self._sent_at_ns) // _MS,
            first_byte_ms=None if first is None else (first - self._sent_at_ns) // _MS,
            usage=billed.usage,
            usage_source=billed.source,
            usage_note=billed.note,
            usage_parts=billed.parts or None,
            service_tier=seen.reading.service_tier,
            speed=seen.reading.speed,
            inference_geo=seen.reading.inference_geo,
            components=billed.components,
            cost_usd=billed.cost,
            cumulative_cost_usd=Usd(self._desk.account.spent.micros),
            assumed_price=billed.assumed,
            upstream_cost_usd=seen.reading.upstream_cost_usd,
            streaming=call.facts.streaming,
            response_bytes=self._bytes,
            response_sha256=Digest(self._digest.hexdigest()),
            provider_request_id=request_id_of(self._head),
            tool_use_ids=seen.reading.tool_use_ids or None,
        )

    def _error(self, reason: Reason, detail: str, status: int, now_ns: int) -> ModelError:
        return ModelError(
            call=self.call.number,
            provider=self.call.provider.name,
            model=self.call.model,
            status=status,
            latency_ms=(now_ns - self._sent_at_ns) // _MS,
            reason=reason,
            error=without_credentials(detail[:600], self.call.head),
            response_bytes=self._bytes,
            response_sha256=Digest(self._digest.hexdigest()) if self._bytes else None,
        )


def _breach(effects: Effects) -> list[Breach]:
    return [] if effects.breach is None else [effects.breach]
