"""What undoing does about one path: every pair of what the tool did and what stands there now, by hand."""

from __future__ import annotations

import pytest

from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.changes import symlink_state
from docket.formats.tree.listing import Kind
from docket.formats.tree.steps import ABSENT, Holds, MakeSymlink, Remove, SetMode, WriteFile
from docket.formats.windows.changes import Side
from docket.formats.windows.delta import FileDelta
from docket.formats.windows.names import (
    ABSENT_MODE,
    EXECUTABLE_MODE,
    GITLINK_MODE,
    REGULAR_MODE,
    SYMLINK_MODE,
    Operation,
)
from docket.rules.tree.restore import Verb
from docket.rules.windows.undo import (
    Becomes,
    MergeText,
    Standing,
    Target,
    as_before,
    decide_undo,
    intention_of,
    refusal_of,
)
from docket.rules.workspace.merging import Unmergeable

A = RelPath(b"a")
ONE, TWO, OTHER, ZEROS = "1" * 40, "2" * 40, "3" * 40, "0" * 40
FILE = EntryState(kind="file", mode=0o640, size=1, sha256=Digest("ab" * 32))
RUN = EntryState(kind="file", mode=0o750, size=1, sha256=Digest("ab" * 32))
FOLDER, FIFO = EntryState(kind="directory", mode=0o755), EntryState(kind="fifo", mode=0o644)
NOTHING = Standing()


def delta(before: tuple[str, str], after: tuple[str, str], operation: Operation, **flags: bool) -> FileDelta:
    return FileDelta(path=A, operation=operation, before_mode=before[0], before_hash=before[1], after_mode=after[0],
                     after_hash=after[1], **flags)  # fmt: skip


ABSENT_SIDE, FILE_ONE, FILE_TWO = (ABSENT_MODE, ZEROS), (REGULAR_MODE, ONE), (REGULAR_MODE, TWO)
CREATE = delta(ABSENT_SIDE, FILE_TWO, Operation.CREATE)
EDIT = delta(FILE_ONE, FILE_TWO, Operation.EDIT)
DELETE = delta(FILE_ONE, ABSENT_SIDE, Operation.DELETE)
MODE = delta(FILE_ONE, (EXECUTABLE_MODE, ONE), Operation.EDIT)
TYPE = delta(FILE_ONE, (SYMLINK_MODE, TWO), Operation.TYPECHANGE)


def side(mode: str = REGULAR_MODE, name: str | None = ONE) -> Becomes:
    return Becomes(side=Side(mode=mode, name=name))


@pytest.mark.parametrize(
    ("file", "now", "wanted"),
    [
        (CREATE, Standing(state=FILE, name=TWO), Becomes(side=Side())),
        (CREATE, NOTHING, Becomes(side=Side())),
        (EDIT, Standing(state=FILE, name=TWO), side()),
        (EDIT, Standing(state=FILE, name=ONE), side()),
        (EDIT, Standing(state=RUN, name=TWO), side(EXECUTABLE_MODE)),
        (EDIT, Standing(state=FILE, name=OTHER), MergeText(mode=REGULAR_MODE)),
        (EDIT, Standing(state=RUN, name=OTHER), MergeText(mode=EXECUTABLE_MODE)),
        (DELETE, NOTHING, side()),
        (DELETE, Standing(state=FILE, name=ONE), side()),
        (DELETE, Standing(state=FOLDER), side()),
        (MODE, Standing(state=RUN, name=ONE), side()),
        (MODE, Standing(state=RUN, name=OTHER), side(name=OTHER)),
        (MODE, Standing(state=FILE, name=OTHER), side(name=OTHER)),
        (TYPE, Standing(state=symlink_state(b"x"), name=TWO), side()),
    ],
)  # fmt: skip
def test_what_a_path_becomes(file: FileDelta, now: Standing, wanted: object) -> None:
    assert decide_undo(file, now) == wanted


@pytest.mark.parametrize(
    ("file", "now", "told"),
    [
        (CREATE, Standing(state=FILE, name=OTHER), "the tool made it, and it was changed since"),
        (CREATE, Standing(state=RUN, name=TWO), "the tool made it, and it was changed since"),
        (DELETE, Standing(state=FILE, name=OTHER), "the tool removed it, and something else stands there now"),
        (DELETE, Standing(state=symlink_state(b"x"), name=ONE), "something else stands there now"),
        (EDIT, NOTHING, "the tool changed it, and it was removed since"),
        (EDIT, Standing(state=FOLDER), "the tool changed it, and it is another thing since"),
        (EDIT, Standing(state=FIFO), "the tool changed it, and it is another thing since"),
        (TYPE, Standing(state=FILE, name=OTHER), "the tool changed it, and it is another thing since"),
    ],
)
def test_conflicts(file: FileDelta, now: Standing, told: str) -> None:
    found = decide_undo(file, now)
    assert isinstance(found, Unmergeable)
    assert found.reason is Reason.MERGE_CONFLICT
    assert told in found.detail


def test_what_is_never_undone() -> None:
    inner = delta(FILE_ONE, (GITLINK_MODE, TWO), Operation.TYPECHANGE)
    unread = delta((REGULAR_MODE, ZEROS), FILE_TWO, Operation.EDIT, truncated=True)
    left = delta(FILE_ONE, (REGULAR_MODE, ZEROS), Operation.EDIT, truncated=True)
    binary = delta(FILE_ONE, FILE_TWO, Operation.EDIT, binary=True)
    now = Standing(state=FILE, name=OTHER)
    found = [decide_undo(file, now) for file in (inner, unread, left, binary)]
    reasons = (Reason.NOT_MERGEABLE, Reason.NOT_RECORDED, Reason.NOT_RECORDED, Reason.NOT_MERGEABLE)
    assert [item.reason for item in found if isinstance(item, Unmergeable)] == list(reasons)
    assert decide_undo(binary, Standing(state=FILE, name=TWO)) == side()


NEW = Address(Digest("cd" * 32), 3)
SAME = Address(Digest("ab" * 32), 1)


@pytest.mark.parametrize(
    ("state", "target", "verb", "step"),
    [
        (FILE, Target(), Verb.REMOVE, Remove(path=A, precondition=Holds(FILE), kind=Kind.FILE)),
        (symlink_state(b"x"), Target(), Verb.REMOVE,
         Remove(path=A, precondition=Holds(symlink_state(b"x")), kind=Kind.SYMLINK)),
        (None, Target(link=b"x"), Verb.SYMLINK, MakeSymlink(path=A, precondition=ABSENT, target=b"x")),
        (FILE, Target(link=b"x"), Verb.SYMLINK, MakeSymlink(path=A, precondition=Holds(FILE), target=b"x")),
        (FILE, Target(content=NEW), Verb.WRITE,
         WriteFile(path=A, precondition=Holds(FILE), content=NEW, mode=0o640)),
        (FILE, Target(content=NEW, executable=True), Verb.WRITE,
         WriteFile(path=A, precondition=Holds(FILE), content=NEW, mode=0o750)),
        (RUN, Target(content=NEW, executable=True), Verb.WRITE,
         WriteFile(path=A, precondition=Holds(RUN), content=NEW, mode=0o750)),
        (RUN, Target(content=SAME), Verb.MODE, SetMode(path=A, precondition=Holds(RUN), mode=0o640)),
        (None, Target(content=NEW), Verb.RECREATE,
         WriteFile(path=A, precondition=ABSENT, content=NEW, mode=0o640)),
        (None, Target(content=NEW, executable=True), Verb.RECREATE,
         WriteFile(path=A, precondition=ABSENT, content=NEW, mode=0o750)),
        (symlink_state(b"x"), Target(content=NEW), Verb.WRITE,
         WriteFile(path=A, precondition=Holds(symlink_state(b"x")), content=NEW, mode=0o640)),
    ],
)  # fmt: skip
def test_steps_hold_what_stands_there_now(state: EntryState | None, target: Target, verb: Verb, step: object) -> None:
    found = intention_of(A, state, target, 0o027)
    assert (found.verb, found.step, found.detail) == (verb, step, None)


def test_a_merged_file_and_a_refusal_say_so() -> None:
    assert intention_of(A, FILE, Target(content=NEW, merged=True), 0).detail == "merged with what was changed since"
    refused = refusal_of(A, Unmergeable(reason=Reason.MERGE_CONFLICT, detail="so"))
    assert (refused.verb, refused.reason, refused.detail, refused.step) == (
        Verb.REFUSED,
        Reason.MERGE_CONFLICT,
        "so",
        None,
    )
    assert as_before(A).verb is Verb.KEEP
