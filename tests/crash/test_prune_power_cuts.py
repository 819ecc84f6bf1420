"""A power cut, a full disk and a kill at every step of pruning: no snapshot that stays loses a content."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, fail, stop_at
from disks.memory_disk import EVERYTHING_LEFT, NOTHING_LEFT, MemoryDisk, torn
from docket.engines.prune import Pruned, PruneRequest, PruneWorld, prune_restores, prune_snapshots
from docket.engines.snapshot import SnapshotTaken
from docket.errors import DocketError
from docket.formats.reason import Reason
from docket.host.disk import Disk
from docket.host.locks import FileLock
from docket.rules.tree.pruning import KeepRule
from docket.stores.snapshots import open_snapshot, snapshot_path
from snapshot_lab import SnapshotLab, on

DRAWS = [NOTHING_LEFT, EVERYTHING_LEFT, *(torn(seed) for seed in range(3))]
FIRST, SECOND, THIRD = "000000000001", "000000000002", "000000000003"
LARGE = bytes(300_000)


def prune(lab: SnapshotLab, disk: Disk | None = None, *, keep: int = 1, dry_run: bool = False) -> Pruned:
    request = PruneRequest(layout=lab.layout, rule=KeepRule(keep_last=keep), now_ns=time.time_ns(), dry_run=dry_run)
    return prune_snapshots(request, PruneWorld(disk=disk or lab.disk, held=lambda _: False, wait_seconds=0))


def two_taken(tmp_path: Path) -> MemoryDisk:
    """A pool of which the second snapshot needs a part: of a pack, and of the files."""
    tree, memory = tmp_path / "tree", MemoryDisk()
    tree.mkdir(exist_ok=True)
    memory.folder(Path("/state"), create=True).close()
    for name, data in (("goes", b"g" * 3000), ("stays", b"s"), ("large", LARGE)):
        (tree / name).write_bytes(data)
    assert isinstance(on(memory, tmp_path).take(FIRST), SnapshotTaken)
    (tree / "goes").unlink()
    (tree / "large").write_bytes(LARGE[1:])
    assert isinstance(on(memory, tmp_path).take(SECOND), SnapshotTaken)
    return memory


def judge(tmp_path: Path, left: MemoryDisk) -> None:
    lab = on(left, tmp_path)
    assert lab.judge(SECOND) == 2
    if lab.is_complete(FIRST):
        assert lab.judge(FIRST) == 3
    prune(lab)
    assert not lab.is_complete(FIRST)
    assert lab.judge(SECOND) == 2
    assert sorted(map(len, lab.pooled().values())) == [1, len(LARGE) - 1]
    assert isinstance(on(left, tmp_path).take(THIRD), SnapshotTaken)
    assert lab.judge(THIRD) == 2


def test_a_cut_at_any_step_loses_nothing_and_the_next_prune_finishes(tmp_path: Path) -> None:
    counting = FaultyDisk(two_taken(tmp_path))
    prune(on(counting, tmp_path))
    assert counting.steps > 10
    for count in range(counting.steps + 1):
        memory = two_taken(tmp_path)
        with suppress(DocketError):
            prune(on(memory, tmp_path), FaultyDisk(memory, stop_at(count)))
        for draw in DRAWS:
            judge(tmp_path, memory.after_power_cut(draw))


@pytest.mark.parametrize("reason", [Reason.NO_SPACE, Reason.IO_ERROR], ids=str)
@pytest.mark.parametrize("operation", ["create", "append", "sync", "claim", "remove", "remove folder", "sync folder"])
def test_each_step_that_fails_is_told_and_loses_nothing(tmp_path: Path, operation: str, reason: Reason) -> None:
    counting = FaultyDisk(two_taken(tmp_path))
    prune(on(counting, tmp_path))
    for after in range(sum(step == operation for step, _ in counting.log)):
        memory = two_taken(tmp_path)
        done = prune(on(memory, tmp_path), FaultyDisk(memory, fail(reason, operation, times=1, after=after)))
        assert done.problems
        judge(tmp_path, memory)


def test_a_dry_run_says_what_a_real_one_frees(tmp_path: Path) -> None:
    memory = two_taken(tmp_path)
    said, before = prune(on(memory, tmp_path), dry_run=True), memory.used_bytes()
    assert memory.used_bytes() == before
    done = prune(on(memory, tmp_path))
    assert said.removed == done.removed == [FIRST]
    assert said.freed_bytes == done.freed_bytes == before - memory.used_bytes()


def test_a_manifest_that_cannot_be_read_stops_the_sweep(tmp_path: Path) -> None:
    lab = on(two_taken(tmp_path), tmp_path)
    copied = lab.disk.folder(lab.state / "snapshots" / "copied", create=True)
    with copied, copied.create("manifest.json") as file:
        file.append(b"{")
    kept = lab.pooled()
    done = prune(lab)
    assert "copied/manifest.json cannot be read" in done.problems[0]
    assert lab.pooled() == kept


def test_while_a_snapshot_is_read_its_contents_stay(tmp_path: Path) -> None:
    lab = on(two_taken(tmp_path), tmp_path)
    snapshot = open_snapshot(snapshot_path(lab.layout, FIRST), disk=lab.disk)
    done = prune(lab)
    assert done.postponed
    assert not lab.is_complete(FIRST)
    assert [lost for _, lost in snapshot.damaged()] == [False] * 3
    snapshot.close()
    assert not prune(lab).postponed
    assert lab.judge(SECOND) == len(lab.pooled()) == 2


def test_a_folder_that_a_person_deletes_takes_nothing_and_is_swept(tmp_path: Path) -> None:
    lab = SnapshotLab(tmp_path)
    (lab.tree / "a").write_bytes(b"a")
    lab.take(FIRST)
    (lab.tree / "a").write_bytes(b"b")
    lab.take(SECOND)
    subprocess.run(["rm", "-r", lab.state / "snapshots" / FIRST], check=True)
    assert lab.judge(SECOND) == 1
    assert prune(lab, keep=9).freed_bytes > 0
    assert lab.judge(SECOND) == 1
    assert list(lab.pooled().values()) == [b"b"]


def test_what_restores_displaced_goes_by_age_alone_and_not_while_one_is_done(tmp_path: Path) -> None:
    lab = SnapshotLab(tmp_path)
    for name, kept in (("finished", "record.json"), ("cutshort", "blobs/aa")):
        place = lab.state / "restores" / name / kept
        place.parent.mkdir(parents=True)
        place.write_bytes(b"12345")

    def aged(**rule: int) -> Pruned:
        later_ns = time.time_ns() + 10 * 86_400 * 10**9
        request = PruneRequest(layout=lab.layout, rule=KeepRule(**rule), now_ns=later_ns)
        return prune_restores(request, PruneWorld(wait_seconds=0))

    for rule in ({}, {"keep_last": 0}, {"max_bytes": 0}, {"keep_days": 11}):
        assert aged(**rule).removed == []
    with FileLock.acquire(lab.state / "restore.lock"):
        assert "restore.lock is held" in aged(keep_days=9).problems[0]
    done = aged(keep_days=9)
    assert (sorted(done.removed), done.freed_bytes) == (["cutshort", "finished"], 10)
    assert list((lab.state / "restores").iterdir()) == []


CHILD = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[1].split(":")
from test_prune_power_cuts import prune
from snapshot_lab import SnapshotLab
lab = SnapshotLab(Path(sys.argv[2]))
for number in range(int(sys.argv[4])):
    prune(lab, keep=2) if sys.argv[3] == "prune" else lab.take(f"{sys.argv[3]}{number:08x}")
"""


def start(root: Path, work: str, times: int) -> subprocess.Popen[bytes]:
    here = Path(__file__).parent
    words = [sys.executable, "-c", CHILD, f"{here}:{here.parent}", str(root), work, str(times)]
    return subprocess.Popen(words, stderr=subprocess.PIPE)


def complete(lab: SnapshotLab) -> list[str]:
    return [path.parent.name for path in (lab.state / "snapshots").glob("*/manifest.json")]


def test_takers_and_prunes_at_once_and_killed_leave_whole_snapshots(tmp_path: Path) -> None:
    lab = SnapshotLab(tmp_path)
    for number in range(60):
        (lab.tree / f"f{number}").write_bytes(b"%d" % number * 500)
    (lab.tree / "large").write_bytes(LARGE)
    for kill_after in (None, 0.6, 0.9, 1.2):
        working = [start(tmp_path, work, 12) for work in (f"a{kill_after or 0:.1f}".replace(".", "")[:4].ljust(4, "0"),
                                                          f"b{kill_after or 0:.1f}".replace(".", "")[:4].ljust(4, "0"),
                                                          "prune", "prune")]  # fmt: skip
        for number in range(20):
            (lab.tree / f"f{number}").write_bytes(b"%d" % number * (600 + number))
        if kill_after is not None:
            time.sleep(kill_after)
            for process in working:
                process.kill()
        for process in working:
            _, said = process.communicate(timeout=60)
            assert kill_after is not None or process.returncode == 0, said.decode()
        for session in complete(lab):
            assert lab.judge(session) == 61
    lab.take(FIRST)
    prune(lab)
    assert complete(lab) == [FIRST]
    assert lab.judge(FIRST) == 61
    assert len(lab.pooled()) == 61
