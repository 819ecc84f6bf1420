"""Setuid, setgid and sticky bits: a stage that lacks them changes nothing, and no commit gives them."""

from __future__ import annotations

import pytest

from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import DirectoryEntry, FileEntry, Kind, Omission, listing_of
from docket.formats.workspace.change_set import change_set_of
from docket.rules.workspace.commit_plan import landing
from docket.rules.workspace.powers import powers_of, with_lost_powers

A, B = Digest("aa" * 32), Digest("bb" * 32)


def file(path: bytes, mode: int, sha256: Digest = A, mtime_ns: int = 1) -> FileEntry:
    return FileEntry(path=RelPath(path), size=1, mode=mode, mtime_ns=mtime_ns, sha256=sha256)


def folder(path: bytes, mode: int) -> DirectoryEntry:
    return DirectoryEntry(path=RelPath(path), mode=mode)


@pytest.mark.parametrize(
    ("kind", "mode", "powers"),
    [
        (Kind.FILE, 0o777, 0), (Kind.FILE, 0o1000, 0o1000), (Kind.FILE, 0o7755, 0o7000),
        (Kind.DIRECTORY, 0o3777, 0), (Kind.DIRECTORY, 0o4000, 0o4000), (Kind.SYMLINK, 0o777, 0),
    ],
)  # fmt: skip
def test_powers_are_the_bits_that_no_plan_gives(kind: Kind, mode: int, powers: int) -> None:
    assert powers_of(kind, mode) == powers


@pytest.mark.parametrize("mode", [0o1000, 0o1777, 0o2755, 0o4755, 0o7777])
def test_what_a_stage_only_lacks_powers_of_did_not_change(mode: int) -> None:
    base = listing_of([file(b"a", 0o777), file(b"s", mode), file(b"z", 0o600)])
    stage = listing_of([file(b"a", 0o777), file(b"s", mode & 0o777, mtime_ns=7), file(b"z", 0o600)])
    stage.root = (1, 2)
    found = with_lost_powers(base, stage)
    assert (found, found.root, found.counts, found.mtimes) == (base, (1, 2), stage.counts, stage.mtimes)


@pytest.mark.parametrize(("mode", "has"), [(0o3777, False), (0o4000, True), (0o4755, True), (0o7777, True)])
def test_a_directory_keeps_all_but_setuid(mode: int, has: bool) -> None:
    base, stage = listing_of([folder(b"d", mode)]), listing_of([folder(b"d", mode & 0o3777)])
    assert with_lost_powers(base, stage) == base
    assert (base != stage) is has


def test_what_changed_besides_is_told_as_it_stands() -> None:
    omitted = Omission(path=RelPath(b"o"), reason=Reason.UNREADABLE, kind=Kind.FILE, mode=0o4755)
    base = listing_of([file(b"c", 0o4755), file(b"gone", 0o4755), file(b"m", 0o4755), omitted])
    stage = listing_of([file(b"c", 0o755, B), file(b"m", 0o700), file(b"new", 0o755)])
    assert with_lost_powers(base, stage) is stage


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_a_commit_gives_no_powers(kind: str) -> None:
    of_file = {"size": 1, "sha256": A} if kind == "file" else {}
    after = EntryState(kind=kind, mode=0o4755, **of_file)  # type: ignore[arg-type]
    found = landing(change_set_of(A, [FsChange(path=RelPath(b"s"), change=Change.ADDED, after=after)]), listing_of([]))
    (refused,) = found.refused
    assert (found.steps, refused.reason) == ((), Reason.NOT_PERMITTED)
    assert refused.detail == "its mode is 4755, and a commit never gives setuid, setgid or sticky bits"


def test_a_commit_may_take_powers_away() -> None:
    before = EntryState(kind="file", mode=0o4755, size=1, sha256=A)
    after = EntryState(kind="file", mode=0o755, size=1, sha256=A)
    change = FsChange(path=RelPath(b"s"), change=Change.MODIFIED, before=before, after=after)
    assert landing(change_set_of(A, [change]), listing_of([])).refused == ()
