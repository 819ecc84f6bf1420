"""Tidy what is kept of windows: leave what is open and what is evidence, clear what nobody needs any more.

Rules (spec/windows.md, Tidying):
1. Evidence never goes: deltas, closed windows, tombstones, partials. What goes is what trees are made of, names that
   keep trees of groups that are gone, and what a death left half written.
2. Nothing goes that is younger than GRACE_SECONDS, nor while a tool runs; what is older stays as long as the store
   keeps to its budget, for what was undone or asked for later may need it. Where the request has a hard limit, and the
   store is beyond that all the same, PRESSED_SECONDS are enough.
3. Whoever clears holds the registry and keeps looks away, waits LOCK_SECONDS for both at most and holds them for
   HOLD_SECONDS at most; what is left goes in a further turn, while there is time.
4. Of what is neither evidence nor a tree, claims go when nothing can come twice any more, and shapes of payloads as far
   as there are more than MAX_SHAPES.
5. Without `apply` nothing changes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from docket.engines.windows.reclaim import see_to_left
from docket.engines.windows.world import WindowsWorld
from docket.errors import DocketError, PartialEvidenceError, UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.windows.key import post_ref
from docket.formats.windows.registry import Registry
from docket.host.clearing import remove_tree
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.git_program import Deadline
from docket.rules.windows.grouping import sealed
from docket.stores.windows.evidence import CLAIMS, CLOSED, DELTAS, FINALS, PARTIALS, TOMBSTONES, UNKNOWN
from docket.stores.windows.looking import GRACE_SECONDS, PRESSED_SECONDS, looking
from docket.stores.windows.upkeep import Clearing, Item, KeptName, Upkeep, is_leftover, remove_items

LOCK_SECONDS = 0.25
HOLD_SECONDS = 1.0
MAX_TURNS = 1000
MAX_SHAPES = 256
DEFAULT_BUDGET_BYTES = 1024**3
_PAUSE_SECONDS = 0.05
MAX_SECONDS = 60.0
_STAGES = "stages"
_WRITTEN = ("", DELTAS, CLOSED, TOMBSTONES, PARTIALS, FINALS, CLAIMS, UNKNOWN, "kept", "listings", "git")


@dataclass(frozen=True, slots=True, kw_only=True)
class TidyRequest:
    """What to tidy: the folder of windows, the present, what its store may take, whether anything is to go.

    `seconds` is how long that may take; a single look at all that there is, is made whatever time there is.
    """

    windows: Path
    now_ns: int
    apply: bool = False
    budget_bytes: int = DEFAULT_BUDGET_BYTES
    seconds: float = MAX_SECONDS
    hard_bytes: int | None = None

    @property
    def before_ns(self) -> int:
        """What is not older than this stays."""
        return self.now_ns - GRACE_SECONDS * 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """What went, or would go. `deferred` is why nothing went now, `left` how many things are for a later time."""

    store_bytes: int
    freed_bytes: int
    objects: int
    names: tuple[str, ...]
    leftovers: tuple[str, ...]
    deferred: str | None = None
    left: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    request: TidyRequest
    world: WindowsWorld
    upkeep: Upkeep
    disk: Disk


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    clearing: Clearing
    names: tuple[KeptName, ...]
    leftovers: tuple[Item, ...]


def tidy(request: TidyRequest, world: WindowsWorld, upkeep: Upkeep, disk: Disk = SYSTEM_DISK) -> Tidied:
    """Clear what nobody needs, or say what would go."""
    work = _Work(request=request, world=world, upkeep=upkeep, disk=disk)
    deadline = Deadline.within(request.seconds)
    if request.apply:
        _seal(world)
        see_to_left(world, deadline)
    plan = _planned(work)
    deferred, left = None, 0
    if request.apply:
        try:
            left = _carried_out(plan, work, deadline)
        except (PartialEvidenceError, UnavailableError) as error:
            if isinstance(error, UnavailableError) and error.reason != Reason.LOCKED:
                raise
            deferred = error.detail
    return Tidied(
        store_bytes=plan.clearing.store_bytes,
        freed_bytes=plan.clearing.freed_bytes,
        objects=len(plan.clearing.items),
        names=tuple(name.ref for name in plan.names),
        leftovers=tuple(item.path for item in plan.leftovers),
        deferred=deferred,
        left=left,
    )


def orphans(names: tuple[KeptName, ...], registry: Registry, repository: str, before_ns: int) -> tuple[KeptName, ...]:
    """Return the names that keep trees of groups that are gone."""
    live = {window.ref for window in registry.windows} | {post_ref(repository, group.id) for group in registry.groups}
    return tuple(name for name in names if name.ref not in live and name.mtime_ns < before_ns)


def _seal(world: WindowsWorld) -> None:
    """Seal what is past its horizon, or a window whose end never came would keep the store as it is for ever."""
    with suppress(DocketError), world.registry.held(LOCK_SECONDS) as held:
        held.publish(sealed(held.registry, world.moment()))


def _planned(work: _Work) -> _Plan:
    request, registry, names = work.request, work.world.registry.read(), work.upkeep.names()
    going = orphans(names, registry, work.world.tree.repository, request.before_ns)
    needed = frozenset(name.tree for name in names if name not in going)
    return _Plan(
        clearing=_clearing(work, needed),
        names=going,
        leftovers=tuple(_leftovers(request, registry, work.disk)),
    )


def _clearing(work: _Work, needed: frozenset[str]) -> Clearing:
    request, most = work.request, work.request.hard_bytes
    found = work.upkeep.clearing(needed, request.before_ns, request.budget_bytes)
    if most is None or found.store_bytes - found.freed_bytes <= most:
        return found
    return work.upkeep.clearing(needed, request.now_ns - PRESSED_SECONDS * 1_000_000_000, most)


def _leftovers(request: TidyRequest, registry: Registry, disk: Disk) -> Iterator[Item]:
    """Yield what deaths left (temporaries, final states of groups and stores of stages that are gone), and what is
    kept for a time alone."""
    yield from _expired(request, registry, disk)
    live = {group.id for group in registry.groups}
    for folder in _WRITTEN:
        for item in _directly_in(request.windows, folder, disk):
            name = item.path.rpartition("/")[2]
            is_final = folder == FINALS and name.removesuffix(".json") not in live
            if item.mtime_ns < request.before_ns and not item.is_folder and (is_leftover(name) or is_final):
                yield item
    for folder in ("pool", _STAGES):
        for item in _directly_in(request.windows, folder, disk):
            is_left = folder == _STAGES or is_leftover(item.path.rpartition("/")[2])
            if item.is_folder and is_left and _newest(request.windows, item, disk) < request.before_ns:
                yield item


def _expired(request: TidyRequest, registry: Registry, disk: Disk) -> Iterator[Item]:
    """Yield claims of windows that are over for long, and the oldest of too many shapes of payloads."""
    live = {window.key.window_id for window in registry.windows}
    for item in _directly_in(request.windows, CLAIMS, disk):
        if item.mtime_ns < request.before_ns and _whole(item) and _whole(item) not in live:
            yield item
    shapes = [item for item in _directly_in(request.windows, UNKNOWN, disk) if _whole(item)]
    shapes.sort(key=lambda item: (item.mtime_ns, item.path), reverse=True)
    yield from shapes[MAX_SHAPES:]


def _whole(item: Item) -> str:
    """Return whose document a file is, nothing for what is none."""
    name = item.path.rpartition("/")[2]
    return "" if is_leftover(name) or item.is_folder else name.removesuffix(".json")


def _directly_in(windows: Path, name: str, disk: Disk) -> Iterator[Item]:
    with suppress(UnavailableError), disk.folder(windows / name) as folder:
        for inner in folder.names():
            found = folder.look(inner)
            if found is not None and (found.is_file or found.is_folder):
                path = f"{name}/{inner}" if name else inner
                yield Item(path=path, size_bytes=found.size_bytes, mtime_ns=found.mtime_ns, is_folder=found.is_folder)


def _newest(windows: Path, item: Item, disk: Disk) -> int:
    inner = (found.mtime_ns for found in _directly_in(windows, item.path, disk))
    return max((item.mtime_ns, *inner))


def _carried_out(plan: _Plan, work: _Work, deadline: Deadline) -> int:
    left = 0
    for _ in range(MAX_TURNS):
        with ExitStack() as held:
            registry = held.enter_context(work.world.registry.held(LOCK_SECONDS)).registry
            held.enter_context(looking(work.request.windows, LOCK_SECONDS, alone=True, disk=work.disk))
            left = _turn(plan, registry, work, deadline)
        if not left or deadline.is_over():
            break
        time.sleep(_PAUSE_SECONDS)
    return left


def _turn(plan: _Plan, registry: Registry, work: _Work, deadline: Deadline) -> int:
    hold, windows = Deadline.within(HOLD_SECONDS), work.request.windows
    until = Deadline(at_ns=min(hold.at_ns, deadline.at_ns))
    running = [window for window in registry.windows if registry.active(window.group_id)]
    if running:
        raise UnavailableError(Reason.LOCKED, f"a tool runs: {running[0].key.provider} {running[0].tool_name}")
    tree = work.world.tree
    for name in orphans(plan.names, registry, tree.repository, work.request.before_ns):
        with suppress(DocketError):
            tree.release(name.ref, name.tree)
    for item in plan.leftovers:
        if item.is_folder and not until.is_over():
            with suppress(DocketError):
                remove_tree(windows / item.path)
    files = [item for item in plan.leftovers if not item.is_folder]
    return remove_items(work.disk, windows, files, until) or work.upkeep.clear(plan.clearing, until)
