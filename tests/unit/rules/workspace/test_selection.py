"""What a person has taken so far: directories follow what is below them, and the choice takes exactly that."""

from __future__ import annotations

from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.formats.workspace.change_set import change_set_of
from docket.formats.workspace.hunk_choice import MODE
from docket.rules.workspace.hunks import part_of
from docket.rules.workspace.selection import Selection

A = Digest("aa" * 32)
FILE = EntryState(kind="file", mode=0o644, size=1, sha256=A)
FOLDER = EntryState(kind="directory", mode=0o755)
CLOSED_FOLDER = EntryState(kind="directory", mode=0o700)
KINDS = {
    "A": Change.ADDED, "D": Change.REMOVED, "M": Change.MODIFIED, "T": Change.RETYPED,
}  # fmt: skip
CHANGES = change_set_of(
    A,
    [
        FsChange(path=RelPath(path), change=KINDS[kind], before=before, after=after)
        for path, kind, before, after in (
            (b"mode", "M", FOLDER, CLOSED_FOLDER),
            (b"mode/f", "M", FILE, EntryState(kind="file", mode=0o644, size=2, sha256=A)),
            (b"new", "A", None, FOLDER),
            (b"new/deep", "A", None, FOLDER),
            (b"new/deep/f", "A", None, FILE),
            (b"new/g", "A", None, FILE),
            (b"old", "D", FOLDER, None),
            (b"old/f", "D", FILE, None),
            (b"old/g", "D", FILE, None),
            (b"turned", "T", FOLDER, FILE),
            (b"turned/f", "D", FILE, None),
        )
    ],
)  # fmt: skip
ALL = Selection.of_all(CHANGES)
NONE = ALL.with_paths([change.path for change in CHANGES.changes], take=False)


def names(selection: Selection) -> str:
    return " ".join(str(path) for path in selection.taken)


def landing(selection: Selection) -> str:
    return " ".join(str(change.path) for change in part_of(CHANGES, selection.choice(), {}).taken.changes)


def paths(*names: bytes) -> list[RelPath]:
    return [RelPath(name) for name in names]


def test_all_is_taken_at_first_and_none_can_be() -> None:
    assert ALL.is_all
    assert landing(ALL) == names(ALL)
    assert (names(NONE), NONE.is_all, NONE.choice().take) == ("", False, ())
    again = NONE.with_paths([change.path for change in CHANGES.changes], take=True)
    assert again == ALL


def test_a_directory_that_does_not_change_is_none_of_it() -> None:
    found = change_set_of(A, [FsChange(path=RelPath(b"d/f"), change=Change.ADDED, after=FILE)])
    assert Selection.of_all(found).with_paths(paths(b"d"), take=False).taken == {}


def test_a_directory_takes_and_leaves_what_is_below_it() -> None:
    assert names(NONE.with_paths(paths(b"new"), take=True)) == "new new/deep new/deep/f new/g"
    assert names(ALL.with_paths(paths(b"new", b"old", b"turned"), take=False)) == "mode mode/f"


def test_a_new_directory_is_taken_with_anything_below_it_and_left_without() -> None:
    found = NONE.with_paths(paths(b"new/deep/f"), take=True)
    assert names(found) == landing(found) == "new new/deep new/deep/f"
    found = found.with_paths(paths(b"new/deep"), take=False)
    assert names(found) == ""
    found = ALL.with_paths(paths(b"new/deep"), take=False).with_paths(paths(b"mode", b"old", b"turned"), take=False)
    assert names(found) == landing(found) == "new new/g"


def test_a_directory_that_goes_is_taken_only_with_all_below_it() -> None:
    found = NONE.with_paths(paths(b"old", b"turned"), take=True)
    assert names(found) == landing(found) == "old old/f old/g turned turned/f"
    found = found.with_paths(paths(b"old/f", b"turned/f"), take=False)
    assert names(found) == landing(found) == "old/g"


def test_a_directory_that_stays_can_be_taken_by_its_mode_alone() -> None:
    found = NONE.with_paths(paths(b"mode"), take=True).with_paths(paths(b"mode/f"), take=False)
    assert names(found) == landing(found) == "mode"
    (item,) = found.choice().take
    assert item.hunks == (MODE,)
    assert names(ALL.with_paths(paths(b"mode/f"), take=False)).startswith("mode new")


def test_hunks_are_a_part_all_of_them_are_the_whole_and_none_is_nothing() -> None:
    file, of = RelPath(b"mode/f"), frozenset(("1-a", "2-b"))
    part = ALL.with_hunks(file, frozenset(("2-b",)), of=of)
    assert part.taken[file] == {"2-b"}
    assert not part.is_all
    assert [(str(item.path), item.hunks) for item in part.choice().take][:2] == [
        ("mode", (MODE,)),
        ("mode/f", ("2-b",)),
    ]
    assert ALL.with_hunks(file, of, of=of) == ALL
    assert file not in ALL.with_hunks(file, frozenset(), of=of).taken
