"""What is left of a change set of which a part landed has one successor, whenever docket died."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from docket.engines.transaction.closing import reopen
from docket.engines.transaction.committing import CommitRequest, Committed, commit_transaction
from docket.engines.transaction.later import LaterCommit, clearable, commit_later
from docket.engines.transaction.recovering import awaits_recovery
from docket.engines.transaction.succeeding import finish_succession, lacks_successor
from docket.errors import InvalidDocumentError
from docket.formats.relpath import RelPath
from docket.formats.workspace.state import Status
from docket.rules.workspace.derive import derive
from docket.stores.workspace.transactions import CHOSEN, Damaged
from matrix_lab import Trial, told, trial

PART = (RelPath(b"d/a"),)


@pytest.fixture
def it(tmp_path: Path) -> Trial:
    """`d/a` and `d/p` are written anew and `d/z` removed, and nothing has landed."""
    return trial(tmp_path / "it", "copy", "file", "file")


def land_part(it: Trial) -> None:
    """Land `d/a` as a commit does that dies before the rest is handed over."""
    store, closed = it.world.transactions, it.closed
    taken = derive(closed.found.change_set, PART).taken
    store.save_chosen(closed.state.id, taken)
    state = replace(closed.state, diff_sha256=taken.digest, changes=taken.counts)
    part = replace(closed, state=state, found=replace(closed.found, change_set=taken))
    assert isinstance(commit_transaction(CommitRequest(closed=part, approved_run=True), it.world), Committed)


def ids(it: Trial) -> set[str]:
    return {state.id for state in it.world.transactions.every()}


def changed(it: Trial, transaction_id: str) -> set[bytes]:
    found = it.world.transactions.changes(transaction_id)
    assert found is not None
    return {change.path.raw for change in found.changes}


def test_nothing_is_left_of_what_never_landed(it: Trial) -> None:
    assert not lacks_successor(it.closed.state, it.world)
    assert finish_succession(it.closed.state, it.world) is None
    it.world.transactions.save_chosen(it.closed.state.id, it.closed.found.change_set)
    assert not lacks_successor(it.closed.state, it.world)
    assert finish_succession(it.closed.state, it.world) is None
    it.close()


def test_nothing_is_left_of_what_landed_whole(it: Trial) -> None:
    assert isinstance(commit_transaction(CommitRequest(closed=it.closed), it.world), Committed)
    state = it.world.transactions.load(it.closed.state.id)
    assert not lacks_successor(state, it.world)
    assert finish_succession(state, it.world) is None
    assert ids(it) == {state.id}
    it.close()


def test_the_rest_goes_on_in_a_successor_with_the_stage(it: Trial) -> None:
    land_part(it)
    first = it.world.transactions.load(it.closed.state.id)
    assert (first.status, first.approval, first.successor) == (Status.COMMITTED, "run", None)
    assert lacks_successor(first, it.world)
    name = finish_succession(first, it.world)
    assert name is not None
    assert ids(it) == {first.id, name}
    second = it.world.transactions.load(name)
    assert (second.status, second.predecessor, second.successor) == (Status.CLOSED, first.id, None)
    assert (second.plan_sha256, second.approval, second.reason, second.detail) == (None, None, None, None)
    assert second.base == first.base
    assert changed(it, name) == {b"d/p", b"d/z"}
    assert it.world.transactions.load(first.id).successor == name
    assert not lacks_successor(it.world.transactions.load(first.id), it.world)
    assert reopen(second, it.world).stage.root.is_dir()
    assert not it.closed.opened.stage.root.exists()
    done = commit_later(LaterCommit(transaction=name), it.world)
    assert isinstance(done.outcome, Committed), done
    assert told(it.base) == it.after
    it.close()


def test_a_successor_that_was_made_is_gone_on_with(it: Trial) -> None:
    land_part(it)
    first = it.world.transactions.load(it.closed.state.id)
    name = finish_succession(first, it.world)
    taken = derive(it.closed.found.change_set, PART).taken
    it.world.transactions.save_chosen(first.id, taken)  # as where docket died before that was forgotten
    assert finish_succession(it.world.transactions.load(first.id), it.world) == name
    assert len(ids(it)) == 2
    assert it.world.transactions.chosen(first.id) is None
    it.close()


def test_a_transaction_that_cannot_be_read_is_passed_over(it: Trial) -> None:
    land_part(it)
    odd = it.world.transactions.root / "ffffffffffff"
    odd.mkdir(mode=0o700)
    (odd / "tx.json").write_text("{}")
    assert any(isinstance(item, Damaged) for item in it.world.transactions.every())
    assert finish_succession(it.world.transactions.load(it.closed.state.id), it.world) is not None
    it.close()


def test_a_choice_that_cannot_be_read_is_still_one_and_stops_no_list(it: Trial) -> None:
    land_part(it)
    store, transaction = it.world.transactions, it.closed.state.id
    (store.path(transaction) / CHOSEN).write_bytes(b"nothing of the kind\n")
    state = store.load(transaction)
    assert awaits_recovery(state, store)
    assert clearable(store, "9999-01-01T00:00:00.000Z") == ()
    with pytest.raises(InvalidDocumentError):
        finish_succession(state, it.world)
    it.close()


def test_nothing_is_chosen_of_a_transaction_that_is_gone(it: Trial) -> None:
    assert not it.world.transactions.has_chosen("0123456789ab")
    it.close()
