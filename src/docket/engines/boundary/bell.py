"""Brings news from the ledger's thread to the loop: once for many events, and only what somebody waits for.

Rules:
1. `ring` may be called from any thread, as long as the ledger likes; all else belongs to the loop's one thread.
2. After `close` a ring is heard by nobody, and touches nothing that was closed.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress

from docket.stores.appended import Appended


class LedgerBell:
    """Who waits for which event of the ledger, and the way to wake them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[Callable[[], None], tuple[Appended, int]] = {}
        self._posted = self._closed = False
        self._lock = threading.Lock()
        # The loop's own way for other threads costs a callback made anew and two reads at each wake.
        self._descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) if hasattr(os, "eventfd") else None
        if self._descriptor is not None:
            loop.add_reader(self._descriptor, self._heard, self._descriptor)

    def has_reached(self, event: Appended, stage: int, wake: Callable[[], None]) -> bool:
        """Say whether an event has come to a stage, or failed; if not, `wake` is called once it has."""
        if event.stage >= stage:
            self._waiting.pop(wake, None)
            return True
        # It stands in the list before the stage is looked at again: whatever is reached after that look rings.
        self._waiting[wake] = (event, stage)
        if event.stage < stage:
            return False
        del self._waiting[wake]
        return True

    def ring(self) -> None:
        """Take news; called from any thread."""
        # The list is copied in one step, for the loop goes on changing it. A turn of the loop for nothing, when events
        # are written that are waited for to be durable, costs more than the look.
        if not self._posted and any(event.stage >= stage for event, stage in list(self._waiting.values())):
            self._posted = True
            self._post()

    def close(self) -> None:
        """Hear nothing more."""
        with self._lock:
            self._closed = True
            descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._loop.remove_reader(descriptor)
            os.close(descriptor)

    def _post(self) -> None:
        with self._lock:
            if self._descriptor is not None:
                os.eventfd_write(self._descriptor, 1)
            elif not self._closed:
                # A loop that has been closed has nobody left to wake.
                with suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._wake)

    def _heard(self, descriptor: int) -> None:
        os.eventfd_read(descriptor)
        self._wake()

    def _wake(self) -> None:
        self._posted = False
        for wake in [wake for wake, (event, stage) in self._waiting.items() if event.stage >= stage]:
            wake()
