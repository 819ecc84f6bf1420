"""Who may use the boundary: the run's token in a header or the first path segment, and a caller on this machine.

Rules:
1. The token is compared in constant time; without it every request gets the same 404, whatever it asks for.
2. A Host or Origin that is not this machine's loopback is turned away too (DNS rebinding), before the token.
3. The token is cut off the target and taken out of the headers here; nothing behind this module sees it.
4. Besides `x-docket-token` it may stand before a header's own value (`OpenAI-Project: docket TOKEN own`), for agents
   that send no header of a person's choice; the value goes on as it was, an empty one not at all.
5. Turned-away requests are counted and told in few events: the first of each kind at once, then at most one a
   minute and the rest at the end.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.network_events import NetDenied
from docket.formats.reason import Reason
from docket.rules.agents.interface import CARRIED_TOKEN, CARRIER_HEADER, TOKEN_HEADER
from docket.rules.boundary.http1 import Headers, RequestHead, values

TELL_EVERY_NS = 60_000_000_000
_TOKEN = TOKEN_HEADER.encode("ascii")
_CARRIER = CARRIER_HEADER.encode("ascii")
_CARRIED = f"{CARRIED_TOKEN} ".encode("ascii")
_LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)


class Door(StrEnum):
    """Why a request was turned away."""

    NO_TOKEN = "no-token"  # noqa: S105 - a kind, not a secret
    FOREIGN_HOST = "foreign-host"
    FOREIGN_ORIGIN = "foreign-origin"
    CONNECT = "connect"
    ABSOLUTE_FORM = "absolute-form"
    MALFORMED = "malformed"
    ASSERTION = "assertion"


@dataclass(frozen=True, slots=True)
class Entered:
    """A request that may go on: the provider's name, and the rest of the target from its slash, query included."""

    provider: str
    rest: str

    @property
    def path(self) -> str:
        """The rest without its query."""
        return self.rest.partition("?")[0]

    @property
    def recorded_path(self) -> str:
        """What a record shows: the path alone, for a query may hold a key."""
        return f"/{self.provider}{self.path}"


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """A request that may not."""

    kind: Door


Knock: TypeAlias = "Entered | TurnedAway"


def knock(head: RequestHead, token: str) -> Knock:
    """Decide who asks, from the head alone."""
    if head.method == "CONNECT":
        return TurnedAway(Door.CONNECT)
    if not head.target.startswith("/"):
        return TurnedAway(Door.ABSOLUTE_FORM)
    hosts = values(head.headers, b"host")
    if len(hosts) != 1 or not _is_loopback(hosts[0]):
        return TurnedAway(Door.FOREIGN_HOST)
    origins = values(head.headers, b"origin")
    if origins and not all(_is_own(origin.decode("latin-1")) for origin in origins):
        return TurnedAway(Door.FOREIGN_ORIGIN)
    path, mark, query = head.target[1:].partition("?")
    first, _, rest = path.partition("/")
    wanted = token.encode("ascii")
    if not hmac.compare_digest(first.encode("latin-1"), wanted):
        if not any(hmac.compare_digest(given, wanted) for given in _tokens(head.headers)):
            return TurnedAway(Door.NO_TOKEN)
        rest = path
    provider, slash, rest = rest.lstrip("/").partition("/")
    return Entered(provider, "/" + rest.lstrip("/") + mark + query if slash else f"/{mark}{query}")


def without_token(head: RequestHead) -> RequestHead:
    """Return the head of a request that was let in, as its provider may see it: without the token in its headers."""
    if next(_tokens(head.headers), None) is None:
        return head
    fields: list[tuple[bytes, bytes]] = []
    for name, value in head.headers:
        lower = name.lower()
        if lower == _CARRIER and value.startswith(_CARRIED):
            _, _, own = value.removeprefix(_CARRIED).partition(b" ")
            fields += [(name, own)] if own else []
        elif lower != _TOKEN:
            fields.append((name, value))
    return replace(head, headers=tuple(fields))


def _tokens(headers: Headers) -> Iterator[bytes]:
    yield from values(headers, _TOKEN)
    for value in values(headers, _CARRIER):
        if value.startswith(_CARRIED):
            yield value.removeprefix(_CARRIED).partition(b" ")[0]


@lru_cache(maxsize=16)
def _is_loopback(host: bytes) -> bool:
    return _LOOPBACK.fullmatch(host.decode("latin-1")) is not None


def _is_own(origin: str) -> bool:
    scheme, mark, host = origin.partition("://")
    return bool(mark) and scheme in ("http", "https") and _LOOPBACK.fullmatch(host) is not None


class TurnawayCounter:
    """Counts turned-away requests and says when an event is due."""

    def __init__(self) -> None:
        self._waiting: dict[Door, int] = {}
        self._told_at_ns: dict[Door, int] = {}
        self.total = 0

    def count(self, kind: Door, now_ns: int) -> NetDenied | None:
        """Count one; return the event to record, if one is due."""
        self.total += 1
        self._waiting[kind] = self._waiting.get(kind, 0) + 1
        told = self._told_at_ns.get(kind)
        if told is not None and now_ns - told < TELL_EVERY_NS:
            return None
        self._told_at_ns[kind] = now_ns
        return _event(kind, self._waiting.pop(kind))

    def rest(self) -> tuple[NetDenied, ...]:
        """Return the events for what was counted and not told."""
        waiting, self._waiting = self._waiting, {}
        return tuple(_event(kind, count) for kind, count in sorted(waiting.items()))


def _event(kind: Door, count: int) -> NetDenied:
    return NetDenied(reason=Reason.BAD_TOKEN, kind=kind, count=count)
