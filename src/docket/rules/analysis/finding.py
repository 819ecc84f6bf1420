"""A finding: what one rule sees in the record of a run (docs/reference/findings.md).

Rules: a finding derives from the receipt and its ledger alone, so that two readers find the same; it names the events
it rests on; `usd_impact` is money that was spent, or may have been, on what it describes, never a guess beyond the
embedded price table. It is no part of any record.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass

MAX_EVIDENCE = 20
"""How many events a finding names; `detail` says how many there are."""


class Severity(StrEnum):
    """How much a finding matters."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


class Confidence(StrEnum):
    """How sure the record makes it: HIGH is recorded, MEDIUM is concluded, LOW is a heuristic."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


_WEIGHT = {Severity.HIGH: 0, Severity.MEDIUM: 1, Severity.LOW: 2, Severity.INFO: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found; `evidence` are numbers of events, `usd_impact` is None where no amount can be named.

    `subject` names what it is about by what stays the same from run to run: a model, a reason, a rule of the policy.
    """

    rule: str
    subject: str
    title: str
    severity: Severity
    confidence: Confidence
    evidence: tuple[int, ...]
    usd_impact: Usd | None = None
    detail: str
    remedy: str

    def to_json(self) -> dict[str, JsonValue]:
        """Return the object that `docket explain --json` prints."""
        return {
            "rule": self.rule,
            "title": self.title,
            "severity": str(self.severity),
            "confidence": str(self.confidence),
            "evidence": list(self.evidence),
            "usd_impact": None if self.usd_impact is None else str(self.usd_impact),
            "detail": self.detail,
            "remedy": self.remedy,
        }


def ranked(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings as a person reads them: most money first, then what matters most, then by rule and event."""
    return tuple(
        sorted(
            findings,
            key=lambda item: (
                -(0 if item.usd_impact is None else item.usd_impact.micros),
                _WEIGHT[item.severity],
                item.rule,
                item.evidence,
            ),
        )
    )


def cited(seqs: Iterable[int]) -> tuple[int, ...]:
    """Return the first numbers of events that a finding names, in their order."""
    return tuple(sorted(set(seqs)))[:MAX_EVIDENCE]
