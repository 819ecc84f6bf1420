"""Say what is wrong with what is kept of windows; nothing is changed.

Rules (spec/windows.md, Tidying):
1. Each finding says what, where and what a person can do about it. What heals by itself with the next hook is a
   *notice*, what does not is a *fault*.
2. What cannot be looked into is a finding, never a silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from docket.engines.windows.closers import is_left
from docket.engines.windows.tidy import TidyRequest, orphans
from docket.errors import DocketError
from docket.formats.dataclass import dataclass
from docket.formats.windows.records import Moment
from docket.formats.windows.registry import Registry
from docket.host.disk import SYSTEM_DISK, Disk
from docket.rules.windows.grouping import is_over
from docket.stores.windows.evidence import CLAIMS, CLOSED, FINALS, PARTIALS, TOMBSTONES, Evidence
from docket.stores.windows.looked import TreeStore
from docket.stores.windows.registry_file import RegistryFile
from docket.stores.windows.upkeep import Upkeep, files_below, is_leftover

TIDY = "docket windows tidy --apply"
NEXT_HOOK = "the next hook sees to it"


class Finding(StrEnum):
    """What can be wrong."""

    REGISTRY_CORRUPT = "registry_corrupt"
    MALFORMED_ENTRY = "malformed_entry"
    DELTA_MISSING = "delta_missing"
    OBJECT_MISSING = "object_missing"
    STORE_UNAVAILABLE = "store_unavailable"
    STALE_WINDOW = "stale_window"
    UNFINISHED_GROUP = "unfinished_group"
    PENDING_PARTIAL = "pending_partial"
    TOMBSTONES = "tombstones"
    UNKNOWN_PAYLOADS = "unknown_payloads"
    ORPHAN_NAME = "orphan_name"
    LEFTOVER = "leftover"
    STORE_LARGE = "store_large"


FAULTS = frozenset(
    (Finding.REGISTRY_CORRUPT, Finding.MALFORMED_ENTRY, Finding.DELTA_MISSING, Finding.OBJECT_MISSING,
     Finding.STORE_UNAVAILABLE)
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One finding: of which thing, what about it, and what a person can do."""

    finding: Finding
    subject: str
    detail: str
    hint: str | None = None

    @property
    def is_fault(self) -> bool:
        """Whether it does not heal by itself."""
        return self.finding in FAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What was found, and what there is: windows that are open and over, bytes of the store (None if unknown)."""

    found: tuple[Found, ...]
    open_windows: int | None
    closed_windows: int
    store_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorWorld:
    """The ports; `store` opens those of the tree's store, and may fail."""

    registry: RegistryFile
    evidence: Evidence
    now: Moment
    store: Callable[[], tuple[TreeStore, Upkeep]]
    disk: Disk = SYSTEM_DISK


def examine(request: TidyRequest, world: DoctorWorld) -> Examined:
    """Look at everything that is kept."""
    found = list[Found]()
    registry: Registry | None = None
    try:
        registry = world.registry.read()
    except DocketError as error:
        hint = "nothing is opened or closed until somebody moves that file away; windows that were open are lost then"
        found.append(Found(finding=Finding.REGISTRY_CORRUPT, subject="registry", detail=error.detail, hint=hint))
    found += _entries(request, world)
    found += _evidence(world.evidence)
    store_bytes = None
    if registry is not None:
        found += _open(registry, world.now)
        try:
            store_bytes = _store(registry, request, world, found)
        except DocketError as error:
            found.append(Found(finding=Finding.STORE_UNAVAILABLE, subject="store", detail=error.detail))
    return Examined(
        found=tuple(found),
        open_windows=None if registry is None else len(registry.windows),
        closed_windows=world.evidence.count_closed(),
        store_bytes=store_bytes,
    )


def _entries(request: TidyRequest, world: DoctorWorld) -> Iterator[Found]:
    evidence = world.evidence
    readers: dict[str, Callable[[str], object]] = {
        CLOSED: evidence.closed, TOMBSTONES: evidence.tombstone, PARTIALS: evidence.partial, FINALS: evidence.final,
        CLAIMS: evidence.claimant,
    }  # fmt: skip
    for folder, read in readers.items():
        for item in files_below(world.disk, request.windows, folder):
            name = item.path.rpartition("/")[2]
            if is_leftover(name):
                if item.mtime_ns < request.before_ns:
                    yield Found(finding=Finding.LEFTOVER, subject=item.path, detail="a death left it", hint=TIDY)
                continue
            try:
                read(name.removesuffix(".json"))
            except DocketError as error:
                yield Found(finding=Finding.MALFORMED_ENTRY, subject=item.path, detail=error.detail)


def _evidence(evidence: Evidence) -> Iterator[Found]:
    for record in evidence.every_closed():
        try:
            evidence.delta(record.delta_sha256)
        except DocketError as error:
            yield Found(finding=Finding.DELTA_MISSING, subject=record.key.window_id, detail=error.detail)
    for pending in evidence.pending():
        detail = f"the partial delta is still to be made: {pending.reason}"
        yield Found(finding=Finding.PENDING_PARTIAL, subject=pending.key.window_id, detail=detail, hint=NEXT_HOOK)
    reasons = [tombstone.reason for tombstone in evidence.every_tombstone()]
    for reason in sorted(set(reasons)):
        detail = f"{reasons.count(reason)} windows of which nothing is known"
        yield Found(finding=Finding.TOMBSTONES, subject=reason, detail=detail)
    shapes = sum(1 for _ in evidence.unknown())
    if shapes:
        detail = f"{shapes} shapes of payloads that nobody knew"
        yield Found(finding=Finding.UNKNOWN_PAYLOADS, subject="hooks", detail=detail)


def _open(registry: Registry, now: Moment) -> Iterator[Found]:
    for group in registry.groups:
        running = registry.active(group.id)
        if running and (group.sealed or is_over(group, now)):
            for window in running:
                detail = f"{window.key.provider} {window.tool_name} {window.key.tool_use_id} never ended"
                yield Found(finding=Finding.STALE_WINDOW, subject=window.key.window_id, detail=detail, hint=NEXT_HOOK)
        if not running and is_left(group.closing):
            detail = f"nobody finishes it; tried {0 if group.closing is None else group.closing.attempts} times"
            yield Found(finding=Finding.UNFINISHED_GROUP, subject=group.id, detail=detail, hint=NEXT_HOOK)


def _store(registry: Registry, request: TidyRequest, world: DoctorWorld, found: list[Found]) -> int:
    tree_store, upkeep = world.store()
    names = upkeep.names()
    for name in orphans(names, registry, tree_store.repository, request.before_ns):
        detail = "it keeps a tree of a group that is gone"
        found.append(Found(finding=Finding.ORPHAN_NAME, subject=name.ref, detail=detail, hint=TIDY))
    baselines = {window.baseline.tree: window for window in registry.windows if window.baseline is not None}
    for tree in upkeep.missing(baselines):
        detail = f"the tree before {baselines[tree].key.tool_use_id} is not whole any more"
        found.append(Found(finding=Finding.OBJECT_MISSING, subject=tree, detail=detail))
    needed = frozenset(name.tree for name in names)
    clearing = upkeep.clearing(needed, request.before_ns, request.budget_bytes)
    if clearing.store_bytes > request.budget_bytes:
        detail = f"{clearing.store_bytes:,} bytes; nothing needs {clearing.freed_bytes:,} of them"
        found.append(Found(finding=Finding.STORE_LARGE, subject="store", detail=detail, hint=TIDY))
    return clearing.store_bytes
