"""Change sets: the bytes that an approval is bound to."""

from __future__ import annotations

import hashlib

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.workspace.change_set import change_set_of, decode_change_set
from docket.formats.workspace.state import ChangeCounts

MANIFEST = Digest("ab" * 32)
FOLDER = EntryState(kind="directory", mode=0o755)
LINK = EntryState(kind="symlink", mode=0o777, target="a")


def change(path: bytes, kind: Change, before: EntryState | None = None, after: EntryState | None = None) -> FsChange:
    return FsChange(path=RelPath(path), change=kind, before=before, after=after)


FOUR = (
    change(b"b", Change.REMOVED, before=FOLDER),
    change(b"a/x", Change.ADDED, after=LINK),
    change(b"a", Change.MODIFIED, FOLDER, EntryState(kind="directory", mode=0o700)),
    change(b"a-b", Change.RETYPED, LINK, FOLDER),
)


def test_the_document_is_a_header_and_a_line_a_change_in_tree_order() -> None:
    lines = change_set_of(MANIFEST, FOUR).document.split(b"\n")
    assert lines[0] == b'{"format":"docket/workspace-diff/v1","manifest_sha256":"%s"}' % (b"ab" * 32)
    assert lines[2] == (b'{"after":{"kind":"symlink","mode":511,"target":"a"},"change":"added","path":"a/x"}')
    assert [line[line.index(b'"path"') :] for line in lines[1:-1]] == [
        b'"path":"a"}', b'"path":"a/x"}', b'"path":"a-b"}', b'"path":"b"}',
    ]  # fmt: skip
    assert lines[-1] == b""


def test_the_digest_is_that_of_the_document() -> None:
    found = change_set_of(MANIFEST, FOUR)
    assert found.digest == hashlib.sha256(found.document).hexdigest()
    assert change_set_of(MANIFEST, reversed(FOUR)).digest == found.digest
    assert change_set_of(Digest("cd" * 32), FOUR).digest != found.digest
    assert change_set_of(MANIFEST, FOUR[1:]).digest != found.digest


def test_counts() -> None:
    assert change_set_of(MANIFEST, FOUR).counts == ChangeCounts(added=1, modified=1, removed=1, retyped=1)
    assert change_set_of(MANIFEST, ()).counts.total == 0


@pytest.mark.parametrize("changes", [(), FOUR, (change(b"caf\xe9", Change.ADDED, after=FOLDER),)])
def test_what_is_written_is_read_back(changes: tuple[FsChange, ...]) -> None:
    found = change_set_of(MANIFEST, changes)
    assert decode_change_set(found.document) == found


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ((FOUR[0], FOUR[0]), Reason.DUPLICATE_KEY),
        ((change(b"a", Change.ADDED, before=FOLDER, after=FOLDER),), Reason.WRONG_VALUE),
        ((change(b"a", Change.REMOVED),), Reason.WRONG_VALUE),
        ((change(b"a", Change.MODIFIED, after=FOLDER),), Reason.WRONG_VALUE),
    ],
)
def test_changes_that_cannot_stand_together(changes: tuple[FsChange, ...], reason: Reason) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        change_set_of(MANIFEST, changes)
    assert caught.value.reason == reason


HEAD = change_set_of(MANIFEST, ()).document
LINES = change_set_of(MANIFEST, FOUR).document.removeprefix(HEAD).split(b"\n")[:-1]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"", Reason.TORN_TAIL),
        (HEAD[:-1], Reason.TORN_TAIL),
        (HEAD.replace(b"/v1", b"/v9"), Reason.UNKNOWN_FORMAT),
        (HEAD.replace(b'"manifest', b'"a":1,"manifest'), Reason.NOT_CANONICAL),
        (HEAD + LINES[1] + b"\n" + LINES[0] + b"\n", Reason.NOT_CANONICAL),
        (HEAD + LINES[0] + b"\n" + LINES[0] + b"\n", Reason.DUPLICATE_KEY),
        (HEAD + LINES[0].replace(b'"a"', b'"../a"') + b"\n", Reason.NOT_A_PATH),
        (HEAD + b"\n", Reason.NOT_JSON),
    ],
)
def test_anything_else_is_refused(document: bytes, reason: Reason) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        decode_change_set(document)
    assert caught.value.reason == reason
