"""Removing a folder of evidence: in an order that a death at any step survives, and nothing beyond it."""

from __future__ import annotations

from pathlib import Path

import pytest

from docket.errors import UnavailableError
from docket.host.disk import SYSTEM_DISK, SystemFolder
from docket.stores.removing import MAX_DEPTH, files_below, remove_published


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    """A folder with a document, a file below, an empty folder, and a link that leads out of it."""
    made = tmp_path / "all" / "one"
    (made / "blobs" / "ab").mkdir(parents=True)
    (made / "empty").mkdir()
    (made / "record.json").write_bytes(b"{}")
    (made / "blobs" / "ab" / "c").write_bytes(b"content")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "kept").write_bytes(b"theirs")
    (made / "out").symlink_to(tmp_path / "theirs")
    return made


def test_everything_in_it_goes_and_nothing_else(evidence: Path) -> None:
    with SYSTEM_DISK.folder(evidence.parent) as parent:
        remove_published(parent, "one", "record.json")
    assert list(evidence.parent.iterdir()) == []
    assert (evidence.parent.parent / "theirs" / "kept").read_bytes() == b"theirs"


def test_the_document_goes_first_and_durably(evidence: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fails afterwards: a folder whose document is gone counts for nothing."""
    done: list[str] = []
    removed, synced = SystemFolder.remove, SystemFolder.sync

    def remove(self: SystemFolder, name: str) -> None:
        done.append(name)
        removed(self, name)

    def sync(self: SystemFolder) -> None:
        done.append(f"sync {self.path.name}")
        synced(self)

    monkeypatch.setattr(SystemFolder, "remove", remove)
    monkeypatch.setattr(SystemFolder, "sync", sync)
    with SYSTEM_DISK.folder(evidence.parent) as parent:
        remove_published(parent, "one", "record.json")
    assert done[:2] == ["record.json", "sync one"]
    assert done[-1] == "sync all"


def test_what_is_deeper_than_docket_puts_anything_stops_it(evidence: Path) -> None:
    deep = evidence.joinpath(*["d"] * (MAX_DEPTH + 1))
    deep.mkdir(parents=True)
    with SYSTEM_DISK.folder(evidence.parent) as parent, pytest.raises(UnavailableError):
        remove_published(parent, "one", "record.json")
    assert not (evidence / "record.json").exists()
    assert deep.is_dir()


def test_the_files_below_are_told_with_their_sizes(evidence: Path) -> None:
    with SYSTEM_DISK.folder(evidence) as folder:
        assert sorted(file.size_bytes for file in files_below(folder)) == [len(b"{}"), len(b"content")]
