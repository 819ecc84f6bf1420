"""What becomes of a path that both sides changed, by hand: each row is what was staged, the stage's, and the tree's."""

from __future__ import annotations

import pytest

from docket.formats.digest import Digest, sha256
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.changes import symlink_state
from docket.formats.tree.listing import DirectoryEntry, FileEntry, listing_of
from docket.formats.workspace.change_set import change_set_of
from docket.rules.workspace.merging import (
    MAX_MERGED_BYTES,
    Became,
    Drifted,
    Settled,
    TextMerge,
    Unmergeable,
    decide,
    is_text,
    merged_changes,
    merged_listing,
    three_way,
)

PATH = RelPath(b"f")
MANIFEST = Digest("ab" * 32)
DIRECTORY, LINK = EntryState(kind="directory", mode=0o755), symlink_state(b"target")
UNREAD = EntryState(kind="file", mode=0o644, size=1)


def file(content: bytes, mode: int = 0o644) -> EntryState:
    return EntryState(kind="file", mode=mode, size=len(content), sha256=sha256(content))


def drifted(before: EntryState | None, ours: EntryState | None, theirs: EntryState | None, **more: object) -> Drifted:
    kinds = {(True, True): Change.MODIFIED, (False, True): Change.ADDED, (True, False): Change.REMOVED}
    change = kinds[before is not None, ours is not None]
    return Drifted(
        change=FsChange(path=PATH, change=change, before=before, after=ours),
        theirs=theirs,
        reason=Reason.CHANGED_SINCE,
        detail="another",
        **more,  # type: ignore[arg-type]
    )


A, B, C = file(b"a"), file(b"b"), file(b"c")


@pytest.mark.parametrize(
    ("values", "expected"),
    [((1, 1, 1), 1), ((1, 2, 1), 2), ((1, 1, 2), 2), ((1, 2, 2), 2), ((1, 2, 3), None)],
)
def test_of_three_values_the_changed_one_counts(values: tuple[int, int, int], expected: int | None) -> None:
    assert three_way(*values) == expected


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (B, file(b"a", 0o755), Settled(state=file(b"b", 0o755), is_theirs=False)),
        (file(b"a", 0o755), B, Settled(state=file(b"b", 0o755), is_theirs=True)),
        (file(b"b", 0o755), B, Settled(state=file(b"b", 0o755), is_theirs=True)),
        (B, C, TextMerge(ancestor=Address.of(b"a"), ours=Address.of(b"b"), theirs=Address.of(b"c"), mode=0o644)),
        (
            file(b"b", 0o600),
            C,
            TextMerge(ancestor=Address.of(b"a"), ours=Address.of(b"b"), theirs=Address.of(b"c"), mode=0o600),
        ),
        (
            B,
            file(b"c", 0o600),
            TextMerge(ancestor=Address.of(b"a"), ours=Address.of(b"b"), theirs=Address.of(b"c"), mode=0o600),
        ),
    ],
)
def test_content_and_mode_are_decided_each_for_itself(
    ours: EntryState, theirs: EntryState, expected: Settled | TextMerge
) -> None:
    assert decide(drifted(A, ours, theirs)) == expected


@pytest.mark.parametrize(
    ("before", "ours", "theirs", "reason", "detail"),
    [
        (A, B, A, Reason.CHANGED_SINCE, "another"),
        (None, B, None, Reason.CHANGED_SINCE, "another"),
        (None, B, C, Reason.MERGE_CONFLICT, "both sides made it anew, and nothing is there that both began with"),
        (A, None, B, Reason.MERGE_CONFLICT, "the transaction removes it, and it was changed in the tree"),
        (A, B, None, Reason.MERGE_CONFLICT, "the transaction changes it, and it was removed in the tree"),
        (
            A, file(b"b", 0o600), file(b"c", 0o755), Reason.MERGE_CONFLICT,
            "its mode was 0644, is 0600 in the stage and 0755 in the tree",
        ),
        (LINK, B, C, Reason.NOT_MERGEABLE, "only regular files are merged, and a symlink was staged"),
        (A, DIRECTORY, C, Reason.NOT_MERGEABLE, "only regular files are merged, and a directory stands in the stage"),
        (A, B, LINK, Reason.NOT_MERGEABLE, "only regular files are merged, and a symlink stands in the tree"),
        (A, B, UNREAD, Reason.CHANGED_SINCE, "another"),
        (
            A, B, EntryState(kind="file", mode=0o644, size=MAX_MERGED_BYTES + 1, sha256=MANIFEST),
            Reason.NOT_MERGEABLE, "both sides changed it, and more than 4,194,304 bytes are not merged",
        ),
    ],
)  # fmt: skip
def test_what_cannot_become_one_thing_says_why(
    before: EntryState | None, ours: EntryState | None, theirs: EntryState | None, reason: Reason, detail: str
) -> None:
    assert decide(drifted(before, ours, theirs)) == Unmergeable(reason=reason, detail=detail)


def test_the_largest_content_that_is_merged_is_merged() -> None:
    largest = EntryState(kind="file", mode=0o644, size=MAX_MERGED_BYTES, sha256=MANIFEST)
    assert isinstance(decide(drifted(A, B, largest)), TextMerge)


def test_a_file_of_several_names_is_not_merged() -> None:
    found = decide(drifted(A, B, C, several_names=True))
    assert found == Unmergeable(reason=Reason.NOT_MERGEABLE, detail="it is one of several names of a file in the stage")


def test_git_s_own_is_not_merged() -> None:
    found = decide(drifted(A, B, C, is_gits=True))
    assert found == Unmergeable(
        reason=Reason.NOT_MERGEABLE, detail="both sides changed it, and git's own is not merged"
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", True),
        (b"caf\xe9\r\n", True),
        (b"a\0b", False),
        (b"x" * 7999 + b"\0", False),
        (b"x" * 8000 + b"\0", True),
    ],
)
def test_a_content_is_text_that_has_no_nul_near_its_beginning(content: bytes, *, expected: bool) -> None:
    assert is_text(content) is expected


def test_what_is_merged_is_a_change_of_the_tree_as_it_is() -> None:
    untouched = FsChange(path=RelPath(b"g"), change=Change.ADDED, after=B)
    drift = drifted(A, B, C)
    changes = change_set_of(MANIFEST, (drift.change, untouched))
    merged = merged_changes(changes, [Became(drifted=drift, state=file(b"bc"), mtime_ns=None)])
    expected = FsChange(path=PATH, change=Change.MODIFIED, before=C, after=file(b"bc"))
    assert merged == change_set_of(MANIFEST, (expected, untouched))


def test_what_the_tree_has_already_is_no_change() -> None:
    drift = drifted(A, B, C)
    changes = change_set_of(MANIFEST, (drift.change,))
    assert merged_changes(changes, [Became(drifted=drift, state=C, mtime_ns=1)]) == change_set_of(MANIFEST, ())


def test_the_listing_has_what_files_become_and_lacks_what_is_made_anew() -> None:
    directory = DirectoryEntry(path=RelPath(b"d"), mode=0o755)
    other = FileEntry(path=RelPath(b"g"), size=1, mode=0o644, mtime_ns=5, sha256=sha256(b"g"))
    files = [
        FileEntry(path=path, size=1, mode=0o644, mtime_ns=7, sha256=sha256(b"b")) for path in (PATH, RelPath(b"h"))
    ]
    stage = listing_of((directory, other, *files))
    stage.root = (1, 2)
    second = Drifted(
        change=FsChange(path=RelPath(b"h"), change=Change.MODIFIED, before=A, after=B),
        theirs=C,
        reason=Reason.CHANGED_SINCE,
        detail="another",
    )
    listing = merged_listing(
        stage,
        [
            Became(drifted=drifted(A, B, C), state=file(b"bc"), mtime_ns=None),
            Became(drifted=second, state=file(b"long", 0o600), mtime_ns=9),
        ],
    )
    became = FileEntry(path=RelPath(b"h"), size=4, mode=0o600, mtime_ns=9, sha256=sha256(b"long"))
    assert listing.document == listing_of((directory, other, became)).document
    assert [item.mtime_ns for item in listing.entries if isinstance(item, FileEntry)] == [5, 9]
    assert (listing.root, listing.details) == (stage.root, stage.details)
