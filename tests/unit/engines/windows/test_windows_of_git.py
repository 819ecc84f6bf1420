"""What one tool changed in a real repository, whatever it does with git meanwhile; the right answers by hand."""

from __future__ import annotations

import os
import shutil

import pytest

import windows_lab
from docket.errors import PartialEvidenceError
from docket.formats.relpath import RelPath
from docket.formats.windows.names import PartialReason, Scope, Status
from docket.stores.windows.looked import LookLimits
from windows_lab import told, write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

REBASE = """
git checkout -qb o; echo 4 >> a; git commit -qam two
git checkout -q main; echo y > d/b; git commit -qam three; git rebase -q o
"""
NOTHING: dict[str, object] = {}
# (what the tool does, what it changed: path to operation, lines gone, lines come)
CASES = {
    "edit": ("echo 4 >> a", {"a": ("edit", [], ["4"])}),
    "create-and-delete": ("echo n > n; rm gone", {"gone": ("delete", ["g"], []), "n": ("create", [], ["n"])}),
    "rename": ("mv a z", {"a": ("delete", ["1", "2", "3"], []), "z": ("create", [], ["1", "2", "3"])}),
    "rename-of-a-folder": ("mv d e", {"d/b": ("delete", ["x"], []), "e/b": ("create", [], ["x"])}),
    "git-mv-of-a-folder": ("git mv d e", {"d/b": ("delete", ["x"], []), "e/b": ("create", [], ["x"])}),
    "nothing": ("true", NOTHING),
    "touch": ("touch a", NOTHING),
    "same-size-and-time": ("touch -r a ref.log; printf '1\\n9\\n3\\n' > a; touch -r ref.log a",
                           {"a": ("edit", ["2"], ["9"])}),
    "commit": ("echo 4 >> a; git commit -qam two", {"a": ("edit", [], ["4"])}),
    "commit-and-edit": ("echo 4 >> a; git commit -qam two; echo 5 >> a", {"a": ("edit", [], ["4", "5"])}),
    "staged": ("echo 4 >> a; git add a", {"a": ("edit", [], ["4"])}),
    "there-and-back": ("echo 4 >> a; git commit -qam two; git reset -q --hard HEAD^", NOTHING),
    "stash": ("echo 4 >> a; git stash -q", NOTHING),
    "stash-and-pop": ("echo 4 >> a; git stash -q; git stash pop -q", {"a": ("edit", [], ["4"])}),
    "branch": ("git checkout -qb other; echo 4 >> a; git commit -qam two", {"a": ("edit", [], ["4"])}),
    "rebase": (REBASE, {"a": ("edit", [], ["4"]), "d/b": ("edit", ["x"], ["y"])}),
    "ignored": ("echo n > n.log", NOTHING),
    "rm-cached": ("git rm -q --cached a", NOTHING),
    "rm-cached-and-ignored": ("git rm -q --cached a; echo a >> .git/info/exclude", NOTHING),
    "intent-to-add": ("echo n > n; git add -N n", {"n": ("create", [], ["n"])}),
    "file-becomes-folder": ("rm a; mkdir a; echo i > a/i",
                            {"a": ("delete", ["1", "2", "3"], []), "a/i": ("create", [], ["i"])}),
    "folder-becomes-file": ("rm -r d; echo d > d", {"d": ("create", [], ["d"]), "d/b": ("delete", ["x"], [])}),
    "file-becomes-link": ("ln -sf d a", {"a": ("typechange", [], [])}),
    "empty-folder-for-a-file": ("rm a; mkdir a", {"a": ("delete", ["1", "2", "3"], [])}),
    "fifo-for-a-file": ("rm a; mkfifo a", {"a": ("delete", ["1", "2", "3"], [])}),
    "git-gone-wrong": ("rm .git/index", NOTHING),
    "new-branch-without-a-commit": ("git checkout -q --orphan o; git rm -rqf .", {
        "a": ("delete", ["1", "2", "3"], []), "d/b": ("delete", ["x"], []), "gone": ("delete", ["g"], []),
        ".gitignore": ("delete", ["*.log"], [])}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_tool_changed_this_and_nothing_else(tmp_path, case):
    script, wanted = CASES[case]
    lab = windows_lab.git_lab(tmp_path)
    assert told(lab.tool("u", script)) == wanted


def test_what_was_dirty_before_is_not_the_tools(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    write(lab.tree / "a", "1\n2\n3\nmine\n")
    write(lab.tree / "new", "mine\n")
    lab.git("add", "new")
    write(lab.tree / "other", "mine\n")
    assert told(lab.tool("u", "echo 4 >> a; echo 5 >> other")) == {
        "a": ("edit", [], ["4"]),
        "other": ("edit", [], ["5"]),
    }


def test_a_rule_that_comes_or_goes_makes_no_phantom(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    write(lab.tree / "new", "mine\n")
    assert told(lab.tool("u", "echo new >> .gitignore")) == {".gitignore": ("edit", [], ["new"])}
    assert told(lab.tool("v", "echo '*.log' > .gitignore")) == {".gitignore": ("edit", ["new"], [])}
    write(lab.tree / "old.log", "mine\n")
    assert told(lab.tool("w", "git add -f old.log")) == NOTHING


def test_the_head_before_and_after_are_facts_beside_the_files(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    before = lab.git("rev-parse", "HEAD").strip()
    delta = lab.tool("u", "echo 4 >> a; git commit -qam two")
    after = lab.git("rev-parse", "HEAD").strip()
    assert (delta.head_before, delta.head_after, delta.head_moves) == (before, after, 1)
    delta = lab.tool("v", "echo 5 >> a; git commit -qam three; git reset -q --hard HEAD^")
    assert (delta.head_before, delta.head_after, delta.head_moves) == (after, after, 2)
    assert told(delta) == NOTHING


def test_an_unborn_branch_has_windows_and_its_first_commit_too(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    shutil.rmtree(lab.tree / ".git")
    lab.git("init", "-q")
    lab = windows_lab.reopened(tmp_path)
    assert told(lab.tool("u", "echo 4 >> a")) == {"a": ("edit", [], ["4"])}
    delta = lab.tool("v", "git add -A; git commit -qm one")
    assert (delta.head_before, told(delta)) == (None, NOTHING)
    assert delta.head_after == lab.git("rev-parse", "HEAD").strip()


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_what_git_was_told_not_to_look_at_is_looked_at(tmp_path, flag):
    lab = windows_lab.git_lab(tmp_path)
    lab.git("update-index", flag, "a")
    assert told(lab.tool("u", "echo 4 >> a")) == {"a": ("edit", [], ["4"])}


def test_a_sparse_checkout_deletes_nothing(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    lab.git("sparse-checkout", "set", "d")
    assert not (lab.tree / "d/../e").exists()
    assert told(lab.tool("u", "echo y >> d/b")) == {"d/b": ("edit", [], ["y"])}


def test_a_conflict_is_told_by_what_stands_on_the_disk(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    lab.git("checkout", "-qb", "o")
    write(lab.tree / "a", "1\ntheirs\n3\n")
    lab.git("commit", "-qam", "o")
    lab.git("checkout", "-q", "main")
    write(lab.tree / "a", "1\nours\n3\n")
    lab.git("commit", "-qam", "m")
    assert told(lab.tool("u", "git merge -q o || true")) == {
        "a": ("edit", [], ["<<<<<<< HEAD", "=======", "theirs", ">>>>>>> o"])
    }
    assert told(lab.tool("v", "printf '1\\nboth\\n3\\n' > a")) == {
        "a": ("edit", ["<<<<<<< HEAD", "ours", "=======", "theirs", ">>>>>>> o"], ["both"])
    }


@pytest.mark.parametrize("index", ["feature.manyFiles", "core.splitIndex", "core.untrackedCache", "index.sparse"])
def test_an_index_of_another_kind_is_read_too(tmp_path, index):
    lab = windows_lab.git_lab(tmp_path)
    lab.git("config", index, "true")
    lab.git("update-index", "--split-index" if "split" in index.lower() else "--refresh")
    assert told(lab.tool("u", "echo 4 >> a; rm gone")) == {"a": ("edit", [], ["4"]), "gone": ("delete", ["g"], [])}


def test_objects_named_by_sha256(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    shutil.rmtree(lab.tree / ".git")
    lab.git("init", "-q", "--object-format=sha256")
    lab.git("add", "-A")
    lab.git("commit", "-qm", "one")
    with pytest.raises(PartialEvidenceError) as refused:
        windows_lab.reopened(tmp_path)  # the store is one of the other format
    assert refused.value.reason == PartialReason.SNAPSHOT_STORE_UNAVAILABLE
    shutil.rmtree(lab.windows)
    lab = windows_lab.reopened(tmp_path)
    delta = lab.tool("u", "echo 4 >> a")
    assert told(delta) == {"a": ("edit", [], ["4"])}
    assert (len(delta.files[0].after_hash), delta.hashes) == (64, "sha256")


def test_a_linked_worktree_is_a_tree_of_its_own(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    lab.git("worktree", "add", "-q", "../linked")
    (tmp_path / "other/home").mkdir(parents=True)
    (tmp_path / "linked").rename(tmp_path / "other/tree")
    lab.git("worktree", "repair", str(tmp_path / "other/tree"))
    shutil.copy(tmp_path / "home/.gitconfig", tmp_path / "other/home/.gitconfig")
    linked = windows_lab.reopened(tmp_path / "other")
    assert linked.store.repository != lab.store.repository
    assert told(linked.tool("u", "echo 4 >> a; git commit -qam two")) == {"a": ("edit", [], ["4"])}


def test_names_of_all_kinds(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    names = [b"new\nline", b"tab\t", b"-dash", b'quo"te', b" blank ", b"#hash", b"c:x", b"a\\b", b"\xff", b"\xfe",
             b"\xc3\xa9", b"e\xcc\x81", b"*.[ch]", b":(glob)x", b"x" * 255]  # fmt: skip
    lab.pre("u")
    root = os.fsencode(lab.tree)
    for name in names:
        with open(root + b"/" + name, "wb") as file:
            file.write(name)
    delta = lab.delta(lab.post("u"))
    assert [file.path for file in delta.files] == sorted(RelPath.parse(name) for name in names)
    assert delta.files[-1].path.raw == b"\xff"
    lab.git("add", "-A")
    lab.git("commit", "-qm", "names")
    lab.pre("v")
    for name in names:
        with open(root + b"/" + name, "ab") as file:
            file.write(b"\nmore\n")
    delta = lab.delta(lab.post("v"))
    assert {file.path.raw: file.hunks[0].new_lines for file in delta.files} == dict.fromkeys(names, (b"more",))


def test_beyond_the_limits_a_file_is_told_without_its_lines_and_the_others_whole(tmp_path):
    lab = windows_lab.git_lab(tmp_path, limits=LookLimits(max_paths=5000, max_bytes=100))
    delta = lab.tool("u", "head -c 1000 /dev/zero | tr '\\0' 'x' > big; echo 4 >> a")
    files = {str(file.path): file for file in delta.files}
    assert (files["big"].truncated, files["big"].after_hash, files["big"].after_mode) == (True, "0" * 40, "100644")
    assert (files["a"].truncated, files["a"].hunks[0].new_lines) == (False, (b"4",))
    assert (delta.status, delta.limits.truncated) == (Status.COMPLETE, True)
    assert told(lab.tool("v", "true")) == NOTHING


def test_beyond_so_many_paths_contents_are_named_and_not_kept(tmp_path):
    lab = windows_lab.git_lab(tmp_path, limits=LookLimits(max_paths=1))
    delta = lab.tool("u", "echo 1 > n1; echo 2 > n2")
    assert [(str(file.path), file.truncated) for file in delta.files] == [("n1", False), ("n2", True)]
    assert delta.files[1].after_hash == lab.git("hash-object", "n2").strip()
    assert told(lab.tool("v", "true")) == NOTHING


def test_the_persons_git_is_as_it_was(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    write(lab.tree / "a", "mine\n")
    before = {path: path.read_bytes() for path in (lab.tree / ".git").rglob("*") if path.is_file()}
    lab.pre("u")
    lab.post("u")
    assert before == {path: path.read_bytes() for path in (lab.tree / ".git").rglob("*") if path.is_file()}
    assert lab.store.refs() == {}


def test_a_tool_alone_is_of_that_scope(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    delta = lab.tool("u", "echo 4 >> a")
    assert (delta.scope, [use.tool_use_id for use in delta.tool_uses]) == (Scope.TOOL, ["u"])
