from __future__ import annotations

import pytest

from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import Difference, state_of
from docket.formats.tree.listing import DirectoryEntry, FileEntry, Kind, Omission, SymlinkEntry

PATH = RelPath(b"a")
SHA = Digest("ab" * 32)


@pytest.mark.parametrize(
    ("record", "state"),
    [
        (
            FileEntry(path=PATH, size=3, mode=0o755, mtime_ns=1, sha256=SHA),
            EntryState(kind="file", mode=0o755, size=3, sha256=SHA),
        ),
        (DirectoryEntry(path=PATH, mode=0o2775), EntryState(kind="directory", mode=0o2775)),
        (SymlinkEntry(path=PATH, target=b"x"), EntryState(kind="symlink", mode=0o777, target="x")),
        (
            SymlinkEntry(path=PATH, target=b"x\xff"),
            EntryState(kind="symlink", mode=0o777, target="x\\xff", target_b64="eP8="),
        ),
        (
            Omission(path=PATH, reason=Reason.UNREADABLE, kind=Kind.FILE, mode=0o000, size=9),
            EntryState(kind="file", mode=0, size=9),
        ),
        (Omission(path=PATH, reason=Reason.VANISHED), EntryState(kind="unknown", mode=0)),
    ],
)
def test_a_record_tells_a_state(record, state):
    assert state_of(record) == state


def test_a_difference_is_an_event():
    after = EntryState(kind="file", mode=0o644, size=0, sha256=SHA)
    difference = Difference(path=PATH, change=Change.ADDED, after=after)
    assert difference.payload() == FsChange(path=PATH, change=Change.ADDED, after=after)
    assert difference.payload().to_data() == {
        "path": "a",
        "change": "added",
        "after": {"kind": "file", "mode": 420, "size": 0, "sha256": SHA},
    }
