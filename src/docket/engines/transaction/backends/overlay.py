"""The backend that copies nothing: the base below, what the agent writes above, both seen as one tree.

Rules (kernel documentation, filesystems/overlayfs):
1. The upper and the work directory lie in the transaction's folder; the base may lie on another file system.
2. What was written is read from the upper directory, so it costs what was changed, not what is there.
3. The base stays live below: what a person changes there during a run may be seen in the stage. What the agent wrote
   never goes unseen by it (`changes`).
4. Nothing of a stage is synced (`volatile`): what lands in the base is written anew and synced there. A stage that
   outlasts a power cut may lack what was written in the last seconds before it.
5. One process at a time has the overlay mounted; the kernel does not see to that itself.
6. A file with several names loses the others when it is written, and a directory of the base is renamed by copying
   it (the rename call answers EXDEV, as between two file systems).

The stage needs a mount: docket reads it through a descriptor, and it is nowhere else on the system.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from docket.engines.transaction.backends.base_path import kept_mounts, mounted_or_raise, shared_mounts
from docket.engines.transaction.backends.interface import Probe, Refused, Stage, StageRequest, Usable
from docket.engines.transaction.backends.upper_changes import changed_paths, is_hidden
from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.workspace.mount import BindMount, MountPlan, OverlayMount
from docket.formats.workspace.scope import BackendName, View
from docket.host import overlay_folders, tree
from docket.host.clearing import remove_tree
from docket.host.disk_errors import reported
from docket.host.stage_mount import MountRefused, StageMount, hold_folder, make_mounts

FOLDER = "stage"
OPTIONS = (b"userxattr", b"redirect_dir=nofollow", b"metacopy=off", b"index=off", b"volatile")
_UPPER = "upper"
_WORK = "work"


class OverlayBackend:
    """Stages a base as the lower side of an overlay (`interface.Backend`)."""

    @property
    def name(self) -> BackendName:
        """`overlay`."""
        return BackendName.OVERLAY

    @property
    def keeps_everything(self) -> bool:
        """Yes: what nobody wrote is the base's own."""
        return True

    @property
    def needs_digests(self) -> bool:
        """No: what is staged is the base itself."""
        return False

    def probe(self, base: Path, state: Path) -> Probe:
        """Mount an overlay of the base in a folder of its own below `state` and take it away again."""
        with reported("try an overlay in", state):
            folder = Path(tempfile.mkdtemp(prefix=".overlay-", dir=state))
        try:
            return _tried(base, folder)
        finally:
            remove_tree(folder)

    def materialise(self, request: StageRequest) -> Stage:
        """Make the upper side, in which what is masked is hidden, and mount the overlay."""
        folder = request.folder / FOLDER
        try:
            _make_folders(request.base, folder, request.masked)
            return self.attach(request)
        except BaseException:
            remove_tree(folder)
            raise

    def attach(self, request: StageRequest) -> Stage:
        """Mount the overlay again.

        UnavailableError where its folders or the base are gone (NOT_FOUND), a run has it mounted (IN_USE) or the system
        refuses.
        """
        folder = request.folder / FOLDER
        if not (folder / _UPPER).is_dir():
            raise UnavailableError(Reason.NOT_FOUND, f"the stage {folder} is gone")
        if not request.base.is_dir():
            detail = f"the tree {request.base} is gone, on which the stage stands"
            raise UnavailableError(Reason.NOT_FOUND, detail, hint="put it back at that path, and try again")
        lock = hold_folder(folder)
        try:
            over = shared_mounts(request.base, request.shared)
            mount = mounted_or_raise(_mounted(request.base, folder, (kept_mounts(request.read_only), over)))
            if tree.root_identity(os.fsencode(request.base)) != request.base_identity:
                mount.close()
                detail = f"{request.base} is not the directory that was staged"
                hint = "put that one back at its path, and try again"
                raise UnavailableError(Reason.ROOT_REPLACED, detail, hint=hint)
        except BaseException:
            os.close(lock)
            raise
        mount.lock = lock
        return Stage(
            backend=self.name,
            root=mount.path,
            folder=request.folder,
            view=View.BASE_PATH,
            mount=mount,
            base=request.base,
        )

    def changes(self, stage: Stage) -> Iterable[RelPath] | None:
        """Return what the upper directory names; UnavailableError where that or the base cannot be read.

        Where what a person did to the base hides some of it from the mounted overlay, that is mounted anew.
        """
        if stage.base is None:
            return None
        base, upper = tree.open_root(os.fsencode(stage.base)), tree.open_root(os.fsencode(_upper(stage.folder)))
        try:
            changed = tuple(changed_paths(base, upper))
        finally:
            tree.close(base)
            tree.close(upper)
        _see_all(stage, changed)
        return changed

    def discard(self, stage: Stage) -> None:
        """Unmount the overlay and remove its folders."""
        stage.close()
        remove_tree(stage.folder / FOLDER)


def _tried(base: Path, folder: Path) -> Probe:
    if not overlay_folders.takes_marks(os.fsencode(folder)):
        detail = f"the file system of {folder.parent} keeps no attributes of users"
        return Refused(reason=Reason.OVERLAY_REFUSED, detail=detail)
    _make_folders(base, folder / FOLDER, ())
    mount = _mounted(base, folder / FOLDER, ((), ()))
    if isinstance(mount, MountRefused):
        return Refused(reason=mount.reason, detail=mount.detail)
    mount.close()
    return Usable(View.BASE_PATH)


def _make_folders(base: Path, folder: Path, masked: Iterable[RelPath]) -> None:
    with reported("make", folder):
        folder.mkdir(mode=0o700)
        hidden = (tuple(path.parts) for path in masked)
        overlay_folders.make_upper(os.fsencode(base), os.fsencode(folder / _UPPER), hidden)


def _mounted(base: Path, folder: Path, around: tuple[tuple[BindMount, ...], ...]) -> StageMount | MountRefused:
    """Mount it between what comes before it and what comes over it."""
    before, over = around
    # The kernel marks the work directory of a volatile overlay and refuses it the next time, so it is a new one.
    work = folder / _WORK
    remove_tree(work)
    with reported("make", work):
        work.mkdir(mode=0o700)
    place = os.fsencode(base)
    overlay = OverlayMount(
        target=place, lower=place, upper=os.fsencode(folder / _UPPER), work=os.fsencode(work), options=OPTIONS
    )
    return make_mounts(MountPlan(mounts=(*before, overlay, *over)), place)


def _see_all(stage: Stage, changed: tuple[RelPath, ...]) -> None:
    upper, shown = os.fsencode(_upper(stage.folder)), os.fsencode(stage.root)
    if stage.mount is None or stage.base is None or not any(is_hidden(path, upper, shown) for path in changed):
        return
    stage.mount.become(mounted_or_raise(_mounted(stage.base, stage.folder / FOLDER, ((), ()))))


def _upper(folder: Path) -> Path:
    return folder / FOLDER / _UPPER
