"""What responses of this run hold, by their ids: a call that goes on from one has all of it as its input.

Rules:
1. A response holds its own input and its output; a call that names it is expected to read that from the cache.
2. The latest `_MAX_REMEMBERED` are kept. A response that is not among them is not guessed at.
"""

from __future__ import annotations

from docket.formats.run.usage import Usage

_MAX_REMEMBERED = 4096


class Chains:
    """Tokens that responses hold."""

    def __init__(self) -> None:
        self._held: dict[str, int] = {}

    def remember(self, response_id: str | None, usage: Usage) -> None:
        """Take the usage that was reported for a response."""
        if response_id is None:
            return
        self._held[response_id] = usage.input_tokens + usage.output_tokens
        if len(self._held) > _MAX_REMEMBERED:
            del self._held[next(iter(self._held))]

    def tokens(self, response_id: str | None) -> int:
        """Return what a response holds, 0 where nobody knows."""
        return 0 if response_id is None else self._held.get(response_id, 0)
