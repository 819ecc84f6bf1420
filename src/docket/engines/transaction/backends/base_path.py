"""A stage that is a directory of its own, shown at its base's own path where the system allows that.

Rules:
1. Where it is not allowed the stage is seen where it lies; that is a view, not a failure.
2. What is shared is the base's own and is mounted over the stage.
"""

from __future__ import annotations

import os
from pathlib import Path

from docket.engines.transaction.backends.interface import StageRequest
from docket.errors import UnavailableError
from docket.formats.relpath import RelPath
from docket.formats.workspace.mount import BindMount, MountPlan
from docket.formats.workspace.scope import View
from docket.host.stage_mount import MountRefused, StageMount, make_mounts


def view_here(base: Path, state: Path) -> View | MountRefused:
    """Return the view that a stage below `state` would have, by trying; why it is not the base's own path else."""
    plan = MountPlan(mounts=(BindMount(source=os.fsencode(state), target=os.fsencode(base)),))
    tried = make_mounts(plan, os.fsencode(base))
    if isinstance(tried, MountRefused):
        return tried
    tried.close()
    return View.BASE_PATH


def shared_mounts(base: Path, shared: tuple[RelPath, ...]) -> tuple[BindMount, ...]:
    """Return the mounts that show the base's own paths within what stands at the base's path."""
    places = (os.path.join(os.fsencode(base), path.raw) for path in shared)  # noqa: PTH118 - a path of bytes
    return tuple(BindMount(source=place, target=place) for place in places)


def show_at_base(request: StageRequest, root: Path) -> StageMount | MountRefused:
    """Mount the directory `root` over the base's path, or say why the system does not allow it.

    What is shared must stand in `root` as something to mount over: a directory for a directory, else a file.
    """
    base = os.fsencode(request.base)
    over = BindMount(source=os.fsencode(root), target=base)
    mounts = (*kept_mounts(request.read_only), over, *shared_mounts(request.base, request.shared))
    return make_mounts(MountPlan(mounts=mounts), base)


def kept_mounts(places: tuple[bytes, ...]) -> tuple[BindMount, ...]:
    """Return the mounts through which nobody writes to those places; they come before what stands at the base's."""
    return tuple(BindMount(source=place, target=place, read_only=True) for place in places)


def mounted_or_raise(made: StageMount | MountRefused) -> StageMount:
    """Return the mounts; UnavailableError with the reason where they could not be made."""
    if isinstance(made, MountRefused):
        raise UnavailableError(made.reason, made.detail)
    return made
