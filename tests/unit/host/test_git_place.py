"""Where a repository stands, by its own files: what is no file there says nothing, and is not waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host.git_place import checked_out, find_git_place, head_log_moves, object_format

COMMIT = "1" * 40


def repository(folder: Path) -> Path:
    (folder / ".git/objects").mkdir(parents=True)
    (folder / ".git/HEAD").write_text(f"{COMMIT}\n")
    return folder / ".git"


def test_a_repository_is_found_from_a_folder_in_it(tmp_path: Path) -> None:
    git_dir = repository(tmp_path)
    (tmp_path / "a/b").mkdir(parents=True)
    place = find_git_place(tmp_path / "a/b")
    assert place is not None
    assert (place.worktree, place.git_dir, checked_out(place)) == (tmp_path, git_dir, COMMIT)


@pytest.mark.timeout(20)
def test_a_fifo_among_the_files_of_git_is_not_waited_for(tmp_path: Path) -> None:
    git_dir = repository(tmp_path)
    (git_dir / "logs").mkdir()
    for name in ("commondir", "config", "packed-refs", "logs/HEAD"):
        os.mkfifo(git_dir / name)
    place = find_git_place(tmp_path)
    assert place is not None
    assert (place.common_dir, object_format(place).value, checked_out(place)) == (git_dir, "sha1", COMMIT)
    assert head_log_moves(place, 0) == 0
    (git_dir / "HEAD").unlink()
    os.mkfifo(git_dir / "HEAD")
    assert find_git_place(tmp_path) is None
    with pytest.raises(UnavailableError) as caught:
        checked_out(place)
    assert caught.value.reason == Reason.UNREADABLE


@pytest.mark.parametrize("named", [b"gitdir: a\0b\n", b"gitdir: nothing\n", b"gitdir:\n", b"\0"])
def test_a_file_that_names_no_repository_is_passed_over(tmp_path: Path, named: bytes) -> None:
    git_dir = repository(tmp_path)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/.git").write_bytes(named)
    place = find_git_place(tmp_path / "inner")
    assert place is not None
    assert place.git_dir == git_dir
