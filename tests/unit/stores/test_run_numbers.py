"""The numbers of a project's runs: each once, whatever is lost, and never one that an agent could have made up."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.digest import Digest
from docket.formats.ledger.proof_facts import PreviousRun, ProofFacts
from docket.formats.reason import Reason
from docket.stores import run_numbers
from docket.stores.layout import Layout, resolve_layout
from docket.stores.run_numbers import HIGHEST, NUMBERS_FILE, put_previous, take_number
from golden_ledgers.build import opened

PREVIOUS = PreviousRun(session="ba9876543210", events=3, head=Digest("12" * 32), receipt_sha256=Digest("34" * 32))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / "tree").mkdir()
    found = resolve_layout(
        tmp_path / "tree", docket_dir=None, environment={"DOCKET_STATE_DIR": str(tmp_path / "state")}
    )
    for folder in (found.state / "runs", found.docket_dir / "runs"):
        folder.mkdir(parents=True)
    return found


def name_run(folder: Path, run: int, project: str = "ab" * 16, session: str = "0123456789ab") -> None:
    facts = ProofFacts(origin="o", project=project, run=run)
    (folder / "runs" / f"{session}.jsonl").write_bytes(opened(proof=facts).data())


def test_runs_are_counted_from_one_and_one_project_has_one_name(layout: Layout) -> None:
    first, second = take_number(layout), take_number(layout)
    assert (first.run, second.run, first.previous, first.lost) == (1, 2, None, "")
    assert first.project == second.project
    assert len(bytes.fromhex(first.project)) == 16
    assert (layout.state / NUMBERS_FILE).stat().st_mode & 0o777 == 0o600


def test_the_run_that_ended_last_is_named_and_the_count_goes_on(layout: Layout) -> None:
    first = take_number(layout)
    put_previous(layout, PREVIOUS)
    second = take_number(layout)
    assert (second.run, second.project, second.previous) == (2, first.project, PREVIOUS)


def test_where_the_file_is_lost_the_highest_number_of_the_projects_own_ledgers_is_gone_on_from(layout: Layout) -> None:
    name_run(layout.state, 4)
    name_run(layout.docket_dir, 7, "cd" * 16, "ffffffffffff")
    taken = take_number(layout)
    assert (taken.run, taken.project) == (8, "cd" * 16)
    assert "goes on from 7" in taken.lost
    assert take_number(layout).lost == ""


def test_what_no_run_could_have_is_not_believed(layout: Layout) -> None:
    name_run(layout.state, HIGHEST + 1)
    name_run(layout.docket_dir, 0, session="ffffffffffff")
    (layout.state / "runs" / "a.jsonl").write_bytes(b"{}\n")
    (layout.state / "runs" / "b.jsonl").write_bytes(b"")
    (layout.state / "runs" / "c.lock").write_bytes(b"")
    name_run(layout.state, 3, "no project", "dddddddddddd")
    taken = take_number(layout)
    assert (taken.run, taken.lost) == (1, "")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b'{"format":"docket/run-numbers/v2","project":"x","run":1,"previous":null}',
        json.dumps({"format": run_numbers.FORMAT, "project": "AB" * 16, "run": 1, "previous": None}).encode(),
        json.dumps({"format": run_numbers.FORMAT, "project": "ab" * 16, "run": HIGHEST + 1, "previous": None}).encode(),
        json.dumps({"format": run_numbers.FORMAT, "project": "ab" * 16, "run": 1, "previous": {}}).encode(),
        json.dumps({"format": run_numbers.FORMAT, "project": "ab" * 16, "run": 1, "x": None}).encode(),
        b"x" * 70_000,
    ],
)
def test_a_damaged_file_is_put_aside_and_told(layout: Layout, text: bytes) -> None:
    (layout.state / NUMBERS_FILE).write_bytes(text)
    taken = take_number(layout)
    assert taken.run == 1
    assert "counted anew from 1" in taken.lost
    (aside,) = layout.state.glob(f"{NUMBERS_FILE}.displaced-*")
    assert aside.read_bytes() == text
    name_run(layout.state, 9)
    (layout.state / NUMBERS_FILE).write_bytes(text)
    again = take_number(layout)
    assert again.run == 10
    assert "goes on from 9" in again.lost


def test_a_link_in_its_place_is_put_aside(layout: Layout) -> None:
    other = layout.state / "other"
    other.write_bytes(b"kept")
    (layout.state / NUMBERS_FILE).symlink_to(other)
    assert take_number(layout).run == 1
    assert other.read_bytes() == b"kept"
    assert not (layout.state / NUMBERS_FILE).is_symlink()


def test_no_two_runs_that_begin_at_once_have_one_number(layout: Layout) -> None:
    taken: list[int] = []
    threads = [threading.Thread(target=lambda: taken.append(take_number(layout).run)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, 9))


def test_a_count_that_cannot_be_kept_begins_no_run(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise UnavailableError(Reason.NO_SPACE, "the disk is full")

    monkeypatch.setattr(run_numbers, "publish", full)
    with pytest.raises(UnavailableError):
        take_number(layout)
    with pytest.raises(UnavailableError):
        put_previous(layout, PREVIOUS)
    with pytest.raises((UnavailableError, InvalidDocumentError)):
        take_number(resolve_layout(layout.tree_root, docket_dir=layout.tree_root / "no", environment={}))
