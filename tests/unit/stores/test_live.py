"""A run's live folder: made private, removed with all that is in it, never through a link."""

from __future__ import annotations

import pytest

from docket.errors import UnavailableError
from docket.stores.live import make_live_links, remove_live_folder, write_live_files


def test_a_folder_is_removed_with_all_that_is_in_it(tmp_path):
    folder = tmp_path / "live"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/file").write_text("x")
    assert remove_live_folder(folder)
    assert not folder.exists()
    assert remove_live_folder(folder)


def test_a_link_in_its_place_leads_nowhere(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("x")
    (tmp_path / "live").symlink_to("kept")
    assert not remove_live_folder(tmp_path / "live")
    assert (tmp_path / "kept/file").read_text() == "x"


def test_files_stand_in_folders_of_their_own_readable_by_nobody_else(tmp_path):
    write_live_files(tmp_path, {"a.json": b"1", "deep/er/b.json": b"2", "deep/c": b"3"})
    found = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"a.json": b"1", "deep/er/b.json": b"2", "deep/c": b"3"}
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("deep", "deep/er", "deep/er/b.json")] == [
        0o700,
        0o700,
        0o600,
    ]


def test_links_lead_to_what_stands_elsewhere_and_go_without_it(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/kept").write_text("x")
    run = tmp_path / "run"
    run.mkdir()
    make_live_links(run, {"home/.x/mine": str(tmp_path / "mine"), "nowhere": "/no/such"})
    assert (run / "home/.x/mine/kept").read_text() == "x"
    assert (run / "nowhere").is_symlink()
    assert (run / "home").stat().st_mode & 0o777 == 0o700
    assert remove_live_folder(run)
    assert (tmp_path / "mine/kept").read_text() == "x"


def test_a_link_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(UnavailableError, match="link"):
        make_live_links(tmp_path, {"taken": "/x"})
    with pytest.raises(UnavailableError, match="link"):
        make_live_links(tmp_path, {"taken/below": "/x"})
