"""What verification says: one status for each check, and one word for the document (spec/receipt.md, Verdicts).

Rules: any failed check makes the verdict `failed`; a check that could not run is `skip` with its reason and never
raises the verdict; `verified` needs a key the caller named, so that a file nobody vouches for is at best
`consistent`. How the word is found stands in `rules.checks.verdict`.
"""

from __future__ import annotations

from enum import StrEnum

from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass


class Status(StrEnum):
    """How one check ended."""

    PASS = "pass"  # noqa: S105 - a status, not a secret
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Check:
    """One check; `detail` says what was compared, what differs (event, row, member), or why it could not run."""

    name: str
    status: Status
    detail: str

    def to_json(self) -> dict[str, JsonValue]:
        """Return {name, status, detail}."""
        return {"name": self.name, "status": str(self.status), "detail": self.detail}


class Word(StrEnum):
    """The verdict in one word."""

    VERIFIED = "verified"
    CONSISTENT = "consistent"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome; `required` is the word exit code 0 asks for, `detail` the reason of an unreadable document.

    `vouched`: a key that the caller named vouches for the receipt.
    """

    word: Word
    required: Word = Word.CONSISTENT
    docket_number: str | None = None
    checks: tuple[Check, ...] = ()
    detail: str = ""
    vouched: bool = False

    @property
    def ok(self) -> bool:
        """Whether the verdict is the required one or a better one."""
        good = (Word.VERIFIED,) if self.required is Word.VERIFIED else (Word.VERIFIED, Word.CONSISTENT)
        return self.word in good

    @property
    def failures(self) -> tuple[str, ...]:
        """What failed, in order, each as `name: detail`."""
        return tuple(f"{check.name}: {check.detail}" for check in self.checks if check.status is Status.FAIL)

    def to_json(self) -> dict[str, JsonValue]:
        """Return {ok, verdict, docket_number, checks, failures}, and the `detail` of an unreadable document."""
        json: dict[str, JsonValue] = {
            "ok": self.ok,
            "verdict": str(self.word),
            "docket_number": self.docket_number,
            "checks": [check.to_json() for check in self.checks],
            "failures": list(self.failures),
        }
        return {**json, "detail": self.detail} if self.word is Word.UNREADABLE else json
