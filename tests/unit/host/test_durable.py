"""Publishing files: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, fail
from disks.memory_disk import MemoryDisk
from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK
from docket.host.durable import CHUNK_BYTES, chunks, publish, publish_copy, publish_public, temporary_name

HERE = Path("/state")


def content(folder, name):
    with folder.open(name) as file:
        return b"".join(chunks(file))


def test_the_order_is_write_sync_rename_sync():
    disk = FaultyDisk(MemoryDisk())
    folder = disk.folder(HERE, create=True)
    disk.log.clear()
    publish(folder, "receipt", b"data")
    operations = [operation for operation, _ in disk.log]
    assert operations == ["create", "append", "sync", "replace", "sync folder"]
    assert disk.log[3] == ("replace", "receipt")
    publish(folder, "other", b"data", overwrite=False)
    assert [operation for operation, _ in disk.log[5:]] == ["create", "append", "sync", "claim", "sync folder"]


def test_a_publication_replaces_or_refuses():
    folder = MemoryDisk().folder(HERE, create=True)
    publish(folder, "a", b"one")
    publish(folder, "a", b"two")
    assert content(folder, "a") == b"two"
    with pytest.raises(UnavailableError) as caught:
        publish(folder, "a", b"three", overwrite=False)
    assert caught.value.reason == Reason.ALREADY_EXISTS
    assert (content(folder, "a"), folder.names()) == (b"two", ("a",))


@pytest.mark.parametrize("operation", ["create", "append", "sync", "replace", "sync folder"])
def test_a_publication_that_fails_leaves_the_old_file_and_no_other(operation):
    memory = MemoryDisk()
    publish(memory.folder(HERE, create=True), "a", b"old")
    disk = FaultyDisk(memory, fail(Reason.NO_SPACE, operation, times=1))
    folder = disk.folder(HERE)
    with pytest.raises(UnavailableError) as caught:
        publish(folder, "a", b"new")
    assert caught.value.reason == Reason.NO_SPACE
    assert folder.names() == ("a",)
    assert content(folder, "a") == (b"new" if operation == "sync folder" else b"old")


def test_the_first_error_is_the_one_that_is_told():
    disk = FaultyDisk(
        MemoryDisk(),
        lambda _step, operation, _name: {"sync": Reason.IO_ERROR, "remove": Reason.READ_ONLY}.get(operation),
    )
    with pytest.raises(UnavailableError) as caught:
        publish(disk.folder(HERE, create=True), "a", b"new")
    assert caught.value.reason == Reason.IO_ERROR


def test_a_copy_is_made_in_pieces(tmp_path):
    data = os.urandom(2 * CHUNK_BYTES + 5)
    with SYSTEM_DISK.folder(tmp_path) as folder:
        publish(folder, "a", data)
        with folder.open("a") as source:
            assert [len(piece) for piece in chunks(source)] == [CHUNK_BYTES, CHUNK_BYTES, 5]
            assert b"".join(chunks(source, len(data) - 3)) == data[-3:]
            publish_copy(folder, "b", source)
        assert (tmp_path / "b").read_bytes() == data
        assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600


def test_temporary_names_never_meet():
    names = {temporary_name("x" * 300) for _ in range(100)}
    assert len(names) == 100
    assert all(name.startswith(".") and len(name) <= 255 for name in names)


def test_a_persons_own_file_is_whole_readable_and_never_overwritten_unasked(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    publish_public(tmp_path / "link" / "f", b"one", overwrite=False)
    assert (tmp_path / "real" / "f").read_bytes() == b"one"
    assert (tmp_path / "real" / "f").stat().st_mode & 0o777 == 0o644
    with pytest.raises(UnavailableError) as caught:
        publish_public(tmp_path / "real" / "f", b"two", overwrite=False)
    assert caught.value.reason == Reason.ALREADY_EXISTS
    publish_public(tmp_path / "real" / "f", b"two", overwrite=True)
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "real").iterdir()] == [("f", b"two")]
