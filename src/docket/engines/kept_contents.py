"""Looks into a snapshot: how the tree differs from it now, and single contents taken out of it.

Rules:
1. Nothing in a tree is changed, and nothing in the store. What is taken out goes to a name that is free.
2. A content reaches its name only when it was read to its end and is what the manifest says.

Putting a tree back is `engines.restore`'s.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from docket.engines.observe import ObserveRequest
from docket.errors import UnavailableError, UsageError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import Difference
from docket.formats.tree.listing import Listing
from docket.formats.tree.manifest import SnapshotFile, SnapshotSymlink
from docket.formats.visible import visible
from docket.host.disk import SYSTEM_DISK
from docket.host.durable import publish_chunks
from docket.rules.tree.since_snapshot import since_snapshot
from docket.rules.tree.watch import watched_surface
from docket.stores.content import ContentStream
from docket.stores.snapshots import Snapshot


def differences_now(
    snapshot: Snapshot, root: bytes | None, observe: Callable[[ObserveRequest], Listing]
) -> tuple[Difference, ...]:
    """Return how the tree differs from the snapshot, by the rules it was taken with.

    `root` is the tree that the person named, None for the one that was looked at then; UnavailableError(ROOT_REPLACED)
    where another directory stands there.
    """
    head = snapshot.manifest.head
    rules = head.surface
    surface = watched_surface(watch=rules.watch, ignore=rules.ignore, evidence=rules.evidence)
    identity = head.root_identity if root is None else None
    request = ObserveRequest(root=root or head.root, surface=surface, root_identity=identity)
    return since_snapshot(snapshot.manifest, observe(request).records)


def content_of(snapshot: Snapshot, path: RelPath) -> ContentStream:
    """Return the content that is kept of a file.

    UsageError where the path is no file of the snapshot; UnavailableError where it was not kept, or is gone.
    """
    manifest = snapshot.manifest
    entry = next((item for item in manifest.kept() if item.path == path), None)
    if isinstance(entry, SnapshotFile):
        return snapshot.contents.open(entry.content)
    if isinstance(entry, SnapshotSymlink):
        raise UsageError(Reason.NOT_A_FILE, f"{path} is a link to {visible(entry.target)}")
    if entry is not None:
        raise UsageError(Reason.NOT_A_FILE, f"{path} is a directory; docket snapshots show names the files in it")
    lost = next((item for item in manifest.not_covered if item.path in (path, *path.above())), None)
    if lost is not None:
        raise UnavailableError(lost.reason, f"{lost.path} was not kept: {lost.detail or lost.reason}")
    raise UsageError(Reason.NOT_FOUND, f"the snapshot has no {path}; paths are told from the root of the tree")


def extract(snapshot: Snapshot, path: RelPath, target: Path) -> None:
    """Write a kept content to a new file, for its owner alone.

    ALREADY_EXISTS where something stands there; InvalidDocumentError where the content is damaged: no file then.
    """
    with content_of(snapshot, path) as stream:
        parent = Path(os.path.realpath(target.parent))
        with SYSTEM_DISK.folder(parent) as folder:
            publish_chunks(folder, target.name, stream)
