from __future__ import annotations

import pytest

from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import DirectoryEntry, FileEntry, Kind, Omission, SymlinkEntry, listing_of
from docket.rules.tree.diff import diff

ONE, TWO = Digest("11" * 32), Digest("22" * 32)


def file(path, *, sha=ONE, mode=0o644, size=1, mtime_ns=0):
    return FileEntry(path=RelPath(path), size=size, mode=mode, mtime_ns=mtime_ns, sha256=sha)


def folder(path, mode=0o755):
    return DirectoryEntry(path=RelPath(path), mode=mode)


def link(path, target=b"t"):
    return SymlinkEntry(path=RelPath(path), target=target)


def omitted(path, reason, kind=None, mode=None, size=None):
    return Omission(path=RelPath(path), reason=reason, kind=kind, mode=mode, size=size)


def changes(before, after):
    return [(item.path.raw, item.change) for item in diff(listing_of(before), listing_of(after))]


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ([], [file(b"a")], Change.ADDED),
        ([], [folder(b"a")], Change.ADDED),
        ([], [link(b"a")], Change.ADDED),
        ([file(b"a")], [], Change.REMOVED),
        ([file(b"a")], [file(b"a", sha=TWO)], Change.MODIFIED),
        ([file(b"a")], [file(b"a", mode=0o755)], Change.MODIFIED),
        ([folder(b"a")], [folder(b"a", 0o700)], Change.MODIFIED),
        ([link(b"a")], [link(b"a", b"u")], Change.MODIFIED),
        ([file(b"a")], [link(b"a")], Change.RETYPED),
        ([folder(b"a")], [file(b"a")], Change.RETYPED),
        ([link(b"a")], [folder(b"a")], Change.RETYPED),
        ([file(b"a")], [file(b"a", mtime_ns=9)], None),
        ([], [], None),
    ],
)
def test_each_kind_of_change(before, after, change):
    assert changes(before, after) == ([] if change is None else [(b"a", change)])


def test_both_states_are_told_in_tree_order():
    before = listing_of([file(b"b"), folder(b"a"), file(b"a/x")])
    after = listing_of([file(b"b", sha=TWO, size=5), file(b"a-"), folder(b"a")])
    removed, added, modified = diff(before, after)
    one = EntryState(kind="file", mode=0o644, size=1, sha256=ONE)
    assert (removed.path.raw, removed.before, removed.after) == (b"a/x", one, None)
    assert (added.path.raw, added.before, added.after) == (b"a-", None, one)
    assert (modified.path.raw, modified.before) == (b"b", one)
    assert modified.after == EntryState(kind="file", mode=0o644, size=5, sha256=TWO)


@pytest.mark.parametrize("reason", [Reason.UNREADABLE, Reason.OTHER_FILE_SYSTEM, Reason.CHANGED_WHILE_READ])
def test_below_a_directory_that_was_not_listed_nothing_is_said(reason):
    hidden = [omitted(b"d", reason, Kind.DIRECTORY, 0o755)]
    seen = [folder(b"d"), file(b"d/x"), folder(b"d/e"), file(b"d/e/y"), file(b"dx")]
    assert changes(seen, [*hidden, file(b"dx")]) == []
    assert changes([*hidden, file(b"dx")], seen) == []


def test_below_a_name_that_could_not_be_looked_at_nothing_is_said():
    assert changes([folder(b"d"), file(b"d/x")], [omitted(b"d", Reason.UNREADABLE)]) == [(b"d", Change.MODIFIED)]


def test_a_directory_that_was_closed_is_modified():
    before = [folder(b"d"), file(b"d/x")]
    assert changes(before, [omitted(b"d", Reason.UNREADABLE, Kind.DIRECTORY, 0)]) == [(b"d", Change.MODIFIED)]


def test_a_directory_that_gave_way_to_a_fifo_took_its_content_along():
    after = [omitted(b"d", Reason.SPECIAL_FILE, Kind.FIFO, 0o600)]
    before = [folder(b"d"), file(b"d/x")]
    assert changes(before, after) == [(b"d", Change.RETYPED), (b"d/x", Change.REMOVED)]
    assert changes(after, before) == [(b"d", Change.RETYPED), (b"d/x", Change.ADDED)]


def test_content_that_can_no_longer_be_read_is_not_called_equal():
    unread = omitted(b"a", Reason.UNREADABLE, Kind.FILE, 0o644, 1)
    (difference,) = diff(listing_of([file(b"a")]), listing_of([unread]))
    assert difference.change is Change.MODIFIED
    assert difference.after == EntryState(kind="file", mode=0o644, size=1)
    assert changes([link(b"a")], [omitted(b"a", Reason.UNREADABLE, Kind.SYMLINK, 0o777)]) == [(b"a", Change.MODIFIED)]


@pytest.mark.parametrize(
    ("record", "unsettled", "change"),
    [
        (file(b"a"), (Kind.FILE, 0o644, 1), None),
        (file(b"a"), (None, None, None), None),
        (file(b"a"), (Kind.FILE, 0o644, 2), Change.MODIFIED),
        (file(b"a"), (Kind.FILE, 0o600, 1), Change.MODIFIED),
        (file(b"a"), (Kind.DIRECTORY, 0o755, None), Change.RETYPED),
        (folder(b"a"), (Kind.DIRECTORY, 0o755, None), None),
        (folder(b"a"), (Kind.DIRECTORY, 0o700, None), Change.MODIFIED),
        (link(b"a"), (Kind.SYMLINK, 0o777, None), None),
    ],
)
def test_of_what_changed_while_it_was_read_nothing_is_said_but_what_was_seen(record, unsettled, change):
    omission = omitted(b"a", Reason.CHANGED_WHILE_READ, *unsettled)
    expected = [] if change is None else [(b"a", change)]
    assert changes([record], [omission]) == changes([omission], [record]) == expected
    assert changes([], [omission]) == [(b"a", Change.ADDED)]
    assert changes([omission], []) == [(b"a", Change.REMOVED)]


def test_omissions_are_compared_by_what_was_seen_of_them():
    fifo = omitted(b"a", Reason.SPECIAL_FILE, Kind.FIFO, 0o600)
    assert changes([fifo], [omitted(b"a", Reason.SPECIAL_FILE, Kind.FIFO, 0o644)]) == [(b"a", Change.MODIFIED)]
    assert changes([fifo], [omitted(b"a", Reason.SPECIAL_FILE, Kind.SOCKET, 0o600)]) == [(b"a", Change.RETYPED)]
    unread = omitted(b"a", Reason.UNREADABLE, Kind.FILE, 0, 7)
    assert changes([unread], [omitted(b"a", Reason.CHANGED_WHILE_READ, Kind.FILE, 0, 7)]) == []
    assert changes([unread], [omitted(b"a", Reason.UNREADABLE, Kind.FILE, 0, 8)]) == [(b"a", Change.MODIFIED)]
    assert changes([], [fifo]) == [(b"a", Change.ADDED)]
    assert changes([fifo], []) == [(b"a", Change.REMOVED)]


def test_an_object_store_is_seen_to_come_and_go():
    git = [folder(b".git"), omitted(b".git/objects", Reason.OBJECT_STORE, Kind.DIRECTORY, 0o755)]
    assert changes(git, []) == [(b".git", Change.REMOVED), (b".git/objects", Change.REMOVED)]


def test_what_the_surface_excludes_is_not_compared():
    excluded = omitted(b"x.log", Reason.EXCLUDED, Kind.FILE, 0o644, 3)
    assert changes([], [excluded]) == []
    assert changes([excluded], []) == []
    assert changes([excluded], [omitted(b"x.log", Reason.EXCLUDED, Kind.FILE, 0o600, 4)]) == []
    assert changes([file(b"x.log")], [excluded]) == []
    assert changes([excluded], [file(b"x.log")]) == []


def test_a_watched_file_that_became_an_excluded_directory_is_retyped():
    excluded = omitted(b"build", Reason.EXCLUDED, Kind.DIRECTORY, 0o755)
    assert changes([file(b"build")], [excluded]) == [(b"build", Change.RETYPED)]


def test_what_vanished_while_it_was_looked_at_stood_there_no_longer():
    gone = omitted(b"a", Reason.VANISHED)
    assert changes([file(b"a")], [gone]) == [(b"a", Change.REMOVED)]
    assert changes([gone], [file(b"a")]) == [(b"a", Change.ADDED)]
    assert changes([gone], []) == []
    assert changes([folder(b"a"), file(b"a/x")], [gone]) == [(b"a", Change.REMOVED), (b"a/x", Change.REMOVED)]
