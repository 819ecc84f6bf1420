"""The copy backend: a stage that is a full copy of the staged part, anywhere and on every file system.

Rules:
1. The stage is made by a plan through `engines.apply`, in disposable mode: content is compared with its digest as it
   is written, so a base that changed meanwhile makes no stage.
2. A shared path is a link in the stage to the base's own.
3. Nothing tells what changed: the whole stage is walked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from docket.engines.apply import ContentReader, Options, apply, open_tree
from docket.engines.transaction.backends.interface import BackendName, Probe, Stage, StageRequest, Usable, View
from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.plan import Outcome, StepStatus, plan_of
from docket.formats.tree.steps import ABSENT, MakeSymlink, Step
from docket.host.clearing import remove_tree
from docket.host.disk import reported
from docket.rules.workspace.changes import staged_part
from docket.rules.workspace.stage_plan import stage_steps
from docket.stores.workspace.tree_contents import TreeContents

STAGE = "stage"


class CopyBackend:
    """See the module."""

    @property
    def name(self) -> BackendName:
        """`copy`."""
        return BackendName.COPY

    def probe(self, base: Path, state: Path) -> Probe:  # noqa: ARG002 - the contract's signature
        """A copy can always be made; whether it fits is measured by whoever asks for it."""
        return Usable(View.STAGE)

    def materialise(self, request: StageRequest) -> Stage:
        """Make the copy; UnavailableError (CHANGED_WHILE_READ where the base moved), with nothing of it left."""
        stage = self._stage(request.folder)
        try:
            with reported("make", stage.root):
                stage.root.mkdir(mode=0o700)
            with TreeContents(os.fsencode(request.base), request.listing.entries) as contents:
                fill_stage(stage.root, stage_plan(request), contents)
            with reported("set the permissions of", stage.root):
                stage.root.chmod(stat.S_IMODE(request.base.stat().st_mode) | 0o700)
        except BaseException:
            self.discard(stage)
            raise
        return stage

    def attach(self, request: StageRequest) -> Stage:
        """Return the stage as it stands; UnavailableError where it is gone."""
        stage = self._stage(request.folder)
        if not stage.root.is_dir() or stage.root.is_symlink():
            raise UnavailableError(Reason.NOT_FOUND, f"the stage {stage.root} is gone")
        return stage

    def changes(self, stage: Stage) -> Iterable[RelPath] | None:  # noqa: ARG002 - the contract's signature
        """None: the whole stage is walked."""
        return None

    def discard(self, stage: Stage) -> None:
        """Remove the copy."""
        with reported("remove", stage.folder / STAGE):
            remove_tree(stage.folder / STAGE)

    def _stage(self, folder: Path) -> Stage:
        return Stage(backend=self.name, root=folder / STAGE, folder=folder, view=View.STAGE)


def stage_plan(request: StageRequest) -> tuple[Step, ...]:
    """Return the steps of a stage in a directory of its own: what is staged, and a link for each shared path."""
    base = os.fsencode(request.base)
    links = (MakeSymlink(path=path, precondition=ABSENT, target=base + b"/" + path.raw) for path in request.shared)
    return (*stage_steps(staged_part(request.listing)), *links)


def fill_stage(root: Path, steps: Iterable[Step], contents: ContentReader) -> None:
    """Apply the steps to the empty directory `root`; UnavailableError where one cannot be done."""
    with open_tree(os.fsencode(root), durable=False) as tree:
        outcomes = apply(plan_of(steps, tree.identity), contents, tree, Options())
    for outcome in outcomes:
        if outcome.status not in (StepStatus.APPLIED, StepStatus.ALREADY):
            raise _failure(outcome)


def _failure(outcome: Outcome) -> UnavailableError:
    reason = outcome.reason or Reason.WRITE_FAILED
    if reason in (Reason.CONTENT_DAMAGED, Reason.NOT_FOUND):
        detail = f"{outcome.path} changed while it was being staged"
        return UnavailableError(Reason.CHANGED_WHILE_READ, detail, hint="try again when nothing writes to the tree")
    return UnavailableError(reason, f"{outcome.path} could not be staged: {outcome.detail or reason}")
