"""Questions to a person at a terminal, answered a line at a time.

A line that the end of input cuts short is no answer: who leaves in the midst of one has not said it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from docket.surfaces.cli import console


class LeftError(Exception):
    """The person left: q, or the end of input."""


def is_attended() -> bool:
    """Whether a person sits at standard input and sees standard output."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask(question: str) -> str:
    """Return what a person answers, without blanks around it; LeftError where the input ends before the line does."""
    click.echo(click.style(question, fg="cyan", bold=True) + " ", nl=False, color=console.colour_for(sys.stdout))
    sys.stdout.flush()
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        console.result("")
        raise LeftError
    return line.decode("utf-8", "replace").strip()


def ask_key(question: str, keys: str, help_lines: Callable[[], tuple[str, ...]]) -> str:
    """Return one of `keys`; anything else is answered with the help. LeftError for q and at the end of input."""
    while True:
        answer = ask(f"{question} [{','.join(keys)},q,?]").lower()
        if answer == "q":
            raise LeftError
        if len(answer) == 1 and answer in keys:
            return answer
        for line in help_lines():
            console.result(line)
