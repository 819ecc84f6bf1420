"""A pack is a tar archive that other programs read, and its index is refused where it is not the pack's own."""

from __future__ import annotations

import hashlib
import io
import struct
import tarfile

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.tree.pack import (
    TAIL_BYTES,
    closing,
    closing_bytes,
    content_member,
    index_rows,
    member_bytes,
    where_index,
)

CONTENTS = [b"", b"one", b"x" * 512, b"y" * 513]


def packed():
    data, rows = b"", []
    for content in CONTENTS:
        digest = hashlib.sha256(content).digest()
        rows.append((digest, len(data) + 512, len(content)))
        assert len(content_member(digest, content)) == member_bytes(len(content))
        data += content_member(digest, content)
    end = closing(rows, len(data))
    assert len(end) == closing_bytes(len(rows))
    return data + end, rows


def read(pack):
    begins, size, digest = where_index(pack[-TAIL_BYTES:], len(pack))
    return index_rows(pack[begins : begins + size], digest, begins)


def test_any_reader_of_tar_finds_the_contents_under_their_digests():
    pack, rows = packed()
    with tarfile.open(fileobj=io.BytesIO(pack)) as archive:
        found = {item.name: archive.extractfile(item).read() for item in archive}
    assert [*found][-2:] == ["index", "docket-pack"]
    names = [f"{hashlib.sha256(data).hexdigest()[:2]}/{hashlib.sha256(data).hexdigest()[2:]}" for data in CONTENTS]
    assert [found[name] for name in names] == CONTENTS
    assert read(pack) == sorted(rows)
    assert [pack[offset : offset + size] for _, offset, size in rows] == CONTENTS


@pytest.mark.parametrize(
    "spoil",
    [
        lambda pack: b"",
        lambda pack: pack[:-1],
        lambda pack: pack + bytes(512),
        lambda pack: pack[:-TAIL_BYTES] + b"D" + pack[-TAIL_BYTES + 1 :],
        lambda pack: pack[:-1] + b"x",
        lambda pack: bytes(512) + pack,
        lambda pack: pack[: -closing_bytes(4) + 512] + b"x" + pack[-closing_bytes(4) + 513 :],
    ],
    ids=["empty", "cut", "longer", "magic", "end", "moved", "index"],
)
def test_what_is_no_pack_is_refused(spoil):
    with pytest.raises(InvalidDocumentError):
        read(spoil(packed()[0]))


@pytest.mark.parametrize("row", [(0, 1), (513, 1), (512, 10**6)], ids=["before", "between", "beyond"])
def test_an_index_that_names_what_does_not_lie_in_the_pack_is_refused(row):
    index = struct.pack("<32sQQ", bytes(32), *row)
    with pytest.raises(InvalidDocumentError):
        index_rows(index, hashlib.sha256(index).digest(), 2048)
