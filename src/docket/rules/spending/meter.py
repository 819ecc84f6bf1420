"""Estimates of what a call uses before and while it runs; what was reported replaces them.

Rules:
1. The first estimate is four bytes a token, rounded up. Once a provider has reported a model's input, the ratio
   of all bytes sent to all tokens reported is used for that model.
2. The worst case of an input whose bytes are known is one token a byte: no tokeniser gives more.
3. Visible output is counted at four bytes a token, rounded up; a live figure is an estimate and never booked as
   reported.
4. Everything is an integer; a rate is micro-dollars per million tokens, and a product is rounded up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from docket.rules.spending.caps import Tally

BYTES_PER_TOKEN = 4
_MILLION = 1_000_000


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """A model's prices for live metering: micro-dollars per million tokens, the dearest that could apply."""

    input_micros: int
    output_micros: int

    def price(self, input_tokens: int, output_tokens: int) -> int:
        """Return micro-dollars, rounded up."""
        return -(-(input_tokens * self.input_micros + output_tokens * self.output_micros) // _MILLION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a running call has shown: input as reported or estimated, output as reported or counted by bytes."""

    input_tokens: int
    output_tokens: int

    def tally(self, rates: Rates) -> Tally:
        """Return it as one call's amount on all scales."""
        return Tally(
            rates.price(self.input_tokens, self.output_tokens), self.input_tokens + self.output_tokens, calls=1
        )
