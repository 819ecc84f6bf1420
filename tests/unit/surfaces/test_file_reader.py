"""What a recipe gets to read."""

from __future__ import annotations

import os

from docket.surfaces.cli.wiring import file_reader


def test_files_are_read_from_the_folder_and_folders_are_listed(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "d").mkdir()
    for name in (b"b c", b"a", b"\xff", b"line\nend"):
        with open(os.path.join(os.fsencode(tmp_path / "d"), name), "wb"):
            pass
    read = file_reader(tmp_path)
    assert read("a") == read(str(tmp_path / "a")) == b"x"
    assert read("d/") == b"a\nb c\n\xff"
    assert [read(name) for name in ("d", "nope", "nope/", "a/")] == [None, None, None, None]
