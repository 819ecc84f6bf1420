"""A run's live folder: made private, removed with all that is in it, never through a link."""

from __future__ import annotations

from docket.stores.live import remove_live_folder


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
