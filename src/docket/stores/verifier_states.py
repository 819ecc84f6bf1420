"""The file in which somebody who verifies keeps what they know of earlier runs (spec/checkpoint.md, State).

Rules:
1. One process at a time works with the file, from before it is read to after it is written.
2. It is replaced whole, durably, or not at all. One that cannot be read is left as it is, and nothing is verified.
3. A file that is not there knows nothing yet.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
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
_LOCK_SUFFIX = ".lock"


class HeldState:
    """A state that nobody else changes meanwhile; `known` is what it knew when it was read."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder, self._name = folder, name
        self.known = _read(folder, name)

    def keep(self, state: VerifierState) -> None:
        """Make `state` the durable content of the file; UnavailableError leaves the old one."""
        if state != self.known:
            publish(self._folder, self._name, encode_document(state.to_json()))
            self.known = state


@contextmanager
def hold_state(path: Path, *, disk: Disk = SYSTEM_DISK, wait_seconds: float = PATIENCE_SECONDS) -> Iterator[HeldState]:
    """Hold the state at `path`.

    UnavailableError (LOCKED, NOT_FOUND for its folder, …); InvalidDocumentError where the file is no state.
    """
    real = Path(os.path.realpath(path))
    with disk.folder(real.parent) as folder:
        lock = FileLock.acquire(real.with_name(real.name + _LOCK_SUFFIX), wait_seconds=wait_seconds)
        try:
            yield HeldState(folder, real.name)
        finally:
            lock.release()


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
