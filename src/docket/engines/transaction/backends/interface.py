"""The contract of every backend: how a stage is made of a base, what changed in it, and how it goes.

Rules:
1. `probe` writes nothing that stays. A backend that cannot do this base says so with a reason; it never stages half.
2. After `materialise` the stage holds exactly the staged part of the base as `request.listing` tells it: content,
   modes, modification times, links, hard links within the stage, empty directories. No file of it shares an inode
   with the base in a way that lets a write through the stage reach the base.
3. A path of `request.masked` is absent in the stage. A path of `request.shared` shows the base's own file or
   directory, and a write there reaches the base at once.
4. Where a stage stands at the base's own path, nothing can be written to the paths of `request.read_only` through it.
5. The base is never written by any method.
6. `changes` may name more paths than changed, never fewer; None says that only a walk of the whole stage can tell.
   A path that it names stands for everything below it too. It is asked when no process of the run is left.
7. `discard` removes everything `materialise` made, may be called twice, and on what a killed `materialise` left.
8. Everything a backend keeps lies in `request.folder`; a later process gets at the stage again with `attach`.

Implementations: `backends.copy`, `backends.reflink`, `backends.overlay`; one suite holds them to this
(tests/contracts/test_stage_backends.py). What is scanned, compared and committed is `engines.transaction`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol, TypeAlias

from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Listing
from docket.formats.tree.surface import Surface
from docket.formats.workspace.scope import BackendName, View
from docket.host.stage_mount import StageMount


@dataclass(frozen=True, slots=True)
class Usable:
    """The backend can stage this base; `view` is what the agent would see."""

    view: View


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The backend cannot stage this base here; `detail` names what is missing."""

    reason: Reason
    detail: str


Probe: TypeAlias = Usable | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRequest:
    """What is to be staged.

    `base` is the real, absolute path of a directory with the identity `base_identity` (device, inode); `folder` is
    the transaction's own folder (0700, on whatever file system the state lies), in which the backend makes what it
    needs under names that begin with `stage`. `surface` is what a pass over base or stage looks at, `listing` what a
    pass over the base saw, with its details. `masked` and `shared` are the outermost paths of those classes that
    stand in the base. `read_only` are real paths outside of the base that nobody on a stage at its path may write to.
    `made` hears of plain files that were written, as `engines.apply.Filling.made` does.
    """

    base: Path
    base_identity: tuple[int, int]
    folder: Path
    surface: Surface
    listing: Listing
    masked: tuple[RelPath, ...] = ()
    shared: tuple[RelPath, ...] = ()
    read_only: tuple[bytes, ...] = ()
    made: Callable[[bytes], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage that stands.

    `root` is where docket reads the stage from `materialise` to `discard`, whether an agent lives or not. `mount`
    is what an agent is started in (`SpawnRequest.mount`): None, and the agent's working directory is `root`; else the
    stage is at the base's own path there, and that is its working directory. `folder` is the transaction's, `base` the
    directory staged where the backend needs it again. `close` lets go of what this process holds of it; the stage
    stays and `attach` finds it again.
    """

    backend: BackendName
    root: Path
    folder: Path
    view: View
    mount: StageMount | None = None
    base: Path | None = None

    def close(self) -> None:
        """Let go of the mounts, if there are any; may be called twice."""
        if self.mount is not None:
            self.mount.close()


class Backend(Protocol):
    """One way to make a stage."""

    @property
    def name(self) -> BackendName:
        """Its name."""
        ...

    @property
    def keeps_everything(self) -> bool:
        """Whether a stage has what no plan can give too (owners, setuid, attributes of the system)."""
        ...

    @property
    def needs_digests(self) -> bool:
        """Whether `materialise` needs the digests of `request.listing`; if not, its files may be unread."""
        ...

    def probe(self, base: Path, state: Path) -> Probe:
        """Whether it can stage `base` with its files below `state`, both existing directories."""
        ...

    def materialise(self, request: StageRequest) -> Stage:
        """Make the stage; UnavailableError if it cannot be made, with nothing of it left."""
        ...

    def attach(self, request: StageRequest) -> Stage:
        """Return the stage that `materialise` made in another process; UnavailableError where it is gone."""
        ...

    def changes(self, stage: Stage) -> Iterable[RelPath] | None:
        """Return the paths that may have changed since `materialise`; None: walk."""
        ...

    def discard(self, stage: Stage) -> None:
        """Remove the stage; UnavailableError if something of it is left."""
        ...


__all__ = ["Backend", "BackendName", "Probe", "Refused", "Stage", "StageRequest", "Usable", "View"]
