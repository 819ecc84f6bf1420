"""What every content store does: the blob folder on two disks, the memory twin, made ones."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from disks.memory_disk import MemoryDisk
from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.formats.tree.address import Address
from docket.host.disk import SYSTEM_DISK
from docket.stores.blobs import BlobFolder
from docket.stores.workspace.made_contents import MadeContents
from fakes.memory_content import MemoryContent

LARGE = bytes(range(256)) * 9000
# More than a pipe or a buffer holds at once, so that a piece of a few bytes meets every edge there is.
MANY_PIECES = bytes(range(256)) * 400
CONTENTS = [b"", b"one", b"\0" * 5000, LARGE, MANY_PIECES, "é\n".encode() * 7, b"\xff\xfe"]


class Blobs:
    """A blob folder, and the places of its files for tampering."""

    def __init__(self, disk, path):
        self.disk, self.path = disk, path
        self.store = BlobFolder(disk.folder(path, create=True))

    def spoil(self, address, data):
        with self.disk.folder(self.path / address.sha256[:2]) as folder:
            folder.remove(address.sha256[2:])
            with folder.create(address.sha256[2:]) as file:
                file.append(data)


class Memory:
    def __init__(self):
        self.store = MemoryContent()

    def spoil(self, address, data):
        self.store.kept[address] = data


class Made:
    """Contents made in memory before those of another store, which holds the one that is spoilt."""

    def __init__(self):
        self.others = MemoryContent()
        self.others.put([b"one"])
        self.store = MadeContents([data for data in CONTENTS if data != b"one"], self.others)

    def spoil(self, address, data):
        self.others.kept[address] = data


def address_of(data):
    return Address(Digest(hashlib.sha256(data).hexdigest()), len(data))


ONE = address_of(b"one")


@pytest.fixture(params=["system", "memory disk", "memory", "made"])
def kept(request, tmp_path):
    made = {
        "system": lambda: Blobs(SYSTEM_DISK, tmp_path / "blobs"),
        "memory disk": lambda: Blobs(MemoryDisk(), Path("/blobs")),
        "memory": Memory,
        "made": Made,
    }[request.param]()
    if request.param != "made":
        for data in CONTENTS:
            made.store.put([data])
    yield made
    if hasattr(made.store, "close"):
        made.store.close()


@pytest.mark.parametrize("data", CONTENTS, ids=len)
def test_what_was_put_is_read(kept, data):
    assert kept.store.has(address_of(data))
    with kept.store.open(address_of(data)) as stream:
        assert b"".join(stream) == data
        assert stream.read(10) == b""


@pytest.mark.parametrize(("size", "data"), [(1, MANY_PIECES), (7, MANY_PIECES), (4096, LARGE)], ids=["1", "7", "4096"])
def test_it_is_read_in_pieces_of_any_size(kept, size, data):
    with kept.store.open(address_of(data)) as stream:
        found = [stream.read(size) for _ in range(-(-len(data) // size))]
        assert (b"".join(found), stream.read(size)) == (data, b"")


def test_what_was_not_put_is_missing(kept):
    absent = address_of(b"absent")
    wrong_size = Address(address_of(b"one").sha256, 4)
    for address in (absent, wrong_size):
        assert not kept.store.has(address)
    with pytest.raises(UnavailableError) as caught:
        kept.store.open(absent)
    assert caught.value.reason == Reason.CONTENT_MISSING


@pytest.mark.parametrize("other", [b"two", b"onE", b"three", b"on"], ids=["same size", "a case", "longer", "shorter"])
def test_damaged_content_never_reads_to_its_end(kept, other):
    kept.spoil(address_of(b"one"), other)
    with pytest.raises((InvalidDocumentError, UnavailableError)) as caught, kept.store.open(ONE) as found:
        list(found)
    assert caught.value.reason in (Reason.CONTENT_DAMAGED, Reason.CONTENT_MISSING)


def test_a_stream_may_be_left_before_its_end(kept):
    with kept.store.open(address_of(LARGE)) as stream:
        stream.read(10)
    with kept.store.open(address_of(b"one")) as stream:
        assert b"".join(stream) == b"one"


def test_putting_answers_with_the_address_and_does_so_again(kept):
    if not hasattr(kept.store, "put"):
        pytest.skip("read only")
    for _ in range(2):
        assert kept.store.put(iter([b"a", b"", b"bc"])) == address_of(b"abc")
    with kept.store.open(address_of(b"abc")) as stream:
        assert b"".join(stream) == b"abc"
