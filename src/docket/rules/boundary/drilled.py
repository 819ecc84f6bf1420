"""An exchange with a fault injected into its model call: what the agent sees is changed, what is billed is not.

Rules:
1. Each injected fault is recorded behind its call's request, before anything comes of it.
2. `status`, `drop` and `hang` take the upstream's place: it is not asked, nothing is billed, the breaker counts them as
   it would the upstream's own. `delay` only sends later.
3. `slow`, `truncate` and `corrupt` change how a real reply reaches the agent; it is read and billed as it came. `reset`
   breaks it off and is billed from what was seen. What is recorded of a reply's bytes is what the agent got.
4. Nothing of a faulty reply is kept for another call.

It stands around an exchange and speaks to the driver as the exchange does.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator

from docket.formats.dataclass import replace
from docket.formats.digest import Digest
from docket.formats.ledger.model_events import ModelError, ModelRequest, ModelResponse
from docket.formats.ledger.resilience_events import FaultInjected
from docket.formats.reason import Reason
from docket.rules.boundary.exchange import Exchange
from docket.rules.boundary.forwarding import reply_of_new_length
from docket.rules.boundary.http1 import Framing, ResponseHead
from docket.rules.boundary.protocol import (
    ClientGone,
    Command,
    Connect,
    Event,
    EvidenceFailed,
    Finish,
    Needs,
    Record,
    Refuse,
    Reset,
    SendClient,
    StartClient,
    Stopping,
    Tick,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
    UpstreamHead,
)
from docket.rules.boundary.terms import Shared, Terms
from docket.rules.drills.faults import Fault, FaultKind, FaultPlan, FaultyCall, draw
from docket.rules.providers.interface import Refusal, Wire

_MS = 1_000_000
_SLOW_STEP_MS = 100
# What was written has to leave before the connection is broken, or the agent would see nothing of the reply.
_BEFORE_RESET_NS = 50 * _MS
_LEAVING = (ClientGone, Stopping, EvidenceFailed)
_OURS = (b"x-docket-reason", b"x-docket-number", b"x-should-retry")


class DrilledExchange:
    """One exchange of a drill."""

    takes_whole = False

    def __init__(self, terms: Terms, shared: Shared, plan: FaultPlan) -> None:
        self._exchange = Exchange(terms, shared)
        self._plan = plan
        self._docket_number = terms.docket_number
        self._fault: Fault | None = None
        self._call = 0
        self._wakes_at_ns: int | None = None
        self._connect: Connect | None = None
        self._slowed: deque[bytes] = deque()
        self._sent_bytes = 0
        self._digest = hashlib.sha256()
        self._broke = False

    @property
    def needs(self) -> Needs:
        """What is waited for: the exchange's needs, or the end of a wait of the fault's."""
        return self._exchange.needs if self._wakes_at_ns is None or self.done else Needs(release=True)

    @property
    def deadline_ns(self) -> int | None:
        """When a wait ends."""
        return self._exchange.deadline_ns if self._wakes_at_ns is None or self.done else self._wakes_at_ns

    @property
    def done(self) -> bool:
        """Whether the exchange has ended."""
        return self._broke or self._exchange.done

    def receive(self, event: Event, now_ns: int) -> list[Command]:
        """Take one event; return what is to be done, in order."""
        if self._broke and not isinstance(event, EvidenceFailed):
            return []
        if self._wakes_at_ns is not None:
            if isinstance(event, Tick):
                return self._woken(now_ns)
            # Nothing else is asked for during a wait; a release is no news to it.
            return self._left_waiting(event, now_ns) if isinstance(event, _LEAVING) else []
        if self._fault is not None and self._fault.kind is FaultKind.SLOW and isinstance(event, UpstreamChunk):
            self._slow_down(event.data, now_ns)
            return []
        return self._pass(event, now_ns)

    def _pass(self, event: Event, now_ns: int) -> list[Command]:
        commands = self._exchange.receive(event, now_ns)
        if self._fault is None:
            return self._begin(commands, now_ns)
        return self._distorted(commands, now_ns)

    # ---- before the upstream is asked

    def _begin(self, commands: list[Command], now_ns: int) -> list[Command]:
        request = next((payload for payload in map(_request_of, commands) if payload is not None), None)
        if request is None:
            return commands
        asked = FaultyCall(
            number=request.call,
            provider=request.provider,
            model=request.model,
            path=request.path.partition("?")[0],
        )
        fault = self._plan.fault_for(asked)
        if fault is None:
            return commands
        self._fault, self._call = fault, request.call
        self._exchange.keep_nothing()
        event = FaultInjected(call=request.call, kind=str(fault.kind), detail=fault.detail, asked=fault.asked)
        told: list[Command] = []
        for command in commands:
            told += [command] if _request_of(command) is None else [command, Record(event)]
        return self._instead(told, fault, self._exchange.wire, now_ns)

    def _instead(self, commands: list[Command], fault: Fault, wire: Wire | None, now_ns: int) -> list[Command]:
        if fault.kind in (FaultKind.DELAY, FaultKind.HANG):
            self._connect = next((item for item in commands if isinstance(item, Connect)), None)
            self._wakes_at_ns = now_ns + (fault.value or 0) * _MS
        if fault.kind in (FaultKind.DROP, FaultKind.HANG, FaultKind.STATUS, FaultKind.DELAY):
            commands = [item for item in commands if not isinstance(item, Connect)]
        if fault.kind is FaultKind.DROP:
            return [*commands, *self._unanswered(now_ns)]
        if fault.kind is FaultKind.STATUS:
            for event in self._answer(fault, wire):
                commands += self._exchange.receive(event, now_ns)
        return commands

    def _answer(self, fault: Fault, wire: Wire | None) -> Iterator[Event]:
        """Yield the upstream's reply that is made up, in its protocol's own shape."""
        assert wire is not None  # noqa: S101 - a billed call has its wire
        status = fault.value or 0
        reply = wire.refusal(
            Refusal(
                reason=Reason.INJECTED_FAULT,
                message=f"docket {self._docket_number}: an injected HTTP {status}, for this run is a drill",
                docket_number=self._docket_number,
                status=status,
                retry_after_seconds=fault.retry_after_seconds,
            )
        )
        fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers]
        kept = [field for field in fields if field[0] not in _OURS]
        length = (b"content-length", b"%d" % len(reply.body))
        head = ResponseHead(status=status, reason=b"", headers=(*kept, length))
        yield UpstreamHead(head, Framing(length=len(reply.body)))
        yield UpstreamChunk(reply.body)
        yield UpstreamEnded()

    def _unanswered(self, now_ns: int) -> list[Command]:
        """End the call without an answer: the agent's connection breaks."""
        self._wakes_at_ns, self._broke = None, True
        detail = "an injected fault: no answer"
        commands = self._exchange.receive(UpstreamFailed(Reason.INJECTED_FAULT, detail, sent=False), now_ns)
        return [Reset() if isinstance(item, Finish) else item for item in commands if not isinstance(item, Refuse)]

    # ---- waits

    def _woken(self, now_ns: int) -> list[Command]:
        fault = self._fault
        if fault is not None and fault.kind is FaultKind.HANG:
            return self._unanswered(now_ns)
        if fault is not None and fault.kind is FaultKind.SLOW:
            return self._next_piece(now_ns)
        self._wakes_at_ns = None
        if fault is not None and fault.kind is FaultKind.RESET:
            return self._cut_off(now_ns)
        connect, self._connect = self._connect, None
        return [] if connect is None else [connect]

    def _left_waiting(self, event: Event, now_ns: int) -> list[Command]:
        """Take the news that nobody waits any more."""
        self._wakes_at_ns = None
        self._slowed.clear()
        unsent = self._fault is not None and self._fault.kind in (FaultKind.DELAY, FaultKind.HANG)
        return (
            self._unanswered(now_ns) if unsent and not isinstance(event, EvidenceFailed) else self._pass(event, now_ns)
        )

    def _slow_down(self, data: bytes, now_ns: int) -> None:
        rate = self._fault.value if self._fault is not None else None
        size = max(1, (rate or 1) * _SLOW_STEP_MS // 1000)
        self._slowed += (data[at : at + size] for at in range(0, len(data), size))
        self._wakes_at_ns = now_ns + self._step_ns(size)

    def _step_ns(self, size: int) -> int:
        rate = self._fault.value if self._fault is not None else None
        return size * 1000 * _MS // (rate or 1)

    def _next_piece(self, now_ns: int) -> list[Command]:
        piece = self._slowed.popleft()
        self._wakes_at_ns = now_ns + self._step_ns(len(piece)) if self._slowed else None
        return self._pass(UpstreamChunk(piece), now_ns)

    # ---- replies

    def _distorted(self, commands: list[Command], now_ns: int) -> list[Command]:
        fault = self._fault
        if fault is None or fault.kind not in (FaultKind.TRUNCATE, FaultKind.CORRUPT, FaultKind.RESET):
            return commands
        shown: list[Command] = []
        for command in commands:
            if isinstance(command, StartClient) and fault.kind is FaultKind.TRUNCATE:
                shown.append(StartClient(reply_of_new_length(command.head), Framing(chunked=True)))
            elif isinstance(command, SendClient):
                data = self._changed(fault, command.data)
                shown += [SendClient(data)] if data else []
            else:
                shown.append(command)
        shown = [self._restated(item) for item in shown]
        if fault.kind is FaultKind.RESET and self._is_beyond(fault, commands):
            if self._exchange.done:
                return [Reset() if isinstance(item, Finish) else item for item in shown]
            self._wakes_at_ns = now_ns + _BEFORE_RESET_NS
        return shown

    def _changed(self, fault: Fault, data: bytes) -> bytes:
        value, at = fault.value or 0, self._sent_bytes
        if fault.kind is FaultKind.CORRUPT:
            data = _corrupted(data, at, value, (self._plan.seed, self._call))
        else:
            data = data[: max(0, value - at)]
        self._sent_bytes += len(data)
        self._digest.update(data)
        return data

    def _is_beyond(self, fault: Fault, commands: list[Command]) -> bool:
        begun = any(isinstance(item, StartClient | SendClient) for item in commands)
        return begun and self._sent_bytes >= (fault.value or 0)

    def _cut_off(self, now_ns: int) -> list[Command]:
        self._broke = True
        failed = UpstreamFailed(Reason.INJECTED_FAULT, "an injected fault: the connection broke", sent=True)
        return [self._restated(item) for item in self._exchange.receive(failed, now_ns)]

    def _restated(self, command: Command) -> Command:
        """Return the command with what is recorded of the reply's bytes as the agent got them."""
        if not isinstance(command, Record):
            return command
        payload, digest = command.payload, Digest(self._digest.hexdigest())
        if isinstance(payload, ModelResponse):
            return Record(replace(payload, response_bytes=self._sent_bytes, response_sha256=digest))
        if isinstance(payload, ModelError):
            kept = digest if self._sent_bytes else None
            return Record(replace(payload, response_bytes=self._sent_bytes, response_sha256=kept))
        return command


def exchange_under(terms: Terms, shared: Shared) -> Exchange | DrilledExchange:
    """Return an exchange; one with faults where the run is a drill."""
    return Exchange(terms, shared) if terms.faults is None else DrilledExchange(terms, shared, terms.faults)


def _request_of(command: Command) -> ModelRequest | None:
    payload = command.payload if isinstance(command, Record) else None
    return payload if isinstance(payload, ModelRequest) else None


def _corrupted(data: bytes, at: int, every: int, seed: tuple[int, int]) -> bytes:
    """Return the bytes with one changed in each block of `every`; `at` is where they stand in the reply."""
    changed = bytearray(data)
    for block in range(at // every, (at + len(data) - 1) // every + 1):
        place = block * every + draw(*seed, block) % every - at
        if 0 <= place < len(data):
            changed[place] ^= 0x15
    return bytes(changed)
