"""Files of a listing whose contents were not read, and digests that come in later."""

import pytest

from docket.formats.digest import Digest
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import state_of
from docket.formats.tree.listing import DirectoryEntry, FileEntry, SymlinkEntry, listing_of
from docket.formats.tree.status_listing import HEADER, FileStatus, StatusEntry, encode_status, status_listing
from docket.formats.tree.unread import UNREAD, is_unread, unread_files, with_digests

KNOWN, LATER = Digest("ab" * 32), Digest("cd" * 32)
STATUS = FileStatus(size=3, mode=0o644, inode=7, mtime_ns=1, ctime_ns=2)


def rel(raw: bytes) -> RelPath:
    return RelPath(raw)


def file(raw: bytes, digest: Digest = UNREAD, mtime_ns: int = 5) -> FileEntry:
    return FileEntry(path=rel(raw), size=3, mode=0o644, mtime_ns=mtime_ns, sha256=digest)


RECORDS = (
    file(b"a", KNOWN),
    DirectoryEntry(path=rel(b"d"), mode=0o755),
    file(b"d/x", mtime_ns=9),
    file(b"d\xff"),
    SymlinkEntry(path=rel(b"l"), target=b"a"),
)


def test_unread_files_are_told_from_all_else() -> None:
    listing = listing_of(RECORDS)
    assert [is_unread(record) for record in listing.records] == [False, False, True, True, False]
    assert not is_unread(None)
    assert unread_files(listing) == 2
    assert state_of(file(b"a")).sha256 is None
    assert state_of(file(b"a", KNOWN)).sha256 == KNOWN


def test_a_digest_comes_in_where_it_belongs_and_moves_nothing() -> None:
    listing = listing_of(RECORDS)
    listing.statuses = b"beside"
    found = with_digests(listing, {rel(b"d/x"): LATER, rel(b"d"): LATER, rel(b"nothing"): LATER})
    expected = listing_of([*RECORDS[:2], file(b"d/x", LATER, mtime_ns=9), *RECORDS[3:]])
    assert found.document == expected.document
    assert found.records == expected.records
    assert found.tree_sha256 == expected.tree_sha256 != listing.tree_sha256
    assert (found.counts, found.statuses, found.details) == (listing.counts, b"beside", listing.details)
    assert with_digests(found, {rel(b"d/x"): UNREAD}) == listing
    assert with_digests(listing, {}) is listing


@pytest.mark.parametrize("paths", [(), (b"a",), (b"z\xff", b"a"), (b"d/x", b"none"), (b"a", b"d/x", b"z\xff")])
def test_statuses_are_found_and_cut_by_path(paths: tuple[bytes, ...]) -> None:
    entries = [StatusEntry(path=rel(raw), status=STATUS) for raw in (b"a", b"d/x", b"z\xff")]
    listing = status_listing(HEADER + b"".join(map(encode_status, entries)))
    found = [listing.at(rel(raw)) for raw in paths]
    assert found == [next((entry for entry in entries if entry.path.raw == raw), None) for raw in paths]
    left = b"".join(encode_status(entry) for entry in entries if entry.path.raw not in paths)
    assert listing.without(map(rel, paths)) == left
