"""Take a content snapshot of a tree: what stands in it, byte for byte, before an agent may change it.

Rules (spec/snapshot.md):
1. The tree is measured before anything is written. Beyond the limits, or beyond what the disk has left, the snapshot
   is refused with both numbers and the heaviest directories.
2. One read: the scanner hands the bytes it digests to the store. A file that is known to be unchanged and whose
   content the project's pool holds is not read; its content is shared.
3. A snapshot is wholly there or not at all: whatever fails, what was begun is taken away and there is no manifest.
   Contents that were settled before it failed stay in the pool, named by nothing, until a sweep.
4. Nothing of a repository is executed or written: the tree is read as files, object stores left out.

What is watched is the run's surface; the limits and the surface are written into the manifest.
"""

from __future__ import annotations

import re
import struct
from binascii import unhexlify
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from docket.engines.observe import ObserveRequest
from docket.engines.walk_request import UNKNOWN_DIGEST
from docket.errors import DocketError
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest, sha256
from docket.formats.reason import Reason
from docket.formats.tree.listing import Kind, Listing, Omission, decode_record
from docket.formats.tree.manifest import ManifestHead, SnapshotLimits, SurfaceRules
from docket.formats.tree.manifest_text import manifest_text
from docket.formats.tree.surface import Surface
from docket.host.clock import Clock
from docket.host.disk import SYSTEM_DISK, Disk, free_bytes
from docket.stores.layout import Layout
from docket.stores.snapshots import SnapshotDraft, begin_snapshot, remove_snapshot, snapshot_path

HEAVIEST = 3
_PIECE_BYTES = 1024 * 1024
_DIGEST = struct.Struct("32s")
RESERVE_BYTES = 64 * 1024 * 1024
_FILE = re.compile(rb'"sha256":"([0-9a-f]{64})","size":([0-9]+)\}\n')
_PLACED = re.compile(r'"path(?:_b64)?":"(.*)","sha256":"[0-9a-f]{64}","size":([0-9]+)\}', re.DOTALL)
_UNKNOWN = b'"sha256":"' + UNKNOWN_DIGEST.hex().encode() + b'"'


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRequest:
    """A snapshot of the tree at `root` for one session; `rules` say in words what `surface` looks at."""

    root: bytes
    layout: Layout
    session_id: str
    docket_number: str
    surface: Surface
    rules: SurfaceRules
    limits: SnapshotLimits
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotWorld:
    """What taking one uses: the scanner, the clock, the disk of the state folder and how much it has left."""

    observe: Callable[[ObserveRequest], Listing]
    clock: Clock
    disk: Disk = SYSTEM_DISK
    free: Callable[[Path], int] = free_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotTaken:
    """A snapshot that stands: the pass it was made in and its figures, sizes in bytes."""

    listing: Listing
    path: Path
    manifest_sha256: Digest
    files: int
    bytes_watched: int
    bytes_stored: int
    bytes_shared: int
    not_covered: tuple[Omission, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRefused:
    """A snapshot that was not taken: `needed` is beyond `allowed`, in bytes or entries; `hint` names what is heavy."""

    reason: Reason
    detail: str
    hint: str
    needed: int
    allowed: int


SnapshotOutcome: TypeAlias = SnapshotTaken | SnapshotRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """What a listing holds for a snapshot: contents' sizes by digest, and sizes by file, one of several names once."""

    listing: Listing
    contents: dict[bytes, int]
    files: int
    bytes_watched: int
    beyond: int


def take_snapshot(request: SnapshotRequest, world: SnapshotWorld) -> SnapshotOutcome:
    """Take the snapshot, or say why it is refused.

    UnavailableError where the tree or the state folder cannot be had, or the disk is full: nothing is left then.
    """
    first = _measure(world.observe(_pass(request, unread=True)), request.limits)
    refused = _refusal(request, first)
    if refused is not None:
        return refused
    draft = begin_snapshot(request.layout, request.session_id, request.limits, disk=world.disk)
    try:
        outcome = _fill(request, world, draft, first)
    except BaseException:
        _abandon(request, world, draft)
        raise
    if isinstance(outcome, SnapshotRefused):
        _abandon(request, world, draft)
    draft.close()
    return outcome


def _pass(request: SnapshotRequest, *, unread: bool = False, draft: SnapshotDraft | None = None) -> ObserveRequest:
    return ObserveRequest(
        root=request.root,
        surface=request.surface,
        progress=request.progress,
        content=None if draft is None else draft.batch,
        details=True,
        unread=unread,
    )


def _fill(request: SnapshotRequest, world: SnapshotWorld, draft: SnapshotDraft, first: _Measured) -> SnapshotOutcome:
    short = _no_room(request, world, draft, first)
    if short is not None:
        return short
    if _is_known(first, draft):
        return _published(request, world, draft, first)
    draft.prepare()
    measured = _measure(world.observe(_pass(request, draft=draft)), request.limits)
    return _refusal(request, measured) or _published(request, world, draft, measured)


def _is_known(measured: _Measured, draft: SnapshotDraft) -> bool:
    """Whether nothing need be read: every digest is known, and every content stands in the pool."""
    return _UNKNOWN not in measured.listing.document and draft.batch.knows_all(measured.contents)


def _published(
    request: SnapshotRequest, world: SnapshotWorld, draft: SnapshotDraft, measured: _Measured
) -> SnapshotTaken:
    listing = measured.listing
    bytes_shared = draft.batch.known_bytes(measured.contents)
    bytes_stored = sum(measured.contents.values())
    head = ManifestHead(
        session_id=request.session_id,
        docket_number=request.docket_number,
        root=request.root,
        root_identity=listing.root or (0, 0),
        taken_at=world.clock.now(),
        tree_sha256=listing.tree_sha256,
        surface=request.rules,
        limits=request.limits,
        bytes_watched=measured.bytes_watched,
        bytes_stored=bytes_stored,
        bytes_shared=bytes_shared,
    )
    manifest = manifest_text(head, listing)
    draft.publish(manifest)
    return SnapshotTaken(
        listing=listing,
        path=draft.path,
        manifest_sha256=sha256(manifest),
        files=measured.files,
        bytes_watched=measured.bytes_watched,
        bytes_stored=bytes_stored,
        bytes_shared=bytes_shared,
        not_covered=(*listing.omissions, *_beyond(measured, request.limits)),
    )


def _beyond(measured: _Measured, limits: SnapshotLimits) -> Iterator[Omission]:
    """Yield the files that are larger than the snapshot takes."""
    for line in measured.listing.lines() if measured.beyond else ():
        found = _FILE.search(line + b"\n")
        if found is not None and int(found[2]) > limits.max_file_bytes:
            record = decode_record(line)
            detail = f"{int(found[2]):,} bytes, and a file may have {limits.max_file_bytes:,}"
            yield Omission(path=record.path, reason=Reason.TOO_LARGE, detail=detail, kind=Kind.FILE)


def _measure(listing: Listing, limits: SnapshotLimits) -> _Measured:
    contents, files, beyond, bytes_watched = dict[bytes, int](), 0, 0, 0
    for piece in _pieces(listing.document):
        found = _FILE.findall(piece)
        sizes = [int(size) for _, size in found]
        digests = _DIGEST.iter_unpack(unhexlify(b"".join([digest for digest, _ in found])))
        kept: Iterable[tuple[bytes, int]] = zip(chain.from_iterable(digests), sizes, strict=True)
        if sizes and max(sizes) > limits.max_file_bytes:
            kept = [row for row in kept if row[1] <= limits.max_file_bytes]
            sizes = [size for _, size in kept]
        contents.update(kept)
        files, beyond, bytes_watched = files + len(sizes), beyond + len(found) - len(sizes), bytes_watched + sum(sizes)
    seen = set[tuple[int, int]]()
    for item in listing.details.paths:
        if item.identity is not None and item.kind == Kind.FILE and item.size <= limits.max_file_bytes:
            if item.identity in seen:
                bytes_watched -= item.size
            seen.add(item.identity)
    return _Measured(
        listing=listing,
        contents=contents,
        files=files,
        bytes_watched=bytes_watched,
        beyond=beyond,
    )


def _pieces(document: bytes) -> Iterator[bytes]:
    """Yield a listing's lines, some at a time: what is made of them need not all be held at once."""
    start = 0
    while start < len(document):
        end = document.find(b"\n", start + _PIECE_BYTES) + 1 or len(document)
        yield document[start:end]
        start = end


def _refusal(request: SnapshotRequest, measured: _Measured) -> SnapshotRefused | None:
    limits, counts = request.limits, measured.listing.counts
    entries = counts.files + counts.directories + counts.symlinks
    if measured.bytes_watched > limits.max_bytes:
        detail = f"the snapshot needs {measured.bytes_watched:,} bytes and may have {limits.max_bytes:,}"
        return _refused(measured.listing, Reason.TOO_LARGE, detail, (measured.bytes_watched, limits.max_bytes))
    if entries > limits.max_entries:
        detail = f"the snapshot needs {entries:,} entries and may have {limits.max_entries:,}"
        return _refused(measured.listing, Reason.TOO_LARGE, detail, (entries, limits.max_entries))
    return None


def _no_room(
    request: SnapshotRequest, world: SnapshotWorld, draft: SnapshotDraft, measured: _Measured
) -> SnapshotRefused | None:
    """Refuse what the disk cannot hold; what it says only counts where it says it."""
    try:
        allowed = max(world.free(request.layout.state) - RESERVE_BYTES, 0)
    except OSError:
        return None
    needed = measured.bytes_watched - draft.batch.known_bytes(measured.contents)
    if needed <= allowed:
        return None
    detail = f"the snapshot needs {needed:,} bytes and the disk of {request.layout.state} has {allowed:,} for it"
    return _refused(measured.listing, Reason.NO_SPACE, detail, (needed, allowed))


def _refused(listing: Listing, reason: Reason, detail: str, numbers: tuple[int, int]) -> SnapshotRefused:
    weights = Counter[str]()
    for line in listing.document.decode("utf-8").split("\n"):
        placed = _PLACED.search(line)
        if placed is not None:
            top, slash, _ = placed[1].partition("/")
            weights[top + slash] += int(placed[2])
    heaviest = ", ".join(f"{name} ({size:,})" for name, size in weights.most_common(HEAVIEST))
    hint = f"the heaviest in bytes are {heaviest}; leave out what need not be kept with files.ignore, or allow more"
    return SnapshotRefused(reason=reason, detail=detail, hint=hint, needed=numbers[0], allowed=numbers[1])


def _abandon(request: SnapshotRequest, world: SnapshotWorld, draft: SnapshotDraft) -> None:
    """Take away what was begun; what cannot be is no snapshot, and a later prune finds it."""
    draft.close()
    with suppress(DocketError):
        remove_snapshot(snapshot_path(request.layout, request.session_id), disk=world.disk)
