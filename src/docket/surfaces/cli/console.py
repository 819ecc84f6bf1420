"""What docket says to a person: results on standard output, everything else on standard error.

Rules: colours only on a terminal, never with NO_COLOR, always with DOCKET_FORCE_COLOR; text from documents and
file names is shown with control characters and line ends escaped, so that a name can neither drive the terminal nor
begin a line that looks like docket's.

Remarks are dropped rather than waited for: a standard error that is full, gone or stopped must neither end a run nor
keep docket from stopping it. A result that cannot be written is an error.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import sys
from contextlib import suppress
from typing import TextIO

import click

from docket.errors import DocketError, UnavailableError
from docket.formats.reason import Reason

# How long a remark waits for a reader that has fallen behind; and what a pipe that polls as writable takes at once.
_PATIENCE_MS = 1000
_CHUNK_BYTES = 4096
_FEWEST_COLUMNS = 20


def colour_for(stream: TextIO) -> bool:
    """Whether to colour what goes to `stream`."""
    if os.environ.get("DOCKET_FORCE_COLOR"):
        return True
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


# Marks of direction, line and paragraph separators, invisible operators, halves of characters, marks between the lines,
# tags.
_UNSEEN = (
    (0x061C, 0x061C), (0x200E, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0xD800, 0xDFFF), (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB), (0xE0000, 0xE007F),
)  # fmt: skip
# How bytes of a name that are not UTF-8 come (PEP 383).
_FOREIGN_BYTES = (0xDC80, 0xDCFF)


def plain(text: str) -> str:
    """Return `text` with control characters, line separators and marks of direction made visible."""
    return "".join(_visible(char) for char in text)


def _visible(char: str) -> str:
    code = ord(char)
    if code < 0x20 or 0x7F <= code < 0xA0:
        return f"\\x{code:02x}"
    if _FOREIGN_BYTES[0] <= code <= _FOREIGN_BYTES[1]:
        return f"\\x{code & 0xFF:02x}"
    if any(first <= code <= last for first, last in _UNSEEN):
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return char


def as_json(value: object, *, indent: int | None = 2) -> str:
    """Return `value` as JSON in ASCII without any control character, so that it drives no terminal either."""
    return json.dumps(value, indent=indent).replace("\x7f", "\\u007f")


def result(text: str) -> None:
    """Write a command's result line to standard output; UnavailableError if it cannot be written."""
    try:
        click.echo(text, color=colour_for(sys.stdout))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritten(error) from error


def columns() -> int | None:
    """Return how many characters a line of standard output's terminal has, None where it is none."""
    if not sys.stdout.isatty():
        return None
    return max(shutil.get_terminal_size().columns, _FEWEST_COLUMNS)


def document(data: bytes) -> None:
    """Write a document's bytes to standard output; UnavailableError if they cannot be written."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritten(error) from error


def unwritten(error: OSError) -> UnavailableError:
    """Return the error of a result that could not be written."""
    return UnavailableError(Reason.WRITE_FAILED, f"the result cannot be written: {error.strerror or error}")


def say(text: str) -> None:
    """Write a remark to standard error, marked as docket's."""
    remark(f"{click.style('docket', bold=True)}: {text}\n")


def note(text: str) -> None:
    """Write a line to standard error as it is, for a program that reads it."""
    remark(f"{text}\n")


def remark(text: str) -> None:
    """Write to standard error, without colours where it takes none; what it does not take is dropped."""
    with suppress(OSError, ValueError):
        stream = sys.stderr
        shown = text if colour_for(stream) else click.unstyle(text)
        try:
            descriptor = stream.fileno()
        except (OSError, ValueError):
            stream.write(shown)
            stream.flush()
            return
        _write_patiently(descriptor, shown.encode(stream.encoding or "utf-8", "backslashreplace"))


def overwrite(text: str) -> None:
    """Put `text` in place of the terminal's present line on standard error, with no line end."""
    with suppress(OSError, ValueError):
        _write_patiently(sys.stderr.fileno(), f"\r\x1b[K{text}".encode())


def _write_patiently(descriptor: int, data: bytes) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    while data and poll.poll(_Patience.left_ms):
        data = data[os.write(descriptor, data[:_CHUNK_BYTES]) :]
    _Patience.left_ms = 0 if data else _PATIENCE_MS


class _Patience:
    """How long the next remark waits: not again for a reader that was waited for in vain."""

    left_ms = _PATIENCE_MS


def warn(text: str) -> None:
    """Write a warning to standard error."""
    say(f"{click.style('warning', fg='yellow')}: {text}")


def fail(error: DocketError) -> None:
    """Say on standard error what went wrong and what to do next."""
    points = "".join(f"\n  {plain(point)}" for point in error.points)
    say(f"{click.style('error', fg='red')}: {plain(error.detail)}{points}")
    if error.hint:
        say(plain(error.hint))
