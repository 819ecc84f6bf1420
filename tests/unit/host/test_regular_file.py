"""Only a regular file is read, and never more of it than allowed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host.regular_file import read_regular_file


def test_a_file_is_read_whole_up_to_the_limit(tmp_path):
    (tmp_path / "f").write_bytes(b"12345")
    assert read_regular_file(tmp_path / "f", 5) == b"12345"
    (tmp_path / "link").symlink_to("f")
    assert read_regular_file(tmp_path / "link", 5) == b"12345"


@pytest.mark.parametrize(
    ("name", "reason"),
    [("none", Reason.NOT_FOUND), ("f/below", Reason.NOT_FOUND), ("fifo", Reason.NOT_A_FILE),
     ("folder", Reason.NOT_A_FILE), ("f", Reason.TOO_LARGE), ("nul\0", Reason.IO_ERROR), ("loop", Reason.IO_ERROR)],
)  # fmt: skip
def test_anything_else_is_refused_at_once(tmp_path, name, reason):
    (tmp_path / "f").write_bytes(b"123456")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UnavailableError) as refused:
        read_regular_file(tmp_path / name, 5)
    assert refused.value.reason == reason


def test_an_endless_device_is_refused():
    with pytest.raises(UnavailableError, match="not a regular file"):
        read_regular_file(Path("/dev/zero"), 5)
