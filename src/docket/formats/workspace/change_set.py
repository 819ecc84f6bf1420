"""A change set, `docket/workspace-diff/v1`: what a transaction would change in its base, and the digest that names it.

Rules (spec/workspace.md, Change sets):
1. A header line names the base's manifest; then one canonical line a changed path, in tree order, each path once,
   with the state before and the state after as the ledger's `fs.change` tells them.
2. The digest is that of all these bytes: two change sets have one digest only if they change the same base in the
   same way. An approval is bound to it.
3. Decoding accepts what encoding writes and nothing else.

Which changes belong to it is `rules.workspace.changes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode, encode
from docket.formats.dataclass import dataclass, field
from docket.formats.digest import Digest, sha256
from docket.formats.ledger.payload_codec import from_members
from docket.formats.ledger.tree_events import Change, FsChange
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.tree.listing import tree_order
from docket.formats.workspace.state import ChangeCounts

FORMAT = "docket/workspace-diff/v1"


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The changes of one transaction, made by `change_set_of` or `decode_change_set`."""

    manifest_sha256: Digest
    changes: tuple[FsChange, ...]
    document: bytes = field(repr=False)
    digest: Digest

    @property
    def counts(self) -> ChangeCounts:
        """How many there are, by kind."""
        found = Counter(item.change for item in self.changes)
        return ChangeCounts(
            added=found[Change.ADDED],
            modified=found[Change.MODIFIED],
            removed=found[Change.REMOVED],
            retyped=found[Change.RETYPED],
        )


def change_set_of(manifest_sha256: Digest, changes: Iterable[FsChange]) -> ChangeSet:
    """Return the change set; InvalidDocumentError where a path stands twice or a change lacks a state it needs."""
    ordered = tuple(sorted(changes, key=lambda item: tree_order(item.path.raw)))
    for earlier, later in pairwise(ordered):
        if earlier.path == later.path:
            raise InvalidDocumentError(Reason.DUPLICATE_KEY, f"the path {later.path} stands twice in one change set")
    for item in ordered:
        if (item.before is not None, item.after is not None) != _STATES[item.change]:
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"{item.path} is {item.change}, which its states deny")
    head = encode({"format": FORMAT, "manifest_sha256": manifest_sha256}) + b"\n"
    document = b"".join((head, *(encode(item.to_data()) + b"\n" for item in ordered)))
    return ChangeSet(manifest_sha256, ordered, document, sha256(document))


def decode_change_set(document: bytes) -> ChangeSet:
    """Read what `change_set_of` wrote and nothing else."""
    head, *lines = document.split(b"\n")
    if not lines or lines.pop() != b"":
        raise InvalidDocumentError(Reason.TORN_TAIL, "a change set ends with a line end")
    reader = Reader(decode(head), "the change set")
    if reader.text("format") != FORMAT:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"a change set begins with a {FORMAT} header line")
    manifest_sha256 = reader.digest("manifest_sha256")
    reader.close()
    found = change_set_of(manifest_sha256, (from_members(FsChange, decode(line), "a change") for line in lines))
    if found.document != document:
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "the changes are not in tree order")
    return found


_STATES = {
    Change.ADDED: (False, True),
    Change.MODIFIED: (True, True),
    Change.RETYPED: (True, True),
    Change.REMOVED: (True, False),
}
