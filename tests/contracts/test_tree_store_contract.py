"""One suite for everybody who looks at trees for windows: git's worktrees and folders without git."""

from __future__ import annotations

import shutil

import pytest

import windows_lab
from docket.errors import PartialEvidenceError
from docket.formats.windows.names import PartialReason
from docket.host.git_program import Deadline
from windows_lab import WindowsLab, deadline, write


@pytest.fixture(params=["git", "folder"])
def lab(request, tmp_path) -> WindowsLab:
    if request.param == "git" and shutil.which("git") is None:
        pytest.skip("needs git")
    return windows_lab.git_lab(tmp_path) if request.param == "git" else windows_lab.folder_lab(tmp_path)


def tree(lab: WindowsLab) -> str:
    return lab.store.look(deadline()).baseline.tree


def test_the_same_tree_has_the_same_name_and_no_changes(lab):
    first = tree(lab)
    write(lab.tree / "a", "other\n")
    other = tree(lab)
    write(lab.tree / "a", "1\n2\n3\n")
    assert tree(lab) == first != other
    assert lab.store.changes(first, first, deadline()) == ()
    assert lab.store.hashes.digits == len(first)


def test_changes_are_in_byte_order_with_both_sides_and_their_contents(lab):
    write(lab.tree / "exec", "#!\n")
    before = tree(lab)
    write(lab.tree / "a", "new\n")
    (lab.tree / "gone").unlink()
    (lab.tree / "exec").chmod(0o755)
    (lab.tree / "link").symlink_to("somewhere")
    write(lab.tree / "d-", "x")
    found = lab.store.changes(before, tree(lab), deadline())
    assert [(change.path.raw, change.before.mode, change.after.mode) for change in found] == [
        (b"a", "100644", "100644"), (b"d-", "000000", "100644"), (b"exec", "100644", "100755"),
        (b"gone", "100644", "000000"), (b"link", "000000", "120000")]  # fmt: skip
    with lab.store.contents() as load:
        contents = {
            change.path.raw: [
                None if side.name is None else load(side.name, 100) for side in (change.before, change.after)
            ]
            for change in found
        }
        assert load(found[0].before.name or "", 5) is None
    assert contents == {
        b"a": [b"1\n2\n3\n", b"new\n"], b"d-": [None, b"x"], b"exec": [b"#!\n", b"#!\n"], b"gone": [b"g\n", None],
        b"link": [None, b"somewhere"]}  # fmt: skip


def test_a_name_keeps_one_tree_until_it_is_given_up(lab):
    first = tree(lab)
    write(lab.tree / "a", "other\n")
    second = tree(lab)
    ref = "refs/docket/tool-windows/w/g/u/pre"
    assert lab.store.kept(ref) is None
    lab.store.keep(ref, first)
    lab.store.keep(ref, first)
    with pytest.raises(PartialEvidenceError):
        lab.store.keep(ref, second)
    lab.store.keep("refs/docket/tool-windows/w/g/post", second)
    assert lab.store.refs() == {ref: first, "refs/docket/tool-windows/w/g/post": second}
    lab.store.release(ref, second)
    assert lab.store.kept(ref) == first
    lab.store.release(ref, first)
    lab.store.release(ref, first)
    assert lab.store.kept(ref) is None


def test_a_tree_that_is_not_there_is_said_to_be_missing(lab):
    with pytest.raises(PartialEvidenceError) as refused:
        lab.store.changes(tree(lab), "7" * lab.store.hashes.digits, deadline())
    assert refused.value.reason == PartialReason.ALTERNATE_OBJECT_MISSING


def test_a_look_that_has_no_time_left_says_so(lab):
    with pytest.raises(PartialEvidenceError) as refused:
        lab.store.look(Deadline(at_ns=0))
    assert refused.value.reason == PartialReason.TIMEOUT


def test_another_tree_in_the_same_place_has_another_name(lab):
    before = lab.store.repository
    is_git = (lab.tree / ".git").exists()
    shutil.copytree(lab.tree, lab.root / "copy", symlinks=True)
    lab.tree.rename(lab.root / "first")
    (lab.root / "copy").rename(lab.tree)
    again = windows_lab.reopened(lab.root) if is_git else windows_lab.reopened_folder(lab.root)
    assert again.store.repository != before
