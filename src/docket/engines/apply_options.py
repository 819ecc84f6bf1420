"""How a plan is applied: path by path or as one, and who hears of it; what `engines.apply` is called with."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import BinaryIO, Protocol

from docket.engines.apply_files import Filling
from docket.formats.dataclass import dataclass
from docket.formats.ledger.tree_events import EntryState
from docket.formats.relpath import RelPath
from docket.formats.workspace.journal import JournalStep, StagingIdentity


class Mode(Enum):
    """Whether steps stand for themselves or together."""

    PATH_BY_PATH = "path-by-path"
    ALL_OR_NOTHING = "all-or-nothing"


class Journal(Protocol):
    """What makes an all-or-nothing apply recoverable; each returns when it is durable.

    `note` says whose it is, to whoever finds what the apply left.
    """

    @property
    def note(self) -> bytes:
        """The transaction and the folder that has the journal."""
        ...

    def prepared(self, steps: tuple[JournalStep, ...], staging: StagingIdentity, /) -> None:
        """Everything is built, these steps and in that directory; from now on paths change."""
        ...

    def applied(self) -> None:
        """Every path is as planned; what was displaced goes next."""
        ...


class DisplacedSink(Protocol):
    """Takes what a step displaced before it goes."""

    def keep(self, path: RelPath, state: EntryState, content: BinaryIO | None, /) -> None:
        """Keep a file's content or a link's target (in `state`), durably; DocketError puts it back."""
        ...


class BatchedSink(DisplacedSink, Protocol):
    """A sink that makes what it took durable later, many at once: `keep` need not."""

    def flush(self) -> None:
        """Return when everything taken so far is durable; DocketError puts back what was displaced since the last."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a plan is applied. `progress` hears how many steps were worked on.

    `filling` are files beside the plan's, which a tree that is not durable is filled with path by path.

    A `keep` that is a `BatchedSink` is flushed before anything that it took goes.
    """

    mode: Mode = Mode.PATH_BY_PATH
    journal: Journal | None = None
    keep: DisplacedSink | None = None
    progress: Callable[[int], None] | None = None
    filling: Filling | None = None
