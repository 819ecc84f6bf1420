"""A real docket killed between the commit of a chosen part and the hand-over of the rest: the rest is found again."""

from __future__ import annotations

import json

import pytest
from test_transaction_killed import Staged, staged, steps

COMMAND = ("tx", "commit", "--only", "changed", "--only", "twin")

__all__ = ["staged"]


def check(it: Staged, at: int) -> bool:
    """After a recovery the rest lands, or the whole; both ways the tree is as the agent left its stage.

    Returns whether the part had landed by then.
    """
    it.anew()
    assert it.killed(at, *COMMAND), at
    done = it.recovered()
    assert done.exit_code == 0, (at, done.said)
    listed = [line.split() for line in it.lab.docket("tx", "list").stdout.splitlines()]
    assert recorded(it) == [line[0] for line in listed if line[1] == "committed"], at
    waiting = [line[0] for line in listed if line[1] in ("closed", "refused")]
    assert len(waiting) == 1, (at, listed)
    done = it.lab.docket("tx", "commit", waiting[0])
    assert done.exit_code == 0, (at, done.said)
    assert it.now() == it.after, at
    assert it.recovered().stdout == "nothing in this tree was interrupted\n"
    return any(line[1] == "committed" for line in listed)


def recorded(it: Staged) -> list[str]:
    """The transactions that landed and have one record of it."""
    documents = [json.loads(path.read_bytes()) for path in it.lab.state.glob("workspace-tx/*/records/*.json")]
    return [document["transaction"] for document in documents if document["committed"]]


def test_a_kill_at_some_steps_after_a_part_landed(staged):
    staged.anew()
    count = steps(staged, *COMMAND)
    assert {check(staged, at) for at in range(count - 19, count, 6)} == {True}


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_a_kill_at_every_step_of_the_commit_of_a_part(staged):
    staged.anew()
    assert {check(staged, at) for at in range(steps(staged, *COMMAND))} == {False, True}
