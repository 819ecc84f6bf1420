"""The two sides of changed files, read from the base and from the stage: what hunks and renames are told by.

Rules (spec/workspace.md, Chosen hunks):
1. A side counts only if it is, byte for byte, what the change set says: a base that somebody changed since has no
   hunks of this change set.
2. A file of more than `MAX_BYTES`, or with several names, has no hunks.
3. Nothing is written, no link is followed.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

from docket.engines.transaction.closing import ClosedTransaction
from docket.errors import DocketError
from docket.formats.digest import sha256
from docket.formats.ledger.tree_events import EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.formats.workspace.change_set import ChangeSet
from docket.host.tree_files import TreeFiles
from docket.rules.workspace.hunks import Sides, sides_of, whole_because
from docket.rules.workspace.renames import Rename, renames, similar, unpaired

MAX_BYTES = 1024 * 1024


class StagedTexts:
    """Reads the sides of one transaction's files while its stage is open; close it."""

    def __init__(self, closed: ClosedTransaction) -> None:
        """Open both trees; UnavailableError where one cannot be."""
        self._several = frozenset(item.path for item in closed.listing.details.paths if item.links > 1)
        self._base = TreeFiles(closed.state.base.path)
        try:
            self._stage = TreeFiles(os.fsencode(closed.opened.stage.root))
        except BaseException:
            self._base.close()
            raise

    def sides(self, change: FsChange) -> Sides | str | None:
        """Return the sides of a changed file, None where its content is the same, or say why it has no hunks."""
        fault = whole_because(change)
        if fault is not None:
            return fault
        before, after = change.before, change.after
        assert before is not None and after is not None  # noqa: S101, PT018 - a file on both sides
        if before.sha256 == after.sha256:
            return None
        if change.path in self._several:
            return "it has several names"
        ours, theirs = self.content(change.path, before, staged=False), self.content(change.path, after, staged=True)
        for content in (ours, theirs):
            if isinstance(content, str):
                return content
        assert isinstance(ours, bytes) and isinstance(theirs, bytes)  # noqa: S101, PT018 - as was just seen
        return sides_of(ours, theirs)

    def renames(self, changes: ChangeSet) -> dict[RelPath, Rename]:
        """Return the renames of a change set, by what the files hold."""
        exact = renames(changes)
        left = unpaired(changes, exact)
        contents: dict[RelPath, bytes] = {}
        for change in (*left.removed, *left.added):
            state, staged = (change.before, False) if change.before is not None else (change.after, True)
            data = None if state is None else self.content(change.path, state, staged=staged)
            if isinstance(data, bytes):
                contents[change.path] = data
        return exact | similar(left, contents)

    def content(self, path: RelPath, state: EntryState, *, staged: bool) -> bytes | str:
        """Return the content that a file of that state has in the stage or in the base, or say why it cannot be had."""
        if (state.size or 0) > MAX_BYTES:
            return f"it has more than {MAX_BYTES:,} bytes"
        try:
            with open((self._stage if staged else self._base).open(path), "rb") as file:  # noqa: PTH123 - a descriptor
                data = file.read(MAX_BYTES + 1)
        except (DocketError, OSError) as error:
            return f"it cannot be read: {error.detail if isinstance(error, DocketError) else error.strerror}"
        if sha256(data) != state.sha256:
            return f"it changed in the {'stage' if staged else 'tree'} since"
        return data

    def close(self) -> None:
        """Give both trees back."""
        self._base.close()
        self._stage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
