"""The journal of a commit under way, in its transaction's folder: `journal`, and the plan beside it as `plan`.

Rules (spec/workspace.md, Journal):
1. Plan and header are durable before the first thing is built in the base; each mark is durable when it is told.
2. It is removed when the commit is over, whichever way. One that stands belongs to a commit under way or interrupted.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.tree.plan import Plan
from docket.formats.workspace.journal import Journal, JournalHeader, Mark, decode_journal, encode_header, encode_mark
from docket.formats.workspace.state import Base
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.durable import publish

JOURNAL, PLAN = "journal", "plan"
MAX_JOURNAL_BYTES = 1024 * 1024


class JournalFile:
    """A journal that is being written; `engines.apply` tells it how far the apply came."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder, self._disk = folder, disk

    @classmethod
    def begin(cls, folder: Path, plan: Plan, base: Base, *, disk: Disk = SYSTEM_DISK) -> JournalFile:
        """Write plan and header; UnavailableError where that fails, or where an earlier journal stands."""
        header = JournalHeader(base=base, plan_sha256=plan.digest, steps=len(plan))
        with disk.folder(folder) as opened:
            if opened.identity(JOURNAL) is not None:
                raise UnavailableError(Reason.INTERRUPTED_APPLY, f"{folder / JOURNAL} is an earlier commit's")
            publish(opened, PLAN, plan.document)
            publish(opened, JOURNAL, encode_header(header), overwrite=False)
        return cls(folder, disk)

    def prepared(self) -> None:
        """Everything is built and durable; from now on paths change."""
        self._append(Mark.PREPARED)

    def applied(self) -> None:
        """Every path is as planned, durably."""
        self._append(Mark.APPLIED)

    def remove(self) -> None:
        """Take the journal away: the commit is over."""
        with self._disk.folder(self._folder) as opened:
            for name in (JOURNAL, PLAN):
                opened.remove(name)
            opened.sync()

    def _append(self, mark: Mark) -> None:
        with ExitStack() as held:
            opened = held.enter_context(self._disk.folder(self._folder))
            file = held.enter_context(opened.open(JOURNAL, writable=True))
            file.append(encode_mark(mark))
            file.sync()


def read_journal(folder: Path, *, disk: Disk = SYSTEM_DISK) -> Journal | None:
    """Return the journal that stands in a transaction's folder, None for none or for one that never began.

    InvalidDocumentError where it is not one.
    """
    with disk.folder(folder) as opened:
        if opened.identity(JOURNAL) is None:
            return None
        with opened.open(JOURNAL) as file:
            return decode_journal(file.read(0, min(file.size(), MAX_JOURNAL_BYTES)))
