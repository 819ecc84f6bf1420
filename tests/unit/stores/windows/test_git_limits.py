"""Looks that cannot be whole: HEAD that will not stand still, too many names, git that is slow or says nonsense."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import windows_lab
from docket.errors import PartialEvidenceError
from docket.formats.windows.names import PartialReason
from docket.host.git_program import Deadline
from docket.stores.windows import git_tree
from docket.stores.windows.git_store import quoted_path
from windows_lab import deadline, write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def refused(lab: windows_lab.WindowsLab, until: Deadline | None = None) -> str:
    with pytest.raises(PartialEvidenceError) as error:
        lab.store.look(until or deadline())
    return error.value.reason


def instead_of_git(root: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program in git's place that does something else where git would list others."""
    real = shutil.which("git")
    (root / "bin").mkdir()
    path = root / "bin/git"
    path.write_text(f'#!/bin/sh\nif [ "$1 $2 $3" = "ls-files -z --others" ]; then {script}; fi\nexec {real} "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{root / 'bin'}:{os.environ['PATH']}")


def test_a_head_that_moves_during_each_look(tmp_path, monkeypatch):
    lab = windows_lab.git_lab(tmp_path)
    heads = iter(f"{number:040x}" for number in range(1, 100))
    monkeypatch.setattr(git_tree, "checked_out", lambda _place: next(heads))
    monkeypatch.setattr(git_tree, "nominate", lambda *_: git_tree.Nominated())
    assert refused(lab) == PartialReason.HEAD_CHANGED


def test_more_names_than_a_look_takes(tmp_path, monkeypatch):
    lab = windows_lab.git_lab(tmp_path)
    monkeypatch.setattr(git_tree, "MAX_NOMINATED", 1)
    for name in ("n1", "n2"):
        write(lab.tree / name, "")
    assert refused(lab) == PartialReason.FILE_LIMIT


def test_a_git_that_is_not_done_in_time_is_ended(tmp_path, monkeypatch):
    lab = windows_lab.git_lab(tmp_path)
    instead_of_git(tmp_path, monkeypatch, "exec sleep 60")
    assert refused(lab, Deadline.within(0.3)) == PartialReason.TIMEOUT


@pytest.mark.timeout(30)
def test_a_fifo_where_git_has_a_file_is_not_waited_for(tmp_path, monkeypatch):
    lab = windows_lab.git_lab(tmp_path)
    (tmp_path / "other").mkdir()
    os.mkfifo(tmp_path / "other/.gitconfig")
    monkeypatch.setenv("HOME", str(tmp_path / "other"))
    assert lab.store.look(deadline()).baseline.tree
    (lab.tree / ".git/index").unlink()
    os.mkfifo(lab.tree / ".git/index")
    assert refused(lab) == PartialReason.SNAPSHOT_STORE_UNAVAILABLE


@pytest.mark.timeout(30)
def test_a_fifo_in_place_of_a_shared_index_is_not_waited_for(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    lab.git("update-index", "--split-index")
    (shared,) = (lab.tree / ".git").glob("sharedindex.*")
    assert lab.store.look(deadline()).baseline.tree
    shared.unlink()
    os.mkfifo(shared)
    assert refused(lab) == PartialReason.SNAPSHOT_STORE_UNAVAILABLE


def test_a_git_that_lists_what_is_no_path(tmp_path, monkeypatch):
    lab = windows_lab.git_lab(tmp_path)
    instead_of_git(tmp_path, monkeypatch, "printf '../outside\\0'; exit 0")
    assert refused(lab) == PartialReason.UNSUPPORTED_PATH


def test_an_index_that_git_cannot_read(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    (lab.tree / ".git/index").write_bytes(b"DIRC" + b"\0" * 40)
    assert refused(lab) == PartialReason.SNAPSHOT_STORE_UNAVAILABLE


def test_a_folder_that_is_too_large_for_a_first_look(tmp_path):
    for limits, reason in (
        (windows_lab.LookLimits(max_paths=1), PartialReason.FILE_LIMIT),
        (windows_lab.LookLimits(max_bytes=3), PartialReason.BYTE_LIMIT),
    ):
        assert refused(windows_lab.folder_lab(tmp_path / reason, limits=limits)) == reason


@pytest.mark.parametrize(
    ("path", "quoted"), [(b"/a b", b'"/a b"'), (b'/a"\\b', b'"/a\\"\\\\b"'), (b"/a\n\xff", b'"/a\\012\\377"')]
)
def test_a_path_is_quoted_as_git_reads_it(path, quoted):
    assert quoted_path(path) == quoted
