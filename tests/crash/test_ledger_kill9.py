"""A writer killed with SIGKILL: the reader sees every event that the writer had told of."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import TornTail
from docket.formats.ledger.session_events import Note
from docket.host.clock import SystemClock
from docket.stores.ledger import LedgerWriter, quarantine_torn_tail, read_ledger

# Eight threads append for ever; each tells an event's number and hash once the stage asked for is reached.
WRITER = """
import pathlib, sys, threading
from docket.formats.ledger.session_events import Note
from docket.host.clock import SystemClock
from docket.stores.ledger import LedgerWriter

path, stage = pathlib.Path(sys.argv[1]), sys.argv[2]
writer = LedgerWriter.create(path, clock=SystemClock())
lock = threading.Lock()

def work(number):
    place = 0
    while True:
        item = writer.append(Note(code="kill", message=f"{number}/{place}" + "x" * 500))
        event = getattr(item, stage).result()
        with lock:
            sys.stdout.write(f"{event.seq} {event.hash}\\n")
            sys.stdout.flush()
        place += 1

for number in range(8):
    threading.Thread(target=work, args=(number,), daemon=True).start()
threading.Event().wait()
"""


@pytest.mark.parametrize("stage", ["written", "durable"])
@pytest.mark.parametrize("told", [1, 40, 400])
def test_nothing_that_was_told_is_missing(tmp_path, stage, told):
    path = tmp_path / "runs" / "s.jsonl"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path), stage], stdout=subprocess.PIPE, text=True) as child:
        lines = [child.stdout.readline() for _ in range(told)]
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
        assert child.wait() == -signal.SIGKILL
    items = list(read_ledger(path))
    events = {item.seq: item.hash for item in items if isinstance(item, Event)}
    whole = [line.split() for line in lines if line.endswith("\n")]
    assert len(whole) >= told
    assert all(events[int(seq)] == digest for seq, digest in whole)
    go_on(path, len(events), torn=any(isinstance(item, TornTail) for item in items))


def go_on(path: Path, count: int, *, torn: bool) -> None:
    """The dead writer's lock is free, its reserve is no part of the file, and the ledger can be continued."""
    assert (quarantine_torn_tail(path, SystemClock().now()) is not None) is torn
    assert not path.read_bytes().endswith(b"\0")
    with LedgerWriter.resume(path, clock=SystemClock()) as writer:
        assert writer.append(Note(code="recovered", message="x")).durable.result().seq == count
    assert path.stat().st_blocks * 512 < path.stat().st_size + 16_384
