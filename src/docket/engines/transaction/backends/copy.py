"""The copy backend: a stage that is a full copy of the staged part, anywhere and on every file system.

Rules:
1. The stage is made through `engines.apply`, in disposable mode, its plain files copied and the rest by a plan: content
   is compared with its digest as it is written, so a base that changed meanwhile makes no stage.
2. The copy is shown at the base's own path where the system allows that, with what is shared mounted over it; else it
   is seen where it lies, and a shared path is a link in it to the base's own.
3. Nothing tells what changed: the whole stage is walked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from docket.engines.apply import ContentReader, Filling, Options, apply, open_tree
from docket.engines.transaction.backends.base_path import show_at_base, view_here
from docket.engines.transaction.backends.interface import BackendName, Probe, Stage, StageRequest, Usable, View
from docket.errors import UnavailableError
from docket.formats.dataclass import replace
from docket.formats.digest import sha256
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.listing import FileEntry
from docket.formats.tree.plan import Outcome, StepStatus, plan_of
from docket.formats.tree.steps import ABSENT, MakeDirectory, MakeSymlink, Step, WriteFile
from docket.host.clearing import remove_tree
from docket.host.disk_errors import reported
from docket.host.stage_mount import MountRefused, StageMount
from docket.rules.workspace.changes import staged_part
from docket.rules.workspace.stage_plan import stage_parts
from docket.stores.workspace.tree_contents import TreeContents

STAGE = "stage"
_EMPTY = Address(sha256(b""), 0)


class CopyBackend:
    """See the module."""

    @property
    def name(self) -> BackendName:
        """`copy`."""
        return BackendName.COPY

    @property
    def keeps_everything(self) -> bool:
        """No: it is made by a plan."""
        return False

    @property
    def needs_digests(self) -> bool:
        """Yes: contents are found and compared by them."""
        return True

    def probe(self, base: Path, state: Path) -> Probe:
        """A copy can always be made; whether it fits is measured by whoever asks for it."""
        view = view_here(base, state)
        return Usable(View.STAGE if isinstance(view, MountRefused) else view)

    def materialise(self, request: StageRequest) -> Stage:
        """Make the copy; UnavailableError (CHANGED_WHILE_READ where the base moved), with nothing of it left."""
        stage = self._stage(request.folder)
        mounts = request.shared or request.read_only
        try:
            # Where nothing is shared, whether it can be shown at the base's path is seen when it is.
            view = view_here(request.base, request.folder) if mounts else View.BASE_PATH
            with reported("make", stage.root):
                stage.root.mkdir(mode=0o700)
            self._fill(request, stage.root, is_mounted=view is View.BASE_PATH)
            with reported("set the permissions of", stage.root):
                stage.root.chmod(stat.S_IMODE(request.base.stat().st_mode) | 0o700)
            return stage if isinstance(view, MountRefused) else _shown(request, stage)
        except BaseException:
            self.discard(stage)
            raise

    @property
    def shares(self) -> bool:
        """Whether the files of a stage share their bytes with the base's."""
        return False

    def contents(self, base: bytes, files: Iterable[FileEntry]) -> TreeContents:
        """Return the contents of those of the base's files that are not plain."""
        return TreeContents(base, files)

    def _fill(self, request: StageRequest, root: Path, *, is_mounted: bool) -> None:
        base = os.fsencode(request.base)
        parts = stage_parts(staged_part(request.listing))
        shared = (_to_mount_over(base, path) if is_mounted else _link_to(base, path) for path in request.shared)
        filling = Filling(root=base, files=parts.plain, shares=self.shares, made=request.made)
        with self.contents(base, parts.files) as contents:
            fill_stage(root, (*parts.steps, *shared), contents, filling)

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
        stage.close()
        remove_tree(stage.folder / STAGE)

    def _stage(self, folder: Path) -> Stage:
        return Stage(backend=self.name, root=folder / STAGE, folder=folder, view=View.STAGE)


def _shown(request: StageRequest, stage: Stage) -> Stage:
    made = show_at_base(request, stage.root)
    if isinstance(made, StageMount):
        return replace(stage, view=View.BASE_PATH, mount=made)
    if request.shared or request.read_only:
        raise UnavailableError(made.reason, made.detail)
    return stage


def _link_to(base: bytes, path: RelPath) -> Step:
    return MakeSymlink(path=path, precondition=ABSENT, target=base + b"/" + path.raw)


def _to_mount_over(base: bytes, path: RelPath) -> Step:
    if os.path.isdir(base + b"/" + path.raw):  # noqa: PTH112 - a path of bytes
        return MakeDirectory(path=path, precondition=ABSENT, mode=0o700)
    return WriteFile(path=path, precondition=ABSENT, content=_EMPTY, mode=0o600)


def fill_stage(root: Path, steps: Iterable[Step], contents: ContentReader, filling: Filling) -> None:
    """Apply the steps to the empty directory `root` and fill it; UnavailableError where something cannot be done."""
    with open_tree(os.fsencode(root), durable=False) as tree:
        outcomes = apply(plan_of(steps, tree.identity), contents, tree, Options(filling=filling))
    for outcome in outcomes:
        if outcome.status not in (StepStatus.APPLIED, StepStatus.ALREADY):
            raise _failure(outcome)


def _failure(outcome: Outcome) -> UnavailableError:
    reason = outcome.reason or Reason.WRITE_FAILED
    if reason in (Reason.CONTENT_DAMAGED, Reason.NOT_FOUND, Reason.CHANGED_WHILE_READ):
        detail = f"{outcome.path} changed while it was being staged"
        return UnavailableError(Reason.CHANGED_WHILE_READ, detail, hint="try again when nothing writes to the tree")
    return UnavailableError(reason, f"{outcome.path} could not be staged: {outcome.detail or reason}")
