"""The power fails after each step in which a signed run ends: recovered, it is signed, or it has no end.

What is left is judged by the checks, with the key of the run named. `foresee`, the ledger, the checkpoints and the
publication are of docket itself, on a disk in memory; in what order a run carries them out is tried by killed runs.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import recovery_lab
from disks.faulty_disk import FaultyDisk, stop_at
from disks.memory_disk import EVERYTHING_LEFT, NOTHING_LEFT, MemoryDisk, MemoryLocks, torn
from docket.engines.supervise.checkpoints import RunCheckpoints
from docket.engines.supervise.foresight import foresee
from docket.engines.supervise.session import OpenRun
from docket.errors import DocketError, UnavailableError
from docket.formats.canonical import decode_document
from docket.formats.ledger.tree_events import Phase
from docket.formats.proof.pins import PinnedKey, Pins
from docket.formats.run.verdict import Word
from docket.rules.checks.registry import Beside
from docket.rules.proof.ed25519 import Signer
from docket.rules.proof.vouching import Voucher
from docket.stores.checkpoint_file import CheckpointFile, checkpoints_path
from docket.stores.ledger import LedgerOptions, LedgerWriter
from docket.stores.receipts import Publication, ReceiptReserve, publish
from golden_ledgers import build
from golden_ledgers.headed import SIGNED_ORIGIN
from golden_ledgers.judging import judged
from golden_ledgers.proven import PUBLIC_KEY, SECRET_KEY
from golden_ledgers.remembered import SIGNED_FACTS
from recovery_lab import NUMBER, SESSION, Morning
from sweeps import some

LAYOUT = recovery_lab.ONE_FOLDER
DRAWS = [NOTHING_LEFT, EVERYTHING_LEFT, *(torn(seed) for seed in range(3))]
LAST = (build.exited(), build.added(b"new"), build.snapshot(Phase.AFTER, 3, "22"), build.budget("0.00"))
PINS = Pins(signers=(PinnedKey(public_key=bytes.fromhex(PUBLIC_KEY)),))


def carried_out(disk: Any) -> None:
    """A run from its first event to its receipt."""
    clock, signer = Morning(), Signer.of_seed(SECRET_KEY)
    path = LAYOUT.ledger_path(SESSION)
    options = LedgerOptions(disk=disk, acquire_lock=MemoryLocks().acquire)
    with LedgerWriter.create(path, clock=clock, options=options) as ledger:
        reserve = ReceiptReserve.hold(LAYOUT, NUMBER, disk=disk)
        for payload in (build.start(proof=SIGNED_FACTS), build.policy()):
            ledger.append(payload)
        ledger.flush()
        checkpoints = RunCheckpoints(ledger, SIGNED_ORIGIN, signer, clock)
        checkpoints.begin(lambda: CheckpointFile(path, disk=disk))
        checkpoints.stop()
        for payload in (build.snapshot(Phase.BEFORE, 2), build.spawn(), *LAST):
            ledger.append(payload)
        ledger.flush()
        session = SimpleNamespace(ledger=ledger, reserve=reserve, checkpoints=checkpoints)
        run = SimpleNamespace(session=session, request=SimpleNamespace(voucher=Voucher(signer=signer)))
        ready = foresee(cast("OpenRun", run), [build.end("0.00")])
        if ready is None:  # the disk is gone, and with it the run
            raise UnavailableError("io-error", "nothing could be prepared")
        ledger.append_final([build.end("0.00")], now=ready.ledger.now)
        checkpoints.finish()
    publish(LAYOUT, Publication(docket_number=NUMBER, session_id=SESSION, receipt=ready.data, ledger_path=path,
                                reserve=reserve), disk=disk)  # fmt: skip


def begun() -> MemoryDisk:
    disk = recovery_lab.project(LAYOUT)
    recovery_lab.write(disk, LAYOUT.state / f"runs/{SESSION}.jsonl.lock", b"4242 17\n")
    return disk


@some(4)
def test_the_power_fails_while_a_signed_run_ends(stride: int) -> None:
    counted = FaultyDisk(begun())
    carried_out(counted)
    assert counted.steps > 30
    words: Counter[Word | None] = Counter()
    for count in range(0, counted.steps + 1, stride):
        memory = begun()
        with suppress(DocketError):
            carried_out(FaultyDisk(memory, stop_at(count)))
        for draw in DRAWS:
            words[word_on(memory.after_power_cut(draw))] += 1
    assert set(words) == {None, Word.INCOMPLETE, Word.VERIFIED}, words


def word_on(left: MemoryDisk) -> Word | None:
    """What is said of the run once it is recovered, None where nothing of it was recorded."""
    recovery_lab.recovered(left, LAYOUT)
    receipt = recovery_lab.read(left, LAYOUT.state / f"receipts/{NUMBER}.receipt.json")
    if receipt is None:
        return None
    path = LAYOUT.ledger_path(SESSION)
    document = decode_document(receipt)
    assert isinstance(document, dict)
    beside = Beside(pins=PINS, checkpoints=recovery_lab.read(left, checkpoints_path(path)))
    return judged(document, recovery_lab.read(left, path), beside).word
