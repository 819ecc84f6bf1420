"""The plain files of a tree that is made from nothing: copied out of another tree by several processes at once.

Rules:
1. Only a tree that is not durable is filled so, after its directories were made and before they are finished.
2. A file's content is compared with its digest as it is copied (host.copying). The first one that cannot be made ends
   it; whoever made the tree takes it away.
3. A forked copy copies a run of the listing and then takes the next. It ends with the process that it is a copy of.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TypeAlias

from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.plain import PlainFile, PlainFiles
from docket.formats.tree.steps import Outcome, StepStatus
from docket.host import tree as host_tree
from docket.host.confined import ConfinedTree
from docket.host.copying import Copier, Source, Stopped
from docket.host.forked import Report, share_jobs, spare_processors
from docket.host.tree import file_key
from docket.stores.statcache import is_settled

MAX_COPIES = 3
SHARE_AFTER_FILES = 1024
_TELL_BYTES = 1024 * 1024

_Result: TypeAlias = tuple[bytes, tuple[bytes, str, str, bool] | None]
"""The keys and digests of what was made, and what stopped it: path, reason, detail, whether the system refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """Plain files of the tree at `root`, to be copied with the paths that they have there.

    `shares`: they share their bytes where they can. `made` hears, piece by piece, of each file that was made what its
    inode said when it was, as `host.tree.file_key` packs it, and its SHA-256.
    """

    root: bytes
    files: PlainFiles
    shares: bool = False
    made: Callable[[bytes], None] | None = None
    copies: int = field(default_factory=lambda: min(spare_processors(), MAX_COPIES))
    share_after_files: int = SHARE_AFTER_FILES


def fill(tree: ConfinedTree, filling: Filling) -> Outcome | None:
    """Copy the files; return the outcome of one that could not be made, None if all were."""
    assert not tree.durable  # noqa: S101 - told to whoever calls
    root = host_tree.open_root(filling.root)
    try:
        return _filled(tree, filling, root)
    finally:
        host_tree.close(root)


def _filled(tree: ConfinedTree, filling: Filling, root: int) -> Outcome | None:
    clock_ns, runs, own = host_tree.file_system_clock_ns(root), filling.files.runs, os.getpid()
    told = [0, 0]

    def work(number: int, report: Report) -> _Result:
        def tell(size_bytes: int) -> None:
            told[1] += size_bytes
            if size_bytes >= _TELL_BYTES:
                report(told[0], told[1])

        def vouches(ctime_ns: int) -> bool:
            return clock_ns is not None and is_settled(ctime_ns, clock_ns)

        copier = Copier(tree.calls, Source(root=root, vouches=vouches, shares=filling.shares, tell=tell))
        keys: list[bytes] = []
        for files in _batches(filling.files.of(runs[number])):
            if own not in (os.getpid(), os.getppid()):
                break
            made = tree.copy(files, copier)
            if isinstance(made, Stopped):
                refusal = made.refusal
                return b"", (made.path.raw, str(refusal.reason), refusal.detail, refusal.failed)
            told[0] += len(files)
            report(told[0], told[1])
            if filling.made is not None:
                for file, (_, status) in zip(files, made, strict=True):
                    keys += (file_key(status), bytes.fromhex(file[2]))
        return b"".join(keys), None

    copies = (
        min(filling.copies, max(len(runs) - 1, 0)) if sum(run.plain for run in runs) >= filling.share_after_files else 0
    )
    return _settled(share_jobs(len(runs), work, copies=copies, progress=_silent), filling)


def _settled(results: Iterable[_Result], filling: Filling) -> Outcome | None:
    for keys, stopped in results:
        if stopped is not None:
            path, reason, detail, failed = stopped
            status = StepStatus.FAILED if failed else StepStatus.REFUSED
            return Outcome(path=RelPath(path), status=status, reason=Reason(reason), detail=detail)
        if filling.made is not None:
            filling.made(keys)
    return None


def _batches(files: Iterator[PlainFile]) -> Iterator[list[PlainFile]]:
    return (list(batch) for _, batch in groupby(files, lambda file: file[0].rpartition(b"/")[0]))


def _silent(_files: int, _file_bytes: int) -> None:
    return None
