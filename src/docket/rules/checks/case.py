"""What a check is given, and how it answers.

A check is a function of a `Case` that returns an `Answer`; the registry gives it its name. A check never raises
for what a document holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docket.formats.dataclass import dataclass, field
from docket.formats.proof.pins import NO_PINS, Pins
from docket.formats.run.receipt_view import ReceiptView
from docket.formats.run.verdict import Status

if TYPE_CHECKING:
    from docket.formats.proof.checkpoint import TreeHead
    from docket.formats.proof.verifier_state import VerifierState
    from docket.rules.checks.ledger_pass import LedgerReading
    from docket.rules.checks.retained import FoundBodies
    from docket.rules.checks.windows import FoundDeltas
    from docket.rules.receipt.families import Families


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A receipt and, where there was one, the reading of its ledger.

    `bodies` are the kept responses beside that, `deltas` those of its tool windows; `pins` are the keys that the caller
    named. `checkpoints` are the bytes of the file beside the ledger, None where there is none; `heads` those that the
    caller had written down; `remembered` what the caller's state knows of runs that were verified before. `tables` is
    for `rows.table`: what it read of the price table, once it did.
    """

    receipt: ReceiptView
    ledger: LedgerReading | None
    bodies: FoundBodies | None = None
    deltas: FoundDeltas | None = None
    pins: Pins = NO_PINS
    checkpoints: bytes | None = None
    heads: tuple[TreeHead, ...] = ()
    remembered: VerifierState | None = None
    tables: list[tuple[Families | None, str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", [])

    @property
    def gives_rows(self) -> bool:
        """Whether the receipt's rows were found to be, with their paths, the text of those that the ledger gives."""
        return self.ledger is not None and self.receipt.tree is self.ledger.tree


@dataclass(frozen=True, slots=True)
class Answer:
    """How a check ended and why; `vouches`: a key that the caller named vouches for the receipt."""

    status: Status
    detail: str
    vouches: bool = False


def held(detail: str) -> Answer:
    """The check held."""
    return Answer(Status.PASS, detail)


def broken(detail: str) -> Answer:
    """The check did not hold; `detail` names what differs."""
    return Answer(Status.FAIL, detail)


def skipped(detail: str) -> Answer:
    """The check could not run."""
    return Answer(Status.SKIP, detail)


NO_LEDGER = "no ledger was given"
DAMAGED = "the ledger could not be read to its end"
