"""The file of checkpoints: whole lines or none, on a disk that refuses any step, and after a death."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, fail, never, stop_at
from disks.memory_disk import MemoryDisk
from docket.errors import DocketError, UnavailableError
from docket.formats.proof.checkpoint import read_checkpoints
from docket.formats.reason import Reason
from docket.host.disk import Disk
from docket.stores.checkpoint_file import CheckpointFile, checkpoints_path, mend_checkpoints
from golden_ledgers.headed import line_of, note_of

ORIGIN, ROOT = "docket.local/unsigned/0123456789ab", "5c" * 32
FOLDER = Path("/runs")
LEDGER = FOLDER / "0123456789ab.jsonl"
NOW = "2026-11-30T12:00:00.000Z"


def note(size: int) -> str:
    return note_of(ORIGIN, size, ROOT)


def content(disk: Disk) -> bytes:
    with disk.folder(FOLDER) as folder, folder.open(checkpoints_path(LEDGER).name) as file:
        return file.read(0, file.size())


@pytest.fixture
def disk() -> FaultyDisk:
    inner = MemoryDisk()
    inner.folder(FOLDER, create=True).close()
    return FaultyDisk(inner)


def test_lines_are_numbered_and_stand_whole(disk: FaultyDisk) -> None:
    file = CheckpointFile(LEDGER, disk=disk)
    assert [file.append(note(size)) for size in (2, 5)] == [1, 2]
    file.drop_last()
    assert file.append(note(7)) == 2
    file.close()
    assert [one.head.size for one in read_checkpoints(content(disk))] == [2, 7]
    with pytest.raises(UnavailableError) as caught:
        CheckpointFile(LEDGER, disk=disk)
    assert caught.value.reason == Reason.ALREADY_EXISTS


@pytest.mark.parametrize("operation", ["append", "sync"])
def test_a_line_that_fails_leaves_no_part_of_it(disk: FaultyDisk, operation: str) -> None:
    file = CheckpointFile(LEDGER, disk=disk)
    file.append(note(2))
    disk.rule = fail(Reason.NO_SPACE, operation, times=1)
    with pytest.raises(UnavailableError):
        file.append(note(3))
    assert content(disk) == line_of(1, note(2))
    assert (file.append(note(4)), file.lines, file.is_given_up) == (2, 2, False)


def test_a_file_that_cannot_be_cut_takes_no_more(disk: FaultyDisk) -> None:
    file = CheckpointFile(LEDGER, disk=disk)
    file.append(note(2))
    disk.rule = stop_at(disk.steps + 1)
    with pytest.raises(UnavailableError):
        file.append(note(3))
    assert file.is_given_up
    disk.rule = never
    with pytest.raises(UnavailableError) as caught:
        file.append(note(4))
    assert caught.value.reason == Reason.WRITE_FAILED


def test_a_full_disk_takes_the_line_that_was_reserved_for(disk: FaultyDisk) -> None:
    file = CheckpointFile(LEDGER, disk=disk)
    file.append(note(2))
    disk.rule = fail(Reason.NO_SPACE, "preallocate", times=1)
    assert file.append(note(3)) == 2


def test_one_that_lacks_its_end_is_put_aside(disk: FaultyDisk) -> None:
    file = CheckpointFile(LEDGER, disk=disk)
    file.append(note(2))
    aside = file.put_aside()
    assert aside.name.startswith(f"{checkpoints_path(LEDGER).name}.displaced-")
    with disk.folder(FOLDER) as folder:
        assert folder.names() == (aside.name,)


def test_after_a_death_a_part_of_a_line_is_put_aside_and_an_end_without_a_key_is_made(disk: FaultyDisk) -> None:
    assert mend_checkpoints(LEDGER, None, NOW, disk) == ()
    whole = line_of(1, note(2))
    with disk.folder(FOLDER) as folder, folder.create(checkpoints_path(LEDGER).name) as file:
        file.append(whole + b'{"format')
    (said,) = mend_checkpoints(LEDGER, None, NOW, disk)
    assert said.endswith(f"{checkpoints_path(LEDGER).name}.torn-20261130T120000000Z")
    assert content(disk) == whole
    for _ in range(2):
        assert mend_checkpoints(LEDGER, note(9), NOW, disk) == ()
        assert content(disk) == whole + line_of(2, note(9))


def test_a_file_that_was_made_and_has_no_line_goes_where_the_ledger_tells_of_none(disk: FaultyDisk) -> None:
    name = checkpoints_path(LEDGER).name
    for begun, gone in ((b"", True), (b'{"format', True), (line_of(1, note(2)), False)):
        with disk.folder(FOLDER) as folder, folder.create(name) as file:
            file.append(begun)
        mend_checkpoints(LEDGER, None, NOW, disk)
        with disk.folder(FOLDER) as folder:
            assert folder.identity(name) is not None  # what the ledger tells of is missed
        mend_checkpoints(LEDGER, None, NOW, disk, told=False)
        with disk.folder(FOLDER) as folder:
            assert (folder.identity(name) is None) is gone


def test_a_death_at_every_step_leaves_lines_that_hold_and_at_most_a_part_behind_them(disk: FaultyDisk) -> None:
    def work(on: Disk) -> None:
        file = CheckpointFile(LEDGER, disk=on)
        for size in (2, 5, 9):
            file.append(note(size))
        file.close()

    counted = FaultyDisk(MemoryDisk())
    counted.inner.folder(FOLDER, create=True).close()
    work(counted)
    assert counted.steps > 8
    whole = b"".join(line_of(number, note(size)) for number, size in enumerate((2, 5, 9), 1))
    for step in range(counted.steps):
        inner = MemoryDisk()
        inner.folder(FOLDER, create=True).close()
        with suppress(DocketError):  # the last step gives back what was reserved, and may fail in silence
            work(FaultyDisk(inner, stop_at(step)))
        with inner.folder(FOLDER) as folder:
            if folder.identity(checkpoints_path(LEDGER).name) is not None:
                assert whole.startswith(content(inner))


def test_a_file_that_is_none_is_told(disk: FaultyDisk) -> None:
    with disk.folder(FOLDER) as folder, folder.create(checkpoints_path(LEDGER).name) as file:
        file.append(b"{}\n")
    (said,) = mend_checkpoints(LEDGER, note(9), NOW, disk)
    assert said.startswith("line 1: ")
