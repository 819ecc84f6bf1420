"""What the exit codes mean to a person, and which one an error ends a command with (docs/reference/exit-codes.md)."""

from __future__ import annotations

from docket.errors import (
    DocketError,
    InvalidDocumentError,
    RefusedBeforeStartError,
    UnavailableError,
    UsageError,
)
from docket.formats.run.exit_code import (
    COMMIT_REFUSED,
    FAILED,
    INTERNAL,
    OK,
    REFUSED,
    SIGNAL_BASE,
    UNAVAILABLE,
    USAGE,
)

__all__ = [
    "COMMIT_REFUSED",
    "FAILED",
    "INTERNAL",
    "MEANINGS",
    "OK",
    "REFUSED",
    "SIGNAL_BASE",
    "UNAVAILABLE",
    "USAGE",
    "exit_code",
]


MEANINGS: tuple[tuple[str, str], ...] = (
    ("0", "ok"),
    ("1", "not verified, a document that cannot be read, or a restore that leaves a path not put back"),
    ("2", "usage: the command line does not make sense"),
    ("42", "a cap stopped the run"),
    ("43", "refused before the agent started: the policy, a typo in it, the budget, the recipe"),
    ("44", "the agent succeeded, but the commit of its changes was refused"),
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
