"""The measure phases: a digest pass before and after the agent, and what the difference is called in the record."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from docket.engines.observe import ObserveRequest
from docket.engines.supervise.request import RunWorld
from docket.engines.supervise.session import OpenRun
from docket.formats.ledger.session_events import PolicyViolation
from docket.formats.ledger.tree_events import FsSnapshot, Omissions, OmittedPath, Phase
from docket.formats.reason import Reason
from docket.formats.tree.listing import Kind, Listing, Omission
from docket.formats.tree.surface import Surface
from docket.formats.tree.unread import unread_files
from docket.rules.selectors import Selector, compile_patterns
from docket.rules.tree.diff import Difference, diff
from docket.rules.tree.watch import watched_surface

if TYPE_CHECKING:
    from docket.engines.transaction.world import OpenTransaction

OMISSIONS_PER_EVENT = 200
RESTORABLE_BYTES = 512 * 1024
"""How much of its changes a run with a snapshot records despite a ceiling or a shortage: no other is ever restored."""
_OMITTED_BYTES = 64 * 1024
_EVENT_BYTES = 512  # of a change without its path


class PassInterruptedError(Exception):
    """A signal came while the agent had not been started yet."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


def measure_before(run: OpenRun) -> Listing:
    """Make the pass before the agent, and keep the tree's contents where the run asks for it.

    RefusedBeforeStartError where a snapshot that was asked for does not fit; else as `measure`.
    """
    if run.request.snapshot is None:
        return measure(run, Phase.BEFORE)
    from docket.engines.supervise.keep import keep_contents  # noqa: PLC0415 - a run without a snapshot never loads it

    return keep_contents(run, run.request.snapshot)


def measure(run: OpenRun, phase: Phase, *, since: Listing | None = None) -> Listing:
    """Make a pass over the tree and record its figures and what it could not observe.

    `since` is what the pass before saw: the root must still be the same, and of a stage only what may have changed is
    looked at. UnavailableError if the root is gone, or another. PassInterruptedError before the agent only: once it
    has run, what it changed is worth the wait.
    """
    world = run.world
    progress = interruptible(world) if phase is Phase.BEFORE else world.watcher.scanned
    try:
        if run.stage is not None and since is not None:
            listing = _pass_over_stage(run, run.stage, since)
        else:
            root_identity = None if since is None else since.root
            surface = surface_of(run)
            unread = _may_stay_unread(run, surface)
            listing = world.observe(
                ObserveRequest(
                    root=os.fsencode(run.request.cwd),
                    surface=surface,
                    progress=progress,
                    root_identity=root_identity,
                    unread=unread,
                    statuses=unread,
                )
            )
    finally:
        world.watcher.scan_ended()
    record_pass(run, listing, phase)
    return listing


def _pass_over_stage(run: OpenRun, stage: OpenTransaction, since: Listing) -> Listing:
    from docket.engines.transaction.closing import observe_stage  # noqa: PLC0415 - a run without a stage never loads it

    assert run.world.transactions is not None  # noqa: S101 - who has a stage has the world it came from
    request = ObserveRequest(
        root=os.fsencode(stage.stage.root), surface=surface_of(run), progress=run.world.watcher.scanned
    )
    return observe_stage(stage, run.world.transactions(), request, since)


def _may_stay_unread(run: OpenRun, surface: Surface) -> bool:
    """Whether the tree need not be read: its stage is the tree itself, and tells what was written."""
    if run.stage is None or surface.roots:
        return False
    from docket.engines.transaction.closing import backend_of  # noqa: PLC0415 - as above

    assert run.world.transactions is not None  # noqa: S101 - as above
    return not backend_of(run.stage.state, run.world.transactions()).needs_digests


def surface_of(run: OpenRun) -> Surface:
    """Return what a pass looks at: what the policy watches, in a transaction only as far as it is staged."""
    files, asked = run.request.policy.files, run.request.transaction
    surface = watched_surface(watch=files.watch, ignore=files.ignore, evidence=run.request.layout.evidence)
    if asked is None:
        return surface
    from docket.rules.workspace.surface import staged_only  # noqa: PLC0415 - a run without a stage never loads it

    return staged_only(surface, asked.rules, () if run.stage is None else run.stage.shared)


def record_pass(run: OpenRun, listing: Listing, phase: Phase) -> None:
    """Record a pass: its figures, and what it could not observe; say what an earlier change of the tree has left."""
    ledger, roots = run.session.ledger, run.request.policy.files.watch
    ledger.append(pass_payload(listing, roots, phase), control=True)
    is_short = sum(len(omission.path.raw) for omission in listing.omissions) <= _OMITTED_BYTES
    for payload in omission_payloads(listing.omissions, phase):
        ledger.append(payload, control=is_short and run.request.snapshot is not None)
    if phase is Phase.BEFORE and listing.omissions:
        _warn_of_staging(run, listing.omissions)


def _warn_of_staging(run: OpenRun, omissions: Sequence[Omission]) -> None:
    from docket.host.reaching import STAGING_PREFIX  # noqa: PLC0415 - only where something could not be observed

    for omission in omissions:
        if omission.path.raw.startswith(STAGING_PREFIX) and b"/" not in omission.path.raw and omission.detail:
            run.world.watcher.warned(f"{omission.path} is {omission.detail}")


def interruptible(world: RunWorld) -> Callable[[int, int], None]:
    """Return what hears a pass's progress and ends it with PassInterruptedError when a signal came."""

    def progress(files: int, size_bytes: int) -> None:
        signals = world.signals.wait(0)
        if signals:
            raise PassInterruptedError(signals[0])
        world.watcher.scanned(files, size_bytes)

    return progress


def pass_payload(listing: Listing, roots: Sequence[str], phase: Phase) -> FsSnapshot:
    """Return the event of a pass."""
    return FsSnapshot(
        phase=phase,
        roots=tuple(roots),
        files=listing.files,
        directories=listing.directories,
        symlinks=listing.symlinks,
        omissions=len(listing.omissions),
        bytes_watched=listing.bytes_watched,
        tree_sha256=listing.tree_sha256,
        unread=unread_files(listing) or None,
    )


def omission_payloads(omissions: Sequence[Omission], phase: Phase) -> Iterator[Omissions]:
    """Yield the events that name what a pass left out."""
    for start in range(0, len(omissions), OMISSIONS_PER_EVENT):
        chunk = omissions[start : start + OMISSIONS_PER_EVENT]
        yield Omissions(
            phase=phase,
            omissions=tuple(
                OmittedPath(path=item.path, reason=str(item.reason), detail=item.detail or None) for item in chunk
            ),
        )


def compare(run: OpenRun, before: Listing, after: Listing) -> tuple[Difference, ...]:
    """Record every path that differs, and every change the policy forbids or that cannot be ruled out."""
    request, session = run.request, run.session
    differences = diff(before, after)
    if request.transaction is not None:
        from docket.rules.workspace.changes import only_staged  # noqa: PLC0415 - as above

        differences = only_staged(differences, before, request.transaction.rules)
    if run.stage is not None and before.statuses:
        from docket.engines.transaction.base_contents import with_known  # noqa: PLC0415 - as above

        differences = with_known(differences, before, run.stage)
    left_bytes = 0 if request.snapshot is None else RESTORABLE_BYTES
    for difference in differences:
        left_bytes -= _EVENT_BYTES + 2 * len(difference.path.raw)
        session.ledger.append(difference.payload(), control=left_bytes > 0)
    for violation in forbidden_changes(run, differences, after):
        session.ledger.append(violation)
    return differences


def forbidden_changes(run: OpenRun, differences: Sequence[Difference], after: Listing) -> list[PolicyViolation]:
    """Return what the run's policy, and what protects its files, forbid of the differences."""
    return violations((*run.request.policy.files.deny_write, *run.request.protected), differences, after)


def violations(patterns: Sequence[str], differences: Sequence[Difference], after: Listing) -> list[PolicyViolation]:
    """Return what `patterns` forbid of the differences, and of what the later pass could not tell."""
    unsettled = [omission for omission in after.omissions if omission.reason is Reason.CHANGED_WHILE_READ]
    if not differences and not unsettled:
        return []
    forbidden = compile_patterns(patterns)
    found = {
        difference.path: f"a path that must not change was {difference.change}"
        for difference in differences
        if _forbidden(forbidden, difference)
    }
    for omission in unsettled:
        if forbidden.matches(omission.path, is_directory=omission.kind is Kind.DIRECTORY):
            found.setdefault(omission.path, "a path that must not change changed while it was read: it is not known")
    return [PolicyViolation(rule="files.deny_write", path=path, detail=detail) for path, detail in found.items()]


def _forbidden(selector: Selector, difference: Difference) -> bool:
    states = (difference.before, difference.after)
    is_directory = any(state is not None and state.kind == "directory" for state in states)
    return selector.matches(difference.path, is_directory=is_directory)
