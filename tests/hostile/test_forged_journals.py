"""Journals, plans, keys and staging directories that somebody else wrote: refused, or at worst confined steps."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from commit_lab import ID, NEW, Commits, told
from docket.engines.apply import LeftoverState, open_tree, sweep
from docket.errors import DocketError
from docket.formats.reason import Reason
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import ABSENT, ANYTHING, Remove, WriteFile, encode_step, plan_of
from docket.formats.workspace.journal import JournalHeader, JournalStep, LineWriter, StagingIdentity
from docket.formats.workspace.state import Status
from docket.stores.workspace.journal_key import journal_key
from docket.surfaces.render.recoveries import members
from tree_lab import CountedCalls, Died, holds_file, p, plan_for, root_of, write


def make(tree: Path):
    tree.mkdir()
    write(tree / "x", b"old")
    write(tree / "gone", b"old")
    return plan_for(
        tree,
        Remove(path=p("gone"), precondition=holds_file(b"old"), kind=Kind.FILE),
        WriteFile(path=p("x"), precondition=holds_file(b"old"), content=NEW, mode=0o644),
    )


@pytest.fixture
def dead(tmp_path) -> Commits:
    """A commit that died when it was prepared."""
    commits = Commits(tmp_path / "c", make)
    calls = CountedCalls()

    def rule(_number, name):
        if name == "exchange":
            raise Died

    calls.rule = rule
    with pytest.raises(Died):
        commits.commit(calls)
    return commits


def key(commits: Commits) -> bytes:
    return journal_key(commits.transactions.root)


def staging(commits: Commits) -> StagingIdentity:
    (name,) = [name for name in os.listdir(commits.tree) if name.startswith(".docket-apply-")]
    device, inode = root_of(commits.tree / name)
    return StagingIdentity(name=name, device=device, inode=inode)


def forge(commits: Commits, steps, *, place=None, plan=None, with_key=None, header=None) -> None:
    """Write a journal, well formed and with right checksums."""
    plan = plan or commits.plan
    writer = LineWriter(with_key or key(commits))
    head = JournalHeader(
        transaction=ID, base=commits.state.base, plan_sha256=plan.digest, steps=len(plan), **(header or {})
    )
    document = writer.header(head) + writer.prepared(tuple(steps), place or staging(commits))
    (commits.folder / "journal").write_bytes(document)
    (commits.folder / "plan").write_bytes(plan.document)


def refused(commits: Commits) -> str:
    before = told(commits.tree)
    with pytest.raises(DocketError) as caught:
        commits.recover(force=True)
    assert told(commits.tree) == before
    assert commits.status() is Status.COMMITTING
    return caught.value.reason


def steps_of(commits: Commits) -> list[JournalStep]:
    return [JournalStep(number=number, step=step, inode=0) for number, step in enumerate(commits.plan.steps)]


def test_a_journal_with_another_key(dead):
    forge(dead, steps_of(dead), with_key=b"k" * 32)
    assert refused(dead) == Reason.NOT_AUTHENTIC


def test_a_journal_of_which_a_record_was_changed_and_summed_anew(dead):
    lines = (dead.folder / "journal").read_bytes().splitlines()
    line = json.loads(lines[1])
    line["record"]["step"]["path"] = "other"
    body = json.dumps(line["record"], sort_keys=True, separators=(",", ":")).encode()
    import hashlib

    line |= {"length": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    lines[1] = json.dumps(line, sort_keys=True, separators=(",", ":")).encode()
    (dead.folder / "journal").write_bytes(b"\n".join(lines) + b"\n")
    assert refused(dead) == Reason.NOT_AUTHENTIC


def test_a_key_that_others_may_read(dead):
    os.chmod(dead.transactions.root / "journal.key", 0o644)
    assert refused(dead) == Reason.NOT_AUTHENTIC


def test_a_key_that_is_a_link(dead, tmp_path):
    path = dead.transactions.root / "journal.key"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    refused(dead)


def test_a_key_that_is_none(dead):
    (dead.transactions.root / "journal.key").write_bytes(b"short")
    assert refused(dead) == Reason.NOT_AUTHENTIC


def test_a_state_folder_that_is_a_link(dead, tmp_path):
    folder = dead.folder
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    before = told(dead.tree)
    with pytest.raises(DocketError):
        dead.recover(force=True)
    assert told(dead.tree) == before


def test_a_journal_that_is_a_link(dead, tmp_path):
    path = dead.folder / "journal"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    refused(dead)


@pytest.mark.parametrize("path", ["../out", "/out", "a/../../out", "", ".docket-apply-0123456789abcdef/plan", "a//b"])
def test_a_path_that_leads_outside_though_the_key_leaked(dead, path, tmp_path):
    outside = tmp_path / "out"
    write(outside, b"outside")
    writer = LineWriter(key(dead))
    head = JournalHeader(transaction=ID, base=dead.state.base, plan_sha256=dead.plan.digest, steps=len(dead.plan))
    step = json.loads(encode_step(Remove(path=p("x"), precondition=ANYTHING, kind=Kind.FILE)))
    record = {"number": 0, "step": step | {"path": path}, "inode": "0"}
    document = writer.header(head) + writer._line(record)
    place = staging(dead)
    named = {"name": place.name, "device": str(place.device), "inode": str(place.inode)}
    document += writer._line({"mark": "prepared", "staging": named})
    (dead.folder / "journal").write_bytes(document)
    refused(dead)
    assert outside.read_bytes() == b"outside"


def test_steps_that_are_not_the_plans_though_the_key_leaked(dead):
    step = Remove(path=p("x"), precondition=ANYTHING, kind=Kind.FILE)
    forge(dead, [JournalStep(number=0, step=step, inode=0)])
    assert refused(dead) == Reason.DOCUMENTS_DISAGREE


def test_a_plan_of_another_tree_though_the_key_leaked(dead):
    plan = plan_of(dead.plan.steps, (1, 2))
    forge(dead, [JournalStep(number=n, step=step, inode=0) for n, step in enumerate(plan.steps)], plan=plan)
    assert refused(dead) == Reason.DOCUMENTS_DISAGREE


def test_a_journal_of_another_transaction_though_it_is_whole(dead):
    other = replace(dead.state, id="ffffffffffff")
    dead.transactions.create(other, dead.world.observe(None))
    for name in ("journal", "plan"):
        (dead.transactions.path("ffffffffffff") / name).write_bytes((dead.folder / name).read_bytes())
    before = told(dead.tree)
    from docket.engines.apply_recovery import Asked
    from docket.engines.transaction.recovering import recover_transaction

    with pytest.raises(DocketError) as caught:
        recover_transaction("ffffffffffff", Asked(), dead.world)
    assert caught.value.reason == Reason.DOCUMENTS_DISAGREE
    assert told(dead.tree) == before


@pytest.mark.parametrize("kind", ["another directory", "a link", "open to others"])
def test_a_staging_directory_that_is_not_the_named_one(dead, kind, tmp_path):
    place = staging(dead)
    path = dead.tree / place.name
    if kind == "open to others":
        path.chmod(0o755)
    else:
        path.rename(tmp_path / "elsewhere")
        if kind == "a link":
            path.symlink_to(tmp_path / "elsewhere")
        else:
            path.mkdir(0o700)
            (path / "plan").write_bytes(dead.plan.document)
    before = told(dead.tree)
    done = dead.recover(force=True)
    assert not done.is_over
    assert done.ended.blocked
    assert told(dead.tree) == before


def test_the_worst_that_a_leaked_key_does_are_steps_whose_preconditions_hold(dead):
    """Whoever has the key can have steps done whose preconditions hold, and nothing is lost."""
    plan = plan_for(
        dead.tree,
        Remove(path=p("victim"), precondition=holds_file(b"other"), kind=Kind.FILE),
        Remove(path=p("x"), precondition=holds_file(b"old"), kind=Kind.FILE),
        WriteFile(path=p("made"), precondition=ABSENT, content=NEW, mode=0o644),
    )
    write(dead.tree / "victim", b"precious")
    forge(dead, [JournalStep(number=n, step=step, inode=0) for n, step in enumerate(plan.steps)], plan=plan)
    done = dead.recover()
    assert not done.is_over
    assert {str(item.path) for item in done.ended.blocked} >= {"victim"}
    assert (dead.tree / "victim").read_bytes() == b"precious"
    assert (dead.tree / "x").read_bytes() == b"old"


def test_something_strange_in_the_staging_directory_is_left_and_told(dead):
    (dead.tree / staging(dead).name / "strange").write_text("theirs")
    done = dead.recover()
    assert not done.is_over
    assert done.ended.left is not None
    assert (dead.tree / done.ended.left / "strange").read_text() == "theirs"
    assert (dead.tree / "x").read_text() == "new"
    (dead.tree / done.ended.left / "strange").unlink()
    assert dead.recover().is_over
    assert sorted(os.listdir(dead.tree)) == ["x"]


def test_a_fifo_or_a_directory_in_place_of_what_was_built(dead):
    place = dead.tree / staging(dead).name
    (name,) = [name for name in os.listdir(place) if name.startswith("1.")]
    (place / name).unlink()
    os.mkfifo(place / name)
    done = dead.recover()
    assert not done.is_over
    assert (dead.tree / "x").read_bytes() == b"old"


def test_a_sweep_leaves_what_belongs_to_a_journal(dead):
    before = told(dead.tree)
    with open_tree(os.fsencode(dead.tree)) as tree:
        (left,) = sweep(tree)
    assert left.state is LeftoverState.INTERRUPTED
    assert left.detail == f"{ID} {dead.transactions.root.parent}"
    assert told(dead.tree) == before
    assert dead.recover().is_over


def test_a_journal_torn_at_every_byte(tmp_path):
    """Whatever is left of the journal, the tree ends whole; a journal without PREPARED was never acted upon."""
    whole = None
    for cut in range(0, 4000, 37):
        commits = Commits(tmp_path / str(cut), make)
        calls = CountedCalls()

        def rule(_number, name, calls=calls):
            if name == "rename" and name in calls.log:  # the first one names what was built
                raise Died

        calls.rule = rule
        with pytest.raises(Died):
            commits.commit(calls)
        journal = commits.folder / "journal"
        whole = journal.read_bytes()
        prepared = whole.rindex(b"\n", 0, -1) + 1
        if prepared + cut > len(whole):
            break
        journal.write_bytes(whole[: len(whole) - cut])
        assert commits.recover().is_over
        texts = {path.name: path.read_text() for path in commits.tree.iterdir()}
        expected = {"x": "new"} if commits.status() is Status.COMMITTED else {"x": "old", "gone": "old"}
        assert texts == expected
        assert (commits.status() is Status.COMMITTED) is (cut == 0)


@pytest.mark.parametrize("damage", ["gone", "empty", "no mark"])
def test_a_journal_that_lost_what_was_durable_is_not_acted_upon(dead, damage):
    """Something was displaced already, so the commit cannot be one of which nothing had begun."""
    journal = dead.folder / "journal"
    whole = journal.read_bytes()
    if damage == "gone":
        journal.unlink()
    else:
        journal.write_bytes(b"" if damage == "empty" else whole[: whole.index(b"\n") + 1])
    before = told(dead.tree)
    if damage == "no mark":
        done = dead.recover()
        assert not done.is_over
        assert done.left
    else:
        refused(dead)
    assert told(dead.tree) == before
    assert dead.status() is Status.COMMITTING
    journal.write_bytes(whole)
    assert dead.recover().is_over


def test_what_was_cut_off_a_damaged_journal_is_named_and_put_back_goes_on(dead):
    journal, torn = dead.folder / "journal", dead.folder / "journal.torn"
    whole = journal.read_bytes()
    at = whole.index(b"\n") + 5
    journal.write_bytes(whole[:at] + b"#" + whole[at + 1 :])
    for _ in range(2):
        (told_so,) = members(dead.recover())["left"][1:]
        assert told_so.startswith(f"{torn} is the journal as it was before its damaged end was cut off: ")
    damaged = torn.read_bytes()
    journal.write_bytes(b"")
    with pytest.raises(DocketError) as caught:
        dead.recover()
    assert f"put back as {journal}" in caught.value.hint
    journal.write_bytes(damaged[:at] + whole[at : at + 1] + damaged[at + 1 :])
    assert dead.recover().is_over
    assert not torn.exists()


def test_an_empty_journal_of_which_nothing_was_built(tmp_path):
    commits = Commits(tmp_path / "c", make)
    (commits.folder / "journal").write_bytes(b"")
    assert commits.recover().is_over
    assert commits.status() is Status.REFUSED
    assert not (commits.folder / "journal").exists()
