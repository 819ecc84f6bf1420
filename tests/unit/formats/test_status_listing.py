"""Status listings: records found by bisecting, names that stand around the slash, and documents that are none."""

import random

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import path_member
from docket.formats.tree.spans import own_line
from docket.formats.tree.status_listing import (
    HEADER,
    FileStatus,
    StatusEntry,
    decode_status,
    encode_status,
    status_line,
    status_listing,
)

NAMES = [b"a", b"a.b", b"a-", b"b", b"\x01", b"a\x01", b"z\xff", b"a b"]
BIG = FileStatus(size=1, mode=0o644, inode=2**64 - 1, mtime_ns=-1, ctime_ns=1_700_000_000_123_456_789)
LINE = (
    b'{"ctime_ns":"1700000000123456789","inode":"18446744073709551615","mode":420,"mtime_ns":"-1","path":"a","size":1}'
)


def rel(raw):
    return RelPath(raw)


def entry(raw, digest=None):
    return StatusEntry(path=rel(raw), status=BIG, sha256=digest)


def in_order(records):
    # Part by part, which is what tree order means; nothing here replaces a slash.
    return sorted(records, key=lambda record: record.path.parts)


def document(records):
    return HEADER + b"".join(map(encode_status, in_order(records)))


def test_a_record_is_what_the_specification_shows():
    assert encode_status(entry(b"a")) == LINE + b"\n"
    assert decode_status(LINE) == entry(b"a")
    known = LINE.replace(b'"path":"a"', b'"path_b64":"ev8=","sha256":"' + b"ab" * 32 + b'"')
    assert encode_status(entry(b"z\xff", Digest("ab" * 32))) == known + b"\n"
    assert decode_status(known) == entry(b"z\xff", Digest("ab" * 32))


@pytest.mark.parametrize("raw", [b"a", b"d/\xff"])
@pytest.mark.parametrize("digest", [None, Digest("0f" * 32)])
def test_the_line_of_a_walk_is_the_line_of_the_record(raw, digest):
    assert status_line(path_member(raw), BIG, digest).encode() == encode_status(entry(raw, digest))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_looked_up_is_what_a_search_of_all_finds(seed):
    dice = random.Random(seed)
    paths = {b"/".join(dice.choices(NAMES, k=dice.randint(1, 3))) for _ in range(dice.randint(0, 14))}
    records = [entry(path) for path in paths]
    listing = status_listing(document(records))
    assert (listing.files, listing.entries()) == (len(paths), tuple(in_order(records)))
    for root in (b"a", b"a/a", b"b", b"z\xff", b"a.b", b"c", b"\x01"):
        wanted = [item for item in records if item.path.raw == root or item.path.raw.startswith(root + b"/")]
        assert listing.part([rel(root)]) == tuple(in_order(wanted))
        start, end = own_line(listing.document, rel(root))
        assert listing.document[start:end] == (encode_status(entry(root)) if root in paths else b"")
    assert listing.part([rel(b"b"), rel(b"a")]) == (*listing.part([rel(b"a")]), *listing.part([rel(b"b")]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b',"size":1', b""),
        (b'"inode":"18446744073709551615",', b""),
        (b'"18446744073709551615"', b'"01"'),
        (b'"-1"', b'"-0"'),
        (b'"-1"', b"-1"),
        (b"420", b"4096"),
        (b'"size":1', b'"size":1,"x":1'),
        (b'"size"', b'"sha256":"zz","size"'),
        (b'"path":"a"', b'"path_b64":"YQ=="'),
        (b'"path":"a",', b""),
        (b'"mode":420,"mtime_ns":"-1"', b'"mtime_ns":"-1","mode":420'),
        (b'"mode":420', b'"mode": 420'),
        (LINE, b"[]"),
    ],
)
def test_what_is_no_record_or_not_in_its_only_spelling_is_refused(old, new):
    assert old in LINE
    with pytest.raises(InvalidDocumentError):
        decode_status(LINE.replace(old, new))
    with pytest.raises(InvalidDocumentError):
        status_listing(HEADER + LINE.replace(old, new) + b"\n").entries()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", Reason.UNKNOWN_FORMAT),
        (b'{"format":"docket/tree/v1"}\n', Reason.UNKNOWN_FORMAT),
        (HEADER + LINE, Reason.TORN_TAIL),
    ],
)
def test_what_is_no_status_listing_is_refused(raw, reason):
    with pytest.raises(InvalidDocumentError) as refused:
        status_listing(raw)
    assert refused.value.reason == reason
