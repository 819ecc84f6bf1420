"""The machine as the ports of tool windows."""

from __future__ import annotations

from pathlib import Path

from docket.engines.windows.world import WindowsWorld
from docket.errors import PartialEvidenceError
from docket.formats.dataclass import dataclass, replace
from docket.formats.relpath import RelPath
from docket.formats.windows.key import IN_STAGE
from docket.host.clock import SystemClock
from docket.host.git_place import git_place_at
from docket.stores.layout import PROJECT_FILE, prepare_state
from docket.stores.windows.evidence import Evidence
from docket.stores.windows.looked import TreeStore
from docket.stores.windows.registry_file import RegistryFile
from docket.surfaces.hooks.place import WindowsPlace
from docket.surfaces.hooks.seconds import hook_seconds

STAGES = "stages"
_WORK_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class StagedTree:
    """The stage of a transaction, and where it is read."""

    root: Path
    transaction: str


def windows_world(place: WindowsPlace, stage: StagedTree | None = None) -> WindowsWorld:
    """Return the ports, with the folder made where it is missing; those of a stage look at that."""
    if not (place.layout.state / PROJECT_FILE).exists():
        prepare_state(place.layout)
    world = WindowsWorld(
        registry=RegistryFile(place.windows),
        evidence=Evidence(place.windows),
        tree=_tree(place) if stage is None else _stage_tree(place, stage),
        clock=SystemClock(),
        budget_seconds=hook_seconds() * _WORK_SHARE,
    )
    if stage is None:
        return world
    folder = _stage_folder(place, stage)

    def dispose() -> None:
        from shutil import rmtree  # noqa: PLC0415 - not light, and a stage's alone

        rmtree(folder, ignore_errors=True)

    return replace(world, mode=IN_STAGE, dispose=dispose)


def _stage_folder(place: WindowsPlace, stage: StagedTree) -> Path:
    return place.windows / STAGES / stage.transaction


def _stage_tree(place: WindowsPlace, stage: StagedTree) -> TreeStore:
    """Return the store of a stage: its trees stand apart, for they are nobody's once the stage has gone.

    Git looks at a stage that stands in a folder with a repository of its own. One that is mounted is seen through a
    descriptor alone, which git cannot follow: the scanner looks at that, at all but what is git's own.
    """
    folder = _stage_folder(place, stage)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    git = git_place_at(stage.root)
    if git is not None and git.git_dir.is_relative_to(stage.root):
        from docket.stores.windows.git_tree import open_git_tree  # noqa: PLC0415 - a folder without git needs another

        return open_git_tree(folder, git)
    from docket.engines.windows.folder_tree import open_folder_tree  # noqa: PLC0415 - the scanner is not light

    return open_folder_tree(folder, replace(place.layout, tree_root=stage.root, evidence=(RelPath(b".git"),)))


def _tree(place: WindowsPlace) -> TreeStore:
    if place.git is not None:
        from docket.stores.windows.git_tree import open_git_tree  # noqa: PLC0415 - a folder without git needs another

        try:
            return open_git_tree(place.windows, place.git, evidence=place.layout.evidence)
        except PartialEvidenceError as error:
            from docket.stores.windows.git_store import repository_of  # noqa: PLC0415 - hardly ever
            from docket.stores.windows.no_tree import NoTree  # noqa: PLC0415 - hardly ever

            return NoTree(repository_of(place.git), error)
    from docket.engines.windows.folder_tree import open_folder_tree  # noqa: PLC0415 - the scanner is not light

    return open_folder_tree(place.windows, place.layout)
