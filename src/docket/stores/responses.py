"""The folder of a run's kept responses: what agents were answered with, beside the ledger that names it.

Rules:
1. A body is kept as it passed, up to the policy's size, in `responses/<session>/<sha256>.bin`; equal bodies are one
   file. Nothing of a request is kept, no header and no credential.
2. A file stands whole under its name before its event is appended, and is durable before its event is: the ledger's
   writer syncs it first. What a killed run leaves beyond the ledger's word is named by no event.
3. What cannot be kept (a full disk, the policy's sizes, the room that the record itself needs) is a value with a
   reason; it never raises and never holds a call up.

Which bodies are kept is `rules.boundary.keeping`'s; comparing them with the ledger is `engines.verify`'s.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

from docket.errors import DocketError, UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelResponse
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK, Disk, Folder, StoredFile, free_bytes
from docket.host.durable import TEMPORARY_SUFFIX, displace, publish_copy, temporary_name
from docket.stores.layout import RESPONSES, Layout, open_docket_dir, response_name
from docket.stores.ledger_reader import read_ledger

RESPONSE_NAME = re.compile(r"[0-9a-f]{64}\.bin", re.ASCII)
RESPONSE_PATH = re.compile(r"responses/[0-9A-Za-z_-]{1,64}/[0-9a-f]{64}\.bin", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseLimits:
    """How many bytes of all bodies are kept, and how many the disk keeps free for the record."""

    total_max_bytes: int
    min_free_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptResponse:
    """A body that stands in the folder; `path` is relative to the folder above it and the ledger's.

    `sync` makes it durable; the ledger's writer calls it before it writes the event.
    """

    path: str
    sha256: Digest
    size_bytes: int
    sync: Callable[[], None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotKept:
    """A body that is not kept."""

    reason: Reason
    detail: str


Kept: TypeAlias = "KeptResponse | NotKept"


class ResponseFolder:
    """The kept responses of one live run; `keep` belongs to one thread, a `sync` to another."""

    def __init__(
        self,
        layout: Layout,
        session_id: str,
        limits: ResponseLimits,
        *,
        disk: Disk = SYSTEM_DISK,
        free: Callable[[Path], int] = free_bytes,
    ) -> None:
        """Begin with nothing; the folder is made with the first body."""
        self.lost = 0
        self._layout, self._session_id, self._limits = layout, session_id, limits
        self._disk, self._free = disk, free
        self._folder: Folder | None = None
        self._sizes: dict[Digest, int] = {}
        self._unsynced: set[StoredFile] = set()

    def keep(self, body: bytes) -> Kept:
        """Keep a body, or say why not."""
        digest = Digest(hashlib.sha256(body).hexdigest())
        sync: Callable[[], None] | None = None
        if digest not in self._sizes:
            if sum(self._sizes.values()) + len(body) > self._limits.total_max_bytes:
                return NotKept(reason=Reason.TOO_LARGE, detail="the run has kept as many bytes as the policy allows")
            try:
                sync = self._write(response_name(digest), body)
            except DocketError as error:
                return NotKept(reason=Reason(error.reason), detail=error.detail)
            self._sizes[digest] = len(body)
        path = f"{RESPONSES}/{self._session_id}/{response_name(digest)}"
        return KeptResponse(path=path, sha256=digest, size_bytes=len(body), sync=sync)

    def close(self) -> None:
        """Give the folder back; to be called when the ledger takes no more events."""
        folder, self._folder = self._folder, None
        unsynced, self._unsynced = self._unsynced, set()
        with suppress(DocketError):
            for file in unsynced:
                file.close()
            if folder is not None:
                folder.close()

    def _write(self, name: str, body: bytes) -> Callable[[], None]:
        folder = self._opened()
        self._check_room(len(body))
        temporary = temporary_name(name)
        with ExitStack() as undo:
            file = folder.create(temporary)
            undo.callback(_discard, folder, temporary, file)
            file.preallocate(len(body))
            file.append(body)
            if folder.identity(name) is not None:
                displace(folder, name)
            folder.claim(temporary, name)
            undo.pop_all()
        self._unsynced.add(file)
        return partial(self._sync, folder, file)

    def _opened(self) -> Folder:
        if self._folder is None:
            with (
                self._disk.folder(self._layout.state) as state,
                state.folder(RESPONSES, create=True) as responses,
            ):
                responses.make_private()
                self._folder = responses.folder(self._session_id, create=True)
        return self._folder

    def _check_room(self, size_bytes: int) -> None:
        try:
            free = self._free(self._layout.state)
        except OSError:
            return  # whether there is room is then told by the write
        if free - size_bytes < self._limits.min_free_bytes:
            least = self._limits.min_free_bytes
            detail = f"less than {least} bytes would be left on the disk of {self._layout.state}"
            raise UnavailableError(Reason.NO_SPACE, detail)

    def _sync(self, folder: Folder, file: StoredFile) -> None:
        """Make a body durable. A failure is counted: its event is under way and says otherwise."""
        try:
            file.sync()
            folder.sync()
        except DocketError:
            self.lost += 1
        finally:
            self._unsynced.discard(file)
            with suppress(DocketError):
                file.close()


def named_responses(layout: Layout, session_id: str, *, disk: Disk = SYSTEM_DISK) -> frozenset[str]:
    """Return the names of the files that a session's ledger says are kept; DocketError where it cannot be read.

    A name that is no digest's is left out: nothing of docket's own stands under it.
    """
    items = read_ledger(layout.ledger_path(session_id), disk=disk)
    names = (_name_in(item, session_id) for item in items if isinstance(item, Event))
    return frozenset(name for name in names if name is not None)


def _name_in(event: Event, session_id: str) -> str | None:
    path = event.data.get("response_path")
    if event.type != ModelResponse.TYPE or not isinstance(path, str) or RESPONSE_PATH.fullmatch(path) is None:
        return None
    _, session, name = path.split("/")
    return name if session == session_id else None


def publish_responses(layout: Layout, session_id: str, *, disk: Disk = SYSTEM_DISK) -> None:
    """Leave of a session's files what its ledger names, and copy that to the folder a person looks into.

    What a killed run was about to name is removed. DocketError for the first thing that does not succeed; doing it
    again goes on from there.
    """
    with ExitStack() as held:
        state = held.enter_context(disk.folder(layout.state))
        if state.identity(RESPONSES) is None:
            return
        responses = held.enter_context(state.folder(RESPONSES))
        if responses.identity(session_id) is None:
            return
        source = held.enter_context(responses.folder(session_id))
        names = named_responses(layout, session_id, disk=disk)
        for name in source.names():
            if name not in names and (RESPONSE_NAME.fullmatch(name) or name.endswith(TEMPORARY_SUFFIX)):
                source.remove(name)
        if layout.is_split and names:
            visible = held.enter_context(open_docket_dir(layout, disk))
            kept = held.enter_context(visible.folder(RESPONSES, create=True))
            _copy(source, held.enter_context(kept.folder(session_id, create=True)), names)


def _copy(source: Folder, target: Folder, names: Collection[str]) -> None:
    for name in target.names():
        if name.endswith(TEMPORARY_SUFFIX):
            target.remove(name)
    for name in sorted(names):
        if target.identity(name) is None and source.identity(name) is not None:
            with source.open(name) as file:
                publish_copy(target, name, file, overwrite=False)


def _discard(folder: Folder, name: str, file: StoredFile) -> None:
    with suppress(DocketError):
        file.close()
    with suppress(DocketError):
        folder.remove(name)
