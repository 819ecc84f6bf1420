"""Two transactions over one base: what lands, what is refused and names the other, and what is merged."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from docket.engines.transaction import merging
from docket.engines.transaction.committing import CommitOutcome, CommitRefused, CommitRequest, Committed
from docket.engines.transaction.later import clear, looked_at
from docket.engines.transaction.merging import Merge, MergeRefused
from docket.engines.transaction.staged_texts import StagedTexts
from docket.engines.transaction.world import TransactionWorld
from docket.errors import UnavailableError, UsageError
from docket.formats.digest import sha256
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.workspace.commit_record import decode_commit
from docket.formats.workspace.hunk_choice import HunkChoice, TakenPath
from docket.formats.workspace.state import Status
from docket.host.disk import SYSTEM_DISK
from docket.rules.workspace.hunks import Sides
from docket.stores.blobs import BlobFolder
from docket.stores.pool import create_pool, open_pool
from docket.stores.workspace.ancestors import Ancestors
from docket.stores.workspace.conflicts import Conflicts
from merge_lab import MergeLab, Opened, in_memory

TEXT = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
OURS = TEXT.replace(b"one\n", b"ONE\n")
THEIRS = TEXT.replace(b"seven\n", b"SEVEN\n")
BOTH = OURS.replace(b"seven\n", b"SEVEN\n")


@pytest.fixture
def lab() -> Iterator[MergeLab]:
    for root in in_memory():
        made = MergeLab(root)
        (made.base / "d").mkdir()
        (made.base / "d" / "f").write_bytes(TEXT)
        (made.base / "g").write_bytes(b"g\n")
        yield made


def writing(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda root: (root / name).write_bytes(content)


def test_two_that_change_other_paths_both_land(lab: MergeLab) -> None:
    ours, theirs = lab.worked(writing("d/f", OURS)), lab.worked(writing("g", b"G\n"))
    lab.land(theirs)
    lab.land(ours)
    assert {name: content for name, (_, content) in lab.tree().items()} == {"d/f": OURS, "g": b"G\n"}


def test_a_path_that_another_landed_on_is_refused_and_names_it(lab: MergeLab) -> None:
    ours, theirs = lab.worked(writing("d/f", OURS)), lab.worked(writing("d/f", THEIRS))
    lab.land(theirs)
    refused = lab.refused(ours)
    assert refused.reason is Reason.BASE_DRIFT
    assert [(item.path, item.transaction) for item in refused.paths] == [(RelPath(b"d/f"), theirs.id)]
    assert refused.detail == (
        f"d/f changed in the tree since it was staged; transaction {theirs.id} landed there meanwhile"
    )
    (record,) = (lab.world.transactions.path(ours.id) / "records").iterdir()
    told = json.loads(record.read_text())
    assert told["refusals"][0]["transaction"] == theirs.id
    assert Path(told["base"]["root"], "d/f").read_bytes() == THEIRS
    assert Path(told["stage"], "d/f").read_bytes() == OURS
    assert lab.world.transactions.load(ours.id).detail == refused.detail


def test_what_a_person_changed_names_no_transaction(lab: MergeLab) -> None:
    early = lab.worked(writing("d/f", THEIRS))
    lab.land(early)
    ours = lab.worked(writing("d/f", OURS))
    (lab.base / "d/f").write_bytes(b"a person's\n")
    refused = lab.refused(ours)
    assert [item.transaction for item in refused.paths] == [None]
    assert refused.detail == "d/f changed in the tree since it was staged"


def test_a_text_that_both_changed_elsewhere_is_merged(lab: MergeLab) -> None:
    os.utime(lab.base / "d/f", ns=(1, 1))
    ours, theirs = lab.worked(writing("d/f", OURS)), lab.worked(writing("d/f", THEIRS))
    lab.land(theirs)
    shown = lab.world.transactions.changes(ours.id)
    done = lab.land(ours, merge=True)
    assert (lab.base / "d/f").read_bytes() == BOTH
    record = decode_commit(Path(done.record).read_bytes())
    assert shown is not None
    assert (record.diff_sha256, record.of_diff_sha256) == (done.taken.digest, shown.digest)
    assert record.merged is not None
    (merged,) = record.merged
    assert (merged.ancestor_sha256, merged.ours_sha256, merged.theirs_sha256, merged.result_sha256) == tuple(
        map(sha256, (TEXT, OURS, THEIRS, BOTH))
    )
    (change,) = done.taken.changes
    assert change.before is not None
    assert change.before.sha256 == sha256(THEIRS)
    assert lab.world.transactions.changes(ours.id) == done.taken
    state = lab.world.transactions.load(ours.id)
    assert (state.status, state.diff_sha256) == (Status.COMMITTED, done.taken.digest)
    assert (lab.base / "d/f").stat().st_mtime_ns > 10**18


def test_what_is_displaced_is_kept_until_nobody_is_left_that_may_land(lab: MergeLab) -> None:
    ours, theirs = lab.worked(writing("d/f", OURS)), lab.worked(writing("d/f", THEIRS))
    status = lab.base.stat()
    kept = Ancestors(lab.world.transactions.root, (status.st_dev, status.st_ino))
    lab.land(theirs)
    assert [path.name for path in kept.path.rglob("*") if path.is_file()] == [sha256(TEXT)[2:]]
    lab.land(ours, merge=True)
    assert not kept.path.exists()


def test_what_is_displaced_goes_with_the_last_transaction_that_is_cleared_away(lab: MergeLab) -> None:
    ours, theirs = lab.worked(writing("d/f", OURS)), lab.worked(writing("d/f", THEIRS))
    lab.land(theirs)
    lab.refused(ours)
    (folder,) = (lab.world.transactions.root / "ancestors").iterdir()
    clear(lab.world.transactions.load(ours.id), lab.world.transactions)
    assert not folder.exists()


def test_nothing_is_kept_where_nobody_else_may_land(lab: MergeLab) -> None:
    lab.land(lab.worked(writing("d/f", OURS)))
    assert not (lab.world.transactions.root / "ancestors").exists()


def test_what_cannot_be_kept_is_told_and_keeps_nothing_from_landing(lab: MergeLab) -> None:
    lab.worked(writing("d/f", OURS))
    theirs = lab.worked(writing("d/f", THEIRS))
    (lab.world.transactions.root / "ancestors").write_bytes(b"in the way")
    outcome = lab.land(theirs).outcome
    assert isinstance(outcome, Committed)
    (remark,) = outcome.remarks
    assert remark.startswith("what the commit displaced is not kept for other transactions to be merged with: ")


def test_of_two_that_commit_at_once_one_lands_and_is_named(lab: MergeLab) -> None:
    both_ways = [lab.worked(writing("d/f", content)) for content in (OURS, THEIRS)]
    barrier = threading.Barrier(2)

    def commit(opened: Opened) -> CommitOutcome:
        barrier.wait()
        return lab.commit(opened).outcome

    with ThreadPoolExecutor(2) as threads:
        outcomes = list(threads.map(commit, both_ways))
    (landed,) = [item for item in outcomes if isinstance(item, Committed)]
    (refused,) = [item for item in outcomes if isinstance(item, CommitRefused)]
    assert [item.transaction for item in refused.paths] == [landed.state.id]


def test_one_conflict_refuses_the_whole_and_both_versions_are_kept(lab: MergeLab) -> None:
    def work(root: Path) -> None:
        (root / "d/f").write_bytes(TEXT.replace(b"four\n", b"ours\n"))
        (root / "g").write_bytes(b"G\n")

    ours, theirs = lab.worked(work), lab.worked(writing("d/f", TEXT.replace(b"four\n", b"theirs\n")))
    lab.land(theirs)
    refused = lab.refused(ours, merge=True)
    assert refused.reason is Reason.MERGE_CONFLICT
    (path,) = refused.paths
    assert (path.reason, path.transaction) == (Reason.MERGE_CONFLICT, theirs.id)
    assert path.detail == "both sides changed the same lines: 1 conflict"
    conflicts = Conflicts(lab.world.transactions.path(ours.id))
    assert conflicts.read(RelPath(b"d/f")) == (
        b"one\ntwo\nthree\n"
        b"<<<<<<< transaction " + ours.id.encode() + b"\nours\n"
        b"||||||| what was staged\nfour\n"
        b"=======\ntheirs\n"
        b">>>>>>> the tree\n"
        b"five\nsix\nseven\n"
    )
    assert (ours.stage / "d/f").read_bytes() == TEXT.replace(b"four\n", b"ours\n")
    assert lab.world.transactions.load(ours.id).status is Status.REFUSED
    (lab.base / "d/f").write_bytes(TEXT)
    lab.land(ours, merge=True)
    assert conflicts.read(RelPath(b"d/f")) is None


def test_a_conflict_is_settled_by_the_same_text_on_both_sides(lab: MergeLab) -> None:
    ours = lab.worked(both(writing("d/f", TEXT.replace(b"four", b"ours")), writing("g", b"G\n")))
    lab.land(lab.worked(writing("d/f", TEXT.replace(b"four", b"theirs"))))
    assert lab.refused(ours, merge=True).reason is Reason.MERGE_CONFLICT
    for root in (lab.base, ours.stage):
        (root / "d/f").write_bytes(TEXT.replace(b"four", b"both"))
    lab.land(ours)
    assert {name: content for name, (_, content) in lab.tree().items()} == {
        "d/f": TEXT.replace(b"four", b"both"),
        "g": b"G\n",
    }


def chmod(mode: int) -> Callable[[Path], object]:
    return lambda root: (root / "d/f").chmod(mode)


def both(*work: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda root: [step(root) for step in work]


def removing(name: str) -> Callable[[Path], object]:
    return lambda root: (root / name).unlink()


@pytest.mark.parametrize(
    ("ours", "theirs", "content", "mode"),
    [
        pytest.param(chmod(0o755), writing("d/f", THEIRS), THEIRS, 0o755, id="our mode, their content"),
        pytest.param(writing("d/f", OURS), chmod(0o600), OURS, 0o600, id="our content, their mode"),
        pytest.param(both(chmod(0o755), writing("d/f", OURS)), writing("d/f", THEIRS), BOTH, 0o755, id="merged, ours"),
        pytest.param(writing("d/f", OURS), both(chmod(0o755), writing("d/f", THEIRS)), BOTH, 0o755, id="merged, mode"),
        pytest.param(writing("d/f", OURS), writing("d/f", OURS), OURS, 0o644, id="the same on both sides"),
        pytest.param(
            both(chmod(0o755), writing("d/f", OURS)), writing("d/f", OURS), OURS, 0o755, id="the same, our mode"
        ),
        pytest.param(writing("d/f", OURS), writing("d/f", BOTH), BOTH, 0o644, id="a part of theirs"),
        pytest.param(writing("d/f", BOTH), writing("d/f", OURS), BOTH, 0o644, id="more than theirs"),
        pytest.param(
            writing("d/f", OURS[:-1]), writing("d/f", TEXT.replace(b"four", b"4")),
            OURS[:-1].replace(b"four", b"4"), 0o644, id="no line end at the end of ours",
        ),
    ],
)  # fmt: skip
def test_content_and_mode_are_merged_each_for_itself(
    ours: Callable[[Path], object], theirs: Callable[[Path], object], content: bytes, mode: int, lab: MergeLab
) -> None:
    (lab.base / "d/f").chmod(0o644)
    mine, their = lab.worked(ours), lab.worked(theirs)
    lab.land(their)
    lab.land(mine, merge=True)
    assert (lab.base / "d/f").read_bytes() == content
    assert (lab.base / "d/f").stat().st_mode & 0o7777 == mode


def test_lines_that_end_as_another_system_ends_them_stay_so(lab: MergeLab) -> None:
    texts = [text.replace(b"\n", b"\r\n") for text in (TEXT, OURS, THEIRS, BOTH)]
    (lab.base / "d/f").write_bytes(texts[0])
    mine, their = lab.worked(writing("d/f", texts[1])), lab.worked(writing("d/f", texts[2]))
    lab.land(their)
    lab.land(mine, merge=True)
    assert (lab.base / "d/f").read_bytes() == texts[3]


def test_a_text_in_no_known_encoding_is_merged_by_its_bytes(lab: MergeLab) -> None:
    texts = [text.replace(b"three", b"caf\xe9 \xff") for text in (TEXT, OURS, THEIRS, BOTH)]
    (lab.base / "d/f").write_bytes(texts[0])
    mine, their = lab.worked(writing("d/f", texts[1])), lab.worked(writing("d/f", texts[2]))
    lab.land(their)
    lab.land(mine, merge=True)
    assert (lab.base / "d/f").read_bytes() == texts[3]


def linked(root: Path) -> None:
    os.link(root / "d/f", root / "d/name")


@pytest.mark.parametrize(
    ("ours", "theirs", "reason"),
    [
        pytest.param(removing("d/f"), writing("d/f", THEIRS), Reason.MERGE_CONFLICT, id="removed and changed"),
        pytest.param(writing("d/f", OURS), removing("d/f"), Reason.MERGE_CONFLICT, id="changed and removed"),
        pytest.param(writing("n", b"1\n"), writing("n", b"2\n"), Reason.MERGE_CONFLICT, id="both new"),
        pytest.param(chmod(0o755), chmod(0o700), Reason.MERGE_CONFLICT, id="two modes"),
        pytest.param(writing("d/f", b"\0" + OURS), writing("d/f", THEIRS), Reason.NOT_MERGEABLE, id="ours is no text"),
        pytest.param(writing("d/f", OURS), writing("d/f", b"\0" + TEXT), Reason.NOT_MERGEABLE, id="theirs is no text"),
        pytest.param(
            writing("d/f", OURS), both(removing("d/f"), lambda root: (root / "d/f").symlink_to("g")),
            Reason.NOT_MERGEABLE, id="a link by now",
        ),
        pytest.param(
            both(writing("d/f", OURS), linked), writing("d/f", THEIRS), Reason.NOT_MERGEABLE, id="several names"
        ),
        pytest.param(
            writing("d/f", OURS + b"x\n" * 2_200_000), writing("d/f", THEIRS), Reason.NOT_MERGEABLE, id="too large"
        ),
        pytest.param(
            writing("d/n", b"new\n"), lambda root: [(root / "d/f").unlink(), (root / "d").rmdir()],
            Reason.NOT_FOUND, id="the directory is gone",
        ),
    ],
)  # fmt: skip
def test_what_cannot_become_one_thing_refuses_the_whole(
    ours: Callable[[Path], object], theirs: Callable[[Path], object], reason: Reason, lab: MergeLab
) -> None:
    mine, their = lab.worked(both(ours, writing("g", b"G\n"))), lab.worked(theirs)
    lab.land(their)
    refused = lab.refused(mine, merge=True)
    assert refused.reason is reason, refused
    assert {item.transaction for item in refused.paths} == {their.id}


def test_without_the_content_that_was_staged_nothing_is_merged(lab: MergeLab) -> None:
    ours = lab.worked(writing("d/f", OURS))
    (lab.base / "d/f").write_bytes(THEIRS)
    refused = lab.refused(ours, merge=True)
    assert refused.reason is Reason.CONTENT_MISSING
    assert refused.detail == ("d/f cannot be merged: both sides changed it, and the content that was staged is gone")


def test_a_copy_of_what_was_staged_elsewhere_in_the_stage_is_enough(lab: MergeLab) -> None:
    ours = lab.worked(both(writing("d/f", OURS), writing("old", TEXT)))
    (lab.base / "d/f").write_bytes(THEIRS)
    lab.land(ours, merge=True)
    assert (lab.base / "d/f").read_bytes() == BOTH


def test_what_was_merged_is_approved_by_its_own_digest(lab: MergeLab) -> None:
    ours, theirs = lab.worked(writing("d/f", OURS), protect=("d",)), lab.worked(writing("d/f", THEIRS))
    before = lab.world.transactions.changes(ours.id)
    lab.land(theirs)
    assert lab.refused(ours, merge=True).reason is Reason.PROTECTED_PATH
    assert before is not None
    with pytest.raises(UnavailableError, match="another than the one that was shown") as caught:
        lab.commit(ours, merge=True, shown=before.digest)
    assert caught.value.reason == Reason.PLAN_DIFFERS
    derived = lab.commit(ours, merge=True).taken.digest
    done = lab.land(ours, merge=True, shown=derived)
    assert json.loads(Path(done.record).read_text())["approval"] == "diff"


def test_a_base_that_moves_between_merge_and_commit_is_merged_anew(
    lab: MergeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = lab.worked(writing("d/f", OURS)), lab.worked(writing("d/f", THEIRS))
    lab.land(theirs)
    saves = iter((TEXT.replace(b"four\n", b"4\n"), None))
    real = merging.merge

    def moving(request: CommitRequest, world: TransactionWorld) -> Merge | MergeRefused:
        found = real(request, world)
        content = next(saves)
        if content is not None:
            (lab.base / "d/f").write_bytes(content)
        return found

    monkeypatch.setattr(merging, "merge", moving)
    lab.land(ours, merge=True)
    assert (lab.base / "d/f").read_bytes() == OURS.replace(b"four\n", b"4\n")


def test_a_base_that_never_rests_is_refused(lab: MergeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = lab.worked(writing("d/f", OURS)), lab.worked(writing("d/f", THEIRS))
    lab.land(theirs)
    numbers = iter(range(100))
    real = merging.merge

    def moving(request: CommitRequest, world: TransactionWorld) -> Merge | MergeRefused:
        found = real(request, world)
        (lab.base / "d/f").write_bytes(TEXT.replace(b"four\n", b"%d\n" % next(numbers)))
        return found

    monkeypatch.setattr(merging, "merge", moving)
    done = lab.commit(ours, merge=True)
    assert isinstance(done.outcome, CommitRefused)
    assert (done.outcome.reason, next(numbers)) == (Reason.BASE_DRIFT, merging.ATTEMPTS)
    assert (lab.base / "d/f").read_bytes() == TEXT.replace(b"four\n", b"2\n")


def test_what_the_pool_of_snapshots_has_is_enough(lab: MergeLab) -> None:
    snapshots = lab.root / "snapshots"
    with SYSTEM_DISK.folder(snapshots, create=True) as folder:
        with create_pool(folder, wait_seconds=1) as pool:
            BlobFolder(pool.contents).put((TEXT,))
        lab.world = replace(lab.world, pool=lambda: open_pool(folder, wait_seconds=1))
        ours = lab.worked(writing("d/f", OURS))
        (lab.base / "d/f").write_bytes(THEIRS)
        lab.land(ours, merge=True)
    assert (lab.base / "d/f").read_bytes() == BOTH


def test_configuration_of_git_is_not_merged_by_its_lines(lab: MergeLab) -> None:
    (lab.base / ".git").mkdir()
    (lab.base / ".git/config").write_bytes(TEXT)
    ours, theirs = lab.worked(writing(".git/config", OURS)), lab.worked(writing(".git/config", THEIRS))
    lab.land(theirs)
    assert lab.refused(ours, merge=True).reason is Reason.NOT_MERGEABLE


def test_what_git_has_at_the_path_is_enough(lab: MergeLab) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(lab.root)}
    for words in (("init", "-q"), ("add", "d/f")):
        subprocess.run(["git", *words], cwd=lab.base, env=environment, check=True)
    ours = lab.worked(writing("d/f", OURS))
    (lab.base / "d/f").write_bytes(THEIRS)
    lab.land(ours, merge=True)
    assert (lab.base / "d/f").read_bytes() == BOTH


def test_hunks_of_a_file_that_drifted_are_not_chosen(lab: MergeLab) -> None:
    ours = lab.worked(writing("d/f", OURS))
    whole = lab.world.transactions.changes(ours.id)
    assert whole is not None
    with looked_at(lab.world.transactions.load(ours.id), lab.world) as closed, StagedTexts(closed) as texts:
        sides = texts.sides(whole.changes[0])
    assert isinstance(sides, Sides)
    lab.land(lab.worked(writing("d/f", THEIRS)))
    taken = TakenPath(path=RelPath(b"d/f"), hunks=(sides.hunks[0].name,))
    with pytest.raises(UsageError, match="it changed in the tree since"):
        lab.commit(ours, merge=True, hunks=HunkChoice(diff_sha256=whole.digest, take=(taken,)))


def test_a_part_that_is_merged_leaves_the_rest_to_a_successor(lab: MergeLab) -> None:
    ours = lab.worked(both(writing("d/f", OURS), writing("g", b"G\n")))
    lab.land(lab.worked(writing("d/f", THEIRS)))
    done = lab.land(ours, merge=True, only=(RelPath(b"d"),))
    assert (lab.base / "d/f").read_bytes() == BOTH
    assert done.successor is not None
    rest = lab.world.transactions.changes(done.successor)
    assert rest is not None
    assert [change.path for change in rest.changes] == [RelPath(b"g")]


def test_a_part_that_is_another_than_the_one_shown_is_chosen_no_more(lab: MergeLab) -> None:
    ours = lab.worked(both(writing("d/f", OURS), writing("g", b"G\n")))
    lab.land(lab.worked(writing("d/f", THEIRS)))
    whole = lab.world.transactions.changes(ours.id)
    assert whole is not None
    with pytest.raises(UnavailableError, match="another than the one that was shown"):
        lab.commit(ours, merge=True, only=(RelPath(b"d"),), shown=whole.digest)
    assert lab.world.transactions.chosen(ours.id) is None


def test_a_commit_without_drift_is_the_same_with_merging(lab: MergeLab) -> None:
    ours = lab.worked(writing("d/f", OURS))
    done = lab.land(ours, merge=True)
    record = decode_commit(Path(done.record).read_bytes())
    assert (record.of_diff_sha256, record.merged) == (None, None)


def test_without_git_nothing_is_merged_and_that_is_said(lab: MergeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = lab.worked(writing("d/f", OURS)), lab.worked(writing("d/f", THEIRS))
    lab.land(theirs)
    monkeypatch.setenv("PATH", str(lab.root))
    refused = lab.refused(ours, merge=True)
    assert (refused.reason, refused.detail) == (Reason.PROGRAM_MISSING, "git is not installed, and merges texts")
