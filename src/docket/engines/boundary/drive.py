"""Drives one exchange: feeds the machine what happens, carries out what it says. It decides nothing.

Rules:
1. It runs inside the loop's callbacks, without a task of its own, from one wait to the next. Commands are carried
   out in their order; `Await` waits for the ledger, and where that fails the rest of the batch is dropped and the
   machine is told.
2. What is written to the agent is handed on before every wait for news, so that a head and what came with it share a
   packet; it is not handed on before a wait for the ledger, which only the end of a reply stands behind.
3. A piece of a reply is taken only when the agent can take it, a piece of a request only when the upstream can.
4. What has already arrived is fed before the news that the agent is gone, so that it is billed as it was.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping

from docket.engines.boundary import reporting
from docket.engines.boundary.client import ClientConnection
from docket.engines.boundary.hook_wait import HookWait
from docket.engines.boundary.pool import Origin
from docket.engines.boundary.room import Room
from docket.engines.boundary.upstream import UpstreamConnection
from docket.errors import DocketError, InvalidDocumentError
from docket.formats.reason import Reason
from docket.rules.boundary.drilled import exchange_under
from docket.rules.boundary.http1 import RequestHead
from docket.rules.boundary.protocol import (
    BYTES,
    TUNNELLED,
    Await,
    Breach,
    ClientGone,
    CloseUpstream,
    Command,
    Connect,
    Dial,
    Dialed,
    EndClient,
    EndUpstream,
    Event,
    EvidenceFailed,
    Finish,
    HeadArrived,
    Mark,
    Record,
    Refuse,
    Released,
    Report,
    Reset,
    Resolve,
    Resolved,
    Retry,
    SendClient,
    SendUpstream,
    StartClient,
    Stopping,
    SwitchClient,
    TellHook,
    Tick,
    UpstreamFailed,
)
from docket.stores.appended import DURABLE, FAILED, WRITTEN, Appended

_NS = 1_000_000_000


class Drive:
    """One exchange on one connection of the agent. It runs whenever `step` is called, until it has to wait."""

    def __init__(self, client: ClientConnection, room: Room) -> None:
        self._client = client
        self._room = room
        self._exchange = exchange_under(room.terms, room.shared)
        self._commands: deque[Command] = deque()
        self._upstream: UpstreamConnection | None = None
        self._origin = ("", "", 0)
        self._last: Appended | None = None
        self._wake = client.wake
        self._opening: asyncio.Task[UpstreamConnection] | None = None
        self._resolving: asyncio.Task[Resolved] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loading: asyncio.Task[None] | None = None
        self._hook: HookWait | None = None
        self._until_ns: int | None = None
        self._retry = self._told_gone = False

    def begin(self, head: RequestHead) -> None:
        """Take the request's head; `step` goes on from it."""
        self._feed(HeadArrived(head, self._room.clock.now()))

    def step(self) -> bool:
        """Go on as far as it goes; return whether the exchange has ended."""
        while self._carry_out():
            if self._exchange.done:
                self.close()
                return True
            event = self._ready()
            if event is None:
                self._client.flush()
                self._queue()
                return False
            self._feed(event)
        return False

    def retry(self) -> None:
        """Note that a hold was released."""
        self._retry = True
        self._client.wake()

    def salvage(self) -> None:
        """Settle what a fault of docket's own left open, and break the connection."""
        for command in self._exchange.receive(Stopping(), self._room.clock.monotonic_ns()):
            if isinstance(command, Record):
                self._record(command)
        self._client.reset()
        self.close()

    def close(self) -> None:
        """Give back what the exchange held of the room."""
        self._client.flush()
        self._queue()
        if self._upstream is not None:
            self._room.pool.give_back(self._origin, self._upstream)
            self._upstream = None

    # ---- events

    def _feed(self, event: Event) -> None:
        self._commands = deque(self._exchange.receive(event, self._room.clock.monotonic_ns()))

    def _ready(self) -> Event | None:
        client, needs, upstream = self._client, self._exchange.needs, self._upstream
        leaving = client.gone or self._room.stopping
        if upstream is not None and needs.upstream and (client.can_write or leaving):
            event = upstream.next_event(whole=self._exchange.takes_whole)
            if event is not None:
                return event
        if leaving and not self._told_gone:
            return self._leaving()
        if needs.body and (upstream is None or upstream.can_write):
            try:
                event = client.next_body()
            except InvalidDocumentError:
                return ClientGone()
            if event is not None:
                return event
        if self._retry and needs.release:
            self._retry = False
            return Retry()
        deadline = self._exchange.deadline_ns
        return Tick() if deadline is not None and self._room.clock.monotonic_ns() >= deadline else None

    def _leaving(self) -> Event:
        self._told_gone = True
        return ClientGone() if self._client.gone else Stopping()

    def _unsent(self) -> Event:
        """Return the news that nothing was sent, for nobody is there any more to get an answer."""
        if self._client.gone:
            return UpstreamFailed(Reason.CLIENT_GONE, "the agent went away before its request was sent", sent=False)
        return UpstreamFailed(Reason.RUN_ENDING, "the run ended before the request was sent", sent=False)

    def _queue(self) -> None:
        """Stand in the line for admission while that is what is waited for, with a timer for its end."""
        waits = self._exchange.needs.release and not self._exchange.done
        deadline = (self._exchange.deadline_ns or 0) if waits else None
        if deadline == self._until_ns:
            return
        if self._until_ns is None:
            self._room.waiting.append(self)
        elif deadline is None:
            self._room.waiting.remove(self)
        self._until_ns = deadline
        if self._timer is not None:
            self._timer.cancel()
        if deadline is not None:
            left = max(0, deadline - self._room.clock.monotonic_ns())
            self._timer = self._room.loop.call_later(left / _NS, self._client.wake)

    # ---- commands

    def _carry_out(self) -> bool:
        """Carry out the commands that are due; return False where one of them has to wait."""
        commands = self._commands
        while commands:
            command = commands[0]
            try:
                failure = _ACTS[type(command)](self, command)
            except _NotYet:
                return False
            if failure is None:
                commands.popleft()
            else:
                # What is left of the batch gives way to what follows from the failure.
                self._feed(failure)
                commands = self._commands
        return True

    def _switch(self, command: SwitchClient | EndClient) -> None:
        if isinstance(command, SwitchClient):
            self._client.switch(command.head)
        else:
            self._client.end_output()

    def _send(self, command: SendClient) -> None:
        self._client.send(command.data)

    def _start(self, command: StartClient) -> None:
        self._client.start(command.head, command.framing)

    def _finish(self, _: Finish) -> None:
        self._client.finish()

    def _refuse(self, command: Refuse) -> None:
        self._client.refuse(command)

    def _reset(self, _: Reset) -> None:
        self._client.reset()

    def _ask(self, command: SendUpstream | EndUpstream | CloseUpstream) -> None:
        upstream = self._upstream
        if upstream is None:
            return
        match command:
            case SendUpstream(data):
                upstream.send_body(data)
            case EndUpstream():
                upstream.end_body()
            case CloseUpstream():
                upstream.abort()
                self._upstream = None

    def _report(self, report: Report) -> None:
        if not reporting.is_loaded(report.what):
            task = self._loading
            if task is None:
                task = self._loading = self._room.loop.create_task(asyncio.to_thread(reporting.load))
                task.add_done_callback(lambda _: self._client.wake())
            if not task.done():
                raise _NotYet
        self._client.refuse(reporting.answer(report.what, self._room))

    def _tell_hook(self, command: TellHook) -> None:
        room = self._room
        if room.hooks is None:
            return
        if self._hook is None:
            self._hook = HookWait(command.hook, room.hooks, room.loop, self._client.wake)
        if not (self._hook.is_over or self._client.gone or room.stopping):
            raise _NotYet

    def _release(self, _: Released) -> None:
        self._room.release()

    def _breach(self, breach: Breach) -> None:
        self._client.flush()
        self._room.on_breach(breach)

    def _record(self, command: Record) -> Event | None:
        try:
            self._last = self._room.record(command)
        except DocketError as error:
            return EvidenceFailed(error.detail)
        return None

    def _await(self, command: Await) -> Event | None:
        last = self._last
        if last is None:
            return None
        stage = WRITTEN if command.mark is Mark.WRITTEN else DURABLE
        if not self._room.bell.has_reached(last, stage, self._wake):
            raise _NotYet
        return EvidenceFailed(getattr(last.outcome, "detail", "")) if last.stage == FAILED else None

    def _connect(self, connect: Connect) -> Event | None:
        if self._upstream is not None:
            self._room.pool.give_back(self._origin, self._upstream)
            self._upstream = None
        if self._opening is None and (self._client.gone or self._room.stopping):
            return self._unsent()
        self._origin = connect.origin
        connection = None if self._opening is not None else self._room.pool.idle(connect.origin)
        if connection is None:
            opened = self._open(connect.origin)
            if not isinstance(opened, UpstreamConnection):
                return opened
            connection = opened
        self._upstream = connection
        connection.send(connect, self._client.wake)
        return None

    def _dial(self, dial: Dial) -> Event:
        opened = self._open((TUNNELLED if dial.through_proxy else BYTES, dial.host, dial.port))
        if not isinstance(opened, UpstreamConnection):
            return opened
        self._upstream = opened
        opened.begin_bytes(self._client.wake)
        return Dialed()

    def _resolve(self, resolve: Resolve) -> Event:
        task = self._resolving
        if task is None:
            task = self._resolving = self._room.loop.create_task(self._room.pool.resolve(resolve))
            task.add_done_callback(lambda _: self._client.wake())
        if not task.done():
            if not (self._client.gone or self._room.stopping):
                raise _NotYet
            task.cancel()
            return self._unsent()
        self._resolving = None
        try:
            return task.result()
        except DocketError as error:
            return UpstreamFailed(Reason.UPSTREAM_UNREACHABLE, error.detail, sent=False)

    def _open(self, origin: Origin) -> UpstreamConnection | Event:
        task = self._opening
        if task is None:
            task = self._opening = self._room.loop.create_task(self._room.pool.open(origin))
            task.add_done_callback(lambda _: self._client.wake())
        if not task.done():
            if not (self._client.gone or self._room.stopping):
                raise _NotYet
            task.cancel()
            task.add_done_callback(_drop)
            return self._unsent()
        self._opening = None
        try:
            return task.result()
        except DocketError as error:
            return UpstreamFailed(Reason.UPSTREAM_UNREACHABLE, error.detail, sent=False)


# Functions rather than bound methods: an exchange that refers to itself would keep its bodies until a collection.
_ACTS: Mapping[type[Command], Callable[..., Event | None]] = {
    Record: Drive._record,
    Await: Drive._await,
    Connect: Drive._connect,
    Dial: Drive._dial,
    Resolve: Drive._resolve,
    SwitchClient: Drive._switch,
    EndClient: Drive._switch,
    SendClient: Drive._send,
    StartClient: Drive._start,
    Finish: Drive._finish,
    Refuse: Drive._refuse,
    Report: Drive._report,
    TellHook: Drive._tell_hook,
    Reset: Drive._reset,
    Released: Drive._release,
    Breach: Drive._breach,
    SendUpstream: Drive._ask,
    EndUpstream: Drive._ask,
    CloseUpstream: Drive._ask,
}


class _NotYet(Exception):  # noqa: N818 - no error: a command that has to wait
    """Raised by a command whose time has not come; it is tried again at the next step."""


def _drop(task: asyncio.Task[UpstreamConnection]) -> None:
    """Close a connection that nobody waits for any more."""
    if not task.cancelled() and task.exception() is None:
        task.result().abort()
