"""The plain files of a listing are found in its text, and everything else is decoded."""

import hashlib

import pytest

from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree import plain
from docket.formats.tree.listing import DirectoryEntry, FileEntry, Listing, Omission, SymlinkEntry, listing_of
from docket.formats.tree.plain import parted, with_powers, without_omissions


def file(path: bytes, mode: int = 0o644, mtime_ns: int = 0) -> FileEntry:
    digest = Digest(hashlib.sha256(path).hexdigest())
    return FileEntry(path=RelPath(path), size=len(path), mode=mode, mtime_ns=mtime_ns, sha256=digest)


DIRECTORY = DirectoryEntry(path=RelPath(b"d"), mode=0o1755)
LINK = SymlinkEntry(path=RelPath(b"d/link"), target=b',"reason":"x"')
GONE = Omission(path=RelPath(b"d/gone"), reason=Reason.VANISHED, detail="told")
PLAIN = [file(b"a", mtime_ns=1), file("d/\u00e9 x".encode(), 0o400, -2), file(b"d/z", 0, 2**62)]
STRANGE = [
    file(b'd/"quoted"', mtime_ns=11),
    file(b"d/\xff", mtime_ns=12),
    file(b"d/line\nend", mtime_ns=13),
    file(b"d/powers", 0o4755, mtime_ns=14),
    file(b"d/set apart", mtime_ns=15),
]
LISTING = listing_of([DIRECTORY, LINK, GONE, *PLAIN, *STRANGE])


def told(found: plain.PlainFiles) -> list[FileEntry]:
    return [
        FileEntry(path=RelPath(path), mode=mode, sha256=Digest(digest), size=size, mtime_ns=mtime_ns)
        for run in found.runs
        for path, mode, digest, size, mtime_ns in found.of(run)
    ]


@pytest.mark.parametrize("most", [1, 2, 512])
def test_every_record_is_told_once_with_its_time(monkeypatch, most):
    monkeypatch.setattr(plain, "_RUN_FILES", most)
    found, others = parted(LISTING, [b"d/set apart", b"not there"])
    assert told(found) == sorted(PLAIN, key=lambda item: item.path.raw.replace(b"/", b"\0"))
    assert set(others) == {DIRECTORY, LINK, GONE, *STRANGE}
    assert [item for item in LISTING.records if item in others] == list(others)
    assert sum(run.plain for run in found.runs) == len(PLAIN)


def test_a_run_is_cut_where_it_has_many_bytes(monkeypatch):
    monkeypatch.setattr(plain, "_RUN_BYTES", 4)
    found, _ = parted(listing_of([file(b"aaa"), file(b"bbb"), file(b"c")]))
    assert [run.plain for run in found.runs] == [2, 1]
    assert [run.before for run in found.runs] == [0, 2]


def test_without_times_they_are_nothing():
    bare = Listing(LISTING.document, counts=LISTING.counts)
    found, others = parted(bare)
    assert {item.mtime_ns for item in told(found)} == {0}
    assert {item.mtime_ns for item in others if isinstance(item, FileEntry)} == {0}
    assert Omission(path=GONE.path, reason=GONE.reason) in others


def test_nothing_is_parted_into_nothing():
    found, others = parted(listing_of([]))
    assert (found.runs, others) == ((), ())


def test_powers_are_found_by_their_number():
    modes = (0, 0o777, 0o1000, 0o1001, 0o2000, 0o4755, 0o7777)
    files = [file(b"f%o" % mode, mode) for mode in modes]
    left = Omission(path=RelPath(b"o"), reason=Reason.UNREADABLE, mode=0o4755)
    entries = with_powers(listing_of([*files, DIRECTORY, left]))
    assert [(item.path.raw, item.mode) for item in entries] == [
        (b"d", 0o1755),
        *((b"f%o" % mode, mode) for mode in modes if mode > 0o777),
    ]


def test_omissions_are_cut_out():
    assert without_omissions(LISTING.document) == listing_of([DIRECTORY, LINK, *PLAIN, *STRANGE]).document
    assert without_omissions(listing_of([GONE]).document) == listing_of([]).document
