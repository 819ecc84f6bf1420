"""How much room a disk has left, by a path and by an open file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from docket.host.disk import SYSTEM_DISK, free_bytes

PROC = Path("/proc")


def test_a_path_and_a_file_on_it_say_the_same_to_a_few_blocks(tmp_path: Path) -> None:
    with SYSTEM_DISK.folder(tmp_path) as folder, folder.create("a") as file:
        by_file = file.free_bytes()
    found = os.statvfs(tmp_path)
    assert by_file is not None
    # Others write to this disk too.
    for said in (by_file, free_bytes(tmp_path)):
        assert abs(said - found.f_bavail * found.f_frsize) < found.f_blocks * found.f_frsize // 2
        assert 0 < said <= found.f_blocks * found.f_frsize


@pytest.mark.skipif(not PROC.is_dir(), reason="needs a file system without blocks")
def test_a_file_system_that_counts_no_blocks_does_not_pass_for_a_full_one() -> None:
    with pytest.raises(OSError, match="counts no blocks") as caught:
        free_bytes(PROC)
    assert caught.value.errno == errno.ENOTSUP


def test_a_path_that_is_not_there_does_not_say(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        free_bytes(tmp_path / "none")
