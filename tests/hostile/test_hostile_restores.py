"""Restores from forged documents, and in trees whose links are swapped meanwhile: nothing outside moves."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from docket.engines.restore import Origin, RestoreWorld, Sources, Target, carry_out, proposal_of
from docket.errors import InvalidDocumentError
from docket.formats.digest import Digest
from docket.formats.ledger.payload_codec import from_members
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.listing import Kind
from docket.formats.tree.manifest import Manifest, SnapshotFile
from docket.formats.tree.steps import ANYTHING, Remove, StepStatus, WriteFile
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.rules.tree.restore import Intention, Verb, intentions
from docket.stores.layout import Layout
from fakes.memory_content import MemoryContent
from manifest_lab import manifest_head
from tree_lab import whole

WORLD = RestoreWorld(clock=SystemClock(), ids=SystemIds())
ORIGIN = Origin(session_id="0123456789ab", docket_number="DKT-20261001-00C0DE")
HEAD = manifest_head()


def target(root: Path) -> Target:
    layout = Layout(tree_root=root, state=root.parent / "state", docket_dir=root / ".docket", evidence=())
    return Target(root=os.fsencode(root), identity=None, layout=layout, force=True)


def tree_at(tmp_path: Path) -> tuple[Path, Path]:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    tree.mkdir()
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    return tree, outside


WAYS_OUT = [b"../outside/secret", b"/etc/passwd", b"a/../../outside/secret", b"a//b", b".", b"a\0"]


@pytest.mark.parametrize("raw", WAYS_OUT)
def test_a_path_that_leads_out_is_no_path_of_a_ledger_nor_of_a_plan(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(InvalidDocumentError):
        from_members(FsChange, {"path": raw.decode(), "change": "removed"}, "fs.change")
    tree, _ = tree_at(tmp_path)
    before = whole(tmp_path)
    contents = MemoryContent()
    # Past the parser of paths.
    steps = [
        WriteFile(path=RelPath(raw), precondition=ANYTHING, content=contents.put([b"forged"]), mode=0o644),
        Remove(path=RelPath(raw), precondition=ANYTHING, kind=Kind.FILE),
    ]
    for step in steps:
        item = Intention(path=RelPath(raw), verb=Verb.WRITE, step=step)
        with pytest.raises(InvalidDocumentError):
            proposal_of(Sources(origin=ORIGIN, intentions=(item,), contents=contents), target(tree))
    assert whole(tmp_path) == before


def test_contradictions_of_forged_documents_refuse_the_whole(tmp_path: Path) -> None:
    tree, _ = tree_at(tmp_path)
    old = MemoryContent().put([b"old"])
    manifest = Manifest(
        head=HEAD,
        files=(SnapshotFile(path=RelPath(b"a/b"), content=old, mode=0o644, mtime_ns=1),),
        directories=(),
        symlinks=(),
        not_covered=(),
        not_preserved=(),
    )
    before = EntryState(kind="file", mode=0o644, size=3, sha256=old.sha256)
    changes = [
        FsChange(path=RelPath(b"a"), change=Change.ADDED, after=before),
        FsChange(path=RelPath(b"a/b"), change=Change.REMOVED, before=before),
    ]
    found = intentions(manifest, changes, force=True)
    verbs = [item.verb for item in found]
    assert verbs == [Verb.KEEP, Verb.RECREATE], "what holds something that is to stand is not removed"
    proposal = proposal_of(Sources(origin=ORIGIN, intentions=found, contents=MemoryContent()), target(tree))
    assert carry_out(proposal, WORLD).count(StepStatus.APPLIED) == 0
    assert whole(tree) == {}


def test_a_content_of_a_huge_size_is_not_to_be_had(tmp_path: Path) -> None:
    tree, _ = tree_at(tmp_path)
    forged = Address(Digest("ab" * 32), 2**53 - 1)
    step = WriteFile(path=RelPath(b"x"), precondition=ANYTHING, content=forged, mode=0o644)
    item = Intention(path=RelPath(b"x"), verb=Verb.WRITE, step=step)
    restored = carry_out(
        proposal_of(Sources(origin=ORIGIN, intentions=(item,), contents=MemoryContent()), target(tree)), WORLD
    )
    assert [path.status for path in restored.record.paths] == [StepStatus.FAILED]
    assert whole(tree) == {}


def test_links_that_are_swapped_meanwhile_lead_nowhere(tmp_path: Path) -> None:
    tree, outside = tree_at(tmp_path)
    (tree / "d").mkdir()
    contents = MemoryContent()
    address = contents.put([b"restored"])
    untouched = whole(outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(tree / "d", tree / "aside")
            os.symlink(outside, tree / "d")
            os.unlink(tree / "d")
            os.rename(tree / "aside", tree / "d")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(40):
            steps = [
                WriteFile(path=RelPath(b"d/secret"), precondition=ANYTHING, content=address, mode=0o644),
                WriteFile(path=RelPath(b"d/new"), precondition=ANYTHING, content=address, mode=0o644),
            ]
            items = tuple(Intention(path=step.path, verb=Verb.WRITE, step=step) for step in steps)
            proposal = proposal_of(Sources(origin=ORIGIN, intentions=items, contents=contents), target(tree))
            carry_out(proposal, WORLD)
    finally:
        stop.set()
        thread.join()
    assert whole(outside) == untouched
