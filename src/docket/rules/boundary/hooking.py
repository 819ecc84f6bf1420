"""A hook of the run's agent at the boundary's own door, `/<session token>/docket/hooks/<agent>/<event>`.

Rules (spec/windows.md, In a run):
1. Only the session's token opens it. The answer is 200 with an empty object, whatever the hook says: no agent takes
   that for a decision about its tool.
2. The payload is read whole, up to MAX_HOOK_BYTES; what is longer is read to its end and dropped. What all hooks that
   are being read hold together is bounded too. Nothing that is said here is judged on the boundary's thread.
3. It waits for what becomes of the hook, so that a tool runs after its tree was looked at; the driver says how long.
"""

from __future__ import annotations

import re

from docket.formats.canonical import JsonValue
from docket.formats.reason import Reason
from docket.rules.boundary.access import Door
from docket.rules.boundary.http1 import RequestHead
from docket.rules.boundary.own import Visit, json_reply
from docket.rules.boundary.protocol import (
    BodyChunk,
    BodyEnded,
    ClientGone,
    Command,
    Event,
    Finish,
    Needs,
    Record,
    Reset,
    Stopping,
    TellHook,
)
from docket.rules.boundary.terms import Shared
from docket.rules.windows.hook_address import HOOKS
from docket.rules.windows.hook_door import MAX_HOOK_BYTES, Hook, HookLoss

MAX_READING_BYTES = 2 * MAX_HOOK_BYTES
_PREFIX = f"/{HOOKS}/"
_NAMED = re.compile(r"([A-Za-z0-9._-]{1,64})/([A-Za-z0-9._-]{1,64})", re.ASCII)


def is_hook(visit: Visit) -> bool:
    """Whether a visit is a hook's."""
    return visit.entered.path.startswith(_PREFIX)


class HookDoor:
    """One hook. `needs` says what the driver waits for."""

    started = False
    deadline_ns: int | None = None

    def __init__(self, shared: Shared) -> None:
        self.needs = Needs()
        self._shared = shared
        self._body = bytearray()
        self._is_oversized = False
        self._named = ("", "")

    def begin(self, head: RequestHead, visit: Visit, now_ns: int) -> list[Command]:
        """Take the request's head; return what is to be done."""
        if not visit.by_session:
            told = self._shared.door.count(Door.NO_TOKEN, now_ns)
            detail = "hooks are for the session's own token"
            refused: dict[str, JsonValue] = {"ok": False, "reason": str(Reason.BAD_TOKEN), "detail": detail}
            return [*([] if told is None else [Record(told)]), json_reply(403, refused), Finish()]
        named = _NAMED.fullmatch(visit.entered.path.removeprefix(_PREFIX))
        if named is None or head.method != "POST":
            return _told(Hook(agent="", event="", lost=HookLoss.MALFORMED))
        self._named = (named[1], named[2])
        self.needs = Needs(body=True)
        return []

    def receive(self, event: Event, now_ns: int) -> list[Command]:  # noqa: ARG002 - the form of a passing exchange
        """Take one event; return what is to be done."""
        match event:
            case BodyChunk(data):
                self._take(data)
                return []
            case BodyEnded():
                self.needs = Needs()
                body, agent, event_name = bytes(self._body), *self._named
                self._let_go()
                lost = HookLoss.OVERSIZED if self._is_oversized else None
                return _told(Hook(agent=agent, event=event_name, body=body, lost=lost))
            case ClientGone() | Stopping():
                self._let_go()
                return [Reset()]
            case _:
                return []

    def unrecorded(self, now_ns: int) -> None:
        """Take the news that what was recorded could not be kept; nothing here is open."""

    def _take(self, data: bytes) -> None:
        reading = self._shared.hooks
        fits = len(self._body) + len(data) <= MAX_HOOK_BYTES and reading.size_bytes + len(data) <= MAX_READING_BYTES
        if self._is_oversized or not fits:
            self._is_oversized = True
            self._let_go()
            return
        self._body += data
        reading.size_bytes += len(data)

    def _let_go(self) -> None:
        self._shared.hooks.size_bytes -= len(self._body)
        self._body = bytearray()


def _told(hook: Hook) -> list[Command]:
    return [TellHook(hook), json_reply(200, {}), Finish()]
