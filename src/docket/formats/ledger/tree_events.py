"""The payloads of passes over the watched tree (spec/ledger.md, Vocabulary)."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.payload_codec import Payload
from docket.formats.relpath import RelPath


class Phase(StrEnum):
    """When a pass over the tree was made; CONTENTS is the pass before once its contents are kept."""

    BEFORE = "before"
    AFTER = "after"
    CONTENTS = "contents"


PASSES = (Phase.BEFORE, Phase.AFTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class FsSnapshot(Payload):
    """A digest pass over the watched tree; `tree_sha256` is the digest of its listing, omissions included.

    The members from `format` on stand where contents are kept: the manifest's format and digest, the folder that
    holds it, how many files and bytes of different contents it covers, how many bytes an earlier snapshot had, and
    how many paths it does not cover. `unread` counts the files whose contents were not read: the digest covers what
    else was seen of them.
    """

    TYPE: ClassVar[str] = "fs.snapshot"
    phase: Phase
    roots: tuple[str, ...]
    files: int
    directories: int
    symlinks: int
    omissions: int
    bytes_watched: int
    tree_sha256: Digest
    format: str | None = None
    manifest_sha256: Digest | None = None
    store: str | None = None
    bytes_stored: int | None = None
    bytes_shared: int | None = None
    not_covered: int | None = None
    unread: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRefused(Payload):
    """No contents are kept, though they were asked for; `needed` is beyond `allowed`, in bytes or entries."""

    TYPE: ClassVar[str] = "x-docket.snapshot-refused"
    reason: str
    detail: str
    needed: int | None = None
    allowed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OmittedPath:
    """A path the pass could not or would not observe."""

    path: RelPath
    reason: str
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Omissions(Payload):
    """Paths a pass did not observe; a long list spans several events."""

    TYPE: ClassVar[str] = "x-docket.omissions"
    phase: Phase
    omissions: tuple[OmittedPath, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackApplied(Payload):
    """The tree was put back because a cap ended the run; at least one path was.

    `trigger` is the cap, `record` the restore's record, which names every path; `refusals` are the first paths that
    were not put back.
    """

    TYPE: ClassVar[str] = "x-docket.rollback-applied"
    trigger: str
    plan_sha256: Digest
    restored: int
    already: int
    refused: int
    kept: int
    not_covered: int
    record: str
    refusals: tuple[OmittedPath, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRefused(Payload):
    """The tree was to be put back because a cap ended the run, and nothing of it was; `record` where it was tried."""

    TYPE: ClassVar[str] = "x-docket.rollback-refused"
    trigger: str
    reason: str
    detail: str
    refused: int | None = None
    record: str | None = None


class Change(StrEnum):
    """How a path differs between two listings."""

    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"
    RETYPED = "retyped"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryState:
    """What stood at a path: kind is file, directory or symlink; size, sha256, target where the kind has them."""

    kind: str
    mode: int
    size: int | None = None
    sha256: Digest | None = None
    target: str | None = None
    target_b64: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FsChange(Payload):
    """One path that differs between the pass before and the pass after."""

    TYPE: ClassVar[str] = "fs.change"
    path: RelPath
    change: Change
    before: EntryState | None = None
    after: EntryState | None = None
