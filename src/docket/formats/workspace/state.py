"""The state of one workspace transaction, `docket/workspace-tx/v1`: what `tx.json` holds (spec/workspace.md).

Rules:
1. The document describes itself: which base it is about, what was staged and how, who works on it, how it stands.
2. It is written whole, each time anew; decoding accepts what encoding writes, indented as for people.
3. Device and inode are decimal text, for they may be beyond what every reader of JSON keeps.

Which status may follow which is `rules.workspace.states`; where the document stands is `stores.workspace`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode_document, encode_document
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.payload_codec import from_members, to_members
from docket.formats.process_identity import ProcessIdentity
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.run.policy import WorkspaceSettle
from docket.formats.visible import raw_of, shown_and_coded
from docket.formats.workspace.scope import BackendName, View

SCHEMA = "docket/workspace-tx/v1"
MAX_STATE_BYTES = 16 * 1024 * 1024
TRANSACTION_ID = re.compile(r"[0-9a-f]{12}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,19}")
_INSTANTS = ("opened_at", "changed_at", "closed_at")
APPROVALS = ("none", "run", "diff")
"""What the approval of a commit may be bound to."""


class Status(StrEnum):
    """How a transaction stands; that it was interrupted is found, never written (`rules.workspace.states`)."""

    OPEN = "open"
    CLOSED = "closed"
    COMMITTING = "committing"
    COMMITTED = "committed"
    REFUSED = "refused"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The directory that is staged: its real path as text, `path_b64` where that is not UTF-8, and its identity."""

    root: str
    device: str
    inode: str
    root_b64: str | None = None

    @classmethod
    def of(cls, path: bytes, identity: tuple[int, int]) -> Base:
        """Return the base at a path."""
        text, coded = shown_and_coded(path)
        return cls(root=text, root_b64=coded, device=str(identity[0]), inode=str(identity[1]))

    @property
    def path(self) -> bytes:
        """The real path."""
        return raw_of("root", {"root": self.root, "root_b64": self.root_b64}) or b""

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode."""
        return int(self.device), int(self.inode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A path of docket's own in the base, never staged."""

    path: RelPath


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceRules:
    """What is not staged and what lands only with an approval: gitignore patterns, and docket's own paths."""

    exclude: tuple[str, ...] = ()
    share: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCounts:
    """How many paths differ between base and stage, by kind of change."""

    added: int = 0
    modified: int = 0
    removed: int = 0
    retyped: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.added + self.modified + self.removed + self.retyped


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionState:
    """One transaction.

    `plan_sha256` and `approval` (one of `APPROVALS`) are those of the commit that began last; states were once written
    without the approval.
    `manifest_sha256` is the digest of the listing of the base's staged part, `result_sha256` that of the stage when
    it was closed, `diff_sha256` that of the change set between them. `statuses_sha256` is the digest of the status
    listing of the files that were not read when they were staged; where it is None all were, and the first two cover
    the contents of all. `predecessor` is the transaction whose rest this one holds, `successor` the one that holds
    this one's rest.
    """

    id: str
    status: Status
    base: Base
    surface: SurfaceRules
    backend: BackendName
    view: View
    settle: WorkspaceSettle
    manifest_sha256: Digest
    owner: ProcessIdentity
    opened_at: str
    changed_at: str
    session_id: str | None = None
    docket_number: str | None = None
    not_preserved: int = 0
    closed_at: str | None = None
    result_sha256: Digest | None = None
    diff_sha256: Digest | None = None
    changes: ChangeCounts | None = None
    plan_sha256: Digest | None = None
    approval: str | None = None
    reason: str | None = None
    detail: str | None = None
    predecessor: str | None = None
    successor: str | None = None
    statuses_sha256: Digest | None = None


def encode_state(state: TransactionState) -> bytes:
    """Return the document."""
    return encode_document({"schema": SCHEMA, **to_members(state)})


def decode_state(document: bytes) -> TransactionState:
    """Read what `encode_state` wrote and nothing else; InvalidDocumentError names what is wrong."""
    if len(document) > MAX_STATE_BYTES:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"a transaction's state has more than {MAX_STATE_BYTES} bytes")
    members = decode_document(document)
    if not isinstance(members, Mapping) or members.get("schema") != SCHEMA:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"the document is no {SCHEMA}")
    reader = Reader(members, "the transaction")
    for name in _INSTANTS:
        reader.optional(name, reader.instant)
    state = from_members(
        TransactionState, {name: value for name, value in members.items() if name != "schema"}, "the transaction"
    )
    _check(state)
    if encode_state(state) != document:
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "the transaction's state is not in its only spelling")
    return state


def _check(state: TransactionState) -> None:
    for name in (state.id, *filter(None, (state.predecessor, state.successor))):
        if not TRANSACTION_ID.fullmatch(name):
            raise _wrong(f"{name!r} is no transaction's id")
    for number in (state.base.device, state.base.inode):
        if not _NUMBER.fullmatch(number):
            raise _wrong("the base's device and inode are whole numbers as text")
    path = state.base.path
    if not path.startswith(b"/") or b"\0" in path or b"/../" in path + b"/":
        raise _wrong("the base's path is not a real, absolute one")
    if state.owner.pid < 0 or state.not_preserved < 0:
        raise _wrong("a count is below 0")
    if state.approval not in (None, *APPROVALS):
        raise _wrong(f"an approval is one of {', '.join(APPROVALS)}")
    counts = state.changes
    if counts is not None and min(counts.added, counts.modified, counts.removed, counts.retyped) < 0:
        raise _wrong("a count of changes is below 0")


def _wrong(detail: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.WRONG_VALUE, detail)
