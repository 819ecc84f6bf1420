"""Another program's settings: read and replaced below a root, with their mode, and never followed out of it."""

from __future__ import annotations

import os

import pytest

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host.settings_file import MAX_BYTES, SettingsFile, read_settings, write_settings


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def test_a_file_is_replaced_as_a_whole_with_its_mode(root):
    path = root / "s.json"
    path.write_text("old")
    path.chmod(0o640)
    found = read_settings(root, path)
    assert (found.data, found.mode) == (b"old", 0o640)
    write_settings(root, found, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)
    assert os.listdir(root) == ["s.json"]
    write_settings(root, read_settings(root, path), None)
    assert os.listdir(root) == []


def test_a_new_file_and_the_folders_above_it_are_their_owner_s_alone(root):
    path = root / "a/b/s.json"
    found = read_settings(root, path)
    assert found == SettingsFile(path=path)
    write_settings(root, found, b"new")
    assert [place.stat().st_mode & 0o777 for place in (path, path.parent)] == [0o600, 0o700]


def test_a_link_is_followed_within_the_root_and_stays_one(root):
    (root / "dotfiles").mkdir()
    (root / "dotfiles/s.json").write_text("old")
    link = root / "s.json"
    link.symlink_to("dotfiles/s.json")
    write_settings(root, read_settings(root, link), b"new")
    assert link.is_symlink()
    assert (root / "dotfiles/s.json").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["s.json", "folder/s.json"])
def test_a_link_out_of_the_root_is_refused_and_nothing_is_written(root, tmp_path, name):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "s.json").write_text("theirs")
    (root / "folder").symlink_to(outside)
    (root / "s.json").symlink_to(outside / "s.json")
    with pytest.raises(UnavailableError) as refused:
        read_settings(root, root / name)
    assert refused.value.reason == Reason.IS_A_SYMLINK
    assert (outside / "s.json").read_text() == "theirs"


def test_what_changed_since_it_was_read_is_left(root):
    path = root / "s.json"
    path.write_text("old")
    found = read_settings(root, path)
    path.write_text("newer")
    with pytest.raises(UnavailableError) as refused:
        write_settings(root, found, b"new")
    assert (refused.value.reason, path.read_text()) == (Reason.CHANGED_SINCE, "newer")


def test_what_is_no_file_or_too_large_is_refused_and_never_waited_for(root):
    (root / "folder").mkdir()
    os.mkfifo(root / "fifo")
    (root / "large").write_bytes(b" " * (MAX_BYTES + 1))
    for name, reason in (("folder", Reason.NOT_A_FILE), ("fifo", Reason.NOT_A_FILE), ("large", Reason.TOO_LARGE)):
        with pytest.raises(UnavailableError) as refused:
            read_settings(root, root / name)
        assert refused.value.reason == reason


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(root, monkeypatch):
    path = root / "s.json"
    path.write_text("old")
    found = read_settings(root, path)

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnavailableError) as refused:
        write_settings(root, found, b"new")
    assert refused.value.reason == Reason.NO_SPACE
    assert (path.read_text(), os.listdir(root)) == ("old", ["s.json"])
