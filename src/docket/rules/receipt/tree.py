"""The fold over the passes and changes of the watched tree: the receipt members `files` and two of `ops`.

Rules (spec/receipt.md, Operations): `ops.snapshot` is null unless contents were asked for. It says `taken` only where
the ledger has a pass whose contents are kept; the first paths that are not covered stand in it by name. `ops.rollback`
says `applied` only where at least one path was put back.
"""

from __future__ import annotations

from collections import Counter

from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.session_events import PolicyViolation
from docket.formats.ledger.tree_events import (
    PASSES,
    Change,
    FsChange,
    FsSnapshot,
    Omissions,
    Phase,
    RollbackApplied,
    RollbackRefused,
    SnapshotRefused,
)
from docket.formats.run.receipt import TOP_PATHS


@dataclass(slots=True)
class TreeFold:
    """Counts of changes, the first paths, the two passes."""

    changes: Counter[Change] = field(default_factory=Counter)
    paths: list[str] = field(default_factory=list)
    passes: dict[Phase, FsSnapshot] = field(default_factory=dict)
    violations: Counter[str] = field(default_factory=Counter)
    not_covered: list[JsonValue] = field(default_factory=list)
    refused: SnapshotRefused | None = None
    rollback: RollbackApplied | RollbackRefused | None = None

    def change(self, payload: FsChange) -> None:
        """Take one changed path."""
        self.changes[payload.change] += 1
        if len(self.paths) < TOP_PATHS:
            self.paths.append(str(payload.path))

    def snapshot(self, payload: FsSnapshot) -> None:
        """Take a pass."""
        self.passes[payload.phase] = payload

    def violation(self, payload: PolicyViolation) -> None:
        """Take a violation."""
        self.violations[payload.rule] += 1

    def omitted(self, payload: Omissions) -> None:
        """Take paths that a pass did not observe; of those whose contents are not kept the first are named."""
        if payload.phase is Phase.CONTENTS:
            left = max(TOP_PATHS - len(self.not_covered), 0)
            self.not_covered += [{**item.path.members(), "reason": item.reason} for item in payload.omissions[:left]]

    def snapshot_refused(self, payload: SnapshotRefused) -> None:
        """Take the refusal of a snapshot."""
        self.refused = payload

    def rolled_back(self, payload: RollbackApplied | RollbackRefused) -> None:
        """Take what became of putting the tree back."""
        self.rollback = payload

    def rollback_member(self) -> dict[str, JsonValue] | None:
        """Return the receipt member `ops.rollback`."""
        if self.rollback is None:
            return None
        return {"applied": isinstance(self.rollback, RollbackApplied), **self.rollback.to_data()}

    @property
    def both_passes(self) -> bool:
        """Whether the tree was seen before and after."""
        return all(phase in self.passes for phase in PASSES)

    @property
    def omissions(self) -> int:
        """The most paths that one pass left out."""
        return max((item.omissions for item in self.passes.values()), default=0)

    def files(self) -> dict[str, JsonValue]:
        """Return the receipt member `files`; a path that is not UTF-8 is shown escaped."""
        return {
            "changed": self.changes.total(),
            "added": self.changes[Change.ADDED],
            "modified": self.changes[Change.MODIFIED],
            "removed": self.changes[Change.REMOVED],
            "retyped": self.changes[Change.RETYPED],
            "violations": self.violations.total(),
            "violations_by_rule": {rule: self.violations[rule] for rule in sorted(self.violations)},
            "top_paths": list(self.paths),
            "passes": {str(phase): self._pass(phase) for phase in PASSES},
        }

    def snapshot_member(self) -> dict[str, JsonValue] | None:
        """Return the receipt member `ops.snapshot`."""
        if self.refused is not None:
            return {"taken": False, **self.refused.to_data()}
        taken = self.passes.get(Phase.CONTENTS)
        if taken is None:
            return None
        members = taken.to_data()
        del members["phase"]
        not_covered = members.pop("not_covered", None)
        return {"taken": True, **members, "not_covered": list(self.not_covered), "not_covered_count": not_covered}

    def _pass(self, phase: Phase) -> JsonValue:
        taken = self.passes.get(phase)
        if taken is None:
            return None
        members = taken.to_data()
        del members["phase"]
        return members
