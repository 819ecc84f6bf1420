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
from docket.rules.workspace.protected import Approval
from matrix_lab import trial
from tree_lab import CountedCalls, Died, dies_at

FIRST_CHANGES = 12  # calls by which a commit of these paths has changed one of them and is not over


def test_a_state_names_every_kind_of_approval() -> None:
    assert set(APPROVALS) == {str(item) for item in Approval}


@pytest.mark.parametrize("recorded", ["none", "run", "diff", None])
def test_a_recovery_tells_the_approval(tmp_path, recorded) -> None:
    it = trial(tmp_path / "it", "copy", "file", "file")
    digest = it.closed.digest if recorded == "diff" else None
    request = CommitRequest(closed=it.closed, approved_run=recorded == "run", approved_digest=digest)
    calls = CountedCalls(dies_at(FIRST_CHANGES))
    with (
        mock.patch.object(committing, "open_tree", lambda root: ConfinedTree(root, calls=calls)),
        pytest.raises(Died),
    ):
        commit_transaction(request, it.world)
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
