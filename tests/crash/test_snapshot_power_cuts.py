"""A power cut after every step of taking a snapshot, of sharing with an earlier one, and of removing one.

Whatever is left: where a manifest stands, every content it names is there, whole and under its own digest; where none
stands, nothing is restored from; an earlier snapshot loses nothing; and the next snapshot succeeds.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, fail, stop_at
from disks.memory_disk import EVERYTHING_LEFT, NOTHING_LEFT, MemoryDisk, torn
from docket.engines.snapshot import SnapshotTaken
from docket.errors import DocketError, UnavailableError
from docket.formats.reason import Reason
from docket.stores.snapshots import remove_snapshot, snapshot_folders
from docket.stores.statcache import StatCache
from snapshot_lab import SnapshotLab, on

DRAWS = [NOTHING_LEFT, EVERYTHING_LEFT, *(torn(seed) for seed in range(4))]
FIRST, SECOND, THIRD = "000000000001", "000000000002", "000000000003"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree" / "inner"
    folder.mkdir(parents=True)
    for name, data in (("a", b"one"), ("b", b"two" * 100), ("c", b"one"), ("d", b"")):
        (folder / name).write_bytes(data)
    return tmp_path


def change(tree: Path) -> None:
    (tree / "tree" / "inner" / "b").write_bytes(b"changed")


def contents_are_their_digests(disk: MemoryDisk) -> None:
    """Nothing in the pool stands under a digest that is not its own, and every pack there is whole."""
    kept = dict[str, bytes]()
    with suppress(UnavailableError):
        kept = SnapshotLab.pooled_on(disk, Path("/state"))
    for name, data in kept.items():
        assert hashlib.sha256(data).hexdigest() == name.replace("/", "")


def judge(tree: Path, left: MemoryDisk, *, earlier: bool) -> None:
    lab = on(left, tree)
    contents_are_their_digests(left)
    if earlier:
        assert lab.judge(FIRST) == 4
    if lab.is_complete(SECOND):
        assert lab.judge(SECOND) == 4
    assert isinstance(lab.take(THIRD), SnapshotTaken)
    assert lab.judge(THIRD) == 4


@pytest.mark.parametrize("earlier", [False, True], ids=["alone", "sharing"])
def test_a_cut_while_one_is_taken_leaves_a_whole_snapshot_or_none(tree: Path, earlier: bool) -> None:
    def prepared() -> tuple[MemoryDisk, StatCache]:
        disk, cache = MemoryDisk(), StatCache()
        disk.folder(Path("/state"), create=True).close()
        (tree / "tree" / "inner" / "b").write_bytes(b"two" * 100)
        if earlier:
            on(disk, tree, cache).take(FIRST)
            change(tree)
        return disk, cache

    disk, cache = prepared()
    counting = FaultyDisk(disk)
    on(counting, tree, cache).take(SECOND)
    assert counting.steps > 20
    for count in range(counting.steps + 1):
        memory, cache = prepared()
        with suppress(DocketError):
            on(FaultyDisk(memory, stop_at(count)), tree, cache).take(SECOND)
        for draw in DRAWS:
            judge(tree, memory.after_power_cut(draw), earlier=earlier)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [(operation, Reason.NO_SPACE) for operation in ("create", "append", "make", "hold", "move", "claim")]
    + [(operation, Reason.IO_ERROR) for operation in ("sync everything", "sync", "sync folder")],
)  # fmt: skip
def test_each_write_that_fails_ends_it_and_leaves_nothing_of_it(tree: Path, operation: str, reason: Reason) -> None:
    memory = MemoryDisk()
    memory.folder(Path("/state"), create=True).close()
    lab = on(memory, tree)
    lab.take(FIRST)
    change(tree)
    counting = FaultyDisk(memory)
    on(counting, tree).take(SECOND)
    remove_snapshot(lab.state / "snapshots" / SECOND, disk=memory)
    met = sum(step == operation for step, _ in counting.log)
    for after in range(met):
        faulty = FaultyDisk(memory, fail(reason, operation, times=1, after=after))
        with suppress(UnavailableError):
            on(faulty, tree).take(SECOND)
            assert lab.judge(SECOND) == 4
            remove_snapshot(lab.state / "snapshots" / SECOND, disk=memory)
        assert not lab.is_complete(SECOND)
        with memory.folder(lab.state / "snapshots") as snapshots:
            assert snapshots.names() == (FIRST, "contents", "lock")
        assert lab.judge(FIRST) == 4


def test_a_cut_while_one_is_removed_takes_nothing_from_another(tree: Path) -> None:
    def prepared() -> MemoryDisk:
        disk, cache = MemoryDisk(), StatCache()
        disk.folder(Path("/state"), create=True).close()
        for session in (FIRST, SECOND):
            on(disk, tree, cache).take(session)
        return disk

    path = Path("/state/snapshots") / FIRST
    counting = FaultyDisk(prepared())
    remove_snapshot(path, disk=counting)
    for count in range(counting.steps + 1):
        memory = prepared()
        with suppress(UnavailableError):
            remove_snapshot(path, disk=FaultyDisk(memory, stop_at(count)))
        for draw in DRAWS:
            left = memory.after_power_cut(draw)
            lab = on(left, tree)
            contents_are_their_digests(left)
            assert lab.judge(SECOND) == 4
            if lab.is_complete(FIRST):
                assert lab.judge(FIRST) == 4
            folders = snapshot_folders(lab.layout, disk=left, held=lambda _: False)
            for folder in folders:
                if folder.session_id == FIRST:
                    remove_snapshot(folder.path, disk=left)
            assert [item.session_id for item in snapshot_folders(lab.layout, disk=left, held=lambda _: False)] == [
                SECOND
            ]
            assert lab.judge(SECOND) == 4


def test_a_memory_that_is_full_half_way_leaves_no_snapshot(tree: Path) -> None:
    for capacity in range(0, 1500, 50):
        memory = MemoryDisk(capacity)
        memory.folder(Path("/state"), create=True).close()
        lab: SnapshotLab = on(memory, tree)
        with suppress(UnavailableError):
            lab.take(FIRST)
        if lab.is_complete(FIRST):
            assert lab.judge(FIRST) == 4
            continue
        with memory.folder(lab.state / "snapshots") as snapshots:
            assert not {*snapshots.names()} - {"contents", "lock"}
