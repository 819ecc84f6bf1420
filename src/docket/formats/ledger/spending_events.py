"""The payloads that say how the caps held (spec/ledger.md, Vocabulary)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from docket.formats.amount import Usd
from docket.formats.ledger.payload_codec import Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class CapWarning(Payload):
    """The warning share of a cap was reached."""

    TYPE: ClassVar[str] = "cap.warning"
    cap: str
    threshold: str
    used_pct: str
    used: str
    limit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CapExceeded(Payload):
    """A cap ended the run or refused a call; `action` is kill or deny."""

    TYPE: ClassVar[str] = "cap.exceeded"
    cap: str
    limit: str
    used: str
    cost_usd: Usd
    tokens: int
    calls: int
    action: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(Payload):
    """How the USD cap held: what was admitted how, the stated bound and the actual overshoot."""

    TYPE: ClassVar[str] = "x-docket.budget"
    admission: str
    cap_usd: Usd | None = None
    spent_usd: Usd
    overshoot_usd: Usd
    bound_usd: Usd
    peak_held_usd: Usd
