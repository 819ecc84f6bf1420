"""What is cut off a journal is kept until its commit is over."""

from __future__ import annotations

from pathlib import Path

from docket.formats.digest import Digest
from docket.formats.workspace.journal import Journal, JournalHeader
from docket.formats.workspace.state import Base
from docket.stores.workspace.journal import JournalFile, remove_journal

HEADER = JournalHeader(
    transaction="0123456789ab", base=Base.of(b"/tree", (1, 2)), plan_sha256=Digest("aa" * 32), steps=1
)


def read(length: int) -> Journal:
    return Journal(header=HEADER, length=length, mac="bb" * 32)


def test_what_is_cut_off_is_kept_once_and_goes_with_the_journal(tmp_path: Path) -> None:
    folder = tmp_path / "0123456789ab"
    folder.mkdir(mode=0o700)
    whole = b"header\ndamaged\nprepared\n"
    (folder / "journal").write_bytes(whole)
    JournalFile.resume(folder, read(7))
    assert ((folder / "journal").read_bytes(), (folder / "journal.torn").read_bytes()) == (b"header\n", whole)
    JournalFile.resume(folder, read(3))
    assert ((folder / "journal").read_bytes(), (folder / "journal.torn").read_bytes()) == (b"hea", whole)
    remove_journal(folder)
    assert list(folder.iterdir()) == []


def test_a_whole_journal_leaves_nothing_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "0123456789ab"
    folder.mkdir(mode=0o700)
    (folder / "journal").write_bytes(b"header\n")
    JournalFile.resume(folder, read(7))
    assert [path.name for path in folder.iterdir()] == ["journal"]
