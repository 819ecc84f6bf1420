"""The machine as the ports of a blame: which tree a file is in, and what is kept of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from docket.engines.windows.asked_calls import AskedCalls, ledgers_of
from docket.engines.windows.blame import BlameWorld, recorded_history
from docket.errors import DocketError, InvalidDocumentError, UsageError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.windows.changes import Side
from docket.formats.windows.names import Hashes
from docket.formats.workspace.state import Status, TransactionState
from docket.host.disk import SYSTEM_DISK
from docket.host.git_batch import GitBatch
from docket.host.git_place import object_format
from docket.rules.windows.blame import Sights
from docket.rules.windows.blame_history import History
from docket.stores.pool import open_pool
from docket.stores.windows.folder_sights import FolderSights
from docket.stores.windows.git_sights import GitSights
from docket.stores.windows.git_store import open_git_store
from docket.stores.workspace.transactions import Transactions
from docket.surfaces.hooks.place import WindowsPlace, windows_place
from docket.surfaces.hooks.wiring import windows_world

POOL = "pool"
_POOL_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A file of a tree whose windows are kept at `place`."""

    place: WindowsPlace
    path: RelPath


def locate(file: Path, docket_dir: Path | None) -> Located:
    """Return the tree that a file is in; UsageError for one that is in none.

    Without git the tree is the nearest folder above whose windows are known, or else the file's own folder.
    """
    folder = Path(os.path.realpath(file.parent))
    place = windows_place(folder, docket_dir)
    if place.git is None and docket_dir is None:
        above = (windows_place(parent) for parent in (folder, *folder.parents))
        place = next((found for found in above if found.windows.is_dir()), place)
    if place.git is None and docket_dir is not None:
        place = windows_place(Path.cwd(), docket_dir)
    root = Path(os.path.realpath(place.layout.tree_root))
    try:
        return Located(place=place, path=RelPath.parse(os.fsencode((folder / file.name).relative_to(root))))
    except (ValueError, InvalidDocumentError) as error:
        raise UsageError(Reason.NOT_A_PATH, f"{file} is no file of the tree at {root}") from error


@contextmanager
def blame_world(place: WindowsPlace) -> Iterator[BlameWorld]:
    """Open what is kept of a tree; where nothing is, nothing is made."""
    if not place.windows.is_dir():
        hashes = Hashes.CONTENT_SHA256 if place.git is None else object_format(place.git)
        yield BlameWorld(root=place.layout.tree_root, hashes=hashes, history=History(episodes=()), sights=_Nothing())
        return
    world = windows_world(place)
    history = recorded_history(world.tree.repository, world.registry, world.evidence, _landings())
    with ExitStack() as held:
        sights = _sights(place, history, held)
        yield BlameWorld(
            root=place.layout.tree_root,
            hashes=world.tree.hashes,
            history=history,
            sights=sights,
            calls=AskedCalls(world.evidence, ledgers_of(world.evidence, place.layout)),
        )


def _landings() -> dict[str, str]:
    """Return when the stages of runs landed, by the runs' session ids, as far as their transactions are still kept."""
    with suppress(DocketError):
        return {
            state.session_id: state.changed_at
            for state in Transactions.of(os.environ).every()
            if isinstance(state, TransactionState) and state.status is Status.COMMITTED and state.session_id is not None
        }
    return {}


def _sights(place: WindowsPlace, history: History, held: ExitStack) -> Sights:
    own = tuple(path.raw + b"/" for path in place.layout.evidence)
    if place.git is not None:
        store = open_git_store(place.windows, place.git, object_format(place.git))
        batch = held.enter_context(GitBatch(store.folder / "objects", is_sha256=store.hashes is Hashes.SHA256))
        return GitSights(store=store, batch=batch, own=own)
    trees = dict.fromkeys(
        tree for episode in history.episodes for tree in (episode.tree_before, episode.tree_after) if tree is not None
    )
    pool = None
    if (place.windows / POOL).is_dir():
        folder = held.enter_context(SYSTEM_DISK.folder(place.windows / POOL))
        pool = open_pool(folder, wait_seconds=_POOL_SECONDS)
        if pool is not None:
            held.enter_context(pool)
    return FolderSights(windows=place.windows, root=place.layout.tree_root, pool=pool, trees=tuple(trees), own=own)


class _Nothing:
    """A tree of which nothing is kept."""

    rules: str | None = None

    def present(self, path: RelPath) -> Side:  # noqa: ARG002 - the port's
        return Side()

    def side(self, tree: str, path: RelPath) -> Side | None:  # noqa: ARG002 - the port's
        return None

    def twins(self, tree: str, name: str) -> tuple[RelPath, ...] | None:  # noqa: ARG002 - the port's
        return None

    def content(self, name: str) -> bytes | None:  # noqa: ARG002 - the port's
        return None

    def committed_now(self, path: RelPath) -> bytes | None:  # noqa: ARG002 - the port's
        return None

    def ignore_files(self, path: RelPath) -> tuple[RelPath, ...]:  # noqa: ARG002 - the port's
        return ()

    def is_watched(self, path: RelPath) -> bool:  # noqa: ARG002 - the port's
        return False
