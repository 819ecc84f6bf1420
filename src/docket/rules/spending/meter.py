"""Estimates of a call's input before it is sent, learned from what providers report in this run.

Rules:
1. Before a model has reported anything its input is taken as four bytes a token, rounded up, none of it cached.
2. Afterwards a call is taken as the growth of an earlier one: of the model's latest reports the one with the longest
   body that is no longer than this call's, the latest of equals. Its input is expected again, what it read from the
   cache or wrote to it as read from the cache; the bytes beyond it are fresh, at the tokens a byte that the model has
   reported over the run. A body shorter than all of them is fresh at that ratio.
3. Bytes are never taken as more than one token each: no tokeniser gives more. What nobody has reported is not taken
   to pass the model's context window: no provider bills for what its model cannot read.

An estimate can be wrong: a cache expires, a longer body can be another conversation. What that may cost is in a
call's worst case, which knows no estimate. What a reply was seen to use is `rules.providers.estimate`'s; what tokens
cost is `pricing`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from docket.formats.dataclass import dataclass, field, replace
from docket.formats.run.usage import Usage
from docket.rules.providers.estimate import tokens_of_bytes

_MOST_REPORTS = 8


class InputEstimate(NamedTuple):
    """What a call's input is expected to be, in tokens; `cached_tokens` of them are expected from the cache."""

    input_tokens: int
    cached_tokens: int = 0


class _Report(NamedTuple):
    """What was reported for a body; `kept_tokens` of the input were in the cache afterwards."""

    body_bytes: int
    input_tokens: int
    kept_tokens: int


class _Learned(NamedTuple):
    """All of one model's reports as sums, and its latest ones as they came."""

    tokens: int = 0
    size_bytes: int = 0
    latest: tuple[_Report, ...] = ()

    def fresh_tokens(self, size_bytes: int) -> int:
        if not self.tokens or not self.size_bytes:
            return tokens_of_bytes(size_bytes)
        return min(-(-size_bytes * self.tokens // self.size_bytes), size_bytes)


_UNKNOWN = _Learned()


@dataclass(frozen=True, slots=True)
class Calibration:
    """What providers reported for bodies of known size over the run, per model.

    `stored_tokens` is what the provider itself puts before a call's body; it is expected from the cache.
    """

    seen: Mapping[str, _Learned] = field(default_factory=lambda: MappingProxyType({}))
    stored_tokens: int = 0

    def beside(self, stored_tokens: int) -> Calibration:
        """Return the calibration for a call that goes on from a stored response of so many tokens."""
        return self if stored_tokens == self.stored_tokens else replace(self, stored_tokens=stored_tokens)

    def expected(self, model: str, body_bytes: int, context_tokens: int) -> InputEstimate:
        """Return the estimated input of a body for a model that takes in `context_tokens`."""
        learned = self.seen.get(model, _UNKNOWN)
        before = _Report(0, 0, 0)
        for report in learned.latest:
            if before.body_bytes <= report.body_bytes <= body_bytes:
                before = report
        fresh = learned.fresh_tokens(body_bytes - before.body_bytes)
        most = max(before.input_tokens, context_tokens)
        whole = min(before.input_tokens + fresh + self.stored_tokens, most)
        return InputEstimate(whole, min(before.kept_tokens + self.stored_tokens, whole))

    def learned(self, model: str, body_bytes: int, usage: Usage) -> Calibration:
        """Return the calibration after `usage` was reported for a body of `body_bytes`."""
        known = self.seen.get(model, _UNKNOWN)
        report = _Report(body_bytes, usage.input_tokens, usage.cached_input_tokens + usage.written_tokens)
        more = _Learned(
            tokens=known.tokens + report.input_tokens,
            size_bytes=known.size_bytes + body_bytes,
            latest=(*known.latest, report)[-_MOST_REPORTS:],
        )
        return Calibration(MappingProxyType({**self.seen, model: more}))
