"""Contents that a folder takes for later: kept together, or not at all."""

from __future__ import annotations

import os

import pytest

from docket.errors import UnavailableError
from docket.formats.tree.address import Address
from docket.host.disk import SYSTEM_DISK
from docket.stores.blobs import SYNCED_ONE_BY_ONE, BlobFolder


@pytest.fixture
def place(tmp_path):
    (tmp_path / "blobs").mkdir()
    return tmp_path / "blobs"


def files_in(place):
    return sorted(name for _, _, names in os.walk(place) for name in names)


@pytest.mark.parametrize("count", [1, SYNCED_ONE_BY_ONE, SYNCED_ONE_BY_ONE + 1])
def test_what_was_taken_is_there_after_the_flush(place, count):
    with BlobFolder(SYSTEM_DISK.folder(place)) as blobs:
        taken = [blobs.put_later([b"content ", b"%d" % number]) for number in range(count)]
        assert taken == [Address.of(b"content %d" % number) for number in range(count)]
        assert blobs.put_later([b"content 0"]) == taken[0]
        assert not any(blobs.has(address) for address in taken)
        blobs.flush()
        assert [b"".join(blobs.open(address)) for address in taken] == [b"content %d" % n for n in range(count)]
        assert blobs.put_later([b"content 0"]) == taken[0]
        blobs.flush()
    assert files_in(place) == sorted(address.sha256[2:] for address in taken)


def test_what_was_not_flushed_is_gone(place):
    with BlobFolder(SYSTEM_DISK.folder(place)) as blobs:
        blobs.put_later([b"a"])
    assert files_in(place) == []


def test_a_flush_that_fails_keeps_nothing(place):
    with BlobFolder(SYSTEM_DISK.folder(place)) as blobs:
        address = blobs.put_later([b"a"])
        (partial,) = files_in(place)
        os.unlink(place / partial)
        other = blobs.put_later([b"b"])
        with pytest.raises(UnavailableError):
            blobs.flush()
        assert not blobs.has(address)
        assert not blobs.has(other)
        assert blobs.put([b"b"]) == other
    assert files_in(place) == [other.sha256[2:]]
