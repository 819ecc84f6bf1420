"""Undo a tool call in the tree as it is now: from its window and its delta to a proposal of `engines.restore`.

Rules (spec/windows.md, Undo):
1. Nothing is changed here. `engines.restore.carry_out` does the proposal, whole or not at all, and keeps what it
   displaces.
2. The delta must be of the window, and of the trees that the window names where those are still kept.
3. A member of a group is undone with its group alone, and only if the request says so.
4. What is not to be had, or in conflict, is told for each path; texts are merged by git, and a conflict is kept.
5. A tool that was denied has written nothing, so there is nothing of it to undo. One that never told its end may have:
   what changed until its turn was over is undone as its own, and the plan says so.
6. docket's own evidence, and what version control keeps for itself, is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from itertools import chain

from docket.engines.apply import leftover_names, open_tree
from docket.engines.restore import EVERYTHING, RestoreWorld, proposal_of
from docket.engines.restore_proposal import Origin, Proposal, Sources, Target
from docket.engines.windows.undo_contents import MAX_CONTENT_BYTES, UndoContents
from docket.engines.windows.undo_paths import Undoing, UndoneTree
from docket.errors import InvalidDocumentError, PartialEvidenceError, UnavailableError, UsageError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import tree_order
from docket.formats.tree.steps import StepStatus
from docket.formats.windows.delta import Delta, FileDelta
from docket.formats.windows.key import IN_TREE
from docket.formats.windows.names import CLAIMING_NOTHING, DENIED, Scope, Status
from docket.formats.windows.records import ClosedWindow
from docket.host.git_merge import GitMerge
from docket.host.git_program import Deadline
from docket.rules.tree.restore import Selection, Verb
from docket.rules.windows.undo import sides_of
from docket.rules.windows.undo_hunks import NumberedHunk, numbered, places_by_path
from docket.stores.layout import Layout
from docket.stores.windows.looked import TreeStore

PATIENCE_SECONDS = 60.0
_UNDONE = (StepStatus.REFUSED, StepStatus.FAILED, StepStatus.SKIPPED)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRequest:
    """A tool call to undo, by the record of its window and its delta, in the tree at `root`.

    `hunks` are numbers of the delta's hunks; none means everything. `group`: the whole group is meant. `mask` are the
    bits that files made anew are without. `history` gives other deltas, the newest first: contents that are not kept
    are made of them.
    """

    record: ClosedWindow
    delta: Delta
    layout: Layout
    root: bytes
    selection: Selection = EVERYTHING
    hunks: frozenset[int] = frozenset()
    group: bool = False
    mask: int = 0o022
    history: Callable[[], Iterable[Delta]] = tuple


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoProposal:
    """What undoing would do; `conflicts` are the texts of what could not be merged, with both sides between markers."""

    proposal: Proposal
    record: ClosedWindow
    delta: Delta
    conflicts: Mapping[RelPath, bytes] = field(default_factory=dict)

    @property
    def refused(self) -> int:
        """How many paths stand in the way: with one of them nothing is done."""
        items = self.proposal.intentions
        return sum(item.verb is Verb.REFUSED or self.proposal.status(item) in _UNDONE for item in items)


def propose_undo(request: UndoRequest, store: TreeStore, world: RestoreWorld, stack: ExitStack) -> UndoProposal:
    """Return what undoing the tool call would do; the stack closes the store of contents.

    UnavailableError where what the tool did is not known, UsageError where the request does not fit the delta,
    InvalidDocumentError where the record, its delta and what is kept of the trees do not agree.
    """
    hunks = _checked(request)
    _check_trees(request, store)
    contents = _opened(request, store, stack)
    with closing(open_tree(request.root)) as tree, ExitStack() as held:
        undone = UndoneTree(
            tree=tree, contents=contents, evidence=request.layout.evidence, mask=request.mask, most=MAX_CONTENT_BYTES
        )
        left = leftover_names(tree)
        work = Undoing(undone, request.delta.files, lambda: held.enter_context(GitMerge()), _labels(request))
        places = places_by_path(hunks, request.hunks)
        for file in request.delta.files:
            if _is_meant(request, file, places):
                work.take(file, places.get(file.path))
            else:
                work.leave(file.path)
        intentions = work.intentions()
    sources = Sources(
        origin=_origin(request.record),
        intentions=tuple(sorted(intentions, key=lambda item: tree_order(item.path.raw))),
        contents=contents,
        remarks=tuple(_remarks(request, store, left)),
    )
    target = Target(root=request.root, identity=None, layout=request.layout, force=False)
    proposal = proposal_of(sources, target, world)
    return UndoProposal(proposal=proposal, record=request.record, delta=request.delta, conflicts=work.conflicts)


def _opened(request: UndoRequest, store: TreeStore, stack: ExitStack) -> UndoContents:
    load = stack.enter_context(ExitStack())
    opened = store.contents()
    # What is raised while the contents are open is not the store's to turn into a reason of its own.
    contents = UndoContents(
        opened.__enter__(), request.delta.hashes or store.hashes, lambda: chain((request.delta,), request.history())
    )
    load.callback(opened.__exit__, None, None, None)
    return contents


def _origin(record: ClosedWindow) -> Origin:
    return Origin(
        session_id=record.key.session_id,
        docket_number="",
        delta_sha256=record.delta_sha256,
        tool_use_id=record.key.tool_use_id,
    )


def _checked(request: UndoRequest) -> tuple[NumberedHunk, ...]:
    """Return the hunks of the delta, once the request fits it."""
    delta, key = request.delta, request.record.key
    if delta.status is Status.PARTIAL:
        detail = f"what {key.tool_use_id} changed is unknown: {delta.reason}"
        raise UnavailableError(Reason.NOT_RECORDED, detail)
    if all(use.outcome == DENIED for use in delta.tool_uses):
        detail = f"{key.tool_use_id} was denied and wrote nothing; what changed meanwhile is somebody else's"
        raise UnavailableError(Reason.NOT_RECORDED, detail)
    if not any(use.tool_use_id == key.tool_use_id for use in delta.tool_uses):
        detail = f"the delta {request.record.delta_sha256} is not of {key.tool_use_id}"
        raise InvalidDocumentError(Reason.DOCUMENTS_DISAGREE, detail)
    if delta.scope is Scope.CONCURRENT_GROUP and not request.group:
        raise UsageError(
            Reason.USAGE,
            f"{key.tool_use_id} ran at the same time as others, and what changed is of them all",
            hint="--group undoes them all",
            points=tuple(f"{use.tool_name} {use.tool_use_id}" for use in delta.tool_uses),
        )
    hunks = numbered(delta)
    unknown = sorted(request.hunks - {hunk.number for hunk in hunks})
    if unknown:
        most = f"it has {len(hunks)}" if hunks else "it has none"
        raise UsageError(Reason.USAGE, f"the tool call has no hunk {unknown[0]}: {most}")
    for named in request.selection.paths:
        one = Selection(paths=(named,))
        if not any(one.takes(file.path, is_directory=False) for file in delta.files):
            raise UsageError(Reason.USAGE, f"the tool call changed nothing at {named}")
    return hunks


def _check_trees(request: UndoRequest, store: TreeStore) -> None:
    """Refuse a delta that is not what became of the trees; trees that are not kept any more say nothing."""
    record = request.record
    if record.tree_before is None or record.tree_after is None:
        return
    try:
        changes = store.changes(record.tree_before, record.tree_after, Deadline.within(PATIENCE_SECONDS))
    except PartialEvidenceError:
        return
    told = {file.path: sides_of(file) for file in request.delta.files}
    if told != {change.path: (change.before, change.after) for change in changes}:
        detail = f"the delta {record.delta_sha256} is not what became of the trees that its window names"
        raise InvalidDocumentError(Reason.DOCUMENTS_DISAGREE, detail, hint="nothing was changed")


def _is_meant(request: UndoRequest, file: FileDelta, places: Mapping[RelPath, frozenset[int]]) -> bool:
    is_selected = request.selection.takes(file.path, is_directory=False)
    return is_selected and (not request.hunks or file.path in places)


def _labels(request: UndoRequest) -> tuple[str, str, str]:
    use = f"{request.record.tool_name} {request.record.key.tool_use_id}"
    return "the tree now", f"after {use}", f"before {use}"


def _remarks(request: UndoRequest, store: TreeStore, left: tuple[bytes, ...]) -> list[str]:
    remarks = []
    key = request.record.key
    if key.mode == IN_TREE and key.repository != store.repository:
        remarks.append(
            "the window is of another tree, or of one that stood at another place: contents alone are compared"
        )
    unsure = [use for use in request.delta.tool_uses if use.outcome in CLAIMING_NOTHING]
    if unsure:
        ids = ", ".join(f"{use.tool_use_id} ({use.outcome})" for use in unsure)
        remarks.append(f"what changed while {ids} was open may be somebody else's; it is undone all the same")
    if left:
        remarks.append("an apply was cut short in this tree; what it left is cleared up first, as far as it can be")
    return remarks


__all__ = ["UndoProposal", "UndoRequest", "propose_undo"]
