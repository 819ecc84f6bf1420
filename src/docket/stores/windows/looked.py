"""What a look at a tree gives, and the port of those who look: git's worktrees and other folders alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from docket.errors import DocketError, PartialEvidenceError
from docket.formats.dataclass import dataclass
from docket.formats.windows.changes import TreeChange
from docket.formats.windows.names import Hashes, PartialReason
from docket.formats.windows.registry import Baseline
from docket.host.git_program import Deadline, GitTimeoutError

MAX_PATHS = 5000
MAX_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LookLimits:
    """Of how many paths a look keeps contents, and how many bytes it may newly read; beyond them it knows less."""

    max_paths: int = MAX_PATHS
    max_bytes: int = MAX_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What stood in the tree; `bytes_read` were read for it."""

    baseline: Baseline
    bytes_read: int


class TreeStore(Protocol):
    """Who looks at one tree and keeps what was seen. Each method may raise PartialEvidenceError."""

    @property
    def repository(self) -> str:
        """What the tree is called in a window's key: another tree, or one made anew in its place, has another."""
        ...

    @property
    def hashes(self) -> Hashes:
        """What its hashes name."""
        ...

    def look(self, deadline: Deadline, before: Baseline | None = None) -> Looked:
        """Look at the tree; `before` is what it will be compared with."""
        ...

    def moves(self, before: Baseline) -> int:
        """Return how often HEAD has moved since."""
        ...

    def keep(self, ref: str, tree: str) -> None:
        """Keep a tree under a name that was free, or keeps that tree already."""
        ...

    def kept(self, ref: str) -> str | None:
        """Return the tree kept under a name."""
        ...

    def release(self, ref: str, tree: str) -> None:
        """Give a name up if it keeps that tree."""
        ...

    def refs(self) -> dict[str, str]:
        """Return all names and their trees."""
        ...

    def changes(self, before: str, after: str, deadline: Deadline) -> tuple[TreeChange, ...]:
        """Return the paths that differ between two trees, in byte order."""
        ...

    def contents(self) -> AbstractContextManager[Callable[[str, int], bytes | None]]:
        """Open what gives a content by name: None where it is larger than asked for, or is not kept on purpose."""
        ...


@contextmanager
def told_as_partial() -> Iterator[None]:
    """Turn what cannot be had into the partial reason for it."""
    try:
        yield
    except PartialEvidenceError:
        raise
    except GitTimeoutError as error:
        raise PartialEvidenceError(PartialReason.TIMEOUT, error.detail) from error
    except DocketError as error:
        raise PartialEvidenceError(PartialReason.SNAPSHOT_STORE_UNAVAILABLE, error.detail) from error
