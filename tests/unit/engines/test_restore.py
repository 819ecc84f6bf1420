"""A restore of real trees: each kind of change in each state that a person may have left it in."""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from docket.engines.foresee import compare_contents
from docket.engines.restore import (
    Origin,
    RedoRequest,
    RestoreWorld,
    Sources,
    Target,
    carry_out,
    proposal_of,
    propose_redo,
)
from docket.errors import InvalidDocumentError
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.changes import symlink_state
from docket.formats.tree.manifest import (
    Manifest,
    SnapshotDirectory,
    SnapshotFile,
    SnapshotSymlink,
    SurfaceRules,
)
from docket.formats.tree.restore_record import decode_record
from docket.formats.tree.steps import StepStatus
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.rules.tree.restore import intentions
from docket.stores.layout import Layout
from fakes.memory_content import MemoryContent
from manifest_lab import manifest_head
from tree_lab import plain, whole

MTIME_NS = 1_700_000_000_123_456_789
WORLD = RestoreWorld(clock=SystemClock(), ids=SystemIds())
# What may stand at x: told as (kind, mode, content or target).
STATES = {
    "absent": None,
    "file": ("file", 0o644, b"before"),
    "other": ("file", 0o644, b"the run's"),
    "mode": ("file", 0o755, b"before"),
    "folder": ("directory", 0o755),
    "closed": ("directory", 0o700),
    "link": ("symlink", b"target"),
    "turned": ("symlink", b"elsewhere"),
    "mine": ("file", 0o600, b"a person's own"),
}
RECORDED = [name for name in STATES if name != "mine"]
CHANGES = [(before, after) for before in RECORDED for after in RECORDED if before != after]


class Lab:
    """A tree, a state folder, and what a snapshot of the tree holds."""

    def __init__(self, root: Path) -> None:
        self.tree = root / "tree"
        self.tree.mkdir()
        self.contents = MemoryContent()
        self.layout = Layout(tree_root=self.tree, state=root / "state", docket_dir=self.tree / ".docket", evidence=())

    def put(self, path: str, state: str) -> None:
        """Leave this state at a path."""
        place, told = self.tree / path, STATES[state]
        if place.is_symlink() or place.is_file():
            place.unlink()
        elif place.is_dir():
            shutil.rmtree(place)
        if told is None:
            return
        if told[0] == "file":
            place.write_bytes(told[2])
            place.chmod(told[1])
        elif told[0] == "directory":
            place.mkdir()
            place.chmod(told[1])
        else:
            place.symlink_to(os.fsdecode(told[1]))

    def sources(self, changes: list[FsChange], entries: list, *, force: bool = False) -> Sources:
        status = self.tree.stat()
        head = manifest_head(
            root=os.fsencode(self.tree),
            root_identity=(status.st_dev, status.st_ino),
            surface=SurfaceRules(watch=(".",), ignore=(), evidence=()),
        )
        manifest = Manifest(
            head=head,
            files=tuple(item for item in entries if isinstance(item, SnapshotFile)),
            directories=tuple(item for item in entries if isinstance(item, SnapshotDirectory)),
            symlinks=tuple(item for item in entries if isinstance(item, SnapshotSymlink)),
            not_covered=(),
            not_preserved=(),
        )
        return Sources(
            origin=Origin(
                session_id="0123456789ab", docket_number="DKT-20261001-00C0DE", manifest_sha256=Digest("ab" * 32)
            ),
            intentions=intentions(manifest, changes, force=force),
            contents=self.contents,
        )

    def target(self, *, force: bool = False, identity: tuple[int, int] | None = None) -> Target:
        return Target(root=os.fsencode(self.tree), identity=identity, layout=self.layout, force=force)

    def entry(self, state: str, path: str = "x"):
        told = STATES[state]
        where = RelPath(path.encode())
        if told is None:
            return []
        if told[0] == "file":
            return [SnapshotFile(path=where, content=self.contents.put([told[2]]), mode=told[1], mtime_ns=MTIME_NS)]
        if told[0] == "directory":
            return [SnapshotDirectory(path=where, mode=told[1], mtime_ns=MTIME_NS)]
        return [SnapshotSymlink(path=where, target=told[1], mtime_ns=MTIME_NS)]


def state_of(name: str) -> EntryState | None:
    told = STATES[name]
    if told is None:
        return None
    if told[0] == "symlink":
        return symlink_state(told[1])
    if told[0] == "directory":
        return EntryState(kind="directory", mode=told[1])
    sha256 = Digest(hashlib.sha256(told[2]).hexdigest())
    return EntryState(kind="file", mode=told[1], size=len(told[2]), sha256=sha256)


def change_of(before: str, after: str, path: str = "x") -> FsChange:
    return FsChange(path=RelPath(path.encode()), change=Change.MODIFIED, before=state_of(before), after=state_of(after))


def seen(tree: Path) -> dict[bytes, tuple]:
    """What stands in a tree, by plain calls."""
    return plain(whole(tree))


def expected(state: str) -> dict[bytes, tuple]:
    """What `seen` gives where x alone stands, in this state."""
    told = STATES[state]
    if told is None:
        return {}
    if told[0] == "symlink":
        return {b"x": ("symlink", told[1])}
    return {b"x": told}


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_every_change_in_every_present_state(tmp_path: Path, before: str, after: str) -> None:
    for index, present in enumerate(STATES):
        root = tmp_path / str(index)
        root.mkdir()
        lab = Lab(root)
        lab.put("x", present)
        untouched = whole(lab.tree)
        sources = lab.sources([change_of(before, after)], lab.entry(before))
        proposal = proposal_of(sources, lab.target())
        assert whole(lab.tree) == untouched, "a proposal changes nothing"
        foreseen = proposal.status(proposal.intentions[0])
        restored = carry_out(proposal, WORLD)
        (item,) = restored.record.paths
        assert foreseen in (None, item.status), (present, foreseen, item)
        if present in (after, before):
            assert seen(lab.tree) == expected(before), present
            assert item.status is (StepStatus.APPLIED if present == after else StepStatus.ALREADY)
        elif (before, after) == ("file", "mode") and present == "other":
            assert item.status is StepStatus.ALREADY, "the run left the content alone, and the mode is as it was"
            assert whole(lab.tree) == untouched
        else:
            assert item.status is StepStatus.REFUSED, (present, item)
            assert whole(lab.tree) == untouched
            assert (item.reason, restored.count(StepStatus.APPLIED)) == ("changed-since", 0)


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_by_force_over_what_a_person_left_and_back_again(tmp_path: Path, before: str, after: str) -> None:
    for index, present in enumerate(STATES):
        root = tmp_path / str(index)
        root.mkdir()
        lab = Lab(root)
        lab.put("x", present)
        sources = lab.sources([change_of(before, after)], lab.entry(before), force=True)
        restored = carry_out(proposal_of(sources, lab.target(force=True)), WORLD)
        (item,) = restored.record.paths
        kinds = tuple((STATES[name] or ("absent",))[0] for name in (before, after, present))
        if kinds[0] == "absent" and "directory" in kinds[1:] and kinds[1] != kinds[2] and kinds[2] != "absent":
            assert item.status is StepStatus.REFUSED, "a folder is never taken for a file or a link, nor the reverse"
            assert seen(lab.tree) == expected(present)
            continue
        assert seen(lab.tree) == expected(before), (present, item)
        assert decode_record(restored.record_path.read_bytes()) == restored.record
        with ExitStack() as stack:
            request = RedoRequest(record_path=restored.record_path, layout=lab.layout)
            redone = carry_out(propose_redo(request, WORLD, stack), WORLD)
        assert seen(lab.tree) == expected(present), (present, item, redone.record.paths)


def test_times_come_back_and_what_did_not_change_keeps_its_inode(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.put("x", "other")
    lab.put("y", "file")
    inode, mtime_ns = (lab.tree / "y").stat().st_ino, (lab.tree / "y").stat().st_mtime_ns
    entries = lab.entry("file") + lab.entry("file", "y")
    carry_out(proposal_of(lab.sources([change_of("file", "other")], entries), lab.target()), WORLD)
    assert (lab.tree / "x").stat().st_mtime_ns == MTIME_NS
    status = (lab.tree / "y").stat()
    assert (status.st_ino, status.st_mtime_ns) == (inode, mtime_ns)


def test_whole_folders_come_and_go_in_one_restore(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.put("n", "folder")
    lab.put("n/f", "other")
    lab.put("n/mine", "mine")
    lab.put("m", "folder")
    lab.put("m/f", "other")
    changes = [
        change_of("folder", "absent", "d"),
        change_of("file", "absent", "d/f"),
        change_of("absent", "folder", "m"),
        change_of("absent", "other", "m/f"),
        change_of("absent", "folder", "n"),
        change_of("absent", "other", "n/f"),
    ]
    entries = lab.entry("folder", "d") + lab.entry("file", "d/f")
    proposal = proposal_of(lab.sources(changes, entries), lab.target())
    statuses = {item.path.raw: proposal.status(item) for item in proposal.intentions}
    assert statuses.pop(b"n") is StepStatus.REFUSED, "it holds what is a person's"
    assert set(statuses.values()) == {None}
    restored = carry_out(proposal, WORLD)
    assert restored.count(StepStatus.APPLIED) == 5
    assert set(whole(lab.tree)) == {b"d", b"d/f", b"n", b"n/mine"}
    assert (lab.tree / "d").stat().st_mtime_ns == MTIME_NS


def test_names_of_one_file_are_names_of_one_file_again(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    names = ("x", "y", "z")
    for name in names:
        lab.put(name, "other" if name != "z" else "file")
    address = lab.contents.put([b"before"])
    entries = [
        SnapshotFile(path=RelPath(name.encode()), content=address, mode=0o644, mtime_ns=MTIME_NS, link_group=1)
        for name in names
    ]
    changes = [change_of("file", "other", name) for name in ("x", "y")]
    restored = carry_out(proposal_of(lab.sources(changes, entries), lab.target()), WORLD)
    assert restored.count(StepStatus.APPLIED) == 2
    assert len({(lab.tree / name).stat().st_ino for name in names}) == 1
    assert (lab.tree / "x").read_bytes() == b"before"


@pytest.mark.parametrize("present", ["mine", "other", "mode", "absent"])
def test_a_name_whose_file_was_changed_since_is_left(tmp_path: Path, present: str) -> None:
    lab = Lab(tmp_path)
    lab.put("x", "other")
    lab.put("z", present)
    address = lab.contents.put([b"before"])
    entries = [
        SnapshotFile(path=RelPath(name), content=address, mode=0o644, mtime_ns=MTIME_NS, link_group=1)
        for name in (b"x", b"z")
    ]
    untouched = whole(lab.tree)
    restored = carry_out(proposal_of(lab.sources([change_of("file", "other")], entries), lab.target()), WORLD)
    assert [item.status for item in restored.record.paths] == [StepStatus.SKIPPED, StepStatus.REFUSED]
    assert whole(lab.tree) == untouched


@pytest.mark.parametrize("content", [None, b"damaged"])
def test_content_that_is_not_to_be_had_changes_nothing(tmp_path: Path, content: bytes | None) -> None:
    lab = Lab(tmp_path)
    lab.put("x", "other")
    entries = lab.entry("file")
    address = Address.of(b"before")
    del lab.contents.kept[address]
    if content is not None:
        lab.contents.kept[address] = content
    untouched = whole(lab.tree)
    restored = carry_out(proposal_of(lab.sources([change_of("file", "other")], entries), lab.target()), WORLD)
    (item,) = restored.record.paths
    reason = Reason.CONTENT_MISSING if content is None else Reason.CONTENT_DAMAGED
    assert (item.status, item.reason) == (StepStatus.FAILED, str(reason))
    assert whole(lab.tree) == untouched


def test_another_directory_than_the_snapshots_is_refused(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    with pytest.raises(InvalidDocumentError) as refused:
        proposal_of(lab.sources([], []), lab.target(identity=(1, 2)))
    assert refused.value.reason == Reason.ROOT_REPLACED


def test_a_link_in_a_parent_is_not_followed(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_bytes(b"the run's")
    (lab.tree / "d").symlink_to(outside)
    untouched = whole(outside)
    changes = [
        change_of("file", "absent", "d/a"),
        change_of("file", "other", "d/f"),
        change_of("absent", "other", "d/n"),
    ]
    entries = lab.entry("file", "d/a") + lab.entry("file", "d/f")
    for force in (False, True):
        restored = carry_out(proposal_of(lab.sources(changes, entries, force=force), lab.target(force=force)), WORLD)
        assert restored.count(StepStatus.APPLIED) == 0
        assert whole(outside) == untouched


def test_what_is_compared_is_what_stands_there_and_what_would(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    for path, state in (("a", "other"), ("l", "turned"), ("n", "other"), ("o", "turned"), ("p", "mine")):
        lab.put(path, state)
    changes = [
        change_of("file", "other", "a"),
        change_of("folder", "absent", "e"),
        change_of("link", "turned", "l"),
        change_of("absent", "other", "n"),
        change_of("absent", "turned", "o"),
        change_of("file", "other", "p"),
    ]
    entries = lab.entry("file", "a") + lab.entry("folder", "e") + lab.entry("link", "l") + lab.entry("file", "p")
    proposal = proposal_of(lab.sources(changes, entries), lab.target())

    def compared(max_bytes: int) -> dict[bytes, tuple]:
        found = compare_contents(proposal.plan, proposal.root, lab.contents, max_bytes)
        return {item.path.raw: (item.before, item.after, item.too_large) for item in found}

    assert compared(1000) == {
        b"a": (b"the run's", b"before", False),
        b"l": (b"elsewhere", b"target", False),
        b"n": (b"the run's", None, False),
        b"o": (b"elsewhere", None, False),
    }
    assert compared(5)[b"a"] == (None, None, True)
    assert compared(8)[b"n"] == (None, None, True)


def test_a_content_that_is_not_kept_any_more_is_foreseen_as_a_failure(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.put("a", "other")
    sources = lab.sources([change_of("file", "other", "a")], lab.entry("file", "a"))
    lab.contents.kept.clear()
    proposal = proposal_of(sources, lab.target())
    restored = carry_out(proposal, WORLD)
    outcome = proposal.foreseen[RelPath(b"a")].outcome
    assert outcome is not None
    assert (outcome.status, outcome.reason) == (StepStatus.FAILED, Reason.CONTENT_MISSING)
    assert [(item.status, item.reason, item.detail) for item in restored.record.paths] == [
        (StepStatus.FAILED, str(Reason.CONTENT_MISSING), outcome.detail)
    ]


def test_a_diff_says_why_a_content_cannot_be_read(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.put("a", "other")
    sources = lab.sources([change_of("file", "other", "a")], lab.entry("file", "a"))
    lab.contents.kept[Address.of(b"before")] = b"BEFORE"
    proposal = proposal_of(sources, lab.target())
    (compared,) = compare_contents(proposal.plan, proposal.root, lab.contents)
    assert proposal.foreseen[RelPath(b"a")].outcome is None
    assert compared.after is None
    assert compared.problem is not None
    assert compared.problem.endswith("is damaged: it has another digest")
