"""Publishing receipts and finding them again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, fail
from disks.memory_disk import MemoryDisk, MemoryLocks
from docket.errors import UnavailableError
from docket.formats.ledger.session_events import Note
from docket.formats.reason import Reason
from docket.stores.layout import Layout, prepare_state, resolve_layout
from docket.stores.ledger import LedgerOptions, LedgerWriter
from docket.stores.receipts import Publication, ReceiptReserve, find_receipt, ledger_beside, publish

NUMBER, SESSION = "DKT-20260131-0A1B2C", "0123456789ab"
RECEIPT = b'{\n  "format": "docket/receipt/v1"\n}\n'


class Noon:
    def now(self) -> str:
        return "2026-01-31T12:00:00.000Z"

    def monotonic_ns(self) -> int:
        return 0


def refusal(work, *arguments, **options):
    with pytest.raises(UnavailableError) as caught:
        work(*arguments, **options)
    return caught.value


def recorded(layout: Layout, session: str = SESSION, options: LedgerOptions | None = None) -> Path:
    path = layout.ledger_path(session)
    with LedgerWriter.create(path, clock=Noon(), options=options) as writer:
        writer.append(Note(code="n", message=session))
    return path


def publication(layout: Layout, number: str = NUMBER, **changes) -> Publication:
    members = {"docket_number": number, "session_id": SESSION, "receipt": RECEIPT,
               "ledger_path": layout.ledger_path(SESSION)}  # fmt: skip
    return Publication(**{**members, **changes})


@pytest.fixture(params=["split", "one folder"])
def any_layout(request, tmp_path):
    (tmp_path / "tree").mkdir()
    chosen = None if request.param == "split" else tmp_path / "evidence"
    made = resolve_layout(
        tmp_path / "tree", docket_dir=chosen, environment={"DOCKET_STATE_DIR": str(tmp_path / "state")}
    )
    prepare_state(made)
    recorded(made)
    return made


@pytest.fixture
def layout(tmp_path):
    (tmp_path / "tree").mkdir()
    made = resolve_layout(tmp_path / "tree", docket_dir=None, environment={"DOCKET_STATE_DIR": str(tmp_path / "state")})
    prepare_state(made)
    recorded(made)
    return made


def test_a_receipt_is_published_and_found(any_layout):
    layout = any_layout
    done = publish(layout, publication(layout))
    assert done.problems == ()
    assert done.receipt_path == layout.docket_dir / "receipts" / f"{NUMBER}.receipt.json"
    assert done.ledger_path == layout.docket_dir / "runs" / f"{SESSION}.jsonl"
    assert done.state_receipt_path == layout.state / "receipts" / f"{NUMBER}.receipt.json"
    assert done.receipt_path.read_bytes() == done.state_receipt_path.read_bytes() == RECEIPT
    assert done.ledger_path.read_bytes() == layout.ledger_path(SESSION).read_bytes() != b""
    assert (layout.docket_dir / "latest").read_text() == f"{NUMBER}\n"
    assert (layout.docket_dir / "latest.receipt.json").read_bytes() == RECEIPT
    for ref in (None, NUMBER, NUMBER.lower(), str(done.receipt_path)):
        assert find_receipt(layout, ref) == done.receipt_path
    for receipt in (done.receipt_path, layout.docket_dir / "latest.receipt.json"):
        assert ledger_beside(receipt, SESSION) == done.ledger_path


def test_only_what_is_meant_stands_there_and_all_of_it_private(layout):
    publish(layout, publication(layout))
    found = {
        str(path.relative_to(layout.docket_dir)): path.stat().st_mode & 0o777
        for path in sorted(layout.docket_dir.rglob("*"))
    }
    assert found == {
        ".gitignore": 0o600, "latest": 0o600, "latest.receipt.json": 0o600, "receipts": 0o700,
        f"receipts/{NUMBER}.receipt.json": 0o600, "runs": 0o700, f"runs/{SESSION}.jsonl": 0o600,
    }  # fmt: skip
    state = sorted(str(path.relative_to(layout.state)) for path in layout.state.rglob("*"))
    assert state == ["latest", "project.json", "receipts", f"receipts/{NUMBER}.receipt.json", "runs",
                     f"runs/{SESSION}.jsonl"]  # fmt: skip


def test_publishing_again_changes_nothing(any_layout):
    layout = any_layout
    first = publish(layout, publication(layout))
    inode = first.receipt_path.stat().st_ino
    assert publish(layout, publication(layout)) == first
    assert first.receipt_path.stat().st_ino == inode


def test_the_latest_is_the_last_published(layout):
    publish(layout, publication(layout, "DKT-20260131-FFFFFF"))
    publish(layout, publication(layout, "DKT-20260131-000000", receipt=b"{}\n"))
    assert find_receipt(layout, None).name == "DKT-20260131-000000.receipt.json"
    assert find_receipt(layout, "DKT-20260131-FFFFFF").read_bytes() == RECEIPT


def test_the_latest_is_found_where_the_docket_folder_lags_behind(layout):
    first = publish(layout, publication(layout, "DKT-20260131-FFFFFF"))
    # A file in its place: what ends now does not reach the folder that a person looks into.
    os.rename(layout.docket_dir, layout.tree_root / "aside")
    layout.docket_dir.write_text("x")
    last = publish(layout, publication(layout, "DKT-20260131-000000", receipt=b"{}\n"))
    assert last.receipt_path == last.state_receipt_path
    layout.docket_dir.unlink()
    os.rename(layout.tree_root / "aside", layout.docket_dir)

    assert find_receipt(layout, None) == last.state_receipt_path
    assert find_receipt(layout, "DKT-20260131-FFFFFF") == first.receipt_path
    last.state_receipt_path.unlink()
    assert find_receipt(layout, None) == first.receipt_path


# A docket folder that is not as it should be


def test_a_tree_that_is_gone_loses_nothing(layout):
    shutil.rmtree(layout.tree_root)
    done = publish(layout, publication(layout))
    assert [problem.reason for problem in done.problems] == [Reason.NOT_FOUND]
    assert done.receipt_path == done.state_receipt_path
    assert done.ledger_path == layout.ledger_path(SESSION)
    assert find_receipt(layout, None) == done.state_receipt_path
    assert ledger_beside(done.state_receipt_path, SESSION) == layout.ledger_path(SESSION)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.symlink_to("/"), Reason.IS_A_SYMLINK),
        (lambda path: path.write_text("x"), Reason.NOT_A_DIRECTORY),
        (os.mkfifo, Reason.NOT_A_DIRECTORY),
    ],
    ids=["link", "file", "fifo"],
)
@pytest.mark.parametrize("where", [".docket", ".docket/receipts"])
def test_something_else_in_a_folders_place(layout, make, reason, where):
    place = layout.tree_root / where
    place.parent.mkdir(exist_ok=True)
    make(place)
    done = publish(layout, publication(layout))
    assert [problem.reason for problem in done.problems] == [reason]
    assert done.receipt_path == done.state_receipt_path
    assert done.receipt_path.read_bytes() == RECEIPT
    assert find_receipt(layout, None) == done.receipt_path


def test_a_runs_folder_that_is_a_link_costs_the_copy_alone(layout, tmp_path):
    (tmp_path / "target").mkdir()
    layout.docket_dir.mkdir()
    (layout.docket_dir / "runs").symlink_to(tmp_path / "target")
    done = publish(layout, publication(layout))
    assert [problem.reason for problem in done.problems] == [Reason.IS_A_SYMLINK]
    assert done.receipt_path == layout.docket_dir / "receipts" / f"{NUMBER}.receipt.json"
    assert done.ledger_path == layout.ledger_path(SESSION)
    assert list((tmp_path / "target").iterdir()) == []


def test_a_ledger_that_is_gone_costs_the_copy_alone(layout):
    layout.ledger_path(SESSION).unlink()
    done = publish(layout, publication(layout))
    assert [problem.reason for problem in done.problems] == [Reason.NOT_FOUND]
    assert done.receipt_path.read_bytes() == RECEIPT


@pytest.mark.parametrize(
    "put",
    [lambda path: path.write_bytes(b"forged"), Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/etc/passwd")],
    ids=["file", "folder", "fifo", "link"],
)
@pytest.mark.parametrize("name", [f"receipts/{NUMBER}.receipt.json", f"runs/{SESSION}.jsonl"])
def test_what_stood_under_the_name_is_moved_aside_and_told(layout, put, name):
    place = layout.docket_dir / name
    place.parent.mkdir(parents=True)
    put(place)
    done = publish(layout, publication(layout))
    assert [problem.reason for problem in done.problems] == [Reason.ALREADY_EXISTS]
    assert done.receipt_path.read_bytes() == RECEIPT
    assert done.ledger_path.read_bytes() == layout.ledger_path(SESSION).read_bytes()
    aside = [path for path in place.parent.iterdir() if ".displaced-" in path.name]
    assert len(aside) == 1
    assert aside[0].name in done.problems[0].detail


def test_a_forged_ledger_of_the_same_size_is_moved_aside(layout):
    place = layout.docket_dir / "runs" / f"{SESSION}.jsonl"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"x" * layout.ledger_path(SESSION).stat().st_size)
    assert len(publish(layout, publication(layout)).problems) == 1
    assert place.read_bytes() == layout.ledger_path(SESSION).read_bytes()


def test_an_earlier_receipt_of_the_same_number_is_kept(layout):
    publish(layout, publication(layout))
    done = publish(layout, publication(layout, receipt=b"{}\n"))
    assert [problem.reason for problem in done.problems] == [Reason.ALREADY_EXISTS] * 2
    kept = [path for path in (layout.state / "receipts").iterdir() if path != done.state_receipt_path]
    assert [path.read_bytes() for path in kept] == [RECEIPT]
    assert done.receipt_path.read_bytes() == b"{}\n"


# Failing disks

TREE, STATE = Path("/tree"), Path("/state/key")


def in_memory(rule=lambda *_: None, capacity_bytes=None):
    memory = MemoryDisk()
    layout = Layout(tree_root=TREE, state=STATE, docket_dir=TREE / ".docket", evidence=())
    memory.folder(TREE, create=True)
    prepare_state(layout, disk=memory)
    recorded(layout, options=LedgerOptions(disk=memory, acquire_lock=MemoryLocks().acquire))
    memory.capacity_bytes = capacity_bytes
    return FaultyDisk(memory, rule), layout


def read(disk, path: Path) -> bytes:
    with disk.folder(path.parent) as folder, folder.open(path.name) as file:
        return file.read(0, 10**9)


@pytest.mark.parametrize("reason", [Reason.READ_ONLY, Reason.NO_SPACE, Reason.NOT_PERMITTED, Reason.IO_ERROR])
def test_a_docket_folder_that_takes_nothing(reason):
    disk, layout = in_memory(fail(reason, "make", ".docket"))
    done = publish(layout, publication(layout), disk=disk)
    assert [problem.reason for problem in done.problems] == [reason]
    assert done.receipt_path == done.state_receipt_path == STATE / "receipts" / f"{NUMBER}.receipt.json"
    assert read(disk, done.receipt_path) == RECEIPT
    assert find_receipt(layout, None, disk=disk) == done.receipt_path


def test_a_state_folder_that_takes_nothing():
    disk, layout = in_memory(fail(Reason.READ_ONLY, "make", "key"))
    done = publish(layout, publication(layout), disk=disk)
    assert [problem.reason for problem in done.problems] == [Reason.READ_ONLY]
    assert (done.state_receipt_path, done.receipt_path.parent) == (None, TREE / ".docket" / "receipts")
    assert read(disk, done.receipt_path) == RECEIPT


def test_two_folders_that_take_nothing():
    disk, layout = in_memory(fail(Reason.NO_SPACE, "create"))
    error = refusal(publish, layout, publication(layout), disk=disk)
    assert error.reason == Reason.NO_SPACE
    assert "the receipt could not be written" in error.detail


def test_pointers_that_cannot_be_written_cost_no_receipt():
    disk, layout = in_memory(fail(Reason.NO_SPACE, "replace", "latest.receipt.json"))
    done = publish(layout, publication(layout), disk=disk)
    assert [problem.reason for problem in done.problems] == [Reason.NO_SPACE]
    assert done.receipt_path == TREE / ".docket" / "receipts" / f"{NUMBER}.receipt.json"
    # the state folder has a pointer of its own
    assert find_receipt(layout, None, disk=disk) == done.state_receipt_path


# The reserve


def fill(memory: MemoryDisk) -> None:
    memory.folder(Path("/other"), create=True).create("big").append(b"x" * memory.room())
    assert memory.room() == 0


def test_a_reserved_receipt_fits_on_a_full_disk():
    disk, layout = in_memory(capacity_bytes=100_000)
    with_reserve = ReceiptReserve.hold(layout, NUMBER, size_bytes=5_000, disk=disk)
    with_reserve.grow(20_000)
    fill(disk.inner)
    receipt = b"x" * 20_000
    done = publish(layout, publication(layout, receipt=receipt, reserve=with_reserve), disk=disk)
    assert done.receipt_path == done.state_receipt_path
    assert read(disk, done.receipt_path) == receipt
    assert {problem.reason for problem in done.problems} == {Reason.NO_SPACE}
    assert disk.folder(STATE / "receipts").names() == (f"{NUMBER}.receipt.json",)
    assert find_receipt(layout, NUMBER, disk=disk) == done.receipt_path


def test_without_a_reserve_it_does_not():
    disk, layout = in_memory(capacity_bytes=100_000)
    fill(disk.inner)
    assert refusal(publish, layout, publication(layout, receipt=b"x" * 20_000), disk=disk).reason == Reason.NO_SPACE


def test_a_receipt_larger_than_the_reserve_and_the_disk():
    disk, layout = in_memory(capacity_bytes=100_000)
    reserve = ReceiptReserve.hold(layout, NUMBER, size_bytes=5_000, disk=disk)
    fill(disk.inner)
    members = publication(layout, receipt=b"x" * 20_000, reserve=reserve)
    assert refusal(publish, layout, members, disk=disk).reason == Reason.NO_SPACE
    assert disk.folder(STATE / "receipts").names() == ()
    # what the reserve gave back is enough for a smaller one
    assert publish(layout, publication(layout, receipt=b"x" * 4_000), disk=disk).state_receipt_path is not None


def test_what_is_prepared_in_the_reserve_is_no_receipt_before_it_becomes_one(layout):
    reserve = ReceiptReserve.hold(layout, NUMBER)
    reserve.prepare(b"signed\n", b"and behind it")
    (found,) = (layout.state / "receipts").iterdir()
    assert (found.name.startswith(f".{NUMBER}.receipt.json."), found.read_bytes()) == (True, b"signed\nand behind it")
    publish(layout, publication(layout, receipt=b"signed\n", reserve=reserve))
    (settled,) = (layout.state / "receipts").iterdir()
    assert (settled.name, settled.read_bytes()) == (f"{NUMBER}.receipt.json", b"signed\n")


def test_another_receipt_than_was_prepared_takes_its_place(layout):
    reserve = ReceiptReserve.hold(layout, NUMBER)
    reserve.prepare(b"signed\n", b"and behind it")
    publish(layout, publication(layout, receipt=b"less\n", reserve=reserve))
    assert (layout.state / f"receipts/{NUMBER}.receipt.json").read_bytes() == b"less\n"


def test_what_cannot_be_prepared_leaves_the_reserve_for_the_receipt():
    disk, layout = in_memory(capacity_bytes=100_000)
    reserve = ReceiptReserve.hold(layout, NUMBER, size_bytes=5_000, disk=disk)
    fill(disk.inner)
    assert refusal(reserve.prepare, b"x" * 20_000, b"").reason == Reason.NO_SPACE
    assert publish(layout, publication(layout, receipt=b"x" * 4_000, reserve=reserve), disk=disk).state_receipt_path


@pytest.mark.parametrize(("found", "taken"), [(b"", True), (b"signed, and more", True), (b"signe", False)])
def test_a_dead_runs_reserve_is_taken_over_empty_or_with_the_receipt_in_it(layout, found, taken):
    ReceiptReserve.hold(layout, NUMBER)
    (path,) = (layout.state / "receipts").iterdir()
    path.write_bytes(found)
    adopted = ReceiptReserve.adopt(layout, path.name, prepared=b"signed")
    assert (adopted is not None) is taken
    if adopted is not None:
        adopted.become(f"{NUMBER}.receipt.json", b"signed")
        assert (layout.state / f"receipts/{NUMBER}.receipt.json").read_bytes() == b"signed"


@pytest.mark.parametrize(
    "meddle",
    [
        lambda path: path.unlink(),
        lambda path: (path.unlink(), path.write_bytes(b"another")),
        lambda path: (path.unlink(), path.symlink_to("/etc/passwd")),
        lambda path: (path.unlink(), os.mkfifo(path)),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: path.parent.rename(path.parent.with_name("elsewhere")),
    ],
    ids=["gone", "another", "link", "fifo", "folder", "moved"],
)
def test_nothing_that_was_put_in_the_place_of_a_reserve_becomes_the_receipt(layout, meddle):
    reserve = ReceiptReserve.hold(layout, NUMBER)
    reserve.prepare(RECEIPT, b"and behind it")
    (path,) = (layout.state / "receipts").iterdir()
    meddle(path)
    done = publish(layout, publication(layout, reserve=reserve))
    receipt = layout.state / f"receipts/{NUMBER}.receipt.json"
    assert (done.state_receipt_path, receipt.is_symlink(), receipt.read_bytes()) == (receipt, False, RECEIPT)
    assert [problem.reason for problem in done.problems] == [Reason.VANISHED]


def test_a_reserve_that_is_not_needed_is_given_back(layout):
    reserve = ReceiptReserve.hold(layout, NUMBER)
    assert len(list((layout.state / "receipts").iterdir())) == 1
    reserve.release()
    reserve.release()
    assert list((layout.state / "receipts").iterdir()) == []


def test_a_reserve_is_given_back_when_the_same_receipt_stands_there(layout):
    publish(layout, publication(layout))
    reserve = ReceiptReserve.hold(layout, NUMBER)
    assert publish(layout, publication(layout, reserve=reserve)).problems == ()
    assert [path.name for path in (layout.state / "receipts").iterdir()] == [f"{NUMBER}.receipt.json"]


def test_a_reserve_is_given_back_when_the_state_folder_is_gone(layout):
    reserve = ReceiptReserve.hold(layout, NUMBER)
    shutil.rmtree(layout.state)
    layout.state.write_text("in the way")
    done = publish(layout, publication(layout, reserve=reserve))
    assert done.state_receipt_path is None
    assert done.receipt_path.read_bytes() == RECEIPT


@pytest.mark.parametrize("operation", ["create", "preallocate"])
def test_a_reserve_that_cannot_be_had_leaves_nothing(operation):
    disk, layout = in_memory(fail(Reason.NO_SPACE, operation))
    assert refusal(ReceiptReserve.hold, layout, NUMBER, disk=disk).reason == Reason.NO_SPACE
    assert disk.folder(STATE / "receipts").names() == ()


# Finding


def test_nothing_is_found_before_anything_is_published(layout):
    for ref in (None, NUMBER, "no/such/path"):
        assert refusal(find_receipt, layout, ref).reason == Reason.NOT_FOUND
    assert "docket run" in refusal(find_receipt, layout, None).hint
    assert ledger_beside(layout.docket_dir / "latest.receipt.json", SESSION) is None


def test_the_copy_a_person_sees_is_found_first_and_the_other_when_it_is_gone(layout):
    done = publish(layout, publication(layout))
    assert find_receipt(layout, NUMBER) == done.receipt_path
    shutil.rmtree(layout.docket_dir)
    assert find_receipt(layout, NUMBER) == find_receipt(layout, None) == done.state_receipt_path
    assert ledger_beside(done.state_receipt_path, SESSION) == layout.ledger_path(SESSION)


@pytest.mark.parametrize("content", [b"", b"../../etc/passwd\n", b"DKT-20260131-0a1b2c\n", b"\xff" * 80, b"x" * 500])
def test_a_doctored_pointer_leads_nowhere(layout, content):
    done = publish(layout, publication(layout))
    (layout.docket_dir / "latest").write_bytes(content)
    assert find_receipt(layout, None) == done.state_receipt_path


def test_a_receipt_that_is_no_file_is_passed_over(layout):
    done = publish(layout, publication(layout))
    done.receipt_path.unlink()
    os.mkfifo(done.receipt_path)
    assert find_receipt(layout, None) == done.state_receipt_path


def test_a_ledger_is_looked_for_beside_its_receipt(layout, tmp_path):
    shutil.copytree(layout.ledger_path(SESSION).parent, tmp_path / "sent" / "runs")
    (tmp_path / "sent" / "receipts").mkdir()
    receipt = tmp_path / "sent" / "receipts" / "x.receipt.json"
    receipt.write_bytes(RECEIPT)
    sent = tmp_path / "sent" / "runs" / f"{SESSION}.jsonl"
    assert ledger_beside(receipt, SESSION) == sent
    (tmp_path / "link.json").symlink_to(receipt)
    assert ledger_beside(tmp_path / "link.json", SESSION) == sent
    assert ledger_beside(tmp_path / "a" / "b" / "c.json", SESSION) is None


@pytest.mark.parametrize("session", ["", "../x", "a/b", "x" * 65, "a\0", ".", "a.b"])
def test_a_session_is_named_by_letters_and_digits(layout, session):
    assert ledger_beside(layout.docket_dir / "receipts" / "x.receipt.json", session) is None


@pytest.mark.parametrize("number", ["../x", "a/b", ""])
def test_a_number_that_is_a_path_is_not_written(layout, number):
    error = refusal(publish, layout, publication(layout, f"{number}/x"))
    assert error.reason == Reason.NOT_A_PATH
