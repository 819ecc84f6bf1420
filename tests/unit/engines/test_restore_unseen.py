"""The remark on places that no pass looks into: only those, and few of them by name."""

from __future__ import annotations

from docket.engines.restore_documents import unseen
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Kind
from docket.formats.tree.manifest import Manifest, NotCovered
from manifest_lab import manifest_head


def manifest(*places: tuple[bytes, Reason, Kind | None]) -> Manifest:
    return Manifest(
        head=manifest_head(),
        files=(),
        directories=(),
        symlinks=(),
        not_covered=tuple(NotCovered(path=RelPath(raw), reason=reason, kind=kind) for raw, reason, kind in places),
        not_preserved=(),
    )


def test_what_is_left_out_by_rule_or_is_one_file_needs_no_remark() -> None:
    found = manifest(
        (b".docket", Reason.EXCLUDED, Kind.DIRECTORY),
        (b".git/objects", Reason.OBJECT_STORE, Kind.DIRECTORY),
        (b"large", Reason.TOO_LARGE, Kind.FILE),
        (b"shut", Reason.UNREADABLE, Kind.FILE),
    )
    assert unseen(found) == ()


def test_a_mount_and_closed_folders_are_named() -> None:
    mount = (b"m", Reason.OTHER_FILE_SYSTEM, Kind.DIRECTORY)
    (said,) = unseen(manifest(mount))
    assert said.endswith("is not known and not put back: m")
    closed = tuple((b"c%d" % number, Reason.NOT_PERMITTED, Kind.DIRECTORY) for number in range(3))
    (said,) = unseen(manifest(*closed, mount))
    assert said.endswith("not put back: c0, c1, c2, …")
