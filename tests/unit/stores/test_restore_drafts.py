"""A restore that cannot begin leaves nothing behind, and no descriptor open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, fail
from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host import holding
from docket.host.disk import SYSTEM_DISK
from docket.stores.layout import Layout
from docket.stores.restores import BLOBS, begin_restore, restore_folders


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def test_a_draft_whose_folder_cannot_be_made_is_taken_back(tmp_path: Path) -> None:
    layout = Layout(tree_root=tmp_path, state=tmp_path / "state", docket_dir=tmp_path / ".docket", evidence=())
    begin_restore(layout, "first").close()
    before = descriptors()
    with pytest.raises(UnavailableError) as caught:
        begin_restore(layout, "second", disk=FaultyDisk(SYSTEM_DISK, fail(Reason.NO_SPACE, "make", BLOBS)))
    assert caught.value.reason == Reason.NO_SPACE
    assert [item.restore_id for item in restore_folders(layout)] == ["first"]
    assert descriptors() == before


def test_a_lock_that_cannot_be_looked_at_leaves_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(37, "no locks available")

    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        before = descriptors()
        monkeypatch.setattr(holding.fcntl, "flock", refused)
        with pytest.raises(OSError, match="no locks"):
            holding.hold(folder, "lock", exclusive=True, wait_seconds=0)
        assert descriptors() == before
    finally:
        os.close(folder)
