"""The figures of a boundary, for whoever supervises it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docket.formats.amount import ZERO, Usd
from docket.formats.dataclass import dataclass

if TYPE_CHECKING:  # the machine's own modules are loaded with the first connection, not before
    from docket.rules.boundary.protocol import Breach


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryState:
    """Figures of a running boundary; `spent` is exact, `in_flight` counts calls that were sent and not settled.

    `calls` are the billed ones, `admitted` all that were let through, those that failed too.
    """

    calls: int = 0
    spent: Usd = ZERO
    tokens: int = 0
    denied: int = 0
    in_flight: int = 0
    breach: Breach | None = None
    admitted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFacts:
    """What the record's writer says of itself."""

    events: int
    size_bytes: int
    is_full: bool
    failure: str | None = None
