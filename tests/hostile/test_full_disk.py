"""A disk that really is full: a tiny file system where one can be mounted, and the limit of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from docket.formats.ledger.session_events import EvidenceGap, Note
from docket.formats.reason import Reason
from docket.host.clock import SystemClock
from docket.stores.layout import Layout, prepare_state
from docket.stores.ledger import LedgerWriter, read_ledger
from docket.stores.receipts import Publication, ReceiptReserve, publish

NUMBER, SESSION = "DKT-20260131-0A1B2C", "0123456789ab"


@pytest.fixture
def small(tmp_path):
    """A file system of three megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "docket-test", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path) -> None:
    with (place / "ballast").open("wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(b"x" * 65_536)
        except OSError:
            pass
        try:
            while True:
                ballast.write(b"x")
        except OSError:
            pass
    free = os.statvfs(place)
    assert free.f_bavail == 0


def test_the_end_and_the_receipt_fit_on_a_disk_the_agent_filled(small, tmp_path):
    (tmp_path / "tree").mkdir()
    layout = Layout(
        tree_root=tmp_path / "tree", state=small / "state", docket_dir=tmp_path / "tree" / ".docket", evidence=()
    )
    prepare_state(layout)
    reserve = ReceiptReserve.hold(layout, NUMBER, size_bytes=256 * 1024)
    path = layout.ledger_path(SESSION)
    with LedgerWriter.create(path, clock=SystemClock()) as writer:
        writer.append(Note(code="n", message="before")).durable.result()
        fill(small)
        taken = 0
        while (error := writer.append(Note(code="n", message="x" * 5_000)).durable.exception()) is None:
            taken += 1
        assert error.reason == Reason.NO_SPACE
        assert writer.failure is error
        gap = EvidenceGap(first_failing_seq=writer.failed_seq, unwritten_events=writer.lost_events, detail=error.detail)
        final = writer.append_final([gap, *(Note(code="end", message="x" * 10_000) for _ in range(20))])
        assert writer.recheck().first_difference is None
    assert [event.seq for event in read_ledger(path)] == list(range(taken + 22))
    assert final[-1].seq == taken + 21
    receipt = b"r" * 200_000
    done = publish(
        layout,
        Publication(docket_number=NUMBER, session_id=SESSION, receipt=receipt, ledger_path=path, reserve=reserve),
    )
    assert done.state_receipt_path.read_bytes() == receipt
    assert [problem.reason for problem in done.problems if problem.reason != Reason.NO_SPACE] == []


def test_a_full_docket_folder_leaves_the_receipt_in_the_state_folder(small, tmp_path):
    layout = Layout(tree_root=small, state=tmp_path / "state", docket_dir=small / ".docket", evidence=())
    prepare_state(layout)
    path = layout.ledger_path(SESSION)
    with LedgerWriter.create(path, clock=SystemClock()) as writer:
        for _ in range(20):
            writer.append(Note(code="n", message="x" * 10_000))
    fill(small)
    done = publish(
        layout, Publication(docket_number=NUMBER, session_id=SESSION, receipt=b"r" * 10_000, ledger_path=path)
    )
    assert {problem.reason for problem in done.problems} == {Reason.NO_SPACE}
    assert done.receipt_path == done.state_receipt_path
    assert done.receipt_path.read_bytes() == b"r" * 10_000
    assert done.ledger_path == path
    (small / "ballast").unlink()
    again = publish(
        layout, Publication(docket_number=NUMBER, session_id=SESSION, receipt=b"r" * 10_000, ledger_path=path)
    )
    assert again.problems == ()
    assert again.ledger_path.read_bytes() == path.read_bytes()
    leftovers = [item.name for item in (small / ".docket").rglob(".*") if item.name != ".gitignore"]
    assert leftovers == []


def test_a_read_only_docket_folder(small, tmp_path):
    layout = Layout(tree_root=small, state=tmp_path / "state", docket_dir=small / ".docket", evidence=())
    prepare_state(layout)
    path = layout.ledger_path(SESSION)
    LedgerWriter.create(path, clock=SystemClock()).close()
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    done = publish(layout, Publication(docket_number=NUMBER, session_id=SESSION, receipt=b"{}", ledger_path=path))
    assert [problem.reason for problem in done.problems] == [Reason.READ_ONLY]
    assert done.receipt_path == done.state_receipt_path


LIMITED = """
import json, pathlib, resource, sys
from docket.formats.ledger.session_events import Note
from docket.host.clock import SystemClock
from docket.stores.ledger import LedgerWriter

resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
path = pathlib.Path(sys.argv[1])
with LedgerWriter.create(path, clock=SystemClock()) as writer:
    taken = 0
    while (error := writer.append(Note(code="n", message="x" * 1_000)).durable.exception()) is None:
        taken += 1
    last = writer.append_final([Note(code="end", message="short")])
    print(json.dumps({"taken": taken, "reason": error.reason, "last": last[0].seq}))
"""


def test_the_limit_of_a_process(tmp_path):
    path = tmp_path / "runs" / "s.jsonl"
    done = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["reason"] == Reason.FILE_SIZE_LIMIT
    assert told["last"] == told["taken"]
    assert [event.seq for event in read_ledger(path)] == list(range(told["taken"] + 1))
