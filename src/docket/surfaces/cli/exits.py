"""The one table of exit codes (docs/reference/exit-codes.md)."""

from __future__ import annotations

from docket.errors import (
    DocketError,
    InvalidDocumentError,
    RefusedBeforeStartError,
    UnavailableError,
    UsageError,
)

OK = 0
FAILED = 1
USAGE = 2
CAP = 42
REFUSED = 43
INTERNAL = 70
UNAVAILABLE = 75
NOT_RUNNABLE = 126
NOT_FOUND = 127
SIGNAL_BASE = 128

MEANINGS: tuple[tuple[str, str], ...] = (
    ("0", "ok"),
    ("1", "not verified, or a document that cannot be read"),
    ("2", "usage: the command line does not make sense"),
    ("42", "a cap stopped the run"),
    ("43", "refused before the agent started: the policy, a typo in it, the budget, the recipe"),
    ("70", "internal error: a fault in docket"),
    ("75", "a needed thing is unavailable: a lock, the disk, the evidence folder"),
    ("126", "the program cannot be run"),
    ("127", "the program was not found"),
    ("128+n", "ended by signal n (130 Ctrl-C, 143 SIGTERM)"),
    ("other", "the agent's own exit code"),
)


def exit_code(error: DocketError) -> int:
    """Return the exit code for an error that ended a command."""
    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, RefusedBeforeStartError):
        return REFUSED
    if isinstance(error, UnavailableError):
        return UNAVAILABLE
    if isinstance(error, InvalidDocumentError):
        return FAILED
    return INTERNAL
