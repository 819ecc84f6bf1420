"""Serves one connection of the agent: request after request, each driven to its end.

Rules:
1. It runs inside the loop's callbacks, at every change on either side, and never inside itself.
2. After a reply that left a part of the request's body unread, the rest is read and dropped within bounds before
   the connection closes, so that the reply is not lost to a reset.
3. Bytes that are no request are answered 400 and counted; a fault of docket's own ends its exchange alone, settled
   and noted in the record.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from docket.engines.boundary.client import ClientConnection
from docket.engines.boundary.drive import Drive
from docket.engines.boundary.room import Room
from docket.errors import DocketError, InvalidDocumentError
from docket.formats.ledger.session_events import Note
from docket.rules.boundary.access import Door
from docket.rules.boundary.protocol import BodyChunk, BodyEnded
from docket.rules.boundary.refusing import plain_text

_MAX_DROPPED_BYTES = 64 * 1024 * 1024
_DROP_SECONDS = 5.0


class Serving:
    """One connection while it lasts; `ended` is called with it when it is over."""

    def __init__(self, client: ClientConnection, room: Room, ended: Callable[[Serving], None]) -> None:
        self._client = client
        self._room = room
        self._ended = ended
        self._drive: Drive | None = None
        self._drop_until: float | None = None
        self._dropped_bytes = 0
        self._running = self._again = self._closed = False

    def step(self) -> None:
        """Go on as far as it goes."""
        self._again = True
        if self._running:
            return
        self._running = True
        try:
            while self._again and not self._closed:
                self._again = False
                self._run()
        except InvalidDocumentError as error:
            self._turn_away(error)
        except Exception as error:  # noqa: BLE001 - one exchange's fault must not end the others, nor be silent
            self._fault(error)
        finally:
            self._running = False

    def _run(self) -> None:
        client = self._client
        while not self._closed:
            if self._drive is not None:
                if not self._drive.step():
                    return
                self._drive = None
                self._after()
            elif self._drop_until is not None:
                if not self._drop(self._drop_until):
                    return
                self._close()
            elif client.gone or self._room.stopping:
                self._close()
            else:
                head = client.next_head()
                if head is None:
                    return
                self._drive = Drive(client, self._room)
                self._drive.begin(head)

    def _after(self) -> None:
        """Go on to the next request, or to the end of the connection."""
        if self._client.has_unread_body and not self._room.stopping:
            self._drop_until = self._room.loop.time() + _DROP_SECONDS
            self._room.loop.call_later(_DROP_SECONDS, self._client.wake)
            return
        self._client.end_request()
        if not self._client.keeps_alive:
            self._close()

    def _drop(self, until: float) -> bool:
        """Drop what has come of an unread body; return whether that is all."""
        while not self._client.gone and self._dropped_bytes < _MAX_DROPPED_BYTES and self._room.loop.time() < until:
            event = self._client.next_body()
            if event is None:
                return self._room.stopping
            if isinstance(event, BodyEnded):
                return True
            if isinstance(event, BodyChunk):
                self._dropped_bytes += len(event.data)
        return True

    def _close(self) -> None:
        self._closed = True
        self._client.close()
        self._ended(self)

    def _turn_away(self, error: InvalidDocumentError) -> None:
        if self._drop_until is None:
            event = self._room.shared.door.count(Door.MALFORMED, self._room.clock.monotonic_ns())
            if event is not None:
                with suppress(DocketError):
                    self._room.ledger.append(event)
            self._client.turn_away(plain_text(400, f"{error.detail}\n"))
        self._close()

    def _fault(self, error: Exception) -> None:
        if self._drive is not None:
            self._drive.salvage()
        with suppress(DocketError):
            name = type(error).__name__
            self._room.ledger.append(Note(code="boundary-fault", message=f"{name} in an exchange; it was broken off"))
        self._close()
