"""What a transaction is asked for, and the ports it uses.

All values are frozen. `TransactionWorld` is filled by `surfaces/cli/wiring` with the machine's, by tests with theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from docket.engines.observe import ObserveRequest
from docket.engines.transaction.backends.interface import Backend, BackendName, Stage
from docket.formats.dataclass import dataclass, field
from docket.formats.digest import Digest
from docket.formats.process_identity import ProcessIdentity
from docket.formats.relpath import RelPath
from docket.formats.run.policy import WorkspaceBackend, WorkspaceSettle
from docket.formats.tree.listing import Listing
from docket.formats.tree.status_listing import FileStatus
from docket.formats.workspace.state import SurfaceRules, TransactionState
from docket.host.clock import Clock
from docket.host.disk import free_bytes
from docket.host.ids import Ids
from docket.host.liveness import own_identity
from docket.host.room import free_inodes
from docket.stores.workspace.transactions import Transactions

if TYPE_CHECKING:
    from docket.formats.workspace.commit_record import CommitRecord
    from docket.stores.pool import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRequest:
    """A transaction over the directory `base` (real path); `home` is the person's, which is never a base."""

    base: Path
    rules: SurfaceRules
    backend: WorkspaceBackend = WorkspaceBackend.AUTO
    settle: WorkspaceSettle = WorkspaceSettle.AUTO
    session_id: str | None = None
    docket_number: str | None = None
    home: Path | None = None
    progress: Callable[[int, int], None] | None = None


def no_pool() -> Pool | None:
    """Return that there is no pool of snapshots."""
    return None


def unsigned(record: CommitRecord) -> CommitRecord:
    """Return the record as it is: nobody signs it."""
    return record


def forget(_made: bytes) -> None:
    """Remember nothing of what was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionWorld:
    """The ports: the scanner, the clock, the store, the backends in the order in which `auto` tries them.

    `pool` opens the contents of the project's snapshots, which whoever asked closes; None where there are none.
    `remember` takes what is known of files that were made: keys and digests as `stores.statcache` packs fresh ones.
    `vouch` signs the record of a commit that comes after its run, where somebody has a key for it.
    """

    observe: Callable[[ObserveRequest], Listing]
    clock: Clock
    ids: Ids
    transactions: Transactions
    backends: tuple[Backend, ...]
    free: Callable[[Path], int] = free_bytes
    free_inodes: Callable[[Path], int | None] = free_inodes
    owner: Callable[[], ProcessIdentity] = own_identity
    pool: Callable[[], Pool | None] = no_pool
    remember: Callable[[bytes], None] = forget
    vouch: Callable[[CommitRecord], CommitRecord] = unsigned

    def backend(self, name: BackendName) -> Backend | None:
        """Return the backend of that name, None where this machine's docket has none."""
        return next((backend for backend in self.backends if backend.name is name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """A transaction whose stage stands; `base` is what a pass over the base saw, `lost` what the stage lacks of it.

    `read_only` are the places of git's outside of the base that its agent may only read. `known` holds what was found
    out of the base's unread files: the digest of the content that a file of that path and status has.
    """

    state: TransactionState
    stage: Stage
    base: Listing
    shared: tuple[RelPath, ...] = ()
    lost: tuple[str, ...] = ()
    read_only: tuple[bytes, ...] = ()
    known: dict[tuple[RelPath, FileStatus], Digest] = field(default_factory=dict)
