"""Undoing from doctored deltas and records, damaged contents, and in trees that change under it: nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest

import windows_lab
from docket.engines import restore as engine
from docket.engines.restore import carry_out, settle_leftovers
from docket.engines.windows.undo import UndoRequest, propose_undo
from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.digest import sha256
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.windows.delta import FileDelta, encode_delta
from docket.formats.windows.names import ABSENT_MODE, REGULAR_MODE, Operation
from docket.host.confined import ConfinedTree
from docket.host.git_merge import GitMerge
from docket.rules.windows.naming import content_name
from tree_lab import CountedCalls, Died, dies_at
from undo_lab import WORLD, conflicts, layout, proposed, request, standing, undo
from windows_lab import WindowsLab, write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def lab(tmp_path: Path) -> WindowsLab:
    return windows_lab.git_lab(tmp_path / "lab")


def doctored(lab: WindowsLab, use: str, *files: FileDelta, trees: bool = False) -> UndoRequest:
    """The request for a window whose delta says something else, under a digest of its own."""
    asked = request(lab, use)
    delta = replace(asked.delta, files=files, limits=replace(asked.delta.limits, files_observed=len(files)))
    record = replace(asked.record, delta_sha256=sha256(encode_delta(delta)))
    if not trees:
        record = replace(record, tree_before=None, tree_after=None)
    return replace(asked, delta=delta, record=record)


def removal_of(lab: WindowsLab, path: bytes, content: bytes) -> FileDelta:
    """A delta's word that a tool removed a file with this content: undoing it would write the file."""
    return FileDelta(
        path=RelPath.parse(path), operation=Operation.DELETE, before_mode=REGULAR_MODE, after_mode=ABSENT_MODE,
        before_hash=content_name(content, lab.store.hashes), after_hash="0" * lab.store.hashes.digits, binary=True,
    )  # fmt: skip


def test_a_delta_that_the_trees_do_not_bear_out_is_refused(lab: WindowsLab) -> None:
    lab.tool("one", "echo 4 >> a")
    with pytest.raises(InvalidDocumentError, match="not what became of the trees") as caught:
        proposed(lab, doctored(lab, "one", removal_of(lab, b"gone", b"g\n"), trees=True))
    assert caught.value.reason == Reason.DOCUMENTS_DISAGREE


def test_a_delta_of_another_tool_is_refused(lab: WindowsLab) -> None:
    lab.tool("one", "echo 4 >> a")
    lab.tool("two", "echo 5 >> a")
    one, two = request(lab, "one"), request(lab, "two")
    with pytest.raises(InvalidDocumentError, match="is not of two"):
        proposed(lab, replace(two, delta=one.delta))


def test_what_is_no_tool_s_is_not_written(lab: WindowsLab) -> None:
    lab.tool("one", "printf '#!/bin/sh\\n' > program")
    program = b"#!/bin/sh\n"
    for path, reason in (
        (b".git/hooks/pre-commit", Reason.GIT_METADATA),
        (b"d/.git", Reason.GIT_METADATA),
        (b"own/registry.json", Reason.NOT_OURS),
        (b"own", Reason.NOT_OURS),
    ):
        asked = replace(
            doctored(lab, "one", removal_of(lab, path, program)),
            layout=replace(layout(lab), evidence=(RelPath(b"own"),)),
        )
        assert conflicts(proposed(lab, asked))[path.decode()][0] == reason
    with pytest.raises(InvalidDocumentError):
        removal_of(lab, b"../outside", program)


def test_a_damaged_delta_and_a_damaged_record_are_refused(lab: WindowsLab) -> None:
    delta = lab.tool("one", "echo 4 >> a")
    assert delta.files
    (record,) = (lab.windows / "closed").iterdir()
    (kept,) = (lab.windows / "deltas").iterdir()
    kept.write_bytes(kept.read_bytes().replace(b'"4"', b'"5"'))
    with pytest.raises(InvalidDocumentError, match="not what its name says"):
        request(lab, "one")
    record.write_bytes(record.read_bytes().replace(b'"members":1', b'"members":1,"more":1'))
    with pytest.raises(UnavailableError, match="no window that is over"):
        request(lab, "one")


def test_a_content_that_is_not_what_its_name_says_is_not_written(lab: WindowsLab) -> None:
    write(lab.tree / "binary", b"x\0y")
    lab.tool("one", "printf 'x\\0z' > binary; echo five > a")
    objects = {content_name(data, lab.store.hashes) for data in (b"x\0y", b"1\n2\n3\n")}
    for name in objects:
        path = lab.windows / "git/objects" / name[:2] / name[2:]
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(zlib.compress(b"blob 4\0evil"))
    assert conflicts(proposed(lab, request(lab, "one"))) == {
        "binary": (Reason.CONTENT_MISSING, "what stood there before the tool is not kept any more")
    }
    undo(lab, "one", "a")
    assert (lab.tree / "a").read_text() == "1\n2\n3\n", "made of what the tool left and its hunks"


@pytest.mark.parametrize("change", ["echo mine > a", "rm d/b; rmdir d; ln -s .. d", "chmod 700 n", "rm n; mkfifo n"])
def test_a_tree_that_changes_between_the_plan_and_its_doing(lab: WindowsLab, change: str) -> None:
    lab.tool("one", "echo 4 >> a; echo n > n; echo y > d/b")
    with ExitStack() as stack:
        found = propose_undo(request(lab, "one"), lab.store, WORLD, stack)
        assert not found.refused
        subprocess.run(["sh", "-ec", change], cwd=lab.tree, check=True)
        before = standing(lab.tree)
        restored = carry_out(found.proposal, WORLD)
    assert standing(lab.tree) == before, "all or nothing"
    assert not restored.count("applied"), restored.record
    assert restored.count("refused", "failed") == 1


def test_an_undo_that_dies_at_any_call_that_changes_the_tree(lab: WindowsLab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.tool("one", "echo 4 >> a; echo n > n; rm gone; rm -r d; echo d > d")
    after = standing(lab.tree)
    first = proposed(lab, request(lab, "one"))
    assert not first.refused
    counted = CountedCalls()
    monkeypatch.setattr(engine, "open_tree", lambda root: ConfinedTree(root, durable=True, calls=counted))
    undo(lab, "one")
    total, before = len(counted.log), standing(lab.tree)
    assert total > 20
    monkeypatch.undo()
    for step in range(0, total, 5):
        _lay(lab.tree, after)
        with ExitStack() as stack, suppress(Died):
            found = propose_undo(request(lab, "one"), lab.store, WORLD, stack)
            monkeypatch.setattr(
                engine, "open_tree",
                lambda root, at=step: ConfinedTree(root, durable=True, calls=CountedCalls(dies_at(at))),
            )  # fmt: skip
            carry_out(found.proposal, WORLD)
        monkeypatch.undo()
        left = _own(lab)
        for name in {*before, *after, *left}:
            assert left.get(name) in (before.get(name), after.get(name)), (step, name)
        settle_leftovers(os.fsencode(lab.tree), layout(lab), WORLD)
        undo(lab, "one")
        assert _own(lab) == before, step


def _own(lab: WindowsLab) -> dict[str, tuple[str, bytes]]:
    """What stands in the tree beside what a dead apply left."""
    return {name: told for name, told in standing(lab.tree).items() if not name.startswith(".docket-apply-")}


def _lay(tree: Path, wanted: dict[str, tuple[str, bytes]]) -> None:
    """Make the tree hold these files, and nothing else."""
    for path in tree.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, (_, data) in wanted.items():
        write(tree / name, data)


def test_a_merge_needs_git_and_says_so(lab: WindowsLab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.tool("one", "sed -i 's/^1$/one/' a")
    write(lab.tree / "a", "one\n2\n3\n4\n")
    asked = request(lab, "one")

    def missing(*_: object) -> None:
        raise UnavailableError(Reason.PROGRAM_MISSING, "git is not installed, and merges texts")

    monkeypatch.setattr(GitMerge, "merge", missing)
    assert conflicts(proposed(lab, asked)) == {"a": (Reason.PROGRAM_MISSING, "git is not installed, and merges texts")}
