"""How long an agent's hook is kept waiting for what becomes of it.

Rules:
1. It is handed on at once, and the boundary's thread does nothing for it.
2. The wait ends when the hook was dealt with, or after HOOK_SECONDS: what it began goes on without the agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from docket.engines.boundary.request import Hooks
from docket.rules.windows.hook_door import Hook

HOOK_SECONDS = 1.95
"""Of the two seconds that a hook may take."""


class HookWait:
    """One hook that was handed on."""

    def __init__(self, hook: Hook, hooks: Hooks, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        self._loop, self._wake = loop, wake
        self._is_done = False
        self._until = loop.time() + HOOK_SECONDS
        self._timer = loop.call_later(HOOK_SECONDS, wake)
        hooks.tell(hook, self._done)

    @property
    def is_over(self) -> bool:
        """Whether the agent may have its answer."""
        over = self._is_done or self._loop.time() >= self._until
        if over:
            self._timer.cancel()
        return over

    def _done(self) -> None:
        self._is_done = True
        with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
            self._loop.call_soon_threadsafe(self._wake)
