"""The fold over the passes and changes of the watched tree: the receipt member `files`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from docket.formats.canonical import JsonValue
from docket.formats.ledger.session_events import PolicyViolation
from docket.formats.ledger.tree_events import Change, FsChange, FsSnapshot, Phase
from docket.formats.run.receipt import TOP_PATHS


@dataclass(slots=True)
class TreeFold:
    """Counts of changes, the first paths, the two passes."""

    changes: Counter[Change] = field(default_factory=Counter)
    paths: list[str] = field(default_factory=list)
    passes: dict[Phase, FsSnapshot] = field(default_factory=dict)
    violations: Counter[str] = field(default_factory=Counter)

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

    @property
    def both_passes(self) -> bool:
        """Whether the tree was seen before and after."""
        return len(self.passes) == len(Phase)

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
            "passes": {str(phase): self._pass(phase) for phase in Phase},
        }

    def _pass(self, phase: Phase) -> JsonValue:
        taken = self.passes.get(phase)
        if taken is None:
            return None
        members = taken.to_data()
        del members["phase"]
        return members
