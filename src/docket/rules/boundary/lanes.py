"""The calls in flight on one socket, and which of them a message of the upstream belongs to.

Rules (platform.openai.com, WebSocket mode):
1. A lane is named by `stream_id`, the one without a name by None; the calls of a lane are answered one after another.
2. A message belongs to the call whose response it names; else to the first of its lane that has not ended; else, where
   one call alone is in flight, to that one.
3. `response.created` ties a response's id to the first call of its lane that has none yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from docket.rules.boundary.reply import ModelReply
from docket.rules.providers.json_scan import JsonMap, as_map, as_text

CREATED = "response.created"


@dataclass(slots=True, eq=False)
class Flight:
    """One call in flight."""

    stream_id: str | None
    reply: ModelReply
    response_id: str | None = None


class Lanes:
    """The calls in flight, in the order in which they were sent."""

    def __init__(self) -> None:
        self._flights: list[Flight] = []

    def __iter__(self) -> Iterator[Flight]:
        return iter(tuple(self._flights))

    def __len__(self) -> int:
        return len(self._flights)

    def add(self, stream_id: str | None, reply: ModelReply) -> None:
        """Take a call that was sent."""
        self._flights.append(Flight(stream_id, reply))

    def ended(self, flight: Flight) -> None:
        """Take a call's end."""
        self._flights.remove(flight)

    def of(self, message: JsonMap) -> Flight | None:
        """Return the call that a message belongs to, None where it is nobody's."""
        response_id = response_id_of(message)
        named = [flight for flight in self._flights if response_id is not None and flight.response_id == response_id]
        if named:
            return named[0]
        lane = [flight for flight in self._flights if flight.stream_id == stream_id_of(message)]
        # One response never goes on under another's id: the next call of the lane has begun.
        unnamed = [flight for flight in lane if flight.response_id is None or response_id is None]
        found = unnamed or (self._flights if len(self._flights) == 1 and response_id is None else [])
        if not found:
            return None
        if response_id is not None:
            found[0].response_id = response_id
        return found[0]


def stream_id_of(message: JsonMap) -> str | None:
    """Return the lane that a message names."""
    return as_text(message.get("stream_id"))


def response_id_of(message: JsonMap) -> str | None:
    """Return the response that a message names."""
    return as_text(as_map(message.get("response")).get("id")) or as_text(message.get("response_id"))
