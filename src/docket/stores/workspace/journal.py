"""The journal of a commit under way, in its transaction's folder: `journal`, and the plan beside it as `plan`.

Rules (spec/workspace.md, Journal):
1. Plan and header are durable before the first thing is built in the base; each mark is durable when it is told.
2. It is removed when the commit is over, whichever way, and its state says so. One that stands belongs to a commit
   under way or interrupted.
3. Whoever goes on with it cuts off a torn tail first, and keeps that as `journal.torn` until the commit is over: on a
   disk that damaged a line it is all that still says what was done.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.reason import Reason
from docket.formats.tree.plan import Plan, decode_plan
from docket.formats.workspace.journal import (
    Journal,
    JournalHeader,
    JournalStep,
    LineWriter,
    StagingIdentity,
    decode_journal,
)
from docket.formats.workspace.state import TransactionState
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.disk_port import Folder
from docket.host.durable import publish, publish_copy
from docket.stores.workspace.journal_key import journal_key

JOURNAL, PLAN, TORN = "journal", "plan", "journal.torn"
MAX_JOURNAL_BYTES = 4 * 1024**3


class JournalFile:
    """A journal that is being written; `engines.apply` tells it how far the apply came."""

    def __init__(self, folder: Path, writer: LineWriter, disk: Disk) -> None:
        self._folder, self._writer, self._disk = folder, writer, disk
        self.is_prepared = False

    @classmethod
    def begin(cls, folder: Path, plan: Plan, state: TransactionState, *, disk: Disk = SYSTEM_DISK) -> JournalFile:
        """Write plan and header; UnavailableError where that fails, or where an earlier journal stands."""
        header = JournalHeader(transaction=state.id, base=state.base, plan_sha256=plan.digest, steps=len(plan))
        writer = LineWriter(journal_key(folder.parent, disk=disk))
        with disk.folder(folder) as opened:
            if opened.identity(JOURNAL) is not None:
                detail = f"{folder / JOURNAL} is an earlier commit's"
                raise UnavailableError(Reason.INTERRUPTED_APPLY, detail, hint="docket tx recover ends it")
            try:
                publish(opened, PLAN, plan.document)
                publish(opened, JOURNAL, writer.header(header), overwrite=False)
            except DocketError:
                _removed(opened)
                raise
        return cls(folder, writer, disk)

    @classmethod
    def resume(cls, folder: Path, journal: Journal, *, disk: Disk = SYSTEM_DISK) -> JournalFile:
        """Go on with a journal as it was read; UnavailableError where it cannot be written."""
        with disk.folder(folder) as opened, opened.open(JOURNAL, writable=True) as file:
            if file.size() != journal.length:
                if opened.identity(TORN) is None:
                    publish_copy(opened, TORN, file, overwrite=False)
                file.truncate(journal.length)
                file.sync()
        resumed = cls(folder, LineWriter(journal_key(folder.parent, disk=disk), journal.mac), disk)
        resumed.is_prepared = journal.staging is not None
        return resumed

    @property
    def note(self) -> bytes:
        """Whose it is: the transaction and the state folder."""
        return os.fsencode(f"{self._folder.name} {self._folder.parent.parent}")

    def prepared(self, steps: tuple[JournalStep, ...], staging: StagingIdentity, /) -> None:
        """Everything is built and durable; from now on paths change."""
        self._append(self._writer.prepared(steps, staging))
        self.is_prepared = True

    def applied(self) -> None:
        """Every path is as planned, durably."""
        self._append(self._writer.applied())

    def remove(self) -> None:
        """Take the journal away: the commit is over."""
        remove_journal(self._folder, disk=self._disk)

    def _append(self, lines: bytes) -> None:
        with ExitStack() as held:
            opened = held.enter_context(self._disk.folder(self._folder))
            file = held.enter_context(opened.open(JOURNAL, writable=True))
            file.append(lines)
            file.sync()


def _removed(folder: Folder) -> None:
    for name in (JOURNAL, PLAN, TORN):
        if folder.identity(name) is not None:
            folder.remove(name)


def remove_journal(folder: Path, *, disk: Disk = SYSTEM_DISK) -> None:
    """Take a transaction's journal away, whatever stands there."""
    with disk.folder(folder) as opened:
        _removed(opened)
        opened.sync()


def has_journal(folder: Path, *, disk: Disk = SYSTEM_DISK) -> bool:
    """Whether a journal stands in a transaction's folder."""
    with disk.folder(folder) as opened:
        return opened.identity(JOURNAL) is not None


def torn_journal(folder: Path, *, disk: Disk = SYSTEM_DISK) -> str | None:
    """Return in words where a journal stands as it was before a damaged end was cut off, None where there is none."""
    with disk.folder(folder) as opened:
        if opened.identity(TORN) is None:
            return None
    whole = f"{folder / TORN} is the journal as it was before its damaged end was cut off"
    return f"{whole}: with the damage mended and put back as {folder / JOURNAL}, it still says what was done"


def read_journal(folder: Path, *, disk: Disk = SYSTEM_DISK) -> tuple[Journal, Plan] | None:
    """Return the journal that stands in a transaction's folder, and its plan; None for none or one that never began.

    InvalidDocumentError where it is not one, was not written by this person's docket, or is of another plan.
    """
    key = journal_key(folder.parent, disk=disk)
    with disk.folder(folder) as opened:
        if opened.identity(JOURNAL) is None:
            return None
        journal = decode_journal(_read(opened, JOURNAL), key)
        if journal is None:
            return None
        plan = decode_plan(_read(opened, PLAN))
    header = journal.header
    if (header.plan_sha256, header.steps) != (plan.digest, len(plan)) or header.transaction != folder.name:
        raise InvalidDocumentError(Reason.DOCUMENTS_DISAGREE, f"the journal of {folder.name} is of another plan")
    if plan.root != header.base.identity or any(plan.steps[item.number] != item.step for item in journal.steps):
        raise InvalidDocumentError(Reason.DOCUMENTS_DISAGREE, f"the journal of {folder.name} tells other steps")
    return journal, plan


def _read(folder: Folder, name: str) -> bytes:
    with folder.open(name) as file:
        size = file.size()
        if size > MAX_JOURNAL_BYTES:
            raise InvalidDocumentError(Reason.TOO_LARGE, f"{folder.path / name} is too large")
        return file.read(0, size)
