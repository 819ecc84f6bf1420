"""How a tree differs from a manifest: what is new, missing or changed, and where nothing is known."""

from __future__ import annotations

from docket.formats.ledger.tree_events import Change
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.listing import DirectoryEntry, FileEntry, Kind, Omission, Record, SymlinkEntry
from docket.formats.tree.manifest import Manifest, NotCovered, SnapshotDirectory, SnapshotFile, SnapshotSymlink
from docket.rules.tree.since_snapshot import since_snapshot
from manifest_lab import manifest_head

OLD, NEW = Address.of(b"old"), Address.of(b"new!")


def p(raw: bytes) -> RelPath:
    return RelPath(raw)


def kept(path: bytes) -> SnapshotFile:
    return SnapshotFile(path=p(path), content=OLD, mode=0o644, mtime_ns=7)


def file(path: bytes, address: Address = OLD, mode: int = 0o644) -> FileEntry:
    return FileEntry(path=p(path), mode=mode, mtime_ns=7, size=address.size, sha256=address.sha256)


def manifest(*files: SnapshotFile, not_covered: tuple[NotCovered, ...] = ()) -> Manifest:
    return Manifest(
        head=manifest_head(),
        files=files,
        directories=(SnapshotDirectory(path=p(b"dir"), mode=0o755, mtime_ns=7),),
        symlinks=(SnapshotSymlink(path=p(b"link"), target=b"x", mtime_ns=7),),
        not_covered=not_covered,
        not_preserved=(),
    )


SAME: tuple[Record, ...] = (
    DirectoryEntry(path=p(b"dir"), mode=0o755),
    SymlinkEntry(path=p(b"link"), target=b"x"),
)


def told(found: Manifest, *now: Record) -> list[tuple[bytes, Change]]:
    return [(item.path.raw, item.change) for item in since_snapshot(found, now)]


def test_nothing_differs() -> None:
    assert told(manifest(kept(b"a")), file(b"a"), *SAME) == []


def test_each_change_in_tree_order() -> None:
    found = manifest(kept(b"content"), kept(b"gone"), kept(b"mode"), kept(b"retyped"))
    now = (
        file(b"content", NEW),
        file(b"mode", mode=0o755),
        DirectoryEntry(path=p(b"retyped"), mode=0o755),
        file(b"dir/new"),
        DirectoryEntry(path=p(b"dir"), mode=0o700),
        SymlinkEntry(path=p(b"link"), target=b"y"),
    )
    assert told(found, *now) == [
        (b"content", Change.MODIFIED),
        (b"dir", Change.MODIFIED),
        (b"dir/new", Change.ADDED),
        (b"gone", Change.REMOVED),
        (b"link", Change.MODIFIED),
        (b"mode", Change.MODIFIED),
        (b"retyped", Change.RETYPED),
    ]


def test_where_either_pass_did_not_look_nothing_is_said() -> None:
    hidden = NotCovered(path=p(b"store"), reason=Reason.OBJECT_STORE, kind=Kind.DIRECTORY)
    found = manifest(kept(b"closed/x"), kept(b"shut"), not_covered=(hidden,))
    now = (
        Omission(path=p(b"closed"), reason=Reason.UNREADABLE),
        Omission(path=p(b"shut"), reason=Reason.UNREADABLE),
        file(b"store/x"),
        DirectoryEntry(path=p(b"store"), mode=0o755),
    )
    assert told(found, *now, *SAME) == []


def test_what_was_too_large_is_compared_by_its_digest() -> None:
    large = NotCovered(
        path=p(b"large"), reason=Reason.TOO_LARGE, kind=Kind.FILE, mode=0o644, size=OLD.size, sha256=OLD.sha256
    )
    found = manifest(not_covered=(large,))
    assert told(found, file(b"large"), *SAME) == []
    assert told(found, file(b"large", NEW), *SAME) == [(b"large", Change.MODIFIED)]
    assert told(found, *SAME) == [(b"large", Change.REMOVED)]


def test_what_was_never_read_is_told_to_be_gone_and_nothing_else() -> None:
    places = (
        NotCovered(path=p(b"pipe"), reason=Reason.SPECIAL_FILE, kind=Kind.FIFO, mode=0o600),
        NotCovered(path=p(b"shut"), reason=Reason.UNREADABLE, kind=Kind.DIRECTORY),
        NotCovered(path=p(b"swift"), reason=Reason.VANISHED, kind=Kind.FILE),
        NotCovered(path=p(b"unseen"), reason=Reason.UNREADABLE),
    )
    found = manifest(not_covered=places)
    assert told(found, *SAME) == [(b"pipe", Change.REMOVED), (b"shut", Change.REMOVED)]
    assert told(found, Omission(path=p(b"pipe"), reason=Reason.SPECIAL_FILE), file(b"shut"), *SAME) == []
