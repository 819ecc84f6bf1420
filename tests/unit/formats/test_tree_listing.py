"""A listing's bytes, checked against lines and digests written by hand or by sha256sum."""

from __future__ import annotations

import hashlib
import struct

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import (
    HEADER,
    Counts,
    DirectoryEntry,
    FileEntry,
    Kind,
    Omission,
    SymlinkEntry,
    decode_listing,
    decode_record,
    directory_line,
    encode_record,
    file_line,
    listing_of,
    member_prefix,
    name_suffix,
    path_member,
    tree_order,
)

# printf '' | sha256sum, printf 'hello\n' | sha256sum
EMPTY = Digest("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
HELLO = Digest("5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03")

RECORDS = [
    (
        FileEntry(path=RelPath(b"README"), size=6, mode=0o644, mtime_ns=5, sha256=HELLO),
        b'{"kind":"file","mode":420,"path":"README","sha256":"%b","size":6}\n' % HELLO.encode(),
    ),
    (
        FileEntry(path=RelPath(b"a\xff\nb"), size=0, mode=0o4755, mtime_ns=-1, sha256=EMPTY),
        b'{"kind":"file","mode":2541,"path_b64":"Yf8KYg==","sha256":"%b","size":0}\n' % EMPTY.encode(),
    ),
    (
        DirectoryEntry(path=RelPath("möbel".encode()), mode=0o1777),
        '{"kind":"directory","mode":1023,"path":"möbel"}\n'.encode(),
    ),
    (
        SymlinkEntry(path=RelPath(b"link"), target=b'../x"y'),
        b'{"kind":"symlink","path":"link","target":"../x\\"y"}\n',
    ),
    (
        SymlinkEntry(path=RelPath(b"link"), target=b"\xfe"),
        b'{"kind":"symlink","path":"link","target_b64":"/g=="}\n',
    ),
    (
        Omission(path=RelPath(b"p"), reason=Reason.SPECIAL_FILE, kind=Kind.FIFO, mode=0o600),
        b'{"kind":"fifo","mode":384,"path":"p","reason":"special-file"}\n',
    ),
    (
        Omission(path=RelPath(b"p"), reason=Reason.UNREADABLE, kind=Kind.FILE, mode=0, size=12),
        b'{"kind":"file","mode":0,"path":"p","reason":"unreadable","size":12}\n',
    ),
    (
        Omission(path=RelPath(b"p"), reason=Reason.VANISHED),
        b'{"kind":"unknown","path":"p","reason":"vanished"}\n',
    ),
]


def without_time(record):
    if isinstance(record, FileEntry):
        return FileEntry(path=record.path, size=record.size, mode=record.mode, mtime_ns=0, sha256=record.sha256)
    return record


@pytest.mark.parametrize(("record", "line"), RECORDS)
def test_a_record_has_one_line(record, line):
    assert encode_record(record) == line
    assert decode_record(line.rstrip(b"\n")) == without_time(record)


def test_the_lines_of_a_walk_are_those_of_the_encoder():
    line = RECORDS[0][1]
    assert file_line(path_member(b"README"), 0o644, HELLO, 6).encode() == line
    assert file_line(path_member(b"a\xff\nb"), 0o4755, EMPTY, 0).encode() == RECORDS[1][1]
    assert directory_line(path_member("möbel".encode()), 0o1777).encode() == RECORDS[2][1]
    prefix = member_prefix('q"ü/'.encode())
    assert prefix + name_suffix("x\\\n") == '"path":"q\\"ü/x\\\\\\n"'
    assert member_prefix(b"") + name_suffix("README") == path_member(b"README")
    assert member_prefix(b"\xff/") is None


def test_a_listing_is_in_tree_order_and_names_itself_by_its_bytes():
    records = [
        DirectoryEntry(path=RelPath(b"a"), mode=0o755),
        FileEntry(path=RelPath(b"a/z"), size=0, mode=0o644, mtime_ns=7, sha256=EMPTY),
        FileEntry(path=RelPath(b"a-b"), size=6, mode=0o644, mtime_ns=9, sha256=HELLO),
        SymlinkEntry(path=RelPath(b"b"), target=b"a"),
        Omission(path=RelPath(b"c"), reason=Reason.SPECIAL_FILE, detail="a fifo", kind=Kind.FIFO, mode=0o600),
    ]
    listing = listing_of(reversed(records))
    document = (
        b'{"format":"docket/tree/v1"}\n'
        b'{"kind":"directory","mode":493,"path":"a"}\n'
        b'{"kind":"file","mode":420,"path":"a/z","sha256":"%b","size":0}\n'
        b'{"kind":"file","mode":420,"path":"a-b","sha256":"%b","size":6}\n'
        b'{"kind":"symlink","path":"b","target":"a"}\n'
        b'{"kind":"fifo","mode":384,"path":"c","reason":"special-file"}\n'
    ) % (EMPTY.encode(), HELLO.encode())
    assert listing.document == document
    assert listing.tree_sha256 == hashlib.sha256(document).hexdigest()
    assert listing.records == tuple(records)
    assert listing.entries == tuple(records[:4])
    assert listing.omissions == (records[4],)
    assert listing.counts == Counts(files=2, directories=1, symlinks=1, omissions=1, bytes=6)
    assert (listing.files, listing.directories, listing.symlinks, listing.bytes_watched) == (2, 1, 1, 6)
    assert listing.mtimes == struct.pack("<2q", 7, 9)
    assert listing.record(RelPath(b"a-b")) == records[2]
    assert listing.record(RelPath(b"nowhere")) is None
    assert listing.root is None


def test_two_listings_are_equal_when_their_bytes_are():
    one = listing_of([FileEntry(path=RelPath(b"x"), size=0, mode=0, mtime_ns=1, sha256=EMPTY)])
    other = listing_of([FileEntry(path=RelPath(b"x"), size=0, mode=0, mtime_ns=2, sha256=EMPTY)])
    assert one == other
    assert hash(one) == hash(other)
    assert one != listing_of([])
    assert one != one.document
    assert one.tree_sha256 in repr(one)


def test_what_was_written_is_read_back_without_times_and_prose():
    listing = listing_of([record for record, _ in RECORDS[:4]])
    back = decode_listing(listing.document)
    assert back == listing
    assert back.counts == listing.counts
    assert back.records == tuple(without_time(record) for record in listing.records)
    assert decode_listing(HEADER).records == ()


def test_a_path_stands_once():
    entry = DirectoryEntry(path=RelPath(b"x"), mode=0)
    with pytest.raises(InvalidDocumentError) as caught:
        listing_of([entry, Omission(path=RelPath(b"x"), reason=Reason.UNREADABLE)])
    assert caught.value.reason == Reason.DUPLICATE_KEY


def test_tree_order_puts_a_directory_right_before_what_it_holds():
    names = [b"a", b"a/b", b"a/b/c", b"a b", b"a-", b"a.d", b"a0"]
    shuffled = [names[i] for i in (3, 0, 6, 2, 5, 1, 4)]
    assert sorted(shuffled, key=tree_order) == names


LINE = f'{{"kind":"file","mode":420,"path":"x","sha256":"{EMPTY}","size":0}}'


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"", Reason.UNKNOWN_FORMAT),
        (b'{"format":"docket/tree/v2"}\n', Reason.UNKNOWN_FORMAT),
        (HEADER + b'{"kind":"directory","mode":1,"path":"x"}', Reason.TORN_TAIL),
        (HEADER + b"\n", Reason.NOT_JSON),
        (
            HEADER + b'{"kind":"directory","mode":1,"path":"b"}\n{"kind":"directory","mode":1,"path":"a"}\n',
            Reason.NOT_CANONICAL,
        ),
        (HEADER + b'{"kind":"directory","mode":1,"path":"b"}\n' * 2, Reason.DUPLICATE_KEY),
    ],
)
def test_other_documents_are_refused(document, reason):
    with pytest.raises(InvalidDocumentError) as caught:
        decode_listing(document)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (LINE.replace("420", "4096"), Reason.WRONG_VALUE),
        (LINE.replace("420", "-1"), Reason.WRONG_VALUE),
        (LINE.replace('"x"', '"../x"'), Reason.NOT_A_PATH),
        (LINE.replace('"path":"x",', ""), Reason.NOT_A_PATH),
        (LINE.replace('"size":0', '"size":0,"zone":1'), Reason.UNKNOWN_MEMBER),
        (LINE.replace("file", "socket"), Reason.MISSING_MEMBER),
        (LINE.replace("file", "door"), Reason.WRONG_VALUE),
        (LINE.replace(EMPTY, EMPTY.upper()), Reason.NOT_A_DIGEST),
        ('{"kind":"symlink","path":"x"}', Reason.MISSING_MEMBER),
        ('{"kind":"symlink","path":"x","target_b64":"?"}', Reason.WRONG_VALUE),
        ('{"kind":"symlink","path":"x","target_b64":"YQ=="}', Reason.NOT_CANONICAL),
        ('{"kind":"symlink","path":"x","target_b64":"/h=="}', Reason.NOT_CANONICAL),
        ('{"kind":"fifo","path":"x","reason":"tired"}', Reason.WRONG_VALUE),
        ('{"kind": "directory","mode":1,"path":"x"}', Reason.NOT_CANONICAL),
        ("[]", Reason.WRONG_TYPE),
    ],
)
def test_other_lines_are_refused(line, reason):
    with pytest.raises(InvalidDocumentError) as caught:
        decode_record(line.encode())
    assert caught.value.reason == reason
