"""What stood at a path and how it differs: the bridge between a listing's records and the ledger's `fs.change`.

A difference names the path, the kind of change and both states; a state without `sha256` at a file is one whose
content was not read. It does not compare (rules.tree.diff).
"""

from __future__ import annotations

from docket.formats.dataclass import dataclass
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import DirectoryEntry, FileEntry, Kind, Record, SymlinkEntry
from docket.formats.tree.unread import UNREAD
from docket.formats.visible import raw_of, shown_and_coded

SYMLINK_MODE = 0o777


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One path that differs; `before` is None where nothing stood, `after` where nothing stands."""

    path: RelPath
    change: Change
    before: EntryState | None = None
    after: EntryState | None = None

    def payload(self) -> FsChange:
        """Return the ledger event's payload."""
        return FsChange(path=self.path, change=self.change, before=self.before, after=self.after)


def state_of(record: Record) -> EntryState:
    """Return the state a record tells; of an omission, what was seen of it (mode 0 where none was)."""
    match record:
        case FileEntry():
            known = None if record.sha256 == UNREAD else record.sha256
            return EntryState(kind=Kind.FILE.value, mode=record.mode, size=record.size, sha256=known)
        case DirectoryEntry():
            return EntryState(kind=Kind.DIRECTORY.value, mode=record.mode)
        case SymlinkEntry():
            return symlink_state(record.target)
        case _:
            kind = record.kind or Kind.UNKNOWN
            return EntryState(kind=kind.value, mode=record.mode or 0, size=record.size)


def symlink_state(target: bytes) -> EntryState:
    """Return the state of a symbolic link with this literal target."""
    text, coded = shown_and_coded(target)
    return EntryState(kind=Kind.SYMLINK.value, mode=SYMLINK_MODE, target=text, target_b64=coded)


def target_of(state: EntryState) -> bytes:
    """Return the literal target of a link's state."""
    members = {"target": state.target, "target_b64": state.target_b64}
    return raw_of("target", members) or b""
