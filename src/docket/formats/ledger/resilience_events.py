"""The payloads of pacing, the breaker and injected faults (spec/ledger.md, Vocabulary)."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from docket.formats.dataclass import dataclass
from docket.formats.ledger.payload_codec import Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Paced(Payload):
    """A call that had to wait its turn has been let go."""

    TYPE: ClassVar[str] = "x-docket.paced"
    provider: str
    model: str
    waited_ms: int


class BreakerState(StrEnum):
    """Whether calls to an upstream go: all of them, one as a trial, or none."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerChange(Payload):
    """The breaker of an upstream has changed its state; `failures` in a row led to it, `cooldown_ms` is the pause."""

    TYPE: ClassVar[str] = "x-docket.breaker"
    provider: str
    upstream: str
    state: BreakerState
    failures: int
    cooldown_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlanned(Payload):
    """The run is a drill: faults are injected by these rules, reproducibly by the seed."""

    TYPE: ClassVar[str] = "x-docket.fault-plan"
    seed: int
    spec: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultInjected(Payload):
    """A fault was injected into a call; `asked` says whether the upstream is asked all the same."""

    TYPE: ClassVar[str] = "x-docket.fault"
    call: int
    kind: str
    detail: str
    asked: bool
