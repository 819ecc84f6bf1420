"""What a run is asked to be, the world it happens in, and what comes of it.

All values are frozen. The world is a bundle of ports: `surfaces/cli/wiring` fills it with the machine's, tests with
their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from docket.engines.boundary import Boundary, BoundaryRequest, BoundaryWorld
from docket.engines.observe import ObserveRequest
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.ledger.session_events import ExitSource
from docket.formats.proof.checkpoint import TreeHead
from docket.formats.run.policy import Policy
from docket.formats.tree.listing import Listing
from docket.host.clock import Clock
from docket.host.ids import Ids
from docket.host.process import Agent, SpawnRequest
from docket.rules.agents.interface import Recipe
from docket.rules.proof.vouching import NO_VOUCHER, Voucher
from docket.rules.spending.price_book import PriceBook
from docket.stores.layout import Layout
from docket.stores.receipts import Problem

if TYPE_CHECKING:
    from docket.engines.pools.entry import EntryRequest, PoolEntry
    from docket.engines.transaction.world import TransactionWorld
    from docket.engines.windows.world import WindowsWorld
    from docket.formats.run.policy import WorkspaceBackend, WorkspaceSettle
    from docket.formats.tree.manifest import SnapshotLimits
    from docket.formats.workspace.state import SurfaceRules
    from docket.rules.drills.faults import FaultPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionAsked:
    """The agent is to work on a stage.

    `rules` say what is not staged and what is protected; `approved`: protected paths may land in this run. `home` is
    the person's, which is never staged.
    """

    rules: SurfaceRules
    backend: WorkspaceBackend
    settle: WorkspaceSettle
    approved: bool = False
    home: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsAsked:
    """The windows of a run: of the tree at `folder`, or of its stage; `docket_dir` where the person named one.

    `stage` is where the stage is read, `transaction` whose it is.
    """

    folder: Path
    docket_dir: Path | None = None
    stage: Path | None = None
    transaction: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A run as the person asked for it, everything resolved.

    `argv` and `environ` are the person's (surrogateescape text); `policy` is the effective policy, `upstreams` what
    the person named by flag; `protected` are selectors whose change is a violation beside the policy's own;
    `remarks` are sentences that belong into the record (an ignored policy key, say). `faults` make the run a drill.
    `http_proxy`: the boundary is the agent's proxy for other hosts. `snapshot`: keep the tree's contents before the
    agent starts, up to these limits; `rollback_on_breach`: put it back from them when a cap ended the run.
    `transaction`: the agent works on a stage of the tree, which lands only on success. `hook_command` are the words
    that start docket for a hook of the agent's, empty where it is given none. `voucher` holds the keys that the receipt
    is sealed and signed with, tried before.
    """

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    cwd: Path
    policy: Policy
    policy_source: str | None
    protected: tuple[str, ...]
    remarks: tuple[str, ...]
    recipe: Recipe
    upstreams: Mapping[str, str]
    label: str | None
    port: int
    layout: Layout
    book: PriceBook
    host_facts: Mapping[str, JsonValue]
    http_proxy: bool = False
    faults: FaultPlan | None = None
    snapshot: SnapshotLimits | None = None
    rollback_on_breach: bool = False
    transaction: TransactionAsked | None = None
    hook_command: tuple[str, ...] = ()
    voucher: Voucher = NO_VOUCHER


class Signals(Protocol):
    """Signals to docket as values that end a wait; `wake` may be called from any thread."""

    def wait(self, timeout_seconds: float | None) -> tuple[int, ...]:
        """Wait for a signal, a `wake` or the time given; return the signals' numbers."""
        ...

    def wake(self) -> None:
        """End the present wait, or the next one."""
        ...


class Watcher(Protocol):
    """Who is told how the run goes; a terminal, or nobody."""

    def started(self, docket_number: str) -> None:
        """The session has begun."""
        ...

    def scanned(self, files: int, size_bytes: int) -> None:
        """So many files have been read in the present pass."""
        ...

    def scan_ended(self) -> None:
        """The present pass is over."""
        ...

    def warned(self, sentence: str) -> None:
        """Something the person should know now."""
        ...

    def stopping(self, sentence: str) -> None:
        """The run is being stopped, and why."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorld:
    """The ports of a run; `windows` opens those of tool windows anew each time, None where none are kept."""

    clock: Clock
    ids: Ids
    signals: Signals
    watcher: Watcher
    start_boundary: Callable[[BoundaryRequest, BoundaryWorld], Boundary]
    observe: Callable[[ObserveRequest], Listing]
    spawn: Callable[[SpawnRequest], Agent]
    read_file: Callable[[str], bytes | None]
    enter_pools: Callable[[EntryRequest], PoolEntry] | None = None
    transactions: Callable[[], TransactionWorld] | None = None
    windows: Callable[[WindowsAsked], WindowsWorld] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How the run ended and where its record stands; `receipt` is None if not even one could be derived.

    `head` is what the ledger was when its last event was written.
    """

    exit_code: int
    exit_source: ExitSource
    docket_number: str
    receipt: JsonObject | None
    receipt_path: Path | None
    ledger_path: Path
    problems: tuple[Problem, ...]
    head: TreeHead | None = None
