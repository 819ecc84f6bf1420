"""What the engine of tool windows is asked, what it answers, and the ports it uses."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.process_identity import ProcessIdentity
from docket.formats.windows.key import IN_TREE, WindowKey
from docket.formats.windows.records import ClosedWindow, Moment, UseFacts
from docket.formats.windows.registry import OpenWindow
from docket.host.clock import Clock
from docket.host.git_program import Deadline
from docket.host.liveness import own_identity
from docket.stores.windows.evidence import Evidence
from docket.stores.windows.looked import TreeStore
from docket.stores.windows.registry_file import RegistryFile

BUDGET_SECONDS = 1.8
"""What a hook takes at most, of the two seconds that an agent gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginRequest:
    """A tool is about to run."""

    key: WindowKey
    tool_name: str
    command_summary: str | None = None
    use: UseFacts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteRequest:
    """A tool has ended; `event_id` is the record's name of that, made of the window where there is no other."""

    key: WindowKey
    tool_name: str
    event_id: str | None = None
    command_summary: str | None = None
    outcome: str | None = None
    use: UseFacts | None = None


class Said(StrEnum):
    """What became of a hook."""

    OPENED = "opened"
    KNOWN = "known"
    SETTLED = "settled"
    WAITING = "waiting"
    CLOSED = "closed"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer to a hook: the window that is open, or the record of the one that is over; why it is partial."""

    said: Said
    window: OpenWindow | None = None
    closed: ClosedWindow | None = None
    reason: str | None = None
    detail: str | None = None


def _nobody(_record: ClosedWindow, _digest: Digest) -> None:
    return None


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsWorld:
    """The ports. `announce` hears of a closed window before it counts as closed, and of one more than once.

    `mode` says what the tree is: the person's, or a stage. `record` is the session whose ledger tells of the windows,
    None outside a run. `dispose` gives up what is kept for a stage alone, once that is not looked at any more.
    """

    registry: RegistryFile
    evidence: Evidence
    tree: TreeStore
    clock: Clock
    owner: Callable[[], ProcessIdentity] = own_identity
    announce: Callable[[ClosedWindow, Digest], None] = _nobody
    budget_seconds: float = BUDGET_SECONDS
    mode: str = IN_TREE
    record: str | None = None
    dispose: Callable[[], None] = _nothing

    def moment(self) -> Moment:
        """Return the present instant."""
        return Moment(
            at=self.clock.now(), monotonic_ms=self.clock.monotonic_ns() // 1_000_000, boot_id=self.owner().boot_id
        )

    def deadline(self) -> Deadline:
        """Return when a hook that begins now must be done."""
        return Deadline.within(self.budget_seconds)
