"""A project on a disk in memory in which runs were killed, and the ports of a recovery on it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from disks.faulty_disk import FaultyDisk
from disks.memory_disk import MemoryDisk, MemoryFolder, refuse
from docket.engines.recover import RecoverRequest, RecoverWorld, Recovery, recover
from docket.errors import UnavailableError
from docket.formats.ledger.tree_events import Phase
from docket.formats.reason import Reason
from docket.stores.layout import Layout, prepare_state
from golden_ledgers import build

SPLIT = Layout(tree_root=Path("/tree"), state=Path("/state/key"), docket_dir=Path("/tree/.docket"), evidence=())
ONE_FOLDER = Layout(tree_root=Path("/tree"), state=Path("/evidence"), docket_dir=Path("/evidence"), evidence=())
NOW = "2026-10-02T08:00:00.000Z"
TAIL = b'{"data":{"code":"n","mess'
SESSION, NUMBER = "0123456789ab", "DKT-20261001-00C0DE"


class Morning:
    def now(self) -> str:
        return NOW

    def monotonic_ns(self) -> int:
        return 0


class DiskLocks:
    """Locks whose files stand on a disk; who dies leaves the file, and a next life holds none of them."""

    def __init__(self, disk) -> None:
        self.disk = disk
        self.held: set[Path] = set()

    def acquire(self, path: Path) -> DiskLock:
        if path in self.held:
            raise refuse(Reason.LOCKED, path)
        with self.disk.folder(path.parent) as folder, suppress(UnavailableError):
            folder.create(path.name).close()
        self.held.add(path)
        return DiskLock(self, path)


class DiskLock:
    def __init__(self, locks: DiskLocks, path: Path) -> None:
        self.locks, self.path = locks, path

    def release(self) -> None:
        with suppress(UnavailableError), self.locks.disk.folder(self.path.parent) as folder:
            folder.remove(self.path.name)
        self.locks.held.discard(self.path)


def ledger(session: str = SESSION, number: str = NUMBER, *, has_end: bool, notes: int = 0) -> bytes:
    """The bytes of a small run's ledger; `notes` make it last so many seconds longer."""
    made = build.LedgerBuilder()
    made.add(build.start(session_id=session, docket_number=number))
    made.add(build.policy())
    made.add(build.snapshot(Phase.BEFORE, 3))
    made.add(build.spawn())
    for _ in range(notes):
        made.add_raw("note", {"code": "n", "message": "m"})
    if has_end:
        made.add(build.exited())
        made.add(build.snapshot(Phase.AFTER, 3))
        made.add(build.end("0.00"))
    return made.data()


def write(disk, path: Path, data: bytes, *, reserved: int = 0) -> None:
    """Put a file there, durably."""
    with disk.folder(path.parent, create=True) as folder, folder.create(path.name) as file:
        file.append(data)
        file.preallocate(reserved)
        file.sync()
        folder.sync()


def read(disk, path: Path) -> bytes | None:
    """The content of a file, None if nothing stands there."""
    with suppress(UnavailableError), disk.folder(path.parent) as folder, folder.open(path.name) as file:
        return file.read(0, 10**9)
    return None


def names(disk, path: Path) -> tuple[str, ...]:
    """The names in a folder."""
    with suppress(UnavailableError), disk.folder(path) as folder:
        return folder.names()
    return ()


def project(layout: Layout) -> MemoryDisk:
    """A project in which nothing has run."""
    disk = MemoryDisk()
    disk.folder(layout.tree_root, create=True)
    prepare_state(layout, disk=disk)
    return disk


def plant_dead(disk, layout: Layout, data: bytes, session: str = SESSION, number: str | None = NUMBER) -> None:
    """Put there what a run leaves that was killed while its agent ran."""
    write(disk, layout.ledger_path(session), data, reserved=len(data) + 5000)
    write(disk, layout.state / f"runs/{session}.jsonl.lock", b"4242 17\n")
    write(disk, layout.state / f"live/{session}/settings.json", b"{}")
    if number is not None:
        reserve = layout.state / f"receipts/.{number}.receipt.json.{'0a' * 8}.tmp"
        write(disk, reserve, b"", reserved=1_000_000)


def world(disk, locks: DiskLocks | None = None) -> RecoverWorld:
    """The ports on a disk, or on a faulty one around it."""
    locks = locks or DiskLocks(disk)

    def remove_live_folder(path: Path) -> bool:
        if isinstance(disk, FaultyDisk):
            disk.step("remove all of", path.name)
        memory = disk.inner if isinstance(disk, FaultyDisk) else disk
        folder = memory.folder(path.parent)
        assert isinstance(folder, MemoryFolder)
        folder._change({name: node for name, node in folder.node.entries.items() if name != path.name})
        return True

    return RecoverWorld(
        clock=Morning(),
        disk=disk,
        acquire_run=locks.acquire,
        acquire_recovery=locks.acquire,
        is_held=lambda path: path in locks.held,
        remove_live_folder=remove_live_folder,
    )


def recovered(disk, layout: Layout, locks: DiskLocks | None = None, **asked) -> Recovery:
    """Carry out a recovery."""
    return recover(RecoverRequest(layout=layout, **asked), world(disk, locks))


def leavings(disk, layout: Layout) -> list[str]:
    """Names of locks, live folders and temporary files in the project's folders."""
    places = {root / place for root in (layout.state, layout.docket_dir) for place in ("", "runs", "receipts")}
    found = [name for place in places for name in names(disk, place) if name.endswith((".lock", ".tmp"))]
    return sorted([*found, *names(disk, layout.state / "live")])
