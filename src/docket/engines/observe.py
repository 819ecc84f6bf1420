"""Observe a tree: the one scanner, for digest passes, snapshots, drift and tool windows alike.

Rules (spec/tree.md):
1. The root is opened once and everything is reached from that descriptor; if another directory stands at its path
   when the pass is over, the pass is made again, once.
2. What cannot be observed is an omission; only a root that cannot be opened or listed ends the operation.
3. A large tree is cut into subtrees that forked copies share; what a pass returns does not depend on it.
4. Only digests of files that had settled before the pass began are kept for the next one (stores.statcache).

It does not know what a surface leaves out (formats.tree.surface), how a name is read (host.tree) or what the
listing is for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from docket.engines.segment import Segment, joined
from docket.engines.walk import Walk
from docket.engines.walk_request import UNKNOWN_DIGEST, ContentTaker, Start, WalkRequest
from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.formats.tree.listing import Listing, tree_order
from docket.formats.tree.surface import Surface
from docket.formats.visible import visible
from docket.host import tree
from docket.host.forked import MAX_JOBS, Report, share_jobs, spare_processors
from docket.host.mounts import mounts_below
from docket.host.tree import Unread
from docket.stores.statcache import StatCache, ctime_of, is_settled, surely_settled_before

MAX_PASSES = 2
STARTS = 64
MAX_CUTS = 256
SHARE_AFTER_FILES = 4096
MAX_COPIES = 3


class ContentSink(ContentTaker, Protocol):
    """Who keeps contents, and hears what of them a pass stands for."""

    def settled(self, acks: bytes) -> None:
        """What the pass' listing names, as `ack` gave it, packed end to end; what several passes say adds up."""
        ...


class DigestCache(Protocol):
    """Digests of unchanged files; `stores.statcache.StatCache` is one."""

    @property
    def lookup(self) -> Callable[[bytes], bytes | None]:
        """From a packed key to the digest known of it, and after that what is remembered of the attributes."""
        ...

    def keep(self, met: bytes | None, fresh: bytes, marked: bytes) -> None:
        """Know from now on the keys met, the fresh ones with their digests, and the fresh ones with attributes.

        What was not met is forgotten, unless `met` is None: the pass has not looked everywhere.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveRequest:
    """A pass over the tree at `root`.

    `progress` hears how many files and bytes the listing holds so far. `root_identity` is the (device, inode) the
    root must still have, from an earlier listing's `root`. `reread` reads every file, whatever is known of it.
    `content` takes the bytes of every file that it does not hold, as they are read for their digests. `details` asks
    for what stands beside a listing. `unread` reads nothing: a file whose digest is not known has UNKNOWN_DIGEST.
    `statuses` takes down beside the listing what the inodes of files say: of every file, or, if `unread` too, of those
    that were not read; then a file whose status does not vouch for its content is read all the same.
    `of_another`: the tree is another than the one whose digests the cache is for, and nothing that is known of that
    one is forgotten. `made` are the digests and sizes with which files were made, by their paths, in a tree that nobody
    else has written to since: such a file is not read if its status vouches for it.
    """

    root: bytes
    surface: Surface = field(default_factory=Surface)
    progress: Callable[[int, int], None] | None = None
    root_identity: tuple[int, int] | None = None
    reread: bool = False
    content: ContentSink | None = None
    details: bool = False
    unread: bool = False
    statuses: bool = False
    of_another: bool = False
    made: Mapping[bytes, tuple[bytes, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveWorld:
    """What a pass uses: the digests known, and how many forked copies of the process may share a tree.

    Copies are made for a tree that has more than `share_after_files` files.
    """

    cache: DigestCache = field(default_factory=StatCache)
    copies: int = field(default_factory=lambda: min(spare_processors(), MAX_COPIES))
    share_after_files: int = SHARE_AFTER_FILES


def observe_tree(request: ObserveRequest, world: ObserveWorld) -> Listing:
    """Return what stands in the tree.

    UnavailableError: the root cannot be opened or listed (NOT_FOUND, NOT_A_DIRECTORY, NOT_PERMITTED, UNREADABLE), is
    not the directory asked for (ROOT_REPLACED), or was replaced during each of two passes (CHANGED_WHILE_READ).
    """
    for _ in range(MAX_PASSES):
        root = tree.open_root(request.root)
        try:
            listing = _pass(request, world, root)
        finally:
            tree.close(root)
        if tree.root_identity(request.root) == listing.root:
            return listing
    shown = visible(request.root)
    raise UnavailableError(Reason.CHANGED_WHILE_READ, f"{shown} was replaced each time while it was being looked at")


def _pass(request: ObserveRequest, world: ObserveWorld, root: int) -> Listing:
    identity = tree.identity_of(tree.directory_status(root))
    if request.root_identity not in (None, identity):
        raise UnavailableError(Reason.ROOT_REPLACED, f"{visible(request.root)} is not the directory it was before")
    progress = request.progress or _silent
    clock_ns = tree.file_system_clock_ns(root)
    walk = Walk(
        WalkRequest(
            root=root,
            surface=request.surface,
            lookup=_lookup(request, world.cache, clock_ns),
            clock_ns=clock_ns,
            mounts=mounts_below(root),
            content=request.content,
            details=request.details,
            reader=tree.reader(),
            statuses=request.statuses,
            unread=request.unread,
            made=request.made,
        ),
        progress,
    )
    segments = _passage(walk, _starts(walk, request, root), world)
    if not request.reread and not request.unread:
        is_whole = not request.surface.roots and not request.of_another
        world.cache.keep(
            b"".join(part.met for part in segments) if is_whole else None,
            b"".join(part.fresh for part in segments),
            b"".join(part.marked for part in segments),
        )
    if request.content is not None:
        request.content.settled(b"".join(part.acks for part in segments))
    listing = joined(segments, identity)
    progress(listing.files, listing.bytes_watched)
    return listing


def _starts(walk: Walk, request: ObserveRequest, root: int) -> list[Start]:
    if request.surface.roots:
        starts = [start for start in map(walk.start_at, request.surface.roots) if start is not None]
        by_path = {start.prefix + start.rows[0][0]: start for start in starts}
        return [by_path[path] for path in sorted(by_path, key=tree_order)]
    listed = tree.list_directory(root)
    if isinstance(listed, Unread):
        raise UnavailableError(listed.reason, f"cannot list {visible(request.root)}: {listed.detail}")
    identity = tree.identity_of(tree.directory_status(root))
    inside = request.surface.watched is None
    return [Start(prefix=b"", identity=identity, rows=listed.rows, gaps=listed.gaps, inside=inside)]


@dataclass(slots=True)
class _Node:
    """A start and what its walk gave: parts in tree order, nodes among them where it was cut."""

    start: Start
    parts: list[Segment | _Node] = field(default_factory=list)


def _passage(walk: Walk, starts: list[Start], world: ObserveWorld) -> list[Segment]:
    """Return the segments of everything below `starts` in tree order."""
    top: list[Segment | _Node] = [_Node(start) for start in starts]
    waiting = _cut(walk, top)
    while waiting and (walk.files < world.share_after_files or not world.copies or len(waiting) < 2):
        node = waiting.popleft()
        node.parts.append(walk.whole(node.start))
    if waiting:
        _share(walk, list(waiting), world.copies)
    return list(_flattened(top))


def _cut(walk: Walk, top: list[Segment | _Node]) -> deque[_Node]:
    waiting = deque(node for node in top if isinstance(node, _Node))
    for _ in range(MAX_CUTS):
        if not 0 < len(waiting) < STARTS:
            break
        node = waiting.popleft()
        node.parts = [_Node(part) if isinstance(part, Start) else part for part in walk.split(node.start)]
        waiting.extend(part for part in node.parts if isinstance(part, _Node))
    return waiting


def _share(walk: Walk, nodes: list[_Node], copies: int) -> None:
    files, file_bytes, progress = walk.files, walk.file_bytes, walk.report
    walk.files = walk.file_bytes = 0
    size = -(-len(nodes) // MAX_JOBS)
    groups = [nodes[i : i + size] for i in range(0, len(nodes), size)]

    def work(number: int, report: Report) -> list[tuple[Any, ...]]:
        walk.report = report
        return [tuple(walk.whole(node.start)) for node in groups[number]]

    def summed(more_files: int, more_bytes: int) -> None:
        progress(files + more_files, file_bytes + more_bytes)

    for group, segments in zip(groups, share_jobs(len(groups), work, copies=copies, progress=summed), strict=True):
        for node, members in zip(group, segments, strict=True):
            node.parts.append(Segment(*members))


def _flattened(top: list[Segment | _Node]) -> Iterator[Segment]:
    ahead = top[::-1]
    while ahead:
        part = ahead.pop()
        if isinstance(part, Segment):
            yield part
        else:
            ahead += part.parts[::-1]


def _lookup(request: ObserveRequest, cache: DigestCache, clock_ns: int | None) -> Callable[[bytes], bytes | None]:
    known = _nothing if request.reread else cache.lookup
    if not request.unread:
        return known
    if request.statuses:
        return known if clock_ns is None else _known_or_unread(known, clock_ns)
    return lambda key: known(key) or UNKNOWN_DIGEST


def _known_or_unread(known: Callable[[bytes], bytes | None], clock_ns: int) -> Callable[[bytes], bytes | None]:
    """Return a lookup that leaves a file unread of which nothing is known.

    It is read all the same where a rewrite might leave its status as it is.
    """
    settled_ns = surely_settled_before(clock_ns)

    def look(key: bytes) -> bytes | None:
        found = known(key)
        if found is not None:
            return found
        ctime_ns = ctime_of(key)
        return UNKNOWN_DIGEST if ctime_ns < settled_ns or is_settled(ctime_ns, clock_ns) else None

    return look


def _nothing(_key: bytes) -> None:
    return None


def _silent(_files: int, _file_bytes: int) -> None:
    return None
