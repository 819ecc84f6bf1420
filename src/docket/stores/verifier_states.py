"""The file in which somebody who verifies keeps what they know of earlier runs (spec/checkpoint.md, State).

Rules:
1. One process at a time works with the file, from before it is read to after it is written.
2. It is replaced whole, durably, or not at all. One that cannot be read is left as it is, and nothing is verified.
3. A file that is not there knows nothing yet. What is no file is told before anything is made beside it.
4. Who has to wait for the file is told so after a second, and does not wait for ever.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.canonical import decode_document, encode_document
from docket.formats.proof.verifier_state import MAX_STATE_BYTES, VerifierState, read_state
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK, Disk, Folder
from docket.host.durable import publish
from docket.host.locks import FileLock

PATIENCE_SECONDS = 30.0
QUIET_SECONDS = 1.0
_LOCK_SUFFIX = ".lock"


class HeldState:
    """A state that nobody else changes meanwhile; `known` is what it knew when it was read."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder, self._name = folder, name
        self.known = _read(folder, name)

    def keep(self, state: VerifierState) -> None:
        """Make `state` the durable content of the file; UnavailableError leaves the old one."""
        if state != self.known:
            data = encode_document(state.to_json())
            if len(data) > MAX_STATE_BYTES:  # it could not be read again
                detail = f"{self._folder.path / self._name} would be larger than {MAX_STATE_BYTES:,} bytes"
                raise UnavailableError(Reason.TOO_LARGE, detail)
            publish(self._folder, self._name, data)
            self.known = state


@contextmanager
def hold_state(
    path: Path,
    *,
    disk: Disk = SYSTEM_DISK,
    wait_seconds: float = PATIENCE_SECONDS,
    waiting: Callable[[str], None] | None = None,
) -> Iterator[HeldState]:
    """Hold the state at `path`; `waiting` is told, once, that another has it, and for how long it is waited for.

    UnavailableError (LOCKED, NOT_A_FILE, NOT_FOUND for its folder, …); InvalidDocumentError where the file is no state.
    """
    real = Path(os.path.realpath(path))
    if not real.name:
        raise _no_file(path)
    with disk.folder(real.parent) as folder:
        there = folder.look(real.name)
        if there is not None and not there.is_file:
            raise _no_file(path)
        lock = _lock(real, wait_seconds, waiting)
        try:
            yield HeldState(folder, real.name)
        finally:
            lock.release()


def _lock(real: Path, wait_seconds: float, waiting: Callable[[str], None] | None) -> FileLock:
    path = real.with_name(real.name + _LOCK_SUFFIX)
    quiet_seconds = min(wait_seconds, QUIET_SECONDS)
    try:
        return FileLock.acquire(path, wait_seconds=quiet_seconds)
    except UnavailableError as error:
        if error.reason != Reason.LOCKED or wait_seconds <= quiet_seconds:
            raise
        if waiting is not None:
            waiting(f"waits up to {wait_seconds - quiet_seconds:.0f} s for {real}: {error.detail}")
    return FileLock.acquire(path, wait_seconds=wait_seconds - quiet_seconds)


def _no_file(path: Path) -> UnavailableError:
    return UnavailableError(Reason.NOT_A_FILE, f"{path} is no regular file, and a state is kept in one")


def _read(folder: Folder, name: str) -> VerifierState:
    if folder.identity(name) is None:
        return VerifierState()
    with folder.open(name) as file:
        size = file.size()
        if size > MAX_STATE_BYTES:
            raise UnavailableError(Reason.TOO_LARGE, f"{file.path} is larger than {MAX_STATE_BYTES:,} bytes")
        try:
            return read_state(decode_document(file.read(0, size)))
        except InvalidDocumentError as error:
            raise InvalidDocumentError(error.reason, f"{file.path} is no state: {error.detail}") from error
