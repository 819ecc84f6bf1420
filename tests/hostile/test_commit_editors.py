"""A person's editor saves one path over and over while a commit changes that path: no save is lost to the commit.

Whichever moment a save falls on, the last one is in the tree, or is kept and named; and the commit is whole, one way or
the other. `a` and `z` stand on both sides of the path, `d/p` (matrix_lab).
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pytest

from docket.engines.transaction import committing
from docket.engines.transaction.committing import CommitOutcome, CommitRequest, commit_transaction
from docket.engines.transaction.recovering import awaits_recovery
from docket.formats.workspace.state import Status
from docket.host.confined import ConfinedTree
from matrix_lab import MINE, Tree, Trial, kept_texts, told, trial
from stage_lab import can_stage
from tree_lab import CountedCalls

P = b"d/p"
PATIENCE_SECONDS = 20
CALLS = 44  # a commit of these three paths has fewer that change something


def save_beside(path: Path, text: bytes) -> bool:
    """Save as most editors do."""
    beside = path.with_name(".save")
    beside.write_bytes(text)
    try:
        beside.replace(path)
    except IsADirectoryError:
        beside.unlink()
        return False
    return True


def save_in_place(path: Path, text: bytes) -> bool:
    """Save as the others do; whether what was written is the file that stood there when it was all written.

    Where it is not, the bytes went through a descriptor into what had lost its name before: no save of that path.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
    except (FileNotFoundError, IsADirectoryError):
        return False
    try:
        for byte in text:
            os.write(descriptor, bytes((byte,)))
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
    finally:
        os.close(descriptor)


@dataclass
class Editor:
    """Saves `times` texts of its own, one right after the other, from when it is told to."""

    path: Path
    save: Callable[[Path, bytes], bool]
    times: int
    texts: list[bytes] = field(default_factory=list)
    due: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        if not self.due.wait(PATIENCE_SECONDS):
            return
        for number in range(self.times):
            text = b"save %d of the editor" % number
            if self.save(self.path, text):
                self.texts.append(text)

    def ended(self) -> None:
        self.due.set()
        self.thread.join(PATIENCE_SECONDS)
        assert not self.thread.is_alive()


def commit_beside(it: Trial, editor: Editor, at: int) -> CommitOutcome:
    """Commit; the editor begins at that call which changes something, and goes on by itself."""

    def rule(number: int, _name: str) -> None:
        if number == at:
            editor.due.set()

    with mock.patch.object(committing, "open_tree", lambda root: ConfinedTree(root, calls=CountedCalls(rule))):
        return commit_transaction(CommitRequest(closed=it.closed), it.world)


def text_of(tree: Tree) -> bytes | None:
    """What the file at the path holds; None where there is none."""
    state = tree.get(P)
    return state[2] if state is not None and state[0] == "file" else None


def check(it: Trial, outcome: CommitOutcome, editor: Editor) -> str:
    """Return how it ended."""
    said = (getattr(outcome, "detail", ""), *getattr(outcome, "remarks", ()))
    if it.status() is Status.COMMITTING:
        assert any("docket tx recover" in text for text in said), outcome
        done = it.recover()
        done = done if done.is_over else it.recover(force=True)
        assert done.is_over, done
        said += tuple(f"kept as {at}" for _path, at in done.kept)
    status, now = it.status(), told(it.base)
    assert status in (Status.COMMITTED, Status.REFUSED)
    side = it.after if status is Status.COMMITTED else it.before
    assert {path: now.get(path) for path in (b"d/a", b"d/z")} == {path: side.get(path) for path in (b"d/a", b"d/z")}
    stands = text_of(now)
    assert stands in {text_of(side), *editor.texts} or editor.save is save_in_place, (stands, outcome)
    assert it.leftovers() == []
    if editor.texts and stands != editor.texts[-1]:
        assert editor.texts[-1] in kept_texts(it.place), (editor.texts[-1], now.get(P), outcome)
        assert any("kept" in text for text in said), (said, outcome)
        return "kept"
    return str(status)


def rounds(tmp_path: Path, backend: str, save: Callable[[Path, bytes], bool], numbers: range) -> set[str]:
    ends = set()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for number, stage_kind in zip(numbers, itertools.cycle(("file", "whiteout", "full")), strict=False):
            it = trial(tmp_path / str(number), backend, "file", stage_kind)
            editor = Editor(it.base / "d/p", save, 1 + number // 3 % 6)
            try:
                outcome = commit_beside(it, editor, number * 13 % CALLS)
                editor.ended()
                ends.add(check(it, outcome, editor))
            finally:
                editor.ended()
                it.close()
    finally:
        sys.setswitchinterval(interval)
    return ends


@pytest.fixture(params=["copy", "overlay"])
def backend(request, tmp_path):
    can_stage(request.param, tmp_path)
    return request.param


@pytest.mark.parametrize("save", [save_beside, save_in_place])
def test_an_editor_that_saves_in_a_loop_loses_nothing(save, backend, tmp_path):
    assert rounds(tmp_path, backend, save, range(CALLS // 2)) >= {"refused"}


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("save", [save_beside, save_in_place])
def test_an_editor_that_saves_in_many_loops_loses_nothing(save, backend, tmp_path):
    assert rounds(tmp_path, backend, save, range(CALLS * 12)) >= {"refused", "committed"}


class Appender:
    """A program that has the file open from before, and writes to it when a commit makes its call of that number.

    `is_late`: the file had no name any more, or the call is the one that takes it, after the last look at it.
    """

    def __init__(self, it: Trial, at: int) -> None:
        self.at = at
        self.wrote = self.is_late = False
        self.descriptor = os.open(it.base / "d/p", os.O_WRONLY | os.O_APPEND)

    def rule(self, number: int, name: str) -> None:
        if number == self.at:
            self.wrote, self.is_late = True, name == "unlink" or not os.fstat(self.descriptor).st_nlink
            os.write(self.descriptor, MINE)


@pytest.mark.parametrize("stage_kind", ["file", "whiteout", "full"])
def test_what_is_written_through_a_descriptor_from_before_is_kept_until_the_end(stage_kind, tmp_path):
    ends = set()
    for at in range(0, CALLS, 2):
        it = trial(tmp_path / str(at), "copy", "file", stage_kind)
        program = Appender(it, at)
        calls = CountedCalls(program.rule)
        with mock.patch.object(committing, "open_tree", lambda root, calls=calls: ConfinedTree(root, calls=calls)):
            outcome = commit_transaction(CommitRequest(closed=it.closed), it.world)
        os.close(program.descriptor)
        status = it.status()
        side = it.after if status is Status.COMMITTED else it.before
        now = told(it.base)
        assert {path: now.get(path) for path in (b"d/a", b"d/z")} == {path: side.get(path) for path in (b"d/a", b"d/z")}
        if program.wrote and not program.is_late:
            assert any(MINE in text for text in kept_texts(it.place)), (at, outcome)
        if it.leftovers():
            assert status is Status.COMMITTED
            assert any("it was written to meanwhile" in remark for remark in outcome.remarks), outcome
            assert any("docket tx recover" in remark for remark in outcome.remarks), outcome
            assert awaits_recovery(it.world.transactions.load(it.closed.state.id), it.world.transactions)
            done = it.recover()
            assert not done.is_over
            assert it.recover(force=True).is_over
            assert any(MINE in text for text in kept_texts(it.world.transactions.root))
            assert it.leftovers() == []
            ends.add("kept")
        ends.add(str(status))
        it.close()
    assert ends == {"kept", "committed", "refused"}
