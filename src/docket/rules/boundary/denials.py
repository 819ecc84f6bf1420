"""Refused destinations, counted and told in few events.

Rules:
1. Each destination and reason is told at once, then at most once a minute with how often it was asked for meanwhile,
   and the rest at the end.
2. Of more than `_MAX_TOLD` different ones the rest are counted together, without their names: an agent that asks for
   ever new ones does not fill the record.
"""

from __future__ import annotations

from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.network_events import NetDenied
from docket.formats.reason import Reason
from docket.rules.boundary.destination import Destination

TELL_EVERY_NS = 60_000_000_000
_MAX_TOLD = 512


@dataclass(slots=True)
class _Told:
    event: NetDenied
    at_ns: int
    waiting: int = 0


class Denials:
    """The refused destinations of one run."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str, str | None, int | None], _Told] = {}

    def count(self, kind: str, destination: Destination, reason: Reason, now_ns: int) -> NetDenied | None:
        """Count one; return the event to record, if one is due."""
        event = NetDenied(reason=reason, kind=kind, count=1, host=destination.host, port=destination.port)
        told = self._told.get(_key(event))
        if told is None and len(self._told) >= _MAX_TOLD:
            event = replace(event, host=None, port=None)
            told = self._told.get(_key(event))
        if told is None:
            self._told[_key(event)] = _Told(event, now_ns)
            return event
        told.waiting += 1
        if now_ns - told.at_ns < TELL_EVERY_NS:
            return None
        told.at_ns = now_ns
        return _told(told)

    def rest(self) -> tuple[NetDenied, ...]:
        """Return the events for what was counted and not told."""
        return tuple(_told(told) for told in self._told.values() if told.waiting)


def _told(told: _Told) -> NetDenied:
    count, told.waiting = told.waiting, 0
    return replace(told.event, count=count)


def _key(event: NetDenied) -> tuple[str, str, str | None, int | None]:
    return event.kind, event.reason, event.host, event.port
