"""What the approval of a commit was bound to is known to the recovery that ends it."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import pytest

from docket.engines.transaction import committing
from docket.engines.transaction.committing import CommitRequest, commit_transaction
from docket.formats.workspace.commit_record import decode_commit
from docket.formats.workspace.state import APPROVALS, Status
from docket.host.confined import ConfinedTree
from docket.rules.proof.commit_signature import commit_fault, signed_commit
from docket.rules.proof.ed25519 import Signer
from docket.rules.workspace.protected import Approval
from golden_ledgers.proven import SECRET_KEY
from matrix_lab import Trial, trial
from tree_lab import CountedCalls, Died, dies_at

FIRST_CHANGES = 12  # calls by which a commit of these paths has changed one of them and is not over


def test_a_state_names_every_kind_of_approval() -> None:
    assert set(APPROVALS) == {str(item) for item in Approval}


def cut_short(it: Trial, request: CommitRequest) -> None:
    """Begin the commit, and die in the midst of it."""
    calls = CountedCalls(dies_at(FIRST_CHANGES))
    with (
        mock.patch.object(committing, "open_tree", lambda root: ConfinedTree(root, calls=calls)),
        pytest.raises(Died),
    ):
        commit_transaction(request, it.world)


def test_a_recovery_that_has_a_key_signs_what_it_tells(tmp_path) -> None:
    it = trial(tmp_path / "it", "copy", "file", "file")
    cut_short(it, CommitRequest(closed=it.closed))
    signer = Signer.of_seed(SECRET_KEY)
    it.world = replace(it.world, vouch=lambda record: signed_commit(record, signer))
    record = it.recover().record
    assert record is not None
    told = decode_commit(record.read_bytes())
    assert (told.signature is not None, commit_fault(told)) == (True, None)
    it.close()


@pytest.mark.parametrize("recorded", ["none", "run", "diff", None])
def test_a_recovery_tells_the_approval(tmp_path, recorded) -> None:
    it = trial(tmp_path / "it", "copy", "file", "file")
    digest = it.closed.digest if recorded == "diff" else None
    cut_short(it, CommitRequest(closed=it.closed, approved_run=recorded == "run", approved_digest=digest))
    state = it.world.transactions.load(it.closed.state.id)
    assert state.status is Status.COMMITTING
    if recorded is None:  # as a docket of old wrote it
        it.world.transactions.save(replace(state, approval=None))
    else:
        assert state.approval == recorded
    done = it.recover()
    assert done.is_over
    assert done.record is not None
    assert decode_commit(done.record.read_bytes()).approval == (recorded or "not-recorded")
    it.close()
