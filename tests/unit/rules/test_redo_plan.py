"""What putting a restore back does, from its record."""

from __future__ import annotations

from typing import Any

import pytest

from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.changes import symlink_state
from docket.formats.tree.listing import Kind
from docket.formats.tree.restore_record import RestoredPath, RestoreRecord
from docket.formats.tree.steps import (
    ABSENT,
    ANYTHING,
    Holds,
    MakeDirectory,
    MakeSymlink,
    Remove,
    SetMode,
    StepStatus,
    WriteFile,
)
from docket.rules.tree.redo import redo_intentions
from docket.rules.tree.restore import Selection, Verb

ONE, TWO = Address.of(b"1"), Address.of(b"22")
X = RelPath(b"x")


def file(address: Address, mode: int = 0o644) -> EntryState:
    return EntryState(kind="file", mode=mode, size=address.size, sha256=address.sha256)


FOLDER, LINK = EntryState(kind="directory", mode=0o750), symlink_state(b"to")


def record(*paths: RestoredPath) -> RestoreRecord:
    return RestoreRecord(
        session_id="0123456789ab",
        docket_number="DKT-20261001-00C0DE",
        restored_at="2026-10-01T12:00:00.250Z",
        root=b"/home/dev/tree",
        root_identity=(1, 2),
        plan_sha256=Digest("ab" * 32),
        forced=False,
        paths=paths,
    )


def done(was: EntryState | None, now: EntryState | None, **more: Any) -> RestoredPath:
    return RestoredPath(path=X, verb="write", status=StepStatus.APPLIED, was=was, now=now, **more)


HOLDS_ONE = Holds(file(ONE))
CASES = [
    (file(TWO), file(ONE), Verb.WRITE, WriteFile(path=X, precondition=HOLDS_ONE, content=TWO, mode=0o644)),
    (file(TWO), None, Verb.RECREATE, WriteFile(path=X, precondition=ABSENT, content=TWO, mode=0o644)),
    (file(ONE, 0o4600), file(ONE), Verb.MODE, SetMode(path=X, precondition=HOLDS_ONE, mode=0o600)),
    (None, file(ONE), Verb.REMOVE, Remove(path=X, precondition=HOLDS_ONE, kind=Kind.FILE)),
    (None, LINK, Verb.REMOVE, Remove(path=X, precondition=Holds(LINK), kind=Kind.SYMLINK)),
    (FOLDER, file(ONE), Verb.DIRECTORY, MakeDirectory(path=X, precondition=HOLDS_ONE, mode=0o750)),
    (LINK, FOLDER, Verb.SYMLINK, MakeSymlink(path=X, precondition=Holds(FOLDER), target=b"to")),
]


@pytest.mark.parametrize(("was", "now", "verb", "step"), CASES)
def test_each_path_gets_back_what_stood_there(was, now, verb, step) -> None:
    (item,) = redo_intentions(record(done(was, now, kept=True)))
    assert (item.verb, item.step) == (verb, step)


def test_under_force_over_anything() -> None:
    (item,) = redo_intentions(record(done(file(TWO), file(ONE), kept=True)), force=True)
    assert item.step == WriteFile(path=X, precondition=ANYTHING, content=TWO, mode=0o644)


@pytest.mark.parametrize(
    ("was", "now", "verb", "reason"),
    [
        (file(TWO), file(ONE), Verb.NOT_COVERED, Reason.CONTENT_MISSING),
        (None, None, Verb.REFUSED, Reason.WRONG_VALUE),
        (file(TWO), EntryState(kind="fifo", mode=0o600), Verb.REFUSED, Reason.SPECIAL_FILE),
    ],
)
def test_what_cannot_be_put_back_is_told(was, now, verb, reason) -> None:
    (item,) = redo_intentions(record(done(was, now)))
    assert (item.verb, item.reason, item.step) == (verb, reason, None)


def test_what_was_not_done_is_not_undone_and_what_is_not_selected_is_left() -> None:
    refused = RestoredPath(path=RelPath(b"r"), verb="write", status=StepStatus.REFUSED)
    found = redo_intentions(record(refused, done(None, file(ONE))), Selection(paths=(RelPath(b"y"),)))
    assert [(item.path, item.verb) for item in found] == [(X, Verb.SKIP)]
