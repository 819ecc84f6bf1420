"""The caps of a run and what counts against them, exactly.

Rules:
1. Amounts are integers: micro-dollars, tokens, calls. Equality with a cap is still within it.
2. A cap that is None does not exist; a cap of zero lets nothing through that costs anything.
3. Where several caps are crossed at once the first of `max_usd`, `max_tokens`, `max_model_calls` is named.

The wall clock is the supervisor's; who holds what is `reservation`'s.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason


class Tally(NamedTuple):
    """An amount on the three scales that caps are set on; sums are scale by scale."""

    micros: int = 0
    tokens: int = 0
    calls: int = 0

    def __add__(self, other: Tally) -> Tally:  # type: ignore[override]
        return Tally(self.micros + other.micros, self.tokens + other.tokens, self.calls + other.calls)

    def __sub__(self, other: Tally) -> Tally:
        return Tally(self.micros - other.micros, self.tokens - other.tokens, self.calls - other.calls)

    def at_least(self, other: Tally) -> Tally:
        """Return the larger of the two on each scale."""
        return Tally(max(self.micros, other.micros), max(self.tokens, other.tokens), max(self.calls, other.calls))

    def at_most(self, other: Tally) -> Tally:
        """Return the smaller of the two on each scale."""
        return Tally(min(self.micros, other.micros), min(self.tokens, other.tokens), min(self.calls, other.calls))


NOTHING = Tally()
UNLIMITED = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """The limits of a run. `warn_at` is the share of a cap (0 < share <= 1) at which one warning is given."""

    usd: Usd | None = None
    tokens: int | None = None
    calls: int | None = None
    warn_at: Decimal | None = None

    @property
    def limit(self) -> Tally:
        """The limits as a tally; a cap that does not exist is beyond any amount."""
        return Tally(
            UNLIMITED if self.usd is None else self.usd.micros,
            UNLIMITED if self.tokens is None else self.tokens,
            UNLIMITED if self.calls is None else self.calls,
        )

    def crossed_by(self, tally: Tally) -> Reason | None:
        """Return the first cap that `tally` lies beyond."""
        if self.usd is not None and tally.micros > self.usd.micros:
            return Reason.MAX_USD
        if self.tokens is not None and tally.tokens > self.tokens:
            return Reason.MAX_TOKENS
        if self.calls is not None and tally.calls > self.calls:
            return Reason.MAX_MODEL_CALLS
        return None

    def all_crossed_by(self, tally: Tally) -> tuple[Reason, ...]:
        """Return every cap that `tally` lies beyond."""
        return tuple(cap for cap, limit, used in self._rows(tally) if used > limit)

    def warned_by(self, tally: Tally) -> tuple[Reason, ...]:
        """Return the caps of which `tally` is at least the warning share."""
        share = self.warn_at
        if share is None:
            return ()
        return tuple(cap for cap, limit, used in self._rows(tally) if limit and used >= limit * share)

    def limit_text(self, cap: Reason) -> str:
        """Return a cap's limit as a record writes it."""
        return amount_text(cap, self.limit)

    def used_percent(self, cap: Reason, tally: Tally) -> str:
        """Return the used share of a cap in percent, one decimal, rounded down."""
        limit, used = next((limit, used) for name, limit, used in self._rows(tally) if name == cap)
        tenths = used * 1000 // limit if limit else 0
        return f"{tenths // 10}.{tenths % 10}"

    def _rows(self, tally: Tally) -> list[tuple[Reason, int, int]]:
        rows: list[tuple[Reason, int, int]] = []
        if self.usd is not None:
            rows.append((Reason.MAX_USD, self.usd.micros, tally.micros))
        if self.tokens is not None:
            rows.append((Reason.MAX_TOKENS, self.tokens, tally.tokens))
        if self.calls is not None:
            rows.append((Reason.MAX_MODEL_CALLS, self.calls, tally.calls))
        return rows


def amount_text(cap: Reason, tally: Tally) -> str:
    """Return the part of `tally` that `cap` counts, as a record writes it: dollars exact, counts plain."""
    if cap is Reason.MAX_USD:
        return str(Usd(tally.micros))
    return str(tally.tokens if cap is Reason.MAX_TOKENS else tally.calls)
