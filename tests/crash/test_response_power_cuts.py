"""A power cut after every step of keeping responses, and of putting them where a person looks.

Whatever is left: a body that an event of the ledger names is whole, and settling leaves nothing that none names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from disks.faulty_disk import FaultyDisk, stop_at
from disks.memory_disk import EVERYTHING_LEFT, NOTHING_LEFT, MemoryDisk, MemoryLocks, torn
from docket.errors import DocketError, UnavailableError
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelResponse
from docket.formats.run.usage import Usage
from docket.stores.layout import Layout, prepare_state
from docket.stores.ledger import LedgerOptions, LedgerWriter, read_ledger
from docket.stores.responses import KeptResponse, ResponseFolder, ResponseLimits, publish_responses
from golden_ledgers.build import component, response

SESSION = "0123456789ab"
LAYOUT = Layout(tree_root=Path("/tree"), state=Path("/state/key"), docket_dir=Path("/tree/.docket"), evidence=())
ONE_FOLDER = Layout(tree_root=Path("/tree"), state=Path("/evidence"), docket_dir=Path("/evidence"), evidence=())
BODIES = [b"one", b"two" * 100, b"one", b"three"]
DRAWS = [NOTHING_LEFT, EVERYTHING_LEFT, *(torn(seed) for seed in range(4))]
NOW = "2026-01-31T12:00:00.000Z"


class Noon:
    def now(self) -> str:
        return NOW

    def monotonic_ns(self) -> int:
        return 0


def answer(call: int, body: bytes, kept: KeptResponse) -> ModelResponse:
    plain = response(
        call,
        "openai",
        "gpt-5",
        usage=Usage(),
        components=(component("gpt-5", 0, 0, 0, "0.00"),),
        cost="0.00",
        cumulative="0.00",
        response_bytes=len(body),
    )
    return replace(
        plain, response_retained=True, response_path=kept.path, response_stored_sha256=kept.sha256,
        response_stored_bytes=kept.size_bytes, response_truncated=False,
    )  # fmt: skip


def prepared(layout: Layout) -> MemoryDisk:
    disk = MemoryDisk()
    disk.folder(layout.tree_root, create=True).close()
    prepare_state(layout, disk=disk)
    return disk


def keep_all(layout: Layout, disk: FaultyDisk | MemoryDisk) -> None:
    """Answer a few calls and keep the bodies, each event waited for."""
    options = LedgerOptions(disk=disk, acquire_lock=MemoryLocks().acquire)
    limits = ResponseLimits(total_max_bytes=10_000, min_free_bytes=0)
    folder = ResponseFolder(layout, SESSION, limits, disk=disk, free=lambda _: 1_000_000)
    with LedgerWriter.create(layout.ledger_path(SESSION), clock=Noon(), options=options) as writer:
        for number, body in enumerate(BODIES):
            kept = folder.keep(body)
            if not isinstance(kept, KeptResponse):
                break
            writer.append(answer(number + 1, body, kept), first=kept.sync).durable.result()
    folder.close()


def named(layout: Layout, disk: MemoryDisk) -> Iterator[tuple[str, str]]:
    with suppress(UnavailableError):
        for item in read_ledger(layout.ledger_path(SESSION), disk=disk):
            if isinstance(item, Event):
                yield item.data["response_path"], item.data["response_stored_sha256"]


def read(disk: MemoryDisk, path: Path) -> bytes:
    with disk.folder(path.parent) as folder, folder.open(path.name) as file:
        return file.read(0, 10**9)


def names(disk: MemoryDisk, path: Path) -> tuple[str, ...]:
    try:
        return disk.folder(path).names()
    except UnavailableError:
        return ()


def judge(layout: Layout, disk: MemoryDisk, root: Path) -> set[str]:
    found = set()
    for path, digest in named(layout, disk):
        assert hashlib.sha256(read(disk, root / path)).hexdigest() == digest
        found.add(path.rpartition("/")[2])
    return found


def test_what_an_event_names_is_whole_whenever_the_power_goes() -> None:
    counting = FaultyDisk(prepared(LAYOUT))
    keep_all(LAYOUT, counting)
    assert counting.steps > 20
    for count in range(counting.steps + 1):
        memory = prepared(LAYOUT)
        with suppress(DocketError):
            keep_all(LAYOUT, FaultyDisk(memory, stop_at(count)))
        for draw in DRAWS:
            left = memory.after_power_cut(draw)
            kept = judge(LAYOUT, left, LAYOUT.state)
            with suppress(UnavailableError):  # the ledger's own file may not have come to stand
                publish_responses(LAYOUT, SESSION, disk=left)
                assert set(names(left, LAYOUT.state / "responses" / SESSION)) == kept
                assert judge(LAYOUT, left, LAYOUT.docket_dir) == kept


def test_settling_is_killed_and_done_again() -> None:
    for layout in (LAYOUT, ONE_FOLDER):

        def run(layout: Layout = layout) -> MemoryDisk:
            memory = prepared(layout)
            keep_all(layout, memory)
            with memory.folder(layout.state / "responses" / SESSION) as folder:
                for name in ("ab" * 32 + ".bin", f".{'cd' * 32}.bin.{'0' * 16}.tmp", "a note of a person's"):
                    with folder.create(name) as file:
                        file.append(b"x")
                        file.sync()
                folder.sync()
            return memory

        counting = FaultyDisk(run())
        publish_responses(layout, SESSION, disk=counting)
        for count in range(counting.steps + 1):
            memory = run()
            with suppress(UnavailableError):
                publish_responses(layout, SESSION, disk=FaultyDisk(memory, stop_at(count)))
            for draw in DRAWS:
                left = memory.after_power_cut(draw)
                publish_responses(layout, SESSION, disk=left)
                kept = judge(layout, left, layout.docket_dir)
                assert len(kept) == 3
                assert set(names(left, layout.state / "responses" / SESSION)) == {*kept, "a note of a person's"}
                if layout.is_split:
                    assert set(names(left, layout.docket_dir / "responses" / SESSION)) == kept
