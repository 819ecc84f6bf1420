"""The head of a manifest, for manifests put together by hand."""

from __future__ import annotations

from docket.formats.digest import Digest
from docket.formats.relpath import RelPath
from docket.formats.tree.manifest import ManifestHead, SnapshotLimits, SurfaceRules


def manifest_head(**changes: object) -> ManifestHead:
    """A head; `changes` replace members."""
    members: dict[str, object] = {
        "session_id": "0123456789ab",
        "docket_number": "DKT-20261001-00C0DE",
        "root": b"/home/dev/tree",
        "root_identity": (1, 2),
        "taken_at": "2026-10-01T12:00:00.250Z",
        "tree_sha256": Digest("11" * 32),
        "surface": SurfaceRules(watch=(".",), ignore=(), evidence=(RelPath(b".docket"),)),
        "limits": SnapshotLimits(max_bytes=1, max_file_bytes=1, max_entries=1),
        "bytes_watched": 0,
        "bytes_stored": 0,
        "bytes_shared": 0,
    }
    return ManifestHead(**{**members, **changes})  # type: ignore[arg-type]
