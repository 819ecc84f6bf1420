"""As many hooks at work at once as the processors can serve, those of all projects together.

Agents run tools side by side, and each has a hook in a process of its own. If all of them work at once on a machine
that is busy, each gets so little of it that none is done in its time. So one after another goes to its end, and who
gets no turn leaves word, which takes next to nothing.

Rules:
1. A place is a file that is locked; it is free again when its holder has gone, however it went.
2. It is asked for before anything that is not light is loaded. Who waits sleeps.
3. It keeps order among docket's own and nothing depends on it: where there is no state folder, or no place can be made,
   a hook goes on without one.
"""

from __future__ import annotations

import fcntl
import os
import time

from docket.surfaces.hooks.left_word import state_folder

FOLDER = "hooks-at-work"
MOST_PLACES = 64
_PAUSE_SECONDS = 0.01
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def places() -> int:
    """Return how many hooks work at once: one for each processor, and one that may wait for a disk."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors + 1, MOST_PLACES)


class Turnstile:
    """One hook's way through; `close` it when the hook is done."""

    def __init__(self) -> None:
        """Open the places there are."""
        self._open, self._held = _opened(), -1

    def is_passed(self, until: float) -> bool:
        """Wait for a place until that instant on the monotonic clock; False where there was none."""
        while self._open and self._held < 0:
            for descriptor in self._open:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    continue
                self._held = descriptor
                break
            else:
                if time.monotonic() >= until:
                    return False
                time.sleep(_PAUSE_SECONDS)
        return True

    def close(self) -> None:
        """Give the place up."""
        for descriptor in self._open:
            os.close(descriptor)
        self._open, self._held = [], -1


def _opened() -> list[int]:
    state = state_folder()
    if state is None:
        return []
    folder, found = os.path.join(state, FOLDER), list[int]()  # noqa: PTH118 - pathlib is not loaded yet
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - as above
        for number in range(places()):
            found.append(os.open(os.path.join(folder, str(number)), _FLAGS, 0o600))  # noqa: PTH118 - as above
    except OSError:
        for descriptor in found:
            os.close(descriptor)
        return []
    return found
