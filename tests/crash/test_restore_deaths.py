"""A restore whose store dies, or is full, at each step, and one that is killed at each call that changes the tree.

Each path is then as the run left it or as it was before, what a person had there is kept or still stands, and a second
restore finishes. What could not be recorded is said.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, Rule, stop_at
from docket.engines import restore as engine
from docket.engines.restore import Origin, Proposal, Restored, RestoreWorld, Sources, Target, carry_out, proposal_of
from docket.errors import UnavailableError
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.manifest import Manifest, SnapshotFile
from docket.host.clock import SystemClock
from docket.host.confined import ConfinedTree
from docket.host.disk import SYSTEM_DISK
from docket.host.ids import SystemIds
from docket.rules.tree.restore import intentions
from docket.stores.layout import Layout
from fakes.memory_content import MemoryContent
from manifest_lab import manifest_head
from tree_lab import CountedCalls, Died, dies_at, file_state, plain, whole, write

BEFORE = {"a": b"before a", "b": b"before b", "gone": b"before gone"}
AFTER = {"a": b"the run's a", "b": b"mine, since the run", "made": b"the run's"}


class Lab:
    """A tree in which a run changed, removed and made a file, and a person edited one since."""

    def __init__(self, root: Path) -> None:
        self.tree = root / "tree"
        self.tree.mkdir(parents=True)
        self.state = root / "state"
        self.contents = MemoryContent()
        for name, data in AFTER.items():
            write(self.tree / name, data)

    def proposal(self) -> Proposal:
        files = tuple(
            SnapshotFile(path=RelPath(name.encode()), content=self.contents.put([data]), mode=0o644, mtime_ns=1)
            for name, data in BEFORE.items()
        )
        manifest = Manifest(
            head=manifest_head(), files=files, directories=(), symlinks=(), not_covered=(), not_preserved=()
        )
        ran = {"a": b"the run's a", "b": b"the run's b", "made": b"the run's"}
        changes = [self._change(name, BEFORE.get(name), ran.get(name)) for name in sorted({*BEFORE, *ran})]
        sources = Sources(
            origin=Origin(
                session_id="0123456789ab", docket_number="DKT-20261001-00C0DE", manifest_sha256=Digest("ab" * 32)
            ),
            intentions=intentions(manifest, changes, force=True),
            contents=self.contents,
        )
        layout = Layout(tree_root=self.tree, state=self.state, docket_dir=self.tree / ".docket", evidence=())
        return proposal_of(sources, Target(root=os.fsencode(self.tree), identity=None, layout=layout, force=True))

    @staticmethod
    def _change(name: str, before: bytes | None, after: bytes | None) -> FsChange:
        states: list[EntryState | None] = [None if data is None else file_state(data) for data in (before, after)]
        return FsChange(path=RelPath(name.encode()), change=Change.MODIFIED, before=states[0], after=states[1])

    def restore(self, rule: Rule | None = None) -> tuple[Restored, FaultyDisk]:
        disk = FaultyDisk(SYSTEM_DISK) if rule is None else FaultyDisk(SYSTEM_DISK, rule)
        world = RestoreWorld(clock=SystemClock(), ids=SystemIds(), disk=disk)
        return carry_out(self.proposal(), world), disk

    def standing(self) -> dict[str, bytes]:
        return {os.fsdecode(path): told[2] for path, told in plain(whole(self.tree)).items() if told[0] == "file"}

    def held(self) -> set[str]:
        """The digests of everything that is kept, in the tree and beside records."""
        return {
            hashlib.sha256(path.read_bytes()).hexdigest()
            for folder in (self.tree, self.state)
            for path in folder.rglob("*")
            if path.is_file()
        }


def judge(lab: Lab) -> None:
    for name, data in lab.standing().items():
        if not name.startswith(".docket-apply-"):
            assert data in (BEFORE.get(name), AFTER.get(name)), name
    assert hashlib.sha256(AFTER["b"]).hexdigest() in lab.held(), "what a person wrote is somewhere"


def finishes(lab: Lab) -> None:
    restored, _ = lab.restore()
    assert restored.problem is None
    assert {name: data for name, data in lab.standing().items() if "/" not in name} == BEFORE
    assert hashlib.sha256(AFTER["b"]).hexdigest() in lab.held()


def steps_of_a_whole(root: Path) -> int:
    _, disk = Lab(root).restore()
    return disk.steps


@pytest.mark.parametrize("kind", ["dies", "is full once"])
def test_a_store_that_fails_at_any_step(tmp_path: Path, kind: str) -> None:
    total = steps_of_a_whole(tmp_path / "whole")
    assert total > 10
    for step in range(total):
        lab = Lab(tmp_path / str(step))
        full: Rule = lambda number, _operation, _name, at=step: Reason.NO_SPACE if number == at else None  # noqa: E731
        rule = stop_at(step) if kind == "dies" else full
        try:
            restored, _ = lab.restore(rule)
        except UnavailableError:
            assert lab.standing() == AFTER, "nothing was begun"
        else:
            undone = [item for item in restored.record.paths if item.status != "applied"]
            assert undone or restored.problem or kind != "dies", "a store that is gone is not passed over in silence"
        judge(lab)
        finishes(lab)


def test_a_restore_that_dies_at_any_call_that_changes_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = CountedCalls()
    monkeypatch.setattr(engine, "open_tree", lambda root: ConfinedTree(root, durable=True, calls=counted))
    Lab(tmp_path / "whole").restore()
    total = len(counted.log)
    assert total > 20
    for step in range(total):
        lab = Lab(tmp_path / str(step))
        proposal = lab.proposal()
        monkeypatch.setattr(
            engine, "open_tree", lambda root, at=step: ConfinedTree(root, durable=True, calls=CountedCalls(dies_at(at)))
        )
        with suppress(Died):
            carry_out(proposal, RestoreWorld(clock=SystemClock(), ids=SystemIds()))
        monkeypatch.undo()
        judge(lab)
        finishes(lab)
