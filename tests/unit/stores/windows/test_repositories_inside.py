"""Repositories inside of a worktree: submodules, clones, and ones without a commit; none voids a window."""

from __future__ import annotations

import shutil

import pytest

import windows_lab
from windows_lab import told

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
MAKE = "git init -q emb; cd emb; echo 1 > f; git add f; git commit -qm inner"


def inner(lab: windows_lab.WindowsLab) -> str:
    return lab.git("-C", "emb", "rev-parse", "HEAD").strip()


def test_a_repository_that_a_tool_makes_is_told_by_its_commit(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    (file,) = lab.tool("u", MAKE).files
    assert (str(file.path), file.operation, file.after_mode, file.after_hash) == (
        "emb", "create", "160000", inner(lab))  # fmt: skip


def test_a_commit_in_it_is_an_edit_from_one_to_the_other(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    lab.tool("u", MAKE)
    before = inner(lab)
    (file,) = lab.tool("v", "cd emb; echo 2 >> f; git commit -qam two").files
    assert (file.before_hash, file.after_hash, file.truncated) == (before, inner(lab), False)


@pytest.mark.parametrize("change", ["echo 2 >> emb/f", "echo 2 > emb/new", "cd emb; echo 2 >> f; git add f"])
def test_what_is_dirty_in_it_is_known_to_have_changed(tmp_path, change):
    lab = windows_lab.git_lab(tmp_path)
    lab.tool("u", MAKE)
    assert [(str(file.path), file.truncated) for file in lab.tool("v", change).files] == [("emb", True)]
    assert told(lab.tool("w", "true")) == {}
    assert [(str(file.path), file.truncated) for file in lab.tool("x", "echo 9 >> emb/f").files] == [("emb", True)]


def test_one_without_a_commit_voids_nothing(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    files = {str(file.path): file for file in lab.tool("u", "git init -q emb; echo 4 >> a").files}
    assert sorted(files) == ["a", "emb"]
    assert (files["emb"].after_mode, files["emb"].truncated) == ("160000", True)
    assert told(lab.tool("v", "echo 5 >> a")) == {"a": ("edit", [], ["5"])}


def test_a_submodule_is_looked_into_and_one_that_is_not_checked_out_is_left(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    lab.tool("u", MAKE)
    shutil.move(lab.tree / "emb", tmp_path / "origin")
    lab.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "origin"), "emb")
    lab.git("commit", "-qm", "with a submodule")
    assert told(lab.tool("v", "echo 4 >> a")) == {"a": ("edit", [], ["4"])}
    assert [str(file.path) for file in lab.tool("w", "echo 2 >> emb/f").files] == ["emb"]
    lab.git("submodule", "deinit", "-q", "-f", "emb")
    assert told(lab.tool("x", "echo 5 >> a")) == {"a": ("edit", [], ["5"])}


def test_its_filters_are_not_run(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    lab.tool("u", MAKE)
    (lab.tree / "emb/.gitattributes").write_text("* filter=f\n")
    lab.git("-C", "emb", "config", "filter.f.clean", f"touch {tmp_path}/ran; cat")
    lab.git("-C", "emb", "config", "core.fsmonitor", f"touch {tmp_path}/ran")
    assert [str(file.path) for file in lab.tool("v", "echo 2 >> emb/f").files] == ["emb"]
    assert not (tmp_path / "ran").exists()
