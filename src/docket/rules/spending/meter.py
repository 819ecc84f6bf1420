"""Estimates of a call's tokens before it is sent, learned from what providers report.

Rules:
1. The first estimate is four bytes a token, rounded up. Once a provider has reported a model's input, the ratio
   of all tokens reported to all bytes sent is used for that model.
2. An estimate is never more than one token a byte: no tokeniser gives more.

What a reply was seen to use is `rules.providers.estimate`'s; what tokens cost is `pricing`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from docket.rules.providers.estimate import BYTES_PER_TOKEN


def tokens_of_bytes(size_bytes: int) -> int:
    """Return the estimate for text that nobody has counted."""
    return -(-size_bytes // BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What providers reported for bodies of known size, per model: (tokens, bytes) summed over the run."""

    seen: Mapping[str, tuple[int, int]] = field(default_factory=lambda: MappingProxyType({}))

    def input_tokens(self, model: str, body_bytes: int) -> int:
        """Return the estimated input of a body, in tokens; never more than one token a byte."""
        tokens, size = self.seen.get(model, (0, 0))
        if not tokens or not size:
            return tokens_of_bytes(body_bytes)
        return min(-(-body_bytes * tokens // size), body_bytes)

    def learned(self, model: str, body_bytes: int, input_tokens: int) -> Calibration:
        """Return the calibration after `input_tokens` were reported for a body of `body_bytes`."""
        tokens, size = self.seen.get(model, (0, 0))
        return Calibration(MappingProxyType({**self.seen, model: (tokens + input_tokens, size + body_bytes)}))
