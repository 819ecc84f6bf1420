"""A stage that somebody changes between the pass after and the closing pass is found out, and nothing else is."""

from __future__ import annotations

import pytest

from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.run.policy import WorkspaceSettle
from docket.formats.tree.listing import DirectoryEntry, FileEntry, Kind, Listing, Omission, Record, listing_of
from docket.formats.tree.surface import Surface
from docket.formats.workspace.scope import Decision
from docket.rules.tree.watch import watched_surface
from docket.rules.workspace.settle import EndFacts, settle
from docket.rules.workspace.two_passes import changed_between

A, B = Digest("aa" * 32), Digest("bb" * 32)
WHOLE = Surface()


def file(path: bytes, sha256: Digest = A, mtime_ns: int = 1) -> FileEntry:
    return FileEntry(path=RelPath(path), size=1, mode=0o644, mtime_ns=mtime_ns, sha256=sha256)


def omitted(path: bytes) -> Omission:
    return Omission(path=RelPath(path), reason=Reason.UNREADABLE, kind=Kind.FILE)


def listing(*records: Record) -> Listing:
    return listing_of(records)


BEFORE_AND_AFTER = [
    ((file(b"a", B),), (file(b"a", B, mtime_ns=9),), None),
    ((file(b"a", B),), (file(b"a"),), "a"),
    ((file(b"a", B),), (), "a"),
    ((), (file(b"z"), file(b"a")), "a"),
    ((), (DirectoryEntry(path=RelPath(b"d"), mode=0o755),), "d"),
    ((omitted(b"a"),), (), None),
    ((), (omitted(b"a"),), None),
    ((), (), None),
]


@pytest.mark.parametrize(("after", "closing", "path"), BEFORE_AND_AFTER)
@pytest.mark.parametrize("others", [0, 1_001])
def test_a_path_that_two_passes_do_not_tell_alike_moved(
    after: tuple[Record, ...], closing: tuple[Record, ...], path: str | None, others: int
) -> None:
    rest = [file(b"n%d" % number) for number in range(others)]
    changed = [RelPath(b"a"), RelPath(b"z"), RelPath(b"d"), *(item.path for item in rest)]
    found = changed_between(listing(*rest, *after), listing(*rest, *closing), changed, WHOLE)
    assert (None if found is None else str(found)) == path


@pytest.mark.parametrize(
    ("path", "surface"),
    [
        (b"out/x", watched_surface(watch=(".",), ignore=("out/", "*.log"), evidence=())),
        (b"a.log", watched_surface(watch=(".",), ignore=("out/", "*.log"), evidence=())),
        (b".git/objects/ab/cd", WHOLE),
        (b"y/b", watched_surface(watch=("src",), ignore=(), evidence=())),
        (b"y/b", watched_surface(watch=("*.py",), ignore=(), evidence=())),
    ],
)
def test_where_the_pass_after_does_not_look_it_says_nothing(path: bytes, surface: Surface) -> None:
    assert changed_between(listing(), listing(file(path)), [RelPath(path)], surface) is None


def test_below_a_watched_folder_it_says_what_stands_there() -> None:
    surface = watched_surface(watch=("src",), ignore=(), evidence=())
    assert changed_between(listing(), listing(file(b"src/a")), [RelPath(b"src/a")], surface) == RelPath(b"src/a")


def test_what_did_not_change_in_the_run_is_not_asked_after() -> None:
    rest = [file(b"n%d" % number) for number in range(1_001)]
    changed = [item.path for item in rest]
    assert changed_between(listing(file(b"a"), *rest), listing(file(b"b"), *rest), changed, WHOLE) is None


def test_a_stage_that_moved_does_not_land() -> None:
    verdict = settle(EndFacts(agent_exit=0, moved="a"), WorkspaceSettle.AUTO)
    assert (verdict.decision, verdict.reason) == (Decision.DISCARD, Reason.CHANGED_WHILE_READ)
    assert verdict.detail == "a changed in the stage after the run had ended"
