"""The powers of a mode (setuid, setgid and sticky of a file, setuid of a directory) in a transaction.

Rules (spec/workspace.md, Commit):
1. No plan gives powers. A stage that a plan made lacks those of its base: where nothing else of a path changed there,
   nothing changed.
2. A change that would leave powers at its path cannot land: what would stand there is not what was told.

That a stage lacks them is told by `stage_plan.not_kept`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from docket.formats.dataclass import replace
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.tree.listing import DirectoryEntry, FileEntry, Kind, Listing, decode_record, encode_record
from docket.formats.tree.spans import own_line
from docket.formats.tree.steps import MAX_DIRECTORY_MODE, MAX_FILE_MODE

_FILE = rb'file","mode":(?:51[2-9]|5[2-9][0-9]|[6-9][0-9]{2}|[0-9]{4}),'  # more than 0o777
_DIRECTORY = rb'directory","mode":(?:204[89]|20[5-9][0-9]|2[1-9][0-9]{2}|[34][0-9]{3}),'  # more than 0o3777
_HAS_POWERS = re.compile(rb'\{"kind":"(?:' + _FILE + b"|" + _DIRECTORY + rb")[^\n]*")


def powers_of(kind: str, mode: int) -> int:
    """Return the bits of a mode that no plan gives."""
    return mode & ~(MAX_FILE_MODE if kind == Kind.FILE else MAX_DIRECTORY_MODE) if kind != Kind.SYMLINK else 0


def with_lost_powers(base: Listing, stage: Listing) -> Listing:
    """Return the listing of a stage that a plan made of `base`, with the powers of what did not change there."""
    pieces: list[bytes] = []
    at = 0
    for entry in _with_powers(base):
        start, end = own_line(stage.document, entry.path)
        kind = Kind.FILE if isinstance(entry, FileEntry) else Kind.DIRECTORY
        if stage.document[start:end] == encode_record(replace(entry, mode=entry.mode & ~powers_of(kind, entry.mode))):
            pieces += [stage.document[at:start], encode_record(entry)]
            at = end
    if not pieces:
        return stage
    found = Listing(
        b"".join((*pieces, stage.document[at:])),
        counts=stage.counts,
        omissions=stage.omissions,
        mtimes=stage.mtimes,
        root=stage.root,
    )
    found.details, found.statuses = stage.details, stage.statuses
    return found


def powers_fault(state: EntryState) -> tuple[Reason, str] | None:
    """Return why a state cannot be left by a commit, None where it has no powers."""
    if not powers_of(state.kind, state.mode):
        return None
    return Reason.NOT_PERMITTED, f"its mode is {state.mode:04o}, and a commit never gives setuid, setgid or sticky bits"


def _with_powers(listing: Listing) -> Iterator[FileEntry | DirectoryEntry]:
    """Yield the files and directories that have powers, in tree order."""
    for match in _HAS_POWERS.finditer(listing.document):
        record = decode_record(match.group())
        if isinstance(record, FileEntry | DirectoryEntry):
            yield record
