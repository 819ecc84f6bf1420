"""What a restore does about each path: every kind of change, links, selections, and documents that do not agree."""

from __future__ import annotations

import struct

import pytest

from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.changes import symlink_state
from docket.formats.tree.listing import Kind
from docket.formats.tree.manifest import (
    Manifest,
    NotCovered,
    SnapshotDirectory,
    SnapshotFile,
    SnapshotSymlink,
)
from docket.formats.tree.plan import plan_of
from docket.formats.tree.steps import (
    ABSENT,
    ANYTHING,
    Holds,
    Link,
    MakeDirectory,
    MakeSymlink,
    Remove,
    SetMode,
    WriteFile,
    Xattr,
)
from docket.rules.selectors import compile_patterns
from docket.rules.tree.restore import Intention, Selection, Verb, files_needed, intentions
from manifest_lab import manifest_head

OLD, NEW = Address.of(b"old"), Address.of(b"new!")
HEAD = manifest_head()


def p(raw: bytes) -> RelPath:
    return RelPath(raw)


def manifest(*entries) -> Manifest:
    def of(kind):
        return tuple(sorted((item for item in entries if isinstance(item, kind)), key=lambda item: item.path.raw))

    return Manifest(
        head=HEAD,
        files=of(SnapshotFile),
        directories=of(SnapshotDirectory),
        symlinks=of(SnapshotSymlink),
        not_covered=of(NotCovered),
        not_preserved=(),
    )


def kept_file(path: bytes, mode: int = 0o644, **more) -> SnapshotFile:
    return SnapshotFile(path=p(path), content=OLD, mode=mode, mtime_ns=7, **more)


def file(address: Address = OLD, mode: int = 0o644) -> EntryState:
    return EntryState(kind="file", mode=mode, size=address.size, sha256=address.sha256)


def folder(mode: int = 0o755) -> EntryState:
    return EntryState(kind="directory", mode=mode)


def change(path: bytes, before: EntryState | None, after: EntryState | None) -> FsChange:
    return FsChange(path=p(path), change=Change.MODIFIED, before=before, after=after)


KEPT_FOLDER = SnapshotDirectory(path=p(b"x"), mode=0o750, mtime_ns=8)
KEPT_LINK = SnapshotSymlink(path=p(b"x"), target=b"to", mtime_ns=9)
WRITE = WriteFile(path=p(b"x"), precondition=ABSENT, content=OLD, mode=0o644, mtime_ns=7)
CASES = {
    "content": (kept_file(b"x"), file(), file(NEW), Verb.WRITE),
    "file removed": (kept_file(b"x"), file(), None, Verb.RECREATE),
    "file to folder": (kept_file(b"x"), file(), folder(), Verb.WRITE),
    "file to link": (kept_file(b"x"), file(), symlink_state(b"n"), Verb.WRITE),
    "folder removed": (KEPT_FOLDER, folder(0o750), None, Verb.DIRECTORY),
    "folder's mode": (KEPT_FOLDER, folder(0o750), folder(0o700), Verb.DIRECTORY),
    "folder to file": (KEPT_FOLDER, folder(0o750), file(), Verb.DIRECTORY),
    "link's target": (KEPT_LINK, symlink_state(b"to"), symlink_state(b"n"), Verb.SYMLINK),
    "link to file": (KEPT_LINK, symlink_state(b"to"), file(), Verb.SYMLINK),
    "link removed": (KEPT_LINK, symlink_state(b"to"), None, Verb.SYMLINK),
}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_what_stood_there_is_put_back_over_what_the_run_left(name: str, force: bool) -> None:
    entry, before, after, verb = CASES[name]
    expected = ANYTHING if force else ABSENT if after is None else Holds(after)
    (item,) = intentions(manifest(entry), [change(b"x", before, after)], force=force)
    match entry:
        case SnapshotFile():
            step = WriteFile(path=p(b"x"), precondition=expected, content=OLD, mode=0o644, mtime_ns=7)
        case SnapshotDirectory():
            step = MakeDirectory(path=p(b"x"), precondition=expected, mode=0o750, mtime_ns=8)
        case _:
            step = MakeSymlink(path=p(b"x"), precondition=expected, target=b"to", mtime_ns=9)
    assert item == Intention(path=p(b"x"), verb=verb, step=step)
    assert plan_of([step], (1, 2)).steps == (step,)


@pytest.mark.parametrize("after", [file(NEW), folder(), symlink_state(b"n")])
def test_what_the_run_made_is_removed_while_it_is_as_the_run_left_it(after: EntryState) -> None:
    (item,) = intentions(manifest(), [change(b"x", None, after)])
    assert (item.verb, item.step) == (
        Verb.REMOVE,
        Remove(path=p(b"x"), precondition=Holds(after), kind=Kind(after.kind)),
    )


def test_of_a_file_whose_mode_alone_changed_the_mode_is_set() -> None:
    (item,) = intentions(manifest(kept_file(b"x", 0o640)), [change(b"x", file(OLD, 0o640), file(OLD, 0o777))])
    step = SetMode(path=p(b"x"), precondition=Holds(file(OLD, 0o777)), mode=0o640, mtime_ns=7)
    assert (item.verb, item.step, item.detail) == (Verb.MODE, step, None)


def test_powers_are_not_given_back() -> None:
    entries = manifest(kept_file(b"a", 0o4755), kept_file(b"b", 0o4755))
    changes = [change(b"a", file(OLD, 0o4755), file(NEW)), change(b"b", file(OLD, 0o4755), file(OLD, 0o600))]
    first, second = intentions(entries, changes)
    assert (first.step.mode, second.step.mode) == (0o755, 0o755)
    assert first.detail == "the mode is 755, not 4755: such powers are never given back"
    folders = manifest(SnapshotDirectory(path=p(b"x"), mode=0o6775, mtime_ns=1))
    (item,) = intentions(folders, [change(b"x", folder(0o6775), None)])
    assert (item.step.mode, item.detail is not None) == (0o2775, True)


def test_holes_and_attributes_come_back_with_the_content() -> None:
    attribute = Xattr(b"user.a", b"1")
    (item,) = intentions(manifest(kept_file(b"x", sparse=True, xattrs=(attribute,))), [change(b"x", file(), None)])
    assert (item.step.sparse, item.step.xattrs) == (True, (attribute,))


def test_a_name_of_a_file_the_run_left_alone_becomes_one_again_if_that_is_unchanged() -> None:
    entries = manifest(kept_file(b"a", link_group=1), kept_file(b"b", link_group=1), kept_file(b"c", link_group=2))
    check, link = intentions(entries, [change(b"b", file(), file(NEW))])
    assert check == Intention(
        path=p(b"a"),
        verb=Verb.KEEP,
        step=WriteFile(path=p(b"a"), precondition=Holds(file()), content=OLD, mode=0o644),
        detail="the file that other names become names of again",
    )
    assert link.step == Link(path=p(b"b"), precondition=Holds(file(NEW)), to=p(b"a"))
    assert len(plan_of([check.step, link.step], (1, 2))) == 2


def test_names_of_one_file_that_all_changed_become_one_file_again() -> None:
    entries = manifest(*(kept_file(name, link_group=1) for name in (b"a", b"b", b"c")))
    first, second, third = intentions(entries, [change(name, file(), file(NEW)) for name in (b"a", b"b", b"c")])
    assert (first.verb, second.verb, third.verb) == (Verb.WRITE, Verb.LINK, Verb.LINK)
    assert {second.step.to, third.step.to} == {p(b"a")}


def test_names_of_one_file_whose_mode_alone_changed_stay_its_names() -> None:
    entries = manifest(kept_file(b"a", link_group=1), kept_file(b"b", link_group=1))
    found = intentions(entries, [change(name, file(), file(OLD, 0o600)) for name in (b"a", b"b")])
    assert [(item.verb, item.step.path, item.step.precondition, item.step.mode) for item in found] == [
        (Verb.MODE, p(b"a"), Holds(file(OLD, 0o600)), 0o644),
        (Verb.MODE, p(b"b"), Holds(file(OLD, 0o600)), 0o644),
    ]


def test_a_name_that_is_not_selected_parts_no_group() -> None:
    entries = manifest(kept_file(b"a", link_group=1), kept_file(b"b", link_group=1))
    changes = [change(b"a", file(), file(OLD, 0o600)), change(b"b", file(), None)]
    mode, skipped = intentions(entries, changes, Selection(paths=(p(b"a"),)))
    assert (mode.verb, skipped.verb) == (Verb.MODE, Verb.SKIP)


def test_a_name_with_powers_is_no_file_to_become_a_name_of() -> None:
    entries = manifest(kept_file(b"a", 0o4755, link_group=1), kept_file(b"b", 0o4755, link_group=1))
    (item,) = intentions(entries, [change(b"b", file(OLD, 0o4755), None)])
    assert item.verb is Verb.RECREATE


def told(item: Intention) -> tuple:
    return item.verb, item.reason, item.step


@pytest.mark.parametrize(
    ("entries", "before", "after", "reason"),
    [
        ([], None, None, Reason.DOCUMENTS_DISAGREE),
        ([kept_file(b"x")], None, file(NEW), Reason.DOCUMENTS_DISAGREE),
        ([kept_file(b"x")], file(NEW), file(OLD), Reason.DOCUMENTS_DISAGREE),
        ([kept_file(b"x")], file(), file(), Reason.DOCUMENTS_DISAGREE),
        ([KEPT_FOLDER], file(), None, Reason.DOCUMENTS_DISAGREE),
        ([kept_file(b"x")], file(), EntryState(kind="fifo", mode=0o644), Reason.SPECIAL_FILE),
        ([], None, EntryState(kind="socket", mode=0o644), Reason.SPECIAL_FILE),
        ([], None, EntryState(kind="file", mode=0o644, size=3), Reason.NOT_RECORDED),
        ([], None, EntryState(kind="file", mode=0o644, sha256=OLD.sha256), Reason.WRONG_VALUE),
        ([], None, EntryState(kind="file", mode=0o644, size=-1, sha256=OLD.sha256), Reason.WRONG_VALUE),
        ([], None, EntryState(kind="file", mode=2**70, size=1, sha256=OLD.sha256), Reason.WRONG_VALUE),
        ([], None, EntryState(kind="directory", mode=-1), Reason.WRONG_VALUE),
        ([], None, EntryState(kind="directory", mode=0o755, size=1), Reason.WRONG_VALUE),
        ([], None, EntryState(kind="symlink", mode=0o777), Reason.WRONG_VALUE),
        ([], None, EntryState(kind="symlink", mode=0o777, target_b64="!"), Reason.WRONG_VALUE),
        ([], None, EntryState(kind="symlink", mode=0o700, target="a"), Reason.WRONG_VALUE),
    ],
)
def test_what_the_documents_do_not_tell_alike_is_refused(entries, before, after, reason) -> None:
    (item,) = intentions(manifest(*entries), [change(b"x", before, after)])
    assert told(item) == (Verb.REFUSED, reason, None)


def test_a_path_that_stands_twice_is_refused() -> None:
    (item,) = intentions(manifest(), [change(b"x", None, file()), change(b"x", None, file(NEW))])
    assert told(item) == (Verb.REFUSED, Reason.DUPLICATE_KEY, None)


def test_evidence_is_refused_even_by_name_and_by_force() -> None:
    changes = [change(b".docket/runs/a.jsonl", None, file()), change(b".docket", None, folder())]
    selection = Selection(paths=(p(b".docket"),))
    assert {told(item) for item in intentions(manifest(), changes, selection, force=True)} == {
        (Verb.REFUSED, Reason.NOT_OURS, None)
    }


def test_under_force_what_was_not_read_is_removed_too() -> None:
    unread = EntryState(kind="file", mode=0o644, size=3)
    (item,) = intentions(manifest(), [change(b"x", None, unread)], force=True)
    assert item.step == Remove(path=p(b"x"), precondition=ANYTHING, kind=Kind.FILE)


def test_what_the_snapshot_does_not_hold_is_told_with_its_reason() -> None:
    large = NotCovered(path=p(b"x"), reason=Reason.TOO_LARGE, detail="300 bytes of 200", kind=Kind.FILE, mode=0o644)
    hidden = NotCovered(path=p(b"y"), reason=Reason.UNREADABLE)
    entries = manifest(large, hidden)
    changes = [
        change(b"w", file(), None),
        change(b"x", file(), file(NEW)),
        change(b"y/a", file(), file(NEW)),
        change(b"y/b", None, file()),
    ]
    found = intentions(entries, changes)
    assert [told(item) for item in found] == [
        (Verb.NOT_COVERED, Reason.NOT_COVERED, None),
        (Verb.NOT_COVERED, Reason.TOO_LARGE, None),
        (Verb.NOT_COVERED, Reason.UNREADABLE, None),
        (Verb.NOT_COVERED, Reason.UNREADABLE, None),
    ]
    assert [item.detail for item in found] == [
        "the snapshot does not hold what stood there",
        "300 bytes of 200",
        "y was not kept",
        "what stood there before is not known: y was not kept",
    ]


def test_the_mode_of_a_file_that_is_not_kept_comes_back_while_its_content_is_the_same() -> None:
    large = NotCovered(path=p(b"x"), reason=Reason.TOO_LARGE, kind=Kind.FILE, mode=0o600)
    (item,) = intentions(manifest(large), [change(b"x", file(OLD, 0o600), file(OLD, 0o644))])
    assert item.step == SetMode(path=p(b"x"), precondition=Holds(file(OLD, 0o644)), mode=0o600)
    (item,) = intentions(manifest(large), [change(b"x", file(OLD, 0o640), file(OLD, 0o644))])
    assert item.verb is Verb.NOT_COVERED
    (item,) = intentions(manifest(large), [change(b"x", file(OLD, 0o600), file(OLD, 0o644))], force=True)
    assert item.verb is Verb.NOT_COVERED


def test_gits_own_files_stay_unless_they_are_named() -> None:
    entries = manifest(kept_file(b".git/HEAD"), kept_file(b"sub/.git/index"))
    changes = [change(b".git/HEAD", file(), file(NEW)), change(b"sub/.git/index", file(), file(NEW))]

    def verbs(selection: Selection) -> list[Verb]:
        return [item.verb for item in intentions(entries, changes, selection)]

    assert verbs(Selection()) == [Verb.KEEP, Verb.KEEP]
    assert verbs(Selection(paths=(p(b"sub"),))) == [Verb.SKIP, Verb.KEEP]
    assert verbs(Selection(paths=(p(b"sub/.git"),))) == [Verb.SKIP, Verb.WRITE]
    assert verbs(Selection(globs=compile_patterns(["*"]))) == [Verb.KEEP, Verb.KEEP]
    assert verbs(Selection(globs=compile_patterns([".git/HEAD"]))) == [Verb.WRITE, Verb.SKIP]


def test_a_folder_of_the_runs_that_holds_what_stays_stays() -> None:
    changes = [
        change(b"n", None, folder()),
        change(b"n/.git", None, folder()),
        change(b"n/a", None, file()),
    ]
    found = intentions(manifest(), changes)
    assert [(item.path.raw, item.verb, item.reason) for item in found] == [
        (b"n", Verb.KEEP, Reason.NOT_EMPTY),
        (b"n/.git", Verb.KEEP, Reason.GIT_METADATA),
        (b"n/a", Verb.REMOVE, None),
    ]


def test_a_selection_is_literal_and_brings_the_folders_above_along() -> None:
    entries = manifest(SnapshotDirectory(path=p(b"d"), mode=0o755, mtime_ns=1), kept_file(b"d/[ab]"), kept_file(b"d/a"))
    changes = [change(b"d", folder(), None), change(b"d/[ab]", file(), None), change(b"d/a", file(), None)]
    found = intentions(entries, changes, Selection(paths=(p(b"d/[ab]"),)))
    assert [(item.path.raw, item.verb) for item in found] == [
        (b"d", Verb.DIRECTORY),
        (b"d/[ab]", Verb.RECREATE),
        (b"d/a", Verb.SKIP),
    ]
    assert found[2].reason is Reason.NOT_SELECTED


def acl(*bits: int) -> bytes:
    """The kernel's bytes of an ACL of owner, user 7, owning group, mask and others (linux/posix_acl_xattr.h)."""
    entries = zip((1, 2, 4, 16, 32), bits, strict=True)
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, each, 7) for tag, each in entries)


ACCESS, DEFAULT = b"system.posix_acl_access", b"system.posix_acl_default"
TAG = Xattr(b"user.t", b"x")


@pytest.mark.parametrize(("after", "verb"), [(None, "recreate"), (file(NEW), "write")])
def test_an_acl_comes_back_with_the_file(after, verb):
    kept = kept_file(b"x", 0o664, acl=acl(6, 6, 4, 6, 4), xattrs=(TAG,))
    (item,) = intentions(manifest(kept), [change(b"x", file(mode=0o664), after)])
    assert (item.verb, item.step.xattrs) == (verb, (Xattr(ACCESS, acl(6, 6, 4, 6, 4)), TAG))
    assert item.detail is None


def test_an_acl_comes_back_with_the_mode_alone_and_attributes_stay():
    kept = kept_file(b"x", 0o664, acl=acl(6, 6, 4, 6, 4), xattrs=(TAG,))
    (item,) = intentions(manifest(kept), [change(b"x", file(mode=0o664), file(mode=0o600))])
    expected = Holds(file(mode=0o600))
    assert item.step == SetMode(path=p(b"x"), precondition=expected, mode=0o664, mtime_ns=7, acl=acl(6, 6, 4, 6, 4))


@pytest.mark.parametrize("after", [None, folder(0o700)])
def test_acls_and_attributes_of_a_directory_come_back(after):
    kept = SnapshotDirectory(
        path=p(b"d"), mode=0o2770, mtime_ns=7, acl=acl(7, 7, 5, 7, 0), default_acl=acl(7, 6, 0, 7, 0), xattrs=(TAG,)
    )
    (item,) = intentions(manifest(kept), [change(b"d", folder(0o2770), after)])
    access, default = Xattr(ACCESS, acl(7, 7, 5, 7, 0)), Xattr(DEFAULT, acl(7, 6, 0, 7, 0))
    assert item.step.xattrs == (access, default, TAG)
    assert item.detail is None


def test_an_acl_that_says_another_mode_is_not_given_and_that_is_told():
    kept = kept_file(b"x", 0o4664, acl=acl(7, 7, 7, 7, 7))
    (item,) = intentions(manifest(kept), [change(b"x", file(mode=0o4664), None)])
    assert item.step.xattrs is None
    assert item.detail == (
        "the mode is 664, not 4664: such powers are never given back; "
        "its ACL does not go with its mode, and is not given back"
    )


def test_of_a_manifest_what_changed_is_needed_and_what_marks_a_repository():
    needs = files_needed([change(b"a/changed", file(), file(NEW))])
    paths = [b"a/changed", b"a", b"a/changed/x", b"other", b".git/HEAD", b"bare.git/refs", b"HEAD", b"a/OVERHEAD"]
    assert [path for path in paths if needs(path)] == [b"a/changed", b".git/HEAD", b"bare.git/refs", b"HEAD"]
