import errno
import os
from pathlib import Path

import pytest

from docket.host import lock_files
from docket.host.lock_files import make_lock, read_lock, remove_lock


@pytest.fixture
def folder(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def failing(number):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail


def test_a_lock_is_there_with_its_text_and_goes_when_it_is_removed(folder, tmp_path):
    made = make_lock(folder, b"index.lock", b"held\n")

    assert (tmp_path / "index.lock").read_bytes() == b"held\n"
    assert make_lock(folder, b"index.lock", b"mine\n") is None
    assert (tmp_path / "index.lock").read_bytes() == b"held\n"
    made.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_another_file_by_now_is_left(folder, tmp_path: Path):
    made = make_lock(folder, b"index.lock", b"held\n")
    (tmp_path / "other").write_bytes(b"git's\n")
    (tmp_path / "other").rename(tmp_path / "index.lock")

    made.remove()

    assert (tmp_path / "index.lock").read_bytes() == b"git's\n"


def test_a_dead_lock_is_removed_only_as_the_file_that_was_read(folder, tmp_path: Path):
    make_lock(folder, b"index.lock", b"held\n")
    found = read_lock(folder, b"index.lock", 4)
    assert (found.text, found.identity[1]) == (b"held", (tmp_path / "index.lock").stat().st_ino)
    (tmp_path / "other").write_bytes(b"git's\n")
    kept = tmp_path / "kept"
    os.link(tmp_path / "index.lock", kept)
    (tmp_path / "other").rename(tmp_path / "index.lock")

    remove_lock(folder, b"index.lock", found)
    assert (tmp_path / "index.lock").read_bytes() == b"git's\n"

    kept.rename(tmp_path / "index.lock")
    for _ in range(2):
        remove_lock(folder, b"index.lock", found)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.EXDEV, errno.ENOENT])
def test_where_a_file_without_a_name_gets_none_the_lock_is_made_by_its_name(folder, tmp_path, monkeypatch, number):
    monkeypatch.setattr(lock_files.os, "link", failing(number))

    made = make_lock(folder, b"index.lock", b"held\n")

    assert (tmp_path / "index.lock").read_bytes() == b"held\n"
    made.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_whose_text_cannot_be_written_is_not_left_behind(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(lock_files, "_TEMPORARY", 0)
    monkeypatch.setattr(lock_files.os, "write", failing(errno.ENOSPC))

    with pytest.raises(OSError, match="No space"):
        make_lock(folder, b"index.lock", b"held\n")

    assert list(tmp_path.iterdir()) == []
