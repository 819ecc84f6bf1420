"""A power cut after every step of a ledger's life, of a quarantine and of a publication.

The disk is the fake that forgets what was not synced: of what no sync covered, nothing, everything, or a torn part
is left. After each, the ledger is a valid prefix that lacks nothing whose `durable` was resolved.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, stop_at
from disks.memory_disk import EVERYTHING_LEFT, NOTHING_LEFT, MemoryDisk, MemoryLocks, torn
from docket.errors import UnavailableError
from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import TornTail
from docket.formats.ledger.session_events import Note
from docket.formats.reason import Reason
from docket.stores.layout import Layout, prepare_state
from docket.stores.ledger import LedgerOptions, LedgerWriter, quarantine_torn_tail, read_ledger
from docket.stores.receipts import Publication, ReceiptReserve, find_receipt, ledger_beside, publish

LEDGER = Path("/state/key/runs/0123456789ab.jsonl")
NOW = "2026-01-31T12:00:00.000Z"
DRAWS = [NOTHING_LEFT, EVERYTHING_LEFT, *(torn(seed) for seed in range(6))]


class Noon:
    def now(self) -> str:
        return NOW

    def monotonic_ns(self) -> int:
        return 0


def options(disk) -> LedgerOptions:
    return LedgerOptions(disk=disk, acquire_lock=MemoryLocks().acquire)


def note(text: str) -> Note:
    return Note(code="n", message=text)


def read(disk: MemoryDisk, path: Path) -> bytes | None:
    try:
        with disk.folder(path.parent) as folder, folder.open(path.name) as file:
            return file.read(0, 10**9)
    except UnavailableError as error:
        if error.reason != Reason.NOT_FOUND:
            raise
        return None


def names(disk: MemoryDisk, path: Path) -> tuple[str, ...]:
    try:
        return disk.folder(path).names()
    except UnavailableError:
        return ()


def write_a_ledger(disk, durable: list[Event]) -> None:
    """One run's ledger: appends one by one and together, a final batch; what was told durable is noted."""
    with LedgerWriter.create(LEDGER, clock=Noon(), options=options(disk)) as writer:
        durable.extend(writer.append(note(f"single {number}")).durable.result() for number in range(3))
        together = [writer.append(note(f"together {number} {'é' * number}")) for number in range(6)]
        durable.extend(item.durable.result() for item in together)
        durable.extend(writer.append_final([note("last"), note("very last")]))


def steps_of(work: Callable[[FaultyDisk], None], prepare: Callable[[MemoryDisk], None]) -> int:
    memory = MemoryDisk()
    prepare(memory)
    disk = FaultyDisk(memory)
    work(disk)
    return disk.steps


def test_a_ledger():
    def nothing(_disk: MemoryDisk) -> None:
        pass

    total = steps_of(lambda disk: write_a_ledger(disk, []), nothing)
    assert total > 12
    # Batches may fall otherwise in each run; a few steps more than were counted once are tried too.
    for count in range(total + 6):
        memory, durable = MemoryDisk(), []
        with suppress(UnavailableError):
            write_a_ledger(FaultyDisk(memory, stop_at(count)), durable)
        for draw in DRAWS:
            left = memory.after_power_cut(draw)
            if read(left, LEDGER) is None:
                assert durable == []
                continue
            items = list(read_ledger(LEDGER, disk=left))
            events = [item for item in items if isinstance(item, Event)]
            assert events[: len(durable)] == durable
            go_on(left, len(events), torn=any(isinstance(item, TornTail) for item in items))


def go_on(left: MemoryDisk, count: int, *, torn: bool) -> None:
    aside = quarantine_torn_tail(LEDGER, NOW, disk=left, acquire_lock=MemoryLocks().acquire)
    assert (aside is not None) is torn
    with LedgerWriter.resume(LEDGER, clock=Noon(), options=options(left)) as writer:
        assert writer.append(note("recovered")).durable.result().seq == count


def test_a_batch_that_failed_does_not_come_back():
    """The disk refuses one sync, the writer cuts the batch off and goes on to its end; then the power fails."""
    for refused in range(1, 4):
        memory, durable = MemoryDisk(), []
        syncs = [0]

        def one_sync_fails(_step, operation, name, refused=refused, syncs=syncs):
            if operation == "sync" and name.endswith(".jsonl"):
                syncs[0] += 1
                return Reason.IO_ERROR if syncs[0] == refused else None
            return None

        with LedgerWriter.create(LEDGER, clock=Noon(), options=options(FaultyDisk(memory, one_sync_fails))) as writer:
            for number in range(5):
                item = writer.append(note(f"n {number}"))
                if item.durable.exception() is None:
                    durable.append(item.durable.result())
                for draw in DRAWS:
                    assert list(read_ledger(LEDGER, disk=memory.after_power_cut(draw))) == durable
            durable.extend(writer.append_final([note("end")]))
        for draw in DRAWS:
            items = list(read_ledger(LEDGER, disk=memory.after_power_cut(draw)))
            assert items == durable
            assert [item.data["message"] for item in items] == [f"n {n}" for n in range(refused - 1)] + ["end"]


# Quarantine

TAIL = b'{"data":{"code":"n","mess'


def plant_torn(disk: MemoryDisk) -> bytes:
    with LedgerWriter.create(LEDGER, clock=Noon(), options=options(disk)) as writer:
        writer.append(note("whole"))
    with disk.folder(LEDGER.parent) as folder, folder.open(LEDGER.name, writable=True) as file:
        file.append(TAIL)
        file.sync()
    return read(disk, LEDGER)


def put_aside(disk) -> None:
    quarantine_torn_tail(LEDGER, NOW, disk=disk, acquire_lock=MemoryLocks().acquire)


def test_a_quarantine():
    total = steps_of(put_aside, plant_torn)
    assert total == 7
    for count in range(total + 1):
        memory = MemoryDisk()
        before = plant_torn(memory)
        with suppress(UnavailableError):
            put_aside(FaultyDisk(memory, stop_at(count)))
        for draw in DRAWS:
            left = memory.after_power_cut(draw)
            kept = read(left, LEDGER)
            asides = [read(left, LEDGER.parent / name) for name in names(left, LEDGER.parent) if ".torn-" in name]
            whole = [aside for name, aside in zip(names(left, LEDGER.parent), asides, strict=False) if name[0] != "."]
            # the bytes stand in the ledger, or they stand beside it
            assert kept == before or (before == kept + TAIL and TAIL in asides)
            assert whole in ([], [TAIL])
            put_aside(left)
            assert not any(isinstance(item, TornTail) for item in read_ledger(LEDGER, disk=left))
            assert TAIL in [
                read(left, LEDGER.parent / name)
                for name in names(left, LEDGER.parent)
                if name[0] != "." and "torn" in name
            ]


# Publication

LAYOUT = Layout(tree_root=Path("/tree"), state=Path("/state/key"), docket_dir=Path("/tree/.docket"), evidence=())
ONE_FOLDER = Layout(tree_root=Path("/tree"), state=Path("/state/key"), docket_dir=Path("/state/key"), evidence=())
OLD, NEW = "DKT-20260130-AAAAAA", "DKT-20260131-BBBBBB"
RECEIPTS = {OLD: b'{"old":1}\n' * 3, NEW: b'{"new":1}\n' * 40}


def prepared(layout: Layout) -> Callable[[MemoryDisk], None]:
    def prepare(disk: MemoryDisk) -> None:
        disk.folder(Path("/tree"), create=True)
        prepare_state(layout, disk=disk)
        for number, session in ((OLD, "000000000000"), (NEW, "0123456789ab")):
            with LedgerWriter.create(layout.ledger_path(session), clock=Noon(), options=options(disk)) as writer:
                writer.append(note(session))
            if number == OLD:
                publish_one(disk, layout, number, session)

    return prepare


def publish_one(disk, layout: Layout, number: str, session: str, *, reserve: bool = False) -> None:
    held = ReceiptReserve.hold(layout, number, disk=disk) if reserve else None
    publish(
        layout,
        Publication(
            docket_number=number, session_id=session, receipt=RECEIPTS[number],
            ledger_path=layout.ledger_path(session), reserve=held,
        ),
        disk=disk,
    )  # fmt: skip


@pytest.mark.parametrize("reserve", [False, True])
@pytest.mark.parametrize("layout", [LAYOUT, ONE_FOLDER], ids=["split", "one folder"])
def test_a_publication(layout, reserve):
    prepare = prepared(layout)

    def work(disk) -> None:
        publish_one(disk, layout, NEW, "0123456789ab", reserve=reserve)

    total = steps_of(work, prepare)
    for count in range(total + 1):
        memory = MemoryDisk()
        prepare(memory)
        with suppress(UnavailableError):
            work(FaultyDisk(memory, stop_at(count)))
        for draw in DRAWS:
            left = memory.after_power_cut(draw)
            judge(left, layout)
            publish_one(left, layout, NEW, "0123456789ab")
            assert find_receipt(layout, None, disk=left).name == f"{NEW}.receipt.json"
            receipt = find_receipt(layout, None, disk=left)
            assert read(left, receipt) == RECEIPTS[NEW]
            ledger = ledger_beside(receipt, "0123456789ab", disk=left)
            assert ledger is not None
            assert read(left, ledger) == read(memory, layout.ledger_path("0123456789ab"))
            judge(left, layout)


def judge(left: MemoryDisk, layout: Layout) -> None:
    """Every file under a name of its own is whole, and what a pointer names is there."""
    assert len(list(read_ledger(layout.ledger_path("0123456789ab"), disk=left))) == 1
    for folder in {layout.state, layout.docket_dir}:
        for name in names(left, folder / "receipts"):
            if not name.startswith("."):
                assert read(left, folder / "receipts" / name) == RECEIPTS[name.removesuffix(".receipt.json")]
        for name in names(left, folder / "runs"):
            if not name.startswith("."):
                assert [item.data["message"] for item in read_ledger(folder / "runs" / name, disk=left)] == [name[:12]]
        pointer = read(left, folder / "latest")
        assert pointer is None or read(left, folder / "receipts" / f"{pointer.decode().strip()}.receipt.json")
    assert read(left, find_receipt(layout, None, disk=left)) in RECEIPTS.values()
    assert read(left, find_receipt(layout, OLD, disk=left)) == RECEIPTS[OLD]
    latest = read(left, layout.docket_dir / "latest.receipt.json")
    assert latest is None or latest in RECEIPTS.values()
    if read(left, layout.docket_dir / "latest") == f"{NEW}\n".encode():
        assert latest == RECEIPTS[NEW]
