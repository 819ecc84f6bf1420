"""What a restore would do and what it did, as values: where it comes from, its plan, what is foreseen, its record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from docket.engines.apply import ContentReader, Mode
from docket.engines.foresee import Foreseen
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest, digest_of
from docket.formats.relpath import RelPath
from docket.formats.run.verdict import Verdict
from docket.formats.tree.plan import Plan
from docket.formats.tree.restore_record import RestoreRecord, state_members
from docket.formats.tree.steps import StepStatus
from docket.rules.tree.restore import Intention
from docket.stores.layout import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The run that is undone, and where it comes from: `redo_of` is the plan of a restore that is put back.

    `verdict` is what verification says of the run's record, None where there was nothing to verify. Of a tool call,
    `delta_sha256` and `tool_use_id` are meant instead of the docket number.
    """

    session_id: str
    docket_number: str
    manifest_sha256: Digest | None = None
    redo_of: Digest | None = None
    verdict: Verdict | None = None
    delta_sha256: Digest | None = None
    tool_use_id: str | None = None

    @property
    def title(self) -> str:
        """What a person calls it."""
        return self.docket_number or f"tool call {self.tool_use_id}"

    @property
    def mode(self) -> Mode:
        """How it is applied: a tool call is undone whole or not at all."""
        return Mode.PATH_BY_PATH if self.delta_sha256 is None else Mode.ALL_OR_NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a restore would do to the tree at `root`: the plan, and what is foreseen of each path's step.

    `changes_known`: the record holds all that the run changed.
    """

    origin: Origin
    root: bytes
    layout: Layout
    plan: Plan
    intentions: tuple[Intention, ...]
    foreseen: Mapping[RelPath, Foreseen]
    contents: ContentReader
    force: bool
    remarks: tuple[str, ...] = ()
    changes_known: bool = True

    def status(self, item: Intention) -> StepStatus | None:
        """Return what is foreseen of a path, None where it would be done or nothing is to be."""
        found = self.foreseen.get(item.path)
        return None if found is None or found.outcome is None else found.outcome.status

    @property
    def shown_sha256(self) -> Digest:
        """What names that which a person is shown: the plan's digest, and by force also what it would be done over.

        By force no step has a precondition that would hold it back from what came there since.
        """
        if not self.force:
            return self.plan.digest
        over = [
            {**path.members(), "was": None if found.was is None else state_members(found.was)}
            for path, found in sorted(self.foreseen.items())
            if found.outcome is None
        ]
        return digest_of({"plan_sha256": self.plan.digest, "over": over})


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A restore that was carried out: its record, where that stands, and what it or a killed one left in the tree.

    `problem` says why the record could not be written; what was displaced is kept beside where it would stand.
    """

    record: RestoreRecord
    record_path: Path
    leftovers: tuple[str, ...] = ()
    problem: str | None = None

    def count(self, *statuses: StepStatus) -> int:
        """Return how many paths ended so."""
        tally = Counter(item.status for item in self.record.paths)
        return sum(tally[status] for status in statuses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What a proposal is made of: the steps' intentions and the store of their contents."""

    origin: Origin
    intentions: tuple[Intention, ...]
    contents: ContentReader
    remarks: tuple[str, ...] = ()
    changes_known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The tree that is restored; `identity` is the (device, inode) it must have, None for whichever stands there."""

    root: bytes
    identity: tuple[int, int] | None
    layout: Layout
    force: bool
