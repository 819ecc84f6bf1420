"""The policy sections that switch a way of working on: cache, evidence, snapshot, windows, workspace."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import ClassVar

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.formats.run.policy_kinds import MAX_SECONDS, Choice, Count, Flag, Fraction, Texts
from docket.formats.run.policy_reach import is_tree_pattern
from docket.formats.run.policy_section import Section, key


class WorkspaceBackend(StrEnum):
    """How the staged tree is made."""

    AUTO = "auto"
    COPY = "copy"
    REFLINK = "reflink"
    OVERLAY = "overlay"


class WorkspaceSettle(StrEnum):
    """What happens to a staged tree at the end."""

    AUTO = "auto"
    REVIEW = "review"
    DISCARD = "discard"


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy(Section):
    """Whether an identical call may be answered from an earlier reply."""

    NAME: ClassVar[str] = "cache"
    PURPOSE: ClassVar[str] = (
        "Whether an identical call may be answered from an earlier reply. Naming any key switches it on, "
        "unless `enabled = false` stands beside it."
    )

    enabled: bool = field(default=False, metadata=key(Flag(), "Whether the cache answers."))
    ttl_seconds: Decimal = field(
        default=Decimal(300),
        metadata=key(
            Fraction(wants="a number of seconds such as 300", minimum=Decimal(0), maximum=MAX_SECONDS),
            "Seconds a reply may be used again; 0 is no limit.",
        ),
    )
    max_entries: int = field(default=256, metadata=key(Count(minimum=1), "Replies kept at a time."))
    max_hits: int = field(default=1000, metadata=key(Count(), "Answers from the cache in a run; 0 is no ceiling."))
    max_bytes: int = field(
        default=64 * 1024 * 1024, metadata=key(Count(minimum=1), "Bytes of replies kept at a time.", later=True)
    )
    max_response_bytes: int = field(
        default=4 * 1024 * 1024, metadata=key(Count(minimum=1), "Bytes of the largest reply that is kept.", later=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidencePolicy(Section):
    """What of a reply is kept beside its digest."""

    NAME: ClassVar[str] = "evidence"
    PURPOSE: ClassVar[str] = (
        "What of a reply is kept beside its digest. Naming the size switches keeping on, "
        "unless `record_responses = false` stands beside it."
    )

    record_responses: bool = field(default=False, metadata=key(Flag(), "Whether the bodies of replies are kept."))
    record_response_max_bytes: int = field(
        default=64 * 1024, metadata=key(Count(minimum=1), "Bytes kept of one reply.")
    )
    record_total_max_bytes: int = field(
        default=256 * 1024 * 1024, metadata=key(Count(minimum=1), "Bytes kept of all replies of a run.", later=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPolicy(Section):
    """Whether the tree's contents are kept before the agent starts."""

    NAME: ClassVar[str] = "snapshot"
    PURPOSE: ClassVar[str] = (
        "Whether the tree's contents are kept before the agent starts, so that `docket restore` can put it back. "
        "Naming any key switches it on, unless `enabled = false` stands beside it."
    )

    enabled: bool = field(default=False, metadata=key(Flag(), "Whether contents are kept."))
    max_bytes: int = field(
        default=1024**3, metadata=key(Count(), "Bytes the snapshot may hold; a tree that needs more refuses the run.")
    )
    max_file_bytes: int = field(
        default=256 * 1024**2, metadata=key(Count(), "Bytes of the largest file that is kept; a larger one is not.")
    )
    max_entries: int = field(
        default=2_000_000,
        metadata=key(Count(minimum=1), "Files, directories and links the tree may have; more refuses the run."),
    )
    rollback_on_breach: bool = field(
        default=False, metadata=key(Flag(), "Whether the tree is put back when a cap ends the run.")
    )

    def _check_together(self) -> None:
        if self.rollback_on_breach and not self.enabled:
            raise InvalidDocumentError(
                Reason.WRONG_VALUE, "snapshot.rollback_on_breach puts back what a snapshot holds, and none is taken"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsPolicy(Section):
    """Whether the agent is given hooks, so that what each tool call changed can be shown."""

    NAME: ClassVar[str] = "windows"
    PURPOSE: ClassVar[str] = "Whether what each tool call of the agent changes is kept, for `docket windows`."

    enabled: bool = field(
        default=False, metadata=key(Flag(), "Whether the agent is given hooks that tell docket of its tools.")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspacePolicy(Section):
    """Whether the agent works on a stage that lands only on success."""

    NAME: ClassVar[str] = "workspace"
    PURPOSE: ClassVar[str] = "Whether the agent works on a stage that lands only on success."

    transaction: bool = field(default=False, metadata=key(Flag(), "Whether changes are staged."))
    backend: WorkspaceBackend = field(
        default=WorkspaceBackend.AUTO, metadata=key(Choice(WorkspaceBackend), "How the stage is made.")
    )
    settle: WorkspaceSettle = field(
        default=WorkspaceSettle.AUTO,
        metadata=key(
            Choice(WorkspaceSettle),
            "At the end: `auto` commits a success, `review` leaves it for a person, `discard` never lands it.",
        ),
    )
    exclude: tuple[str, ...] = field(
        default=(),
        metadata=key(
            Texts("file patterns", is_tree_pattern),
            "Patterns of the paths that are absent in the stage, and never land.",
        ),
    )
    share: tuple[str, ...] = field(
        default=(),
        metadata=key(
            Texts("file patterns", is_tree_pattern),
            "Patterns of the paths that stay the tree's own, as for build caches: written through, never staged.",
            later=True,
        ),
    )
    protect: tuple[str, ...] = field(
        default=(),
        metadata=key(Texts("file patterns", is_tree_pattern), "Patterns of the paths that land only with an approval."),
    )
