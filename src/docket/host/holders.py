"""The directories that the paths of one apply lie in: each is the same from the first look at it to the last.

Rules:
1. A path is looked at, changed and put back in one and the same directory. Where another one stands by now, even one
   that holds the same, nothing is done in it.
2. What was done in a directory that was moved away since is put back where it is now, by the descriptor that is held:
   of the last directories that anything was done in, as many as may be open, at most `MAX_HELD`.
"""

from __future__ import annotations

import os
import resource
from collections import OrderedDict
from collections.abc import Mapping

from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.host.reaching import Reached, Refusal

MAX_HELD = 256
_PART_OF_OPEN_FILES = 4
Identity = tuple[int, int]


class Holders:
    """Those of one tree; close it."""

    def __init__(self) -> None:
        self._identities: dict[RelPath | None, Identity] = {}
        self._held: OrderedDict[Identity, int] = OrderedDict()
        may_be_open = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._most = MAX_HELD if may_be_open < 0 else min(MAX_HELD, may_be_open // _PART_OF_OPEN_FILES)

    def expect(self, identities: Mapping[RelPath | None, Identity]) -> None:
        """Say which directories are meant, as far as that is known from before."""
        self._identities.update(identities)

    def refused(self, path: RelPath, reached: Reached) -> Refusal | None:
        """Return why the directory reached for a path is not the one that is meant, None where it is."""
        if self._identities.setdefault(path.parent, reached.identity) == reached.identity:
            return None
        return Refusal(Reason.MOVED_WHILE_WRITTEN, "its directory was replaced meanwhile")

    def hold(self, reached: Reached) -> None:
        """Keep a directory in which something is about to be done. May raise OSError."""
        if reached.identity in self._held:
            self._held.move_to_end(reached.identity)
            return
        while self._held and len(self._held) >= self._most:
            os.close(self._held.popitem(last=False)[1])
        self._held[reached.identity] = os.dup(reached.descriptor)

    def held(self, path: RelPath) -> Reached | None:
        """Return the directory in which something was done at a path, wherever it is by now; None where it is let go.

        May raise OSError.
        """
        identity = self._identities.get(path.parent)
        descriptor = None if identity is None else self._held.get(identity)
        if identity is None or descriptor is None:
            return None
        return Reached(os.dup(descriptor), path.parts[-1], identity)

    def forget(self, path: RelPath) -> None:
        """Forget which directory stood at a path: it was made anew."""
        self._identities.pop(path, None)

    def close(self) -> None:
        """Let go of all."""
        for descriptor in self._held.values():
            os.close(descriptor)
        self._held.clear()
