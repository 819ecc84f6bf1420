"""Status listings: records found by bisecting, names that stand around the slash, and documents that are none."""

import random

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import MAX_INTEGER
from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Counts, DirectoryEntry, Kind, Listing, Omission, SymlinkEntry, path_member
from docket.formats.tree.status_listing import (
    HEADER,
    FileStatus,
    StatusEntry,
    decode_status,
    encode_status,
    status_line,
    status_listing,
    summary_of,
)

NAMES = [b"a", b"a.b", b"a-", b"b", b"\x01", b"a\x01", b"z\xff", b"a b"]
BIG = FileStatus(inode=2**64 - 1, mtime_ns=-1, ctime_ns=1_700_000_000_123_456_789)


def rel(raw):
    return RelPath(raw)


def entry(raw, status=BIG, digest=None, size=1):
    return StatusEntry(path=rel(raw), size=size, mode=0o644, status=status, sha256=digest)


def in_order(records):
    # Part by part, which is what tree order means; nothing here replaces a slash.
    return sorted(records, key=lambda record: record.path.parts)


def document(records):
    return HEADER + b"".join(map(encode_status, in_order(records)))


def test_a_record_is_what_the_specification_shows():
    line = (
        b'{"ctime_ns":"1700000000123456789","inode":"18446744073709551615","kind":"file","mode":420,'
        b'"mtime_ns":"-1","path":"a","size":1}'
    )
    assert encode_status(entry(b"a")) == line + b"\n"
    assert decode_status(line) == entry(b"a")
    known = b'{"kind":"file","mode":420,"path_b64":"ev8=","sha256":"' + b"ab" * 32 + b'","size":1}'
    assert encode_status(entry(b"z\xff", None, Digest("ab" * 32))) == known + b"\n"
    assert decode_status(known) == entry(b"z\xff", None, Digest("ab" * 32))


@pytest.mark.parametrize("raw", [b"a", b"d/\xff"])
@pytest.mark.parametrize("digest", [None, Digest("0f" * 32)])
def test_the_line_of_a_walk_is_the_line_of_the_record(raw, digest):
    line = status_line(path_member(raw), 0o644, 1, (BIG.inode, BIG.mtime_ns, BIG.ctime_ns), digest)
    assert line.encode() == encode_status(entry(raw, BIG, digest))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_looked_up_is_what_a_search_of_all_finds(seed):
    dice = random.Random(seed)
    paths = {b"/".join(dice.choices(NAMES, k=dice.randint(1, 3))) for _ in range(dice.randint(0, 14))}
    records = [entry(path) for path in paths]
    listing = status_listing(document(records))
    for root in (b"a", b"a/a", b"b", b"z\xff", b"a.b", b"c", b"\x01"):
        wanted = [item for item in records if item.path.raw == root or item.path.raw.startswith(root + b"/")]
        assert listing.part([rel(root)]) == tuple(in_order(wanted))
    come, gone = [entry(b"a.b/a", size=2), entry(b"b/new")], [rel(b"b"), rel(b"a/b")]
    kept = [item for item in records if item.path not in {*gone, *(new.path for new in come)}]
    assert listing.with_records(gone, come).document == document([*kept, *come])


def test_other_things_stand_as_in_a_listing_and_omissions_are_always_at_hand():
    records = [
        DirectoryEntry(path=rel(b"d"), mode=0o755),
        entry(b'd/,"reason":"x'),
        SymlinkEntry(path=rel(b"l"), target=b',"reason":"y'),
        Omission(path=rel(b"p"), reason=Reason.SPECIAL_FILE, kind=Kind.FIFO, mode=0o600),
        Omission(path=rel(b"q"), reason=Reason.UNREADABLE, kind=Kind.FILE, mode=0, size=MAX_INTEGER),
    ]
    listing = status_listing(document(records))
    assert listing.part([rel(b"d"), rel(b"l"), rel(b"p"), rel(b"q")]) == tuple(in_order(records))
    assert [item.path.raw for item in listing.omissions] == [b"p", b"q"]
    seen = Listing(listing.document, counts=Counts(files=1, omissions=2), root=(1, 2))
    summary = summary_of(listing, seen)
    assert (summary.records, summary.counts, summary.root) == ((), seen.counts, (1, 2))
    assert summary.omissions == listing.omissions


@pytest.mark.parametrize(
    "line",
    [
        b'{"kind":"file","mode":420,"path":"a","size":1}',
        b'{"inode":"1","kind":"file","mode":420,"path":"a","size":1}',
        b'{"ctime_ns":"1","inode":"01","kind":"file","mode":420,"mtime_ns":"1","path":"a","size":1}',
        b'{"ctime_ns":"1","inode":"1","kind":"file","mode":4096,"mtime_ns":"1","path":"a","size":1}',
        b'{"ctime_ns":"1","inode":"1","kind":"file","mode":420,"mtime_ns":"1","path":"a","size":1,"x":1}',
        b'{"ctime_ns":"1","inode":"1","kind":"file","mode":420,"mtime_ns":"-0","path":"a","size":1}',
        b'{"kind":"file","mode":420,"path":"a","sha256":"zz","size":1}',
        b'{"kind":"directory","mode":4096,"path":"a"}',
        b'{"kind":"elsewhat","path":"a"}',
        b"[]",
    ],
)
def test_what_is_no_record_is_refused(line):
    with pytest.raises(InvalidDocumentError):
        decode_status(line)
    with pytest.raises(InvalidDocumentError):
        status_listing(HEADER + line + b"\n").part([rel(b"a")])


def test_a_record_has_one_spelling():
    with pytest.raises(InvalidDocumentError):
        decode_status(b'{"kind":"file","mode":420,"path_b64":"YQ==","sha256":"' + b"ab" * 32 + b'","size":1}')


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", Reason.UNKNOWN_FORMAT),
        (b'{"format":"docket/tree/v1"}\n', Reason.UNKNOWN_FORMAT),
        (HEADER + b"{}", Reason.TORN_TAIL),
        (HEADER + b'{"kind":"directory","mode":1,"path":"a","x":{"a":1,"reason":"y"}}\n', None),
    ],
)
def test_what_is_no_status_listing_is_refused(raw, reason):
    with pytest.raises(InvalidDocumentError) as refused:
        status_listing(raw)
    assert reason is None or refused.value.reason == reason
