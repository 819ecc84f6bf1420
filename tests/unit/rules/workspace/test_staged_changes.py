"""What a stage changes, the plans of stage and commit, parts of a change set, and listings laid over one another."""

from __future__ import annotations

import struct

import pytest

from docket.errors import UsageError
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.details import Detail, Details
from docket.formats.tree.listing import (
    DirectoryEntry,
    FileEntry,
    Kind,
    Listing,
    Omission,
    Record,
    SymlinkEntry,
    listing_of,
)
from docket.formats.tree.steps import (
    ABSENT,
    Holds,
    Link,
    MakeDirectory,
    MakeSymlink,
    Remove,
    SetMode,
    WriteFile,
)
from docket.formats.workspace.change_set import change_set_of
from docket.formats.workspace.state import SurfaceRules
from docket.rules.tree.diff import diff
from docket.rules.workspace.changes import blocked, find_changes, only_staged, staged_part
from docket.rules.workspace.commit_plan import landing
from docket.rules.workspace.derive import derive, landed_listing
from docket.rules.workspace.result import laid_over, outermost
from docket.rules.workspace.stage_plan import not_kept, stage_parts
from docket.rules.workspace.surface import Classes

A, B = Digest("aa" * 32), Digest("bb" * 32)
NOTHING = Classes.of(SurfaceRules())
RULES = SurfaceRules(exclude=("out/",), share=("cache/",))


def file(path: bytes, sha256: Digest = A, mode: int = 0o644, mtime_ns: int = 0) -> FileEntry:
    return FileEntry(path=RelPath(path), size=1, mode=mode, mtime_ns=mtime_ns, sha256=sha256)


def folder(path: bytes, mode: int = 0o755) -> DirectoryEntry:
    return DirectoryEntry(path=RelPath(path), mode=mode)


def link(path: bytes, target: bytes = b"t") -> SymlinkEntry:
    return SymlinkEntry(path=RelPath(path), target=target)


def gap(path: bytes, reason: Reason, kind: Kind | None = None) -> Omission:
    return Omission(path=RelPath(path), reason=reason, kind=kind)


def listing(*records: Record, details: Details | None = None) -> Listing:
    found = listing_of(records)
    found.details = details or Details()
    return found


def told(base: Listing, stage: Listing) -> list[str]:
    return [f"{item.change} {item.path}" for item in find_changes(base, stage, NOTHING).change_set.changes]


BASE = listing(
    folder(b"cache"), file(b"a"), folder(b"d"), file(b"d/x"), gap(b"fifo", Reason.SPECIAL_FILE, Kind.FIFO),
    gap(b"out", Reason.EXCLUDED, Kind.DIRECTORY),
)  # fmt: skip


def test_what_was_not_staged_is_no_removal() -> None:
    assert told(BASE, listing(*BASE.entries)) == []
    assert staged_part(BASE).entries == BASE.entries
    whole = listing(file(b"a"))
    assert staged_part(whole) is whole


def test_each_kind_of_change() -> None:
    stage = listing(folder(b"cache"), file(b"a", B), file(b"d"), link(b"new"))
    assert told(BASE, stage) == ["modified a", "retyped d", "removed d/x", "added new"]


def test_a_change_set_names_the_whole_base() -> None:
    assert find_changes(BASE, listing(), NOTHING).change_set.manifest_sha256 == BASE.tree_sha256


def test_what_stands_at_a_masked_path_is_reported_and_does_not_land() -> None:
    stage = listing(
        *BASE.entries, gap(b"out", Reason.EXCLUDED, Kind.DIRECTORY), gap(b"cache2", Reason.EXCLUDED, Kind.DIRECTORY)
    )
    rules = Classes.of(SurfaceRules(exclude=("out/",), share=("cache2/",)))
    found = find_changes(BASE, stage, rules)
    assert found.excluded_writes == (RelPath(b"cache2"), RelPath(b"out"))
    assert not found.change_set.changes


def test_a_shared_folder_that_the_tree_does_not_have_is_told_and_not_lost_in_silence() -> None:
    stage = listing(*BASE.entries, gap(b"target", Reason.EXCLUDED, Kind.DIRECTORY))
    found = find_changes(BASE, stage, Classes.of(SurfaceRules(share=("target/",))))
    assert found.excluded_writes == (RelPath(b"target"),)
    assert not found.change_set.changes


def test_what_is_shared_of_the_tree_is_no_excluded_write() -> None:
    shared = gap(b"target", Reason.EXCLUDED, Kind.DIRECTORY)
    base = listing(*BASE.entries, shared)
    found = find_changes(base, listing(*BASE.entries, shared), Classes.of(SurfaceRules(share=("target/",))))
    assert found.excluded_writes == ()


def test_a_file_that_became_a_masked_directory_is_removed() -> None:
    stage = listing(gap(b"out", Reason.EXCLUDED, Kind.DIRECTORY))
    found = find_changes(listing(file(b"out")), stage, Classes.of(RULES))
    assert [item.change for item in found.change_set.changes] == [Change.REMOVED]
    assert found.excluded_writes == (RelPath(b"out"),)


@pytest.mark.parametrize(
    ("omission", "blocks", "is_lost"),
    [
        (gap(b"new", Reason.SPECIAL_FILE, Kind.SOCKET), False, True),
        (gap(b"a", Reason.SPECIAL_FILE, Kind.FIFO), True, False),
        (gap(b"new", Reason.UNREADABLE, Kind.FILE), True, False),
        (gap(b"new", Reason.OTHER_FILE_SYSTEM, Kind.DIRECTORY), True, False),
        (gap(b"new", Reason.VANISHED), False, False),
    ],
)
def test_what_cannot_be_told_cannot_land(omission: Omission, blocks: bool, is_lost: bool) -> None:
    stage = listing(omission, *(entry for entry in BASE.entries if entry.path != omission.path))
    found = find_changes(BASE, stage, NOTHING)
    assert bool(found.blocking) is blocks
    assert bool(found.not_preserved) is is_lost
    assert bool(found.change_set.changes) is blocks


@pytest.mark.parametrize(
    ("omission", "words"),
    [
        (gap(b"a", Reason.SPECIAL_FILE, Kind.FIFO), "a fifo is neither made nor removed"),
        (gap(b"a", Reason.SPECIAL_FILE), "a special file is neither made nor removed"),
        (gap(b"a", Reason.TOO_LARGE, Kind.FILE), "it is too large to be read"),
        (gap(b"a", Reason.NAME_TOO_LONG, Kind.FILE), "its path is too long"),
        (
            Omission(path=RelPath(b"a"), reason=Reason.UNREADABLE, detail="permission denied"),
            "its content was not read (unreadable): permission denied",
        ),
    ],
)
def test_why_a_path_blocks_is_said_in_words(omission: Omission, words: str) -> None:
    assert blocked(omission) == words


def test_the_record_of_a_run_tells_what_was_done_on_the_stage_alone() -> None:
    before = listing(file(b"a"), file(b"out/x"), folder(b"out"), gap(b"fifo", Reason.SPECIAL_FILE, Kind.FIFO))
    found = diff(before, listing(file(b"a", B), file(b"cache/y"), folder(b"cache")))
    assert [str(item.path) for item in only_staged(found, before, RULES)] == ["a"]
    assert only_staged((), before, RULES) == ()


def times(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


def test_a_stage_is_its_base_step_by_step() -> None:
    names = {"kind": "file", "size": 1, "identity": (1, 7), "links": 2}
    base = listing(
        folder(b"d", 0o2755), file(b"d/a", mode=0o4755, mtime_ns=5), file(b"d/b", mtime_ns=5), link(b"l"),
        gap(b"s", Reason.UNREADABLE),
        details=Details(
            paths=(
                Detail(path=RelPath(b"d/a"), **names, allocated_bytes=0),  # type: ignore[arg-type]
                Detail(path=RelPath(b"d/b"), **names),  # type: ignore[arg-type]
            ),
            directory_mtimes=times(3),
            symlink_mtimes=times(4),
        ),
    )  # fmt: skip
    assert stage_parts(base).steps == (  # nothing here is plain, and what is omitted has no step
        MakeDirectory(path=RelPath(b"d"), precondition=ABSENT, mode=0o2755, mtime_ns=3),
        WriteFile(
            path=RelPath(b"d/a"), precondition=ABSENT, content=Address(A, 1), mode=0o755, mtime_ns=5, sparse=True
        ),
        Link(path=RelPath(b"d/b"), precondition=ABSENT, to=RelPath(b"d/a")),
        MakeSymlink(path=RelPath(b"l"), precondition=ABSENT, target=b"t", mtime_ns=4),
    )
    assert [(str(item.path), item.what) for item in not_kept(base)] == [("d/a", "mode 4000")]


def test_what_a_stage_lacks_is_named() -> None:
    detail = Detail(
        path=RelPath(b"a"), kind="file", owner=12, xattrs=((b"security.x", b"1"), (b"user.a", b"1"), (b"user.b", None))
    )
    base = listing(file(b"a"), details=Details(paths=(detail,)))
    assert [item.what for item in not_kept(base)] == ["security.x", "user.b", "owner 12"]


def landed(base: Listing, stage: Listing) -> list[object]:
    found = landing(find_changes(base, stage, NOTHING).change_set, stage)
    assert found.refused == ()
    return list(found.steps)


def holds(sha256: Digest = A, mode: int = 0o644) -> Holds:
    return Holds(EntryState(kind="file", mode=mode, size=1, sha256=sha256))


def test_each_change_lands_where_the_base_still_holds_what_was_staged() -> None:
    base = listing(file(b"a"), folder(b"d"), file(b"m"), file(b"gone"), link(b"l"), file(b"t"))
    stage = listing(
        file(b"a", B, mtime_ns=9), folder(b"d", 0o700), file(b"m", mode=0o755, mtime_ns=8), link(b"l", b"u"),
        link(b"t"), file(b"new", B),
    )  # fmt: skip
    here = {
        "a": WriteFile(path=RelPath(b"a"), precondition=holds(), content=Address(B, 1), mode=0o644, mtime_ns=9),
        "d": MakeDirectory(
            path=RelPath(b"d"), precondition=Holds(EntryState(kind="directory", mode=0o755)), mode=0o700
        ),
        "gone": Remove(path=RelPath(b"gone"), precondition=holds(), kind=Kind.FILE),
        "l": MakeSymlink(
            path=RelPath(b"l"),
            precondition=Holds(EntryState(kind="symlink", mode=0o777, target="t")),
            target=b"u",
        ),
        "m": SetMode(path=RelPath(b"m"), precondition=holds(), mode=0o755, mtime_ns=8),
        "new": WriteFile(path=RelPath(b"new"), precondition=ABSENT, content=Address(B, 1), mode=0o644, mtime_ns=0),
        "t": MakeSymlink(path=RelPath(b"t"), precondition=holds(), target=b"t"),
    }
    assert landed(base, stage) == list(here.values())


def test_names_of_one_file_land_as_names_of_one_file() -> None:
    detail = [Detail(path=RelPath(name), kind="file", size=1, identity=(1, 9), links=2) for name in (b"a", b"b")]
    stage = listing(file(b"a", B), file(b"b", B), details=Details(paths=tuple(detail)))
    first, second = landed(listing(file(b"a")), stage)
    assert isinstance(first, WriteFile)
    assert second == Link(path=RelPath(b"b"), precondition=ABSENT, to=RelPath(b"a"))


def names_of(*groups: tuple[bytes, ...], owner: int | None = None) -> Details:
    """Details of names: those of a group are names of one file."""
    found = [
        Detail(path=RelPath(name), kind="file", size=1, identity=(1, number), links=len(group), owner=owner)
        for number, group in enumerate(groups)
        for name in group
    ]
    return Details(paths=tuple(sorted(found, key=lambda item: item.path.raw)))


def test_a_further_name_of_a_file_that_did_not_change_is_one_of_the_file_in_the_base() -> None:
    base = listing(file(b"a"), file(b"c", B), file(b"e"))
    stage = listing(
        file(b"a"), file(b"b"), file(b"c"), file(b"e"), details=names_of((b"a", b"b", b"c"), (b"e", b"gone"))
    )
    changes = find_changes(base, stage, NOTHING).change_set
    held = EntryState(kind="file", mode=0o644, size=1, sha256=A)
    assert landing(changes, stage, base).steps == (
        Link(path=RelPath(b"b"), precondition=ABSENT, to=RelPath(b"a"), holds=held),
        Link(path=RelPath(b"c"), precondition=holds(B), to=RelPath(b"a"), holds=held),
    )


@pytest.mark.parametrize(
    ("there", "owner"),
    [
        (None, None),  # it was not staged
        (file(b"a", B), None),  # it changed too, and that was not chosen
        (file(b"a", mode=0o600), None),
        (file(b"a"), 12),  # nobody may give a file of another's a name
    ],
)
def test_without_such_a_file_a_further_name_is_a_file_of_its_own(there: FileEntry | None, owner: int | None) -> None:
    base = listing(*filter(None, (there,)), details=names_of((b"a",), owner=owner))
    stage = listing(file(b"a"), file(b"b"), details=names_of((b"a", b"b")))
    added = FsChange(path=RelPath(b"b"), change=Change.ADDED, after=holds(A).state)
    (step,) = landing(change_set_of(A, [added]), stage, base).steps
    assert isinstance(step, WriteFile)


def test_what_was_made_for_one_name_is_not_that_of_another() -> None:
    stage = listing(file(b"a", B), file(b"b", B), details=names_of((b"a", b"b")))
    added = [
        FsChange(path=RelPath(name), change=Change.ADDED, after=holds(sha256).state)
        for name, sha256 in ((b"a", A), (b"b", B))
    ]
    assert all(isinstance(step, WriteFile) for step in landing(change_set_of(A, added), stage, listing()).steps)
    known = listing(file(b"c", B))
    whole = listing(file(b"a", B), file(b"c", B), details=names_of((b"a", b"c")))
    (step,) = landing(change_set_of(A, added[:1]), whole, known).steps
    assert isinstance(step, WriteFile)


def test_a_special_file_that_stood_in_the_base_is_no_loss() -> None:
    there = gap(b"pipe", Reason.SPECIAL_FILE, Kind.FIFO)
    found = find_changes(listing(there), listing(gap(b"new", Reason.SPECIAL_FILE, Kind.SOCKET), there), NOTHING)
    assert [item.path.raw for item in found.not_preserved] == [b"new"]
    assert found.change_set.changes == ()


def test_a_change_that_no_plan_can_make_is_named() -> None:
    fifo = EntryState(kind="fifo", mode=0o644)
    change = FsChange(path=RelPath(b"p"), change=Change.ADDED, after=fifo)
    found = landing(change_set_of(A, [change]), listing())
    assert not found.steps
    assert [(str(item.path), item.reason) for item in found.refused] == [("p", Reason.SPECIAL_FILE)]


FOLDER, FILE = EntryState(kind="directory", mode=0o755), EntryState(kind="file", mode=0o644, size=1, sha256=A)
SECRET = EntryState(kind="file", mode=0o600, size=1, sha256=A)
WHOLE = change_set_of(
    A,
    [
        FsChange(path=RelPath(b"a"), change=Change.MODIFIED, before=FILE, after=SECRET),
        FsChange(path=RelPath(b"new"), change=Change.ADDED, after=FOLDER),
        FsChange(path=RelPath(b"new/x"), change=Change.ADDED, after=FILE),
        FsChange(path=RelPath(b"new/y"), change=Change.ADDED, after=FILE),
        FsChange(path=RelPath(b"old"), change=Change.RETYPED, before=FOLDER, after=FILE),
        FsChange(path=RelPath(b"old/x"), change=Change.REMOVED, before=FILE),
        FsChange(path=RelPath(b"was"), change=Change.RETYPED, before=FILE, after=FOLDER),
        FsChange(path=RelPath(b"was/x"), change=Change.ADDED, after=FILE),
    ],
)  # fmt: skip


@pytest.mark.parametrize(
    ("chosen", "taken"),
    [
        ([b"a"], "a"),
        ([b"new/x"], "new new/x"),
        ([b"new"], "new new/x new/y"),
        ([b"old/x"], "old/x"),
        ([b"old"], "old old/x"),
        ([b"was/x", b"a"], "a was was/x"),
    ],
)
def test_a_part_takes_along_what_it_needs(chosen: list[bytes], taken: str) -> None:
    found = derive(WHOLE, [RelPath(path) for path in chosen])
    assert " ".join(str(item.path) for item in found.taken.changes) == taken
    together = {item.path for item in (*found.taken.changes, *found.left.changes)}
    assert len(together) == len(WHOLE.changes) == len(found.taken.changes) + len(found.left.changes)
    assert found.taken.digest not in (WHOLE.digest, found.left.digest)


def test_a_choice_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="changes nothing at b"):
        derive(WHOLE, [RelPath(b"a"), RelPath(b"b")])


def test_a_base_after_a_part_landed_leaves_the_rest_to_change() -> None:
    base = listing(file(b"a"), file(b"b"), file(b"gone"), gap(b"out", Reason.EXCLUDED, Kind.DIRECTORY))
    stage = listing(file(b"a", B), file(b"b", B), file(b"new"))
    parts = derive(find_changes(base, stage, NOTHING).change_set, [RelPath(b"a"), RelPath(b"gone")])
    after = landed_listing(base, parts.taken)
    assert [str(record.path) for record in after.records] == ["a", "b", "out"]
    rest = find_changes(after, stage, NOTHING).change_set
    assert rest.changes == parts.left.changes


def test_the_outermost_of_paths() -> None:
    paths = [RelPath(raw) for raw in (b"a/b/c", b"a-b", b"a/b", b"x", b"a/b-c", b"x")]
    assert [path.raw for path in outermost(paths)] == [b"a/b", b"a/b-c", b"a-b", b"x"]


def test_what_was_looked_at_again_is_laid_over_the_base() -> None:
    base = listing(
        folder(b"a"), file(b"a/x", mtime_ns=1), folder(b"b"), file(b"b/y", mtime_ns=2), link(b"l"),
        file(b"z", mtime_ns=3),
        details=Details(
            paths=(
                Detail(path=RelPath(b"a/x"), kind="file", owner=1), Detail(path=RelPath(b"z"), kind="file", owner=2),
            ),
            directory_mtimes=times(10, 20),
            symlink_mtimes=times(30),
        ),
    )  # fmt: skip
    part = listing(
        folder(b"a", 0o700), link(b"a/new"), file(b"m", B, mtime_ns=4),
        details=Details(
            paths=(Detail(path=RelPath(b"m"), kind="file", owner=3),),
            directory_mtimes=times(11),
            symlink_mtimes=times(31),
        ),
    )  # fmt: skip
    found = laid_over(base, part, [RelPath(b"a"), RelPath(b"m")])
    assert found.records == (
        folder(b"a", 0o700), link(b"a/new"), folder(b"b"), file(b"b/y", mtime_ns=2), link(b"l"),
        file(b"m", B, mtime_ns=4), file(b"z", mtime_ns=3),
    )  # fmt: skip
    assert [item.owner for item in found.details.paths] == [3, 2]
    assert found.details.directory_mtimes == times(11, 20)
    assert found.details.symlink_mtimes == times(31, 30)


def test_a_file_of_one_name_with_something_beside_it_is_written_where_a_plan_can_give_that() -> None:
    for beside, steps in (({"allocated_bytes": 0}, [WriteFile]), ({"owner": 1}, [])):
        details = Details(paths=(Detail(path=RelPath(b"a"), kind="file", **beside),))  # type: ignore[arg-type]
        parts = stage_parts(listing(file(b"a"), details=details))
        assert [type(step) for step in parts.steps] == steps
