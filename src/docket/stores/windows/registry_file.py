"""The registry of open windows on the disk: one file, one lock (spec/windows.md, Registry).

Rules:
1. Whoever changes it holds the lock, waits no longer than asked and does nothing where the wait was in vain or the
   deadline had passed before it began.
2. What is published is whole or not there: temporary, sync, rename, sync of the folder.
3. What cannot be read as a registry is corrupt, and nobody works on; it is never taken for an empty one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from docket.errors import InvalidDocumentError, PartialEvidenceError, UnavailableError
from docket.formats.reason import Reason
from docket.formats.windows.names import PartialReason
from docket.formats.windows.registry import MAX_REGISTRY_BYTES, Registry, decode_registry, encode_registry
from docket.host.disk import SYSTEM_DISK, Disk, Folder, Held
from docket.host.durable import publish

REGISTRY, LOCK, TURNS = "registry.json", "lock", "turns"


class HeldRegistry:
    """The registry while its lock is held."""

    def __init__(self, folder: Folder, registry: Registry) -> None:
        self._folder = folder
        self.registry = registry

    def publish(self, registry: Registry) -> None:
        """Make this the registry, durably; nothing happens where it is that already.

        PartialEvidenceError(registry_lock_timeout) where somebody else changed it, whose lock file was another one.
        """
        if registry != self.registry:
            if _load(self._folder) != self.registry:
                detail = f"{self._folder.path / LOCK} was removed while it was held"
                raise PartialEvidenceError(PartialReason.REGISTRY_LOCK_TIMEOUT, detail)
            publish(self._folder, REGISTRY, encode_registry(registry))
            self.registry = registry


class RegistryFile:
    """The registry in the folder of windows."""

    def __init__(self, windows: Path, *, disk: Disk = SYSTEM_DISK) -> None:
        self._windows, self._disk = windows, disk

    @contextmanager
    def held(self, wait_seconds: float) -> Iterator[HeldRegistry]:
        """Hold the lock; PartialEvidenceError(registry_lock_timeout) where it cannot be had in time."""
        if wait_seconds < 0:
            raise PartialEvidenceError(PartialReason.REGISTRY_LOCK_TIMEOUT, "there was no time left for the lock")
        with self._disk.folder(self._windows, create=True) as folder:
            try:
                lock = folder.hold(LOCK, exclusive=True, wait_seconds=wait_seconds)
            except UnavailableError as error:
                if error.reason != Reason.LOCKED:
                    raise
                raise PartialEvidenceError(PartialReason.REGISTRY_LOCK_TIMEOUT, error.detail) from error
            try:
                yield HeldRegistry(folder, _load(folder))
            finally:
                lock.release()

    @contextmanager
    def in_turn(self, wait_seconds: float) -> Iterator[None]:
        """Let those who begin windows go one after another; who has waited so long goes all the same."""
        with self._disk.folder(self._windows, create=True) as folder:
            held: Held | None = None
            with suppress(UnavailableError):
                held = folder.hold(TURNS, exclusive=True, wait_seconds=wait_seconds)
        try:
            yield
        finally:
            if held is not None:
                held.release()

    def read(self) -> Registry:
        """Return the registry as it stands, without the lock; UnavailableError(REGISTRY_CORRUPT) for none."""
        try:
            with self._disk.folder(self._windows) as folder:
                return _load(folder)
        except UnavailableError as error:
            if error.reason != Reason.NOT_FOUND:
                raise
            return Registry()


def _load(folder: Folder) -> Registry:
    try:
        with folder.open(REGISTRY) as file:
            document = file.read(0, MAX_REGISTRY_BYTES + 1)
    except UnavailableError as error:
        if error.reason != Reason.NOT_FOUND:
            raise
        return Registry()
    try:
        return decode_registry(document)
    except InvalidDocumentError as error:
        detail = f"the registry {folder.path / REGISTRY} is corrupt: {error.detail}"
        raise UnavailableError(Reason.REGISTRY_CORRUPT, detail) from error
