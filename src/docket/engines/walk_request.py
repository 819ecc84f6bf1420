"""What a walk is asked for: where it begins, what it looks at, and who takes the contents it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from docket.engines.segment import Segment
from docket.formats.dataclass import dataclass, field
from docket.formats.tree.surface import Surface
from docket.host.tree import Row, Taker, Unread


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a walk begins: the rows of the directory `prefix` (its path and a slash; empty for the root).

    `inside` is whether the surface watches the directory itself and so everything in it.
    """

    prefix: bytes
    identity: tuple[int, int]
    rows: Sequence[Row]
    gaps: Mapping[bytes, Unread]
    inside: bool


Part: TypeAlias = Segment | Start
UNKNOWN_DIGEST = bytes(32)


class ContentTaker(Taker, Protocol):
    """Who keeps contents; `stores.blob_batch.BlobBatch` is one. It works in forked copies of the process too."""

    def holds(self, digest: bytes, size: int) -> bool:
        """Whether a file with that digest (32 bytes) and size need not be read for it."""
        ...

    def wants(self, size: int) -> bool:
        """Whether it takes a file of that size at all."""
        ...

    def ack(self) -> bytes:
        """What it must be given back, in the process where the pass began, of the content taken last."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkRequest:
    """One pass: the open root, what it looks at, what is known of unchanged files, and the file system's clock.

    `mounts` are mount points below the root as relative paths; `clock_ns` is None where no digest made in this pass
    may be kept. `content` takes the bytes of every file it does not hold yet; `details` asks for what stands beside a
    listing (`formats.tree.details`), with the user who reads as `reader`; `statuses` for the records of a
    status listing (`formats.tree.status_listing`): of every file, or if `unread` only of those for which `lookup` gave
    UNKNOWN_DIGEST. `made` are the digests and sizes with which files were made, by their paths, in a tree that nobody
    else has written to since.
    """

    root: int
    surface: Surface
    lookup: Callable[[bytes], bytes | None]
    clock_ns: int | None
    mounts: frozenset[bytes]
    content: ContentTaker | None = None
    details: bool = False
    reader: int = 0
    statuses: bool = False
    unread: bool = False
    made: Mapping[bytes, tuple[bytes, int]] = field(default_factory=dict)
