"""Reading the secret half of a key, and refusing one that somebody else may have read or put there.

Rules:
1. What is judged is the open file: a link that is turned elsewhere between the look and the reading changes nothing.
2. A key's file is a regular file of this user's or root's, readable by nobody else, under one name, outside the tree
   that is watched: what stands in the tree, the agent reads and a commit publishes. That holds for a file behind a
   descriptor too. One whose last name is gone stands nowhere, and neither does what a pipe or memory gives.
3. A descriptor that a key was read from is closed, so that no program that is started has it; standard input is
   then empty.
4. Nothing waits for ever: neither for a FIFO that nobody writes to, nor for a terminal.

What the bytes mean is for `formats.proof.key_text`.
"""

from __future__ import annotations

import os
import select
import stat
import time
from pathlib import Path

from docket.errors import UnavailableError
from docket.formats.reason import Reason

PATIENCE_SECONDS = 10.0
_OTHERS = 0o077
_ROOT = 0
_STANDARD_OUTPUTS = (1, 2)
_REASONS: dict[type[Exception], Reason] = {
    FileNotFoundError: Reason.NOT_FOUND,
    NotADirectoryError: Reason.NOT_FOUND,
    PermissionError: Reason.NOT_PERMITTED,
}


def read_key_file(path: Path, limit_bytes: int, *, outside: Path | None = None) -> bytes:
    """Return the bytes of a key's file, which must not stand in the tree `outside`.

    UnavailableError: NOT_FOUND, NOT_PERMITTED, NOT_A_FILE, KEY_EXPOSED, TOO_LARGE, or IO_ERROR.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        raise _unreadable(str(path), error) from error
    try:
        found = os.fstat(descriptor)
        _refuse_exposed(str(path), found)
        if outside is not None:
            _refuse_inside(path, found, outside)
        return _read(descriptor, str(path), limit_bytes)
    finally:
        os.close(descriptor)


def read_key_descriptor(number: int, limit_bytes: int, *, outside: Path | None = None) -> bytes:
    """Return the bytes that an inherited descriptor gives, up to its end; it is closed then.

    A file that it stands for must not stand in the tree `outside`.

    UnavailableError: NOT_FOUND, NOT_A_FILE, KEY_EXPOSED, TOO_LARGE, or IO_ERROR.
    """
    where = f"descriptor {number}"
    if number in _STANDARD_OUTPUTS:
        raise UnavailableError(Reason.NOT_A_FILE, f"{where} is docket's own output")
    try:
        found = os.fstat(number)
    except (OSError, OverflowError) as error:
        raise UnavailableError(Reason.NOT_FOUND, f"{where} is not open") from error
    try:
        if stat.S_ISDIR(found.st_mode) or os.isatty(number):
            raise UnavailableError(Reason.NOT_A_FILE, f"{where} is a terminal or a folder")
        if stat.S_ISREG(found.st_mode):
            _refuse_exposed(where, found)
            if outside is not None and found.st_nlink:
                _refuse_inside(_path_of(number, where), found, outside)
        return _read(number, where, limit_bytes)
    finally:
        _give_up(number)


def _path_of(number: int, where: str) -> Path:
    """Return the path of an open file that has a name, as the system says it now."""
    try:
        return Path(f"/proc/self/fd/{number}").readlink()
    except OSError as error:
        detail = f"{where} is a file, and where it stands is not known"
        raise UnavailableError(Reason.KEY_EXPOSED, detail, hint="hand the key over by a pipe") from error


def _give_up(number: int) -> None:
    if number != 0:
        os.close(number)
        return
    empty = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(empty, 0)
    os.close(empty)


def _refuse_exposed(where: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UnavailableError(Reason.NOT_A_FILE, f"{where} is not a regular file")
    if found.st_uid not in (os.geteuid(), _ROOT):
        raise UnavailableError(Reason.KEY_EXPOSED, f"{where} belongs to another user")
    if found.st_mode & _OTHERS:
        raise UnavailableError(
            Reason.KEY_EXPOSED,
            f"{where} is open to other users (mode {stat.S_IMODE(found.st_mode):03o})",
            hint="chmod 600 keeps it to yourself; whoever could read it until now may have it",
        )
    if found.st_nlink > 1:
        raise UnavailableError(Reason.KEY_EXPOSED, f"{where} has {found.st_nlink} names, one of which may be anywhere")


def _refuse_inside(path: Path, found: os.stat_result, tree: Path) -> None:
    named, real = Path(os.path.abspath(path)), Path(os.path.realpath(path))  # noqa: PTH100 - links must stay
    try:
        at_real = real.lstat()
    except OSError as error:
        raise _unreadable(str(path), error) from error
    if (at_real.st_dev, at_real.st_ino) != (found.st_dev, found.st_ino):
        raise UnavailableError(Reason.KEY_EXPOSED, f"{path} was exchanged while it was read")
    real_tree = Path(os.path.realpath(tree))
    below = any(one.is_relative_to(root) for one in (named, real) for root in (tree, real_tree))
    if below or any(_is_same(parent, real_tree) for parent in real.parents):
        raise UnavailableError(
            Reason.KEY_EXPOSED, f"{path} stands in {tree}, where the agent works", hint="keep keys outside the tree"
        )


def _is_same(folder: Path, other: Path) -> bool:
    """Whether two paths lead to one folder, which may be mounted at both."""
    try:
        return folder.samefile(other)
    except OSError:
        return False


def _read(descriptor: int, where: str, limit_bytes: int) -> bytes:
    data = bytearray()
    waiting, deadline = select.poll(), time.monotonic() + PATIENCE_SECONDS
    waiting.register(descriptor, select.POLLIN)
    while len(data) <= limit_bytes:
        left = deadline - time.monotonic()
        if left <= 0 or not waiting.poll(left * 1000):
            raise UnavailableError(Reason.IO_ERROR, f"{where} came to no end within {PATIENCE_SECONDS:.0f} seconds")
        try:
            part = os.read(descriptor, limit_bytes + 1 - len(data))
        except OSError as error:
            raise _unreadable(where, error) from error
        if not part:
            return bytes(data)
        data += part
    raise UnavailableError(Reason.TOO_LARGE, f"{where} is larger than {limit_bytes:,} bytes")


def _unreadable(where: str, error: Exception) -> UnavailableError:
    reason = _REASONS.get(type(error), Reason.IO_ERROR)
    why = getattr(error, "strerror", None) or str(error)
    return UnavailableError(reason, f"{where} cannot be read: {why}")
