"""Repositories whose configuration would run programs, hide edits or reshape contents: windows tell the bytes, and run
nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import windows_lab
from docket.errors import PartialEvidenceError
from docket.formats.windows.names import PartialReason, Status
from windows_lab import told, write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def trap(root: Path, name: str, does: str = "cat") -> str:
    """A program that leaves a mark where it is run."""
    path = root / f"{name}.sh"
    path.write_text(f"#!/bin/sh\necho {name} >> {root}/ran\n{does}\n")
    path.chmod(0o755)
    return str(path)


def planted(lab: windows_lab.WindowsLab) -> None:
    """Every setting that names a program, pointing at traps."""
    root = lab.root
    for key, name in {
        "core.fsmonitor": "fsmonitor", "filter.f.clean": "clean", "filter.f.smudge": "smudge",
        "filter.f.process": "process", "diff.d.textconv": "textconv", "diff.d.command": "differ",
        "diff.external": "external", "core.pager": "pager", "core.sshCommand": "ssh", "core.askPass": "askpass",
        "credential.helper": "credentials", "gpg.program": "gpg", "core.editor": "editor",
    }.items():  # fmt: skip
        lab.git("config", key, trap(root, name))
    lab.git("config", "filter.f.required", "true")
    lab.git("config", "log.showSignature", "true")
    lab.git("config", "remote.origin.url", f"ext::{trap(root, 'remote')}")
    lab.git("config", "remote.origin.promisor", "true")
    hooks = root / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "pre-auto-gc", "post-checkout"):
        shutil.copy(trap(root, name), hooks / name)
    lab.git("config", "core.hooksPath", str(hooks))
    (root / "ran").unlink(missing_ok=True)


def test_no_program_that_a_repository_names_is_run(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    write(lab.tree / ".gitattributes", "* filter=f diff=d\n")
    planted(lab)
    lab.pre("u")
    write(lab.tree / "a", "1\n2\n3\n4\n")
    write(lab.tree / "n", "n\n")
    delta = lab.delta(lab.post("u"))
    assert told(delta) == {"a": ("edit", [], ["4"]), "n": ("create", [], ["n"])}
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [("core.trustctime", "false"), ("core.checkStat", "minimal"), ("core.ignoreStat", "true"),
     ("diff.ignoreSubmodules", "all"), ("status.showUntrackedFiles", "no"), ("core.fileMode", "false"),
     ("core.untrackedCache", "keep"), ("diff.renames", "copies"), ("core.quotePath", "false"),
     ("core.ignoreCase", "true"), ("core.attributesFile", "/dev/null")],
)  # fmt: skip
def test_no_setting_hides_an_edit(tmp_path, key, value):
    lab = windows_lab.git_lab(tmp_path)
    lab.git("config", key, value)
    lab.git("status")
    script = "touch -r a ref.log; printf '1\\n9\\n3\\n' > a; touch -r ref.log a; chmod +x d/b; echo n > n"
    delta = lab.tool("u", script)
    assert told(delta) == {"a": ("edit", ["2"], ["9"]), "d/b": ("edit", [], []), "n": ("create", [], ["n"])}
    assert [file.after_mode for file in delta.files] == ["100644", "100755", "100644"]


def test_line_ends_that_git_converts_are_compared_as_they_stand(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    lab.git("config", "core.autocrlf", "true")
    for name in ("a", "d/b"):
        (lab.tree / name).unlink()
    lab.git("checkout", "-q", "--", ".")
    assert (lab.tree / "a").read_bytes() == b"1\r\n2\r\n3\r\n"
    assert told(lab.tool("u", "printf '1\\r\\nX\\r\\n3\\r\\n' > a")) == {"a": ("edit", ["2\r"], ["X\r"])}
    assert told(lab.tool("v", "printf 'x\\n' > d/b")) == {"d/b": ("edit", ["x\r"], ["x"])}


def test_a_large_files_pointer_is_not_its_content(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    write(lab.tree / ".gitattributes", "*.bin filter=lfs -text\n")
    lab.git("config", "filter.lfs.clean", "sed -n '1s/.*/pointer/p'")
    lab.git("config", "filter.lfs.smudge", "cat")
    write(lab.tree / "m.bin", "one\ntwo\nthree\n")
    lab.git("add", "-A")
    lab.git("commit", "-qm", "lfs")
    assert lab.git("cat-file", "blob", "HEAD:m.bin") == "pointer\n"
    lab.git("config", "filter.lfs.clean", trap(tmp_path, "clean"))
    assert told(lab.tool("u", "printf 'one\\n2\\nthree\\n' > m.bin")) == {"m.bin": ("edit", ["two"], ["2"])}
    assert not (tmp_path / "ran").exists()


def test_an_encoding_of_the_working_tree_is_its_bytes(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    write(lab.tree / ".gitattributes", "*.u working-tree-encoding=UTF-16LE-BOM text\n")
    write(lab.tree / "t.u", "\ufeffone\ntwo\n".encode("utf-16-le"))
    lab.git("add", "-A")
    lab.git("commit", "-qm", "utf-16")
    lab.pre("u")
    write(lab.tree / "t.u", "\ufeffone\n2\n".encode("utf-16-le"))
    (file,) = lab.delta(lab.post("u")).files
    assert (str(file.path), file.binary) == ("t.u", True)
    assert file.before_hash != lab.git("rev-parse", "HEAD:t.u").strip()


def test_attributes_that_come_with_the_tool_change_nothing_else(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    assert told(lab.tool("u", "echo '* text eol=crlf' > .gitattributes; echo 4 >> a")) == {
        ".gitattributes": ("create", [], ["* text eol=crlf"]),
        "a": ("edit", [], ["4"]),
    }


def test_variables_of_git_in_the_hooks_environment_count_for_nothing(tmp_path, monkeypatch):
    lab = windows_lab.git_lab(tmp_path)
    for name, value in {
        "GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere/index", "GIT_WORK_TREE": "/", "GIT_OBJECT_DIRECTORY": "/x",
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": trap(tmp_path, "env"),
        "GIT_CONFIG_PARAMETERS": "'core.bare=true'", "GIT_EXTERNAL_DIFF": trap(tmp_path, "ext"), "git_dir": "/nowhere",
        "GIT_TRACE": str(tmp_path / "ran"), "GIT_NAMESPACE": "n", "GIT_ATTR_SOURCE": "HEAD", "LC_ALL": "de_DE",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    lab.pre("u")
    write(lab.tree / "a", "1\n2\n3\n4\n")
    assert told(lab.delta(lab.post("u"))) == {"a": ("edit", [], ["4"])}
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("what", ["include", "attributes", "link", "commondir"])
def test_a_store_that_is_not_as_docket_wrote_it_is_refused(tmp_path, what):
    lab = windows_lab.git_lab(tmp_path)
    store = lab.windows / "git"
    if what == "include":
        with (store / "config").open("a") as config:
            config.write("[include]\n\tpath = /dev/null\n")
    elif what == "attributes":
        (store / "info/attributes").write_text("* filter=f\n")
    elif what == "link":
        store.rename(tmp_path / "elsewhere")
        store.symlink_to(tmp_path / "elsewhere")
    else:
        (store / "commondir").write_text("/nowhere\n")
    with pytest.raises(PartialEvidenceError) as refused:
        windows_lab.reopened(tmp_path)
    assert refused.value.reason == PartialReason.SNAPSHOT_STORE_UNAVAILABLE


def test_objects_that_the_repository_lost_are_said_to_be_missing(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    lab.pre("u")
    write(lab.tree / "a", "other\n")
    lab.git("commit", "-qa", "--amend", "-m", "rewritten")
    lab.git("reflog", "expire", "--expire=now", "--all")
    lab.git("gc", "-q", "--prune=now")
    delta = lab.delta(lab.post("u"))
    assert (delta.status, delta.reason, delta.files) == (
        Status.PARTIAL, PartialReason.ALTERNATE_OBJECT_MISSING, ())  # fmt: skip


def test_what_was_dirty_survives_the_repositorys_own_housekeeping(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    write(lab.tree / "a", "dirty\n")
    write(lab.tree / "d/b", "staged\n")
    lab.git("add", "d/b")
    lab.pre("u")
    lab.git("reset", "-q", "--hard")
    lab.git("gc", "-q", "--prune=now")
    assert told(lab.delta(lab.post("u"))) == {
        "a": ("edit", ["dirty"], ["1", "2", "3"]),
        "d/b": ("edit", ["staged"], ["x"]),
    }


def test_a_repository_at_a_path_with_a_line_end_and_quotes(tmp_path):
    root = tmp_path / 'x\ny"z\\'
    root.mkdir()
    lab = windows_lab.git_lab(root)
    assert told(lab.tool("u", "echo 4 >> a")) == {"a": ("edit", [], ["4"])}


def test_a_file_that_nobody_may_read_is_told_without_its_lines(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    lab = windows_lab.git_lab(tmp_path)
    lab.pre("u")
    subprocess.run(["sh", "-c", "echo 4 >> a; chmod 0 a"], cwd=lab.tree, check=True)
    (file,) = lab.delta(lab.post("u")).files
    assert (file.truncated, file.hunks) == (True, ())
