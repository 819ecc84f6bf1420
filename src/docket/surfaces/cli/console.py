"""What docket says to a person: results on standard output, everything else on standard error.

Rules: colours only on a terminal, never with NO_COLOR, always with DOCKET_FORCE_COLOR; text from documents and
file names is shown with control characters escaped, so that a name cannot drive the terminal.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click

from docket.errors import DocketError


def colour_for(stream: TextIO) -> bool:
    """Whether to colour what goes to `stream`."""
    if os.environ.get("DOCKET_FORCE_COLOR"):
        return True
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def plain(text: str) -> str:
    """Return `text` with control characters (and bidirectional overrides) made visible."""
    return "".join(_visible(char) for char in text)


def _visible(char: str) -> str:
    code = ord(char)
    if code < 0x20 or 0x7F <= code < 0xA0:
        return f"\\x{code:02x}"
    if 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or 0xD800 <= code <= 0xDFFF:
        return f"\\u{code:04x}"
    return char


def result(text: str) -> None:
    """Write a command's result line to standard output."""
    click.echo(text, color=colour_for(sys.stdout))


def say(text: str) -> None:
    """Write a remark to standard error, marked as docket's."""
    click.echo(f"{click.style('docket', bold=True)}: {text}", err=True, color=colour_for(sys.stderr))


def note(text: str) -> None:
    """Write a line to standard error as it is, for a program that reads it."""
    click.echo(text, err=True)


def warn(text: str) -> None:
    """Write a warning to standard error."""
    say(f"{click.style('warning', fg='yellow')}: {text}")


def fail(error: DocketError) -> None:
    """Say on standard error what went wrong and what to do next."""
    say(f"{click.style('error', fg='red')}: {plain_lines(error.detail)}")
    if error.hint:
        say(plain_lines(error.hint))


def plain_lines(text: str) -> str:
    """Return prose with its own line ends kept and every other control character made visible."""
    return "\n".join(plain(line) for line in text.split("\n"))
