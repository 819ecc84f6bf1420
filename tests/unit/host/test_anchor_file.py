"""Appending to a person's file: whole lines, whoever else appends, and no waiting for what is no file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host.anchor_file import append_durably, try_anchor

TEXT = b"one\n" + b"x" * 5000 + b"\n"


def test_a_file_is_made_and_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "heads"
    try_anchor(path)
    assert path.read_bytes() == b""
    append_durably(path, TEXT)
    append_durably(path, b"two\n")
    assert path.read_bytes() == TEXT + b"two\n"


def test_a_line_without_an_end_is_ended_first_and_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"half")
    (tmp_path / "heads").symlink_to("there")
    append_durably(tmp_path / "heads", b"two\n")
    assert (tmp_path / "there").read_bytes() == b"half\ntwo\n"


def test_several_at_once_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "heads"
    path.write_bytes(b"half")
    texts = [bytes([65 + number]) * 3000 + b"\n" for number in range(8)]
    threads = [threading.Thread(target=append_durably, args=(path, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(path.read_bytes().splitlines(keepends=True)) == sorted([b"half\n", *texts])


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path, reason in (
        (tmp_path / "fifo", Reason.NOT_A_FILE),
        (tmp_path / "none" / "heads", Reason.NOT_FOUND),
        (Path("a\0b"), Reason.NOT_FOUND),
    ):
        with pytest.raises(UnavailableError) as caught:
            try_anchor(path)
        assert caught.value.reason == reason
    with pytest.raises(UnavailableError):
        try_anchor(tmp_path)
