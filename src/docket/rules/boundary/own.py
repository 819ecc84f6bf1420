"""The boundary's own door, `/<token>/docket/…`: is it alive, is it ready, what did it count, what does the agent say.

Rules:
1. Whoever has the run's token may ask `healthz`, `readyz` and `metrics`. `session`, `events` and `hooks` (`hooking`)
   are for the session's own token alone, which opens no model call.
2. Nothing that is asked or answered here is a model call, moves a cap or is forwarded anywhere.
3. What an agent asserts is read whole, bounded, checked by `assertions`, and answered once it is written. One that is
   refused is answered with the reason, counted, and not recorded.

What the driver alone knows, the ledger's state and the counters, it puts together itself (`Report`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum

from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.rules.boundary.access import Door, Entered, Knock, TurnedAway, knock
from docket.rules.boundary.assertions import MAX_EVENT_BYTES, Declined, read_assertion
from docket.rules.boundary.http1 import RequestHead, ResponseHead
from docket.rules.boundary.protocol import (
    Await,
    BodyChunk,
    BodyEnded,
    ClientGone,
    Command,
    Event,
    Finish,
    Mark,
    Needs,
    Record,
    Refuse,
    Report,
    Reported,
    Reset,
    Stopping,
)
from docket.rules.boundary.refusing import PHRASES, Asked
from docket.rules.boundary.state import LedgerFacts
from docket.rules.boundary.terms import Shared, Terms

OWN = "docket"
_REPORTED: Mapping[str, Reported] = {"/readyz": Reported.READINESS, "/metrics": Reported.METRICS}
_OPEN = frozenset(("/healthz", *_REPORTED))


class Route(StrEnum):
    """What only the session's token opens."""

    EVENTS = "/events"
    SESSION = "/session"


@dataclass(frozen=True, slots=True)
class Visit:
    """A request to the boundary itself; `by_session`: it carries the session's token."""

    asked: Asked
    entered: Entered
    by_session: bool


def visit_of(head: RequestHead, knocked: Knock, terms: Terms) -> Visit | None:
    """Return the visit that a request is, None where it is meant for a provider or has no way in."""
    if isinstance(knocked, Entered):
        return _visit(knocked, by_session=False) if knocked.provider == OWN else None
    if isinstance(knocked, TurnedAway) and knocked.kind is Door.NO_TOKEN and terms.session_token is not None:
        again = knock(head, terms.session_token)
        if isinstance(again, Entered) and again.provider == OWN:
            return _visit(again, by_session=True)
    return None


def _visit(entered: Entered, *, by_session: bool) -> Visit:
    return Visit(Asked(provider=OWN, path=entered.recorded_path), entered, by_session)


class OwnDoor:
    """One request to the boundary itself. `needs` says what the driver waits for."""

    started = False
    deadline_ns: int | None = None

    def __init__(self, terms: Terms, shared: Shared) -> None:
        self.needs = Needs()
        self._terms, self._shared = terms, shared
        self._body = bytearray()

    def begin(self, head: RequestHead, visit: Visit) -> list[Command]:
        """Take the request's head; return what is to be done."""
        path = visit.entered.path
        if path in _OPEN:
            return self._ask(head.method, path)
        if path not in tuple(Route):
            return self._refused(404, Reason.NOT_FOUND, f"docket has no {path[:64]} here")
        if not visit.by_session:
            return self._refused(403, Reason.BAD_TOKEN, f"{path} is for the session's own token")
        if path == Route.SESSION:
            return self._ask(head.method, path)
        if head.method != "POST":
            return self._refused(405, Reason.USAGE, "events are posted", ((b"allow", b"POST"),))
        self.needs = Needs(body=True)
        return []

    def receive(self, event: Event, now_ns: int) -> list[Command]:
        """Take one event; return what is to be done."""
        match event:
            case BodyChunk(data):
                self._body += data
                if len(self._body) > MAX_EVENT_BYTES:
                    return self._declined(
                        Declined(413, Reason.TOO_LARGE, f"an event has at most {MAX_EVENT_BYTES} bytes"), now_ns
                    )
                return []
            case BodyEnded():
                return self._take(now_ns)
            case ClientGone() | Stopping():
                return [Reset()]
            case _:
                return []

    def unrecorded(self, now_ns: int) -> None:
        """Take the news that what was recorded could not be kept; nothing here is open."""

    def _ask(self, method: str, path: str) -> list[Command]:
        if method not in ("GET", "HEAD"):
            return self._refused(405, Reason.USAGE, "this is asked with GET", ((b"allow", b"GET, HEAD"),))
        reported = _REPORTED.get(path)
        if reported is not None:
            return [Report(reported), Finish()]
        return [json_reply(200, self._session()) if path == Route.SESSION else text_reply(200, "alive\n"), Finish()]

    def _session(self) -> dict[str, JsonValue]:
        """Return what a session's holder may know: what is spent and left, and where the providers stand."""
        desk = self._shared.desk
        account, cap = desk.account, self._terms.policy.caps.max_usd
        used = account.used.micros
        return {
            "docket_number": self._terms.docket_number,
            "token": self._terms.token,
            "providers": {
                name: f"/{name}{'/v1' if provider.versioned else ''}"
                for name, provider in sorted(self._terms.providers.items())
            },
            "spent_usd": str(Usd(account.spent.micros)),
            "cap_usd": None if cap is None else str(cap),
            "remaining_usd": None if cap is None else str(Usd(max(0, cap.micros - used))),
            "tokens": account.spent.tokens,
            "calls": account.spent.calls,
            "in_flight": len(account.holds),
            "closed": None if desk.closed is None else str(desk.closed.reason),
        }

    def _take(self, now_ns: int) -> list[Command]:
        body, self._body = bytes(self._body), bytearray()
        self.needs = Needs()
        read = read_assertion(body)
        if not isinstance(read, Declined):
            declined = self._shared.assertions.admit(read, len(body), now_ns)
            if declined is None:
                return [Record(read), Await(Mark.WRITTEN), json_reply(200, {"ok": True}), Finish()]
            read = declined
        return self._declined(read, now_ns)

    def _declined(self, declined: Declined, now_ns: int) -> list[Command]:
        event = self._shared.door.count(Door.ASSERTION, now_ns)
        told: list[Command] = [] if event is None else [Record(event)]
        headers = ((b"retry-after", b"1"),) if declined.status == 429 else ()
        return [*told, *self._refused(declined.status, declined.reason, declined.detail, headers)]

    def _refused(
        self, status: int, reason: Reason, detail: str, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> list[Command]:
        return [_refusal(status, reason, detail, headers), Finish()]


def unrecorded_reply(detail: str) -> Refuse:
    """Return the answer to one whose event could not be kept."""
    return _refusal(503, Reason.EVIDENCE_FAILED, detail, ())


def _refusal(status: int, reason: Reason, detail: str, headers: tuple[tuple[bytes, bytes], ...]) -> Refuse:
    return json_reply(status, {"ok": False, "reason": str(reason), "detail": detail}, headers)


def readiness(ledger: LedgerFacts | None, shared: Shared) -> Refuse:
    """Return whether a further model call could be admitted, with the reason where not."""
    reason, detail = _unready(ledger, shared)
    if reason is None:
        return json_reply(200, {"ready": True})
    return json_reply(503, {"ready": False, "reason": reason, "detail": detail})


def _unready(ledger: LedgerFacts | None, shared: Shared) -> tuple[str | None, str]:
    closed = shared.desk.closed
    if ledger is not None and ledger.failure is not None:
        return str(Reason.EVIDENCE_FAILED), ledger.failure
    if ledger is not None and ledger.is_full:
        return str(Reason.LEDGER_FULL), "the ledger has reached the size it may grow to"
    if closed is not None:
        return str(closed.reason), closed.detail
    return None, ""


def json_reply(status: int, document: Mapping[str, JsonValue], headers: tuple[tuple[bytes, bytes], ...] = ()) -> Refuse:
    """Return a whole reply of docket's own as JSON."""
    body = json.dumps(document, ensure_ascii=True).encode() + b"\n"
    return Refuse(_head(status, b"application/json", headers), body)


def text_reply(status: int, text: str) -> Refuse:
    """Return a whole reply of docket's own as text."""
    return Refuse(_head(status, b"text/plain; charset=utf-8", ()), text.encode())


def bytes_reply(body: bytes, content_type: str) -> Refuse:
    """Return a whole reply of docket's own in another format."""
    return Refuse(_head(200, content_type.encode("latin-1"), ()), body)


def _head(status: int, content_type: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> ResponseHead:
    fields = ((b"content-type", content_type), (b"cache-control", b"no-store"), *headers)
    return ResponseHead(status=status, reason=PHRASES.get(status, b""), headers=fields)
