"""The exceptions docket raises when an operation cannot go on.

A refusal, an omission or an outcome is a value with a reason code (`formats.reason`); an exception here ends
the operation. A new class exists only where a caller handles it differently: `surfaces.cli.exits` maps each
to its exit code.
"""

from __future__ import annotations


class DocketError(Exception):
    """An operation cannot go on.

    `reason` is a stable code (a member of `formats.reason.Reason`, or its text), `detail` one sentence that
    names the thing, `points` what it sums up, each to be shown on a line of its own, `hint` what the person can do
    next, if anything. None of them holds a line end of docket's: one that a name brings along is shown as what it is.
    """

    def __init__(self, reason: str, detail: str, *, hint: str | None = None, points: tuple[str, ...] = ()) -> None:
        super().__init__(detail)
        self.reason = str(reason)
        self.detail = detail
        self.hint = hint
        self.points = points


class InvalidDocumentError(DocketError):
    """Bytes or a value do not have the form their specification demands."""


class RefusedBeforeStartError(DocketError):
    """The run was refused before the agent started (policy, budget, recipe)."""


class UnavailableError(DocketError):
    """A needed thing cannot be had now: a lock, the disk, a folder that cannot be written."""


class UsageError(DocketError):
    """The command line asks for something that does not exist or does not go together."""


class PartialEvidenceError(DocketError):
    """What a tool changed cannot be told; `reason` is a code of `formats.windows.names.PartialReason`."""
