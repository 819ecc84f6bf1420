"""A verdict for a terminal: one aligned line a check, then what was and what was not established."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from docket.formats.run.verdict import Status, Verdict, Word
from docket.surfaces.cli.console import plain
from docket.surfaces.render.wrapping import wrapped

_COLOURS = {Status.PASS: "green", Status.FAIL: "red", Status.SKIP: "yellow"}


def lines(verdict: Verdict, columns: int | None = None) -> Iterator[str]:
    """Yield the lines of each check, styled: its status, its name, what was found; `columns` is the terminal's."""
    width = max((len(check.name) for check in verdict.checks), default=0)
    for check in verdict.checks:
        status = str(check.status).upper()
        lead = f"{status}  {check.name.ljust(width)}  "
        first, *more = wrapped(plain(check.detail), columns, lead=lead, margin=" " * (len(status) + 2))
        yield f"{click.style(status, fg=_COLOURS[check.status])}{first[len(status) :]}"
        yield from more


def established(verdict: Verdict, ledger: Path | None) -> str:
    """Return in words what the verdict stands for."""
    match verdict.word:
        case Word.FAILED:
            first = next((check.name for check in verdict.checks if check.status is Status.FAIL), "none")
            return f"Not to be relied on: {_failed(verdict)}, the first is {first}."
        case Word.INCOMPLETE:
            return (
                "What is recorded holds together, and the record itself says that it is not whole: "
                "nothing is established about what is missing."
            )
        case Word.VERIFIED:
            return "The receipt is what its ledger gives, and a key you named vouches for it."
        case Word.UNREADABLE:
            return f"Nothing was checked: {plain(verdict.detail)}"
    if ledger is None and verdict.vouched:
        return (
            "The receipt agrees with itself, and a key you named vouches for it. "
            "Not established: that a ledger bears it out (none was given)."
        )
    if ledger is None:
        return (
            "The receipt agrees with itself. Not established: that a ledger bears it out (none was given), "
            f"or who wrote it ({_nobody(verdict)} it)."
        )
    return (
        f"The receipt is what its ledger gives. Not established: who wrote the two ({_nobody(verdict)} them), "
        "or that nothing happened outside the record."
    )


def _nobody(verdict: Verdict) -> str:
    if any(check.name == "signature" and check.status is Status.PASS for check in verdict.checks):
        return "a key signed that you did not name: --public-key says whose word you take for"
    return "no key vouches for"


def _failed(verdict: Verdict) -> str:
    number = len(verdict.failures)
    return "one check failed" if number == 1 else f"{number} checks failed"
