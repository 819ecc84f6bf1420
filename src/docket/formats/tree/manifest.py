"""The manifest of a content snapshot: what stood in a tree, where its bytes are kept, and what is not covered.

Rules (spec/snapshot.md):
1. One canonical JSON object and a line end. Its lists are in tree order; a path stands once in all of them together,
   and nothing stands below what is no directory.
2. A file's `blob` is `<aa>/<rest>` of its digest and nothing else, so a manifest cannot name a file to copy from.
3. The rules that were in force (what was watched, ignored, left out, up to which size) stand in it, and whatever lay
   within them and was not kept is in `not_covered`.
4. Numbers that may pass 2**53 (times, devices, inodes) are decimal texts.

Decoding accepts exactly what `formats.tree.manifest_text` writes. What to do with it is `rules.tree.restore`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias, TypeVar

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue, decode
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address, blob_name
from docket.formats.tree.attributes import ACCESS_ACL, DEFAULT_ACL, Attributes, is_acl
from docket.formats.tree.listing import MAX_MODE, Kind, target_members, tree_order
from docket.formats.tree.not_preserved import MAX_PATHS_NAMED
from docket.formats.tree.steps import Xattr
from docket.formats.tree.xattrs import read_xattrs
from docket.formats.visible import raw_of, text_members

FORMAT = "docket/snapshot/v1"
_NS_FORM = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
_NUMBER_FORM = re.compile(r"0|[1-9][0-9]{0,19}", re.ASCII)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFile:
    """A file whose content is kept. Files of one `link_group` are names of one file; `sparse` ones had holes.

    `acl` is its POSIX ACL as the kernel gives it.
    """

    path: RelPath
    content: Address
    mode: int
    mtime_ns: int
    link_group: int | None = None
    sparse: bool = False
    xattrs: tuple[Xattr, ...] = ()
    acl: bytes | None = None

    def attributes(self) -> Attributes:
        """Return its attributes and ACL by the kernel's names."""
        return _attributes(self.xattrs, {ACCESS_ACL: self.acl})


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDirectory:
    """A directory, empty ones too; `default_acl` is what new things in it begin with."""

    path: RelPath
    mode: int
    mtime_ns: int
    xattrs: tuple[Xattr, ...] = ()
    acl: bytes | None = None
    default_acl: bytes | None = None

    def attributes(self) -> Attributes:
        """Return its attributes and ACLs by the kernel's names."""
        return _attributes(self.xattrs, {ACCESS_ACL: self.acl, DEFAULT_ACL: self.default_acl})


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSymlink:
    """A symbolic link with its literal target."""

    path: RelPath
    target: bytes
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCovered:
    """A path within the surface of which nothing is kept, and why; the rest is what was seen of it.

    A directory stands for everything below it.
    """

    path: RelPath
    reason: Reason
    detail: str | None = None
    kind: Kind | None = None
    mode: int | None = None
    size: int | None = None
    sha256: Digest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPreserved:
    """Something that kept paths had and a restore does not bring back: what, of how many, and the first of them."""

    what: str
    count: int
    paths: tuple[RelPath, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceRules:
    """What the snapshot looked at: `files.watch`, `files.ignore`, docket's own folders in the tree."""

    watch: tuple[str, ...]
    ignore: tuple[str, ...]
    evidence: tuple[RelPath, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLimits:
    """How much a snapshot may hold; a file beyond `max_file_bytes` is not covered, the others refuse the snapshot."""

    max_bytes: int
    max_file_bytes: int
    max_entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestHead:
    """What a manifest says beside its lists.

    `root` is the absolute path of the tree, `root_identity` its (device, inode). `bytes_watched` is the sum of the
    sizes of the files kept, `bytes_stored` of their different contents, `bytes_shared` of those an earlier snapshot
    had.
    """

    session_id: str
    docket_number: str
    root: bytes
    root_identity: tuple[int, int]
    taken_at: str
    tree_sha256: Digest
    surface: SurfaceRules
    limits: SnapshotLimits
    bytes_watched: int
    bytes_stored: int
    bytes_shared: int

    def members(self) -> dict[str, JsonValue]:
        """Return the members that stand for it."""
        device, inode = self.root_identity
        evidence: list[JsonValue] = [path.members() for path in self.surface.evidence]
        return {
            "format": FORMAT,
            "session_id": self.session_id,
            "docket_number": self.docket_number,
            **text_members("root", self.root),
            "root_identity": {"device": str(device), "inode": str(inode)},
            "taken_at": self.taken_at,
            "tree_sha256": self.tree_sha256,
            "surface": {
                "watch": list(self.surface.watch),
                "ignore": list(self.surface.ignore),
                "evidence": evidence,
            },
            "limits": {
                "max_bytes": self.limits.max_bytes,
                "max_file_bytes": self.limits.max_file_bytes,
                "max_entries": self.limits.max_entries,
            },
            "bytes_watched": self.bytes_watched,
            "bytes_stored": self.bytes_stored,
            "bytes_shared": self.bytes_shared,
        }


Kept: TypeAlias = SnapshotFile | SnapshotDirectory | SnapshotSymlink


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A snapshot as its manifest tells it."""

    head: ManifestHead
    files: tuple[SnapshotFile, ...]
    directories: tuple[SnapshotDirectory, ...]
    symlinks: tuple[SnapshotSymlink, ...]
    not_covered: tuple[NotCovered, ...]
    not_preserved: tuple[NotPreserved, ...]

    def kept(self) -> Iterator[Kept]:
        """Yield every entry that can be brought back."""
        yield from self.directories
        yield from self.files
        yield from self.symlinks

    def addresses(self) -> tuple[Address, ...]:
        """Return the contents it names, each once, in the order of their digests."""
        return tuple(sorted({item.content for item in self.files}))


def decode_manifest(document: bytes) -> Manifest:
    """Read a manifest; InvalidDocumentError for anything `manifest_text` does not write."""
    if not document.endswith(b"\n"):
        raise InvalidDocumentError(Reason.TORN_TAIL, "a manifest ends with a line end")
    reader = Reader(decode(document[:-1]), "the manifest")
    if reader.text("format") != FORMAT:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"a manifest has the format {FORMAT}")
    manifest = Manifest(
        head=_head(reader),
        files=_each(reader, "entries", read_file),
        directories=_each(reader, "directories", _directory),
        symlinks=_each(reader, "symlinks", _symlink),
        not_covered=_each(reader, "not_covered", _not_covered),
        not_preserved=_each(reader, "not_preserved", _not_preserved),
    )
    reader.close()
    _check_places(manifest)
    return manifest


def _each(reader: Reader, name: str, read: Callable[[Reader], T]) -> tuple[T, ...]:
    found = []
    for index, item in enumerate(reader.items(name)):
        inner = Reader(item, f"{name}[{index}]")
        found.append(read(inner))
        inner.close()
    return tuple(found)


def _head(reader: Reader) -> ManifestHead:
    identity = reader.object("root_identity")
    surface, limits = reader.object("surface"), reader.object("limits")
    root_members = {key: reader.any(key) for key in ("root", "root_b64") if reader.has(key)}
    root = raw_of("root", root_members)
    if root is None or text_members("root", root) != root_members or not root.startswith(b"/") or b"\0" in root:
        raise InvalidDocumentError(Reason.NOT_A_PATH, "the root is not an absolute path in its only spelling")
    head = ManifestHead(
        session_id=reader.text("session_id"),
        docket_number=reader.text("docket_number"),
        root=root,
        root_identity=(_number(identity, "device"), _number(identity, "inode")),
        taken_at=reader.instant("taken_at"),
        tree_sha256=reader.digest("tree_sha256"),
        surface=SurfaceRules(
            watch=surface.texts("watch"), ignore=surface.texts("ignore"), evidence=_each(surface, "evidence", _path)
        ),
        limits=SnapshotLimits(
            max_bytes=limits.integer("max_bytes"),
            max_file_bytes=limits.integer("max_file_bytes"),
            max_entries=limits.integer("max_entries"),
        ),
        bytes_watched=reader.integer("bytes_watched"),
        bytes_stored=reader.integer("bytes_stored"),
        bytes_shared=reader.integer("bytes_shared"),
    )
    for inner in (identity, surface, limits):
        inner.close()
    return head


def read_file(reader: Reader) -> SnapshotFile:
    """Return the file that an object of `entries` tells; InvalidDocumentError."""
    digest = reader.digest("sha256")
    if reader.text("blob") != blob_name(digest):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reader.where}.blob is not the one that its digest gives")
    return SnapshotFile(
        path=_path(reader),
        content=Address(digest, reader.integer("size")),
        mode=_mode(reader),
        mtime_ns=_ns(reader),
        link_group=reader.integer("link_group", minimum=1) if reader.has("link_group") else None,
        sparse=reader.has("sparse") and _true(reader, "sparse"),
        xattrs=_some_xattrs(reader),
        acl=_acl(reader, "acl"),
    )


def _directory(reader: Reader) -> SnapshotDirectory:
    return SnapshotDirectory(
        path=_path(reader),
        mode=_mode(reader),
        mtime_ns=_ns(reader),
        xattrs=_some_xattrs(reader),
        acl=_acl(reader, "acl"),
        default_acl=_acl(reader, "default_acl"),
    )


def _symlink(reader: Reader) -> SnapshotSymlink:
    members = {key: reader.any(key) for key in ("target", "target_b64") if reader.has(key)}
    target = raw_of("target", members)
    if target is None or target_members(target) != members or not target or b"\0" in target:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reader.where} has no target in its only spelling")
    return SnapshotSymlink(path=_path(reader), target=target, mtime_ns=_ns(reader))


def _not_covered(reader: Reader) -> NotCovered:
    return NotCovered(
        path=_path(reader),
        reason=Reason(reader.choice("reason", tuple(Reason))),
        detail=reader.text("detail") if reader.has("detail") else None,
        kind=Kind(reader.choice("kind", tuple(Kind))) if reader.has("kind") else None,
        mode=_mode(reader) if reader.has("mode") else None,
        size=reader.integer("size") if reader.has("size") else None,
        sha256=reader.digest("sha256") if reader.has("sha256") else None,
    )


def _not_preserved(reader: Reader) -> NotPreserved:
    found = NotPreserved(
        what=reader.text("what"), count=reader.integer("count", minimum=1), paths=_each(reader, "paths", _path)
    )
    if len(found.paths) != min(found.count, MAX_PATHS_NAMED):
        detail = f"{reader.where} does not name the first {MAX_PATHS_NAMED} of its paths"
        raise InvalidDocumentError(Reason.WRONG_VALUE, detail)
    _check_order([tree_order(path.raw) for path in found.paths])
    return found


def _some_xattrs(reader: Reader) -> tuple[Xattr, ...]:
    if not reader.has("xattrs"):
        return ()
    found = read_xattrs(reader)
    if not found:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reader.where}.xattrs stands only where there are any")
    return found


def _acl(reader: Reader, name: str) -> bytes | None:
    if not reader.has(name):
        return None
    value = reader.base64(name)
    if not is_acl(value):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reader.where}.{name} is not a POSIX ACL of version 2")
    return value


def _attributes(own: Sequence[Xattr], acls: dict[bytes, bytes | None]) -> Attributes:
    return tuple((name, value) for name, value in acls.items() if value) + tuple((at.name, at.value) for at in own)


def _path(reader: Reader) -> RelPath:
    return RelPath.from_members({key: reader.any(key) for key in ("path", "path_b64") if reader.has(key)})


def _mode(reader: Reader) -> int:
    mode = reader.integer("mode")
    if mode > MAX_MODE:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reader.where}.mode has bits beyond {MAX_MODE:o}")
    return mode


def _ns(reader: Reader) -> int:
    text = reader.text("mtime_ns")
    if not _NS_FORM.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reader.where}.mtime_ns is not a decimal 64-bit number")
    return int(text)


def _number(reader: Reader, name: str) -> int:
    text = reader.text(name)
    if not _NUMBER_FORM.fullmatch(text) or int(text) >= 2**64:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reader.where}.{name} is not a decimal 64-bit number")
    return int(text)


def _true(reader: Reader, name: str) -> bool:
    if not reader.flag(name):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reader.where}.{name} stands only where it is true")
    return True


def _check_places(manifest: Manifest) -> None:
    """Refuse paths that stand twice or out of order, and whatever stands below what is no directory."""
    lists: tuple[tuple[Kept | NotCovered, ...], ...] = (
        manifest.files, manifest.directories, manifest.symlinks, manifest.not_covered
    )  # fmt: skip
    _check_order([item.what.encode("utf-8") for item in manifest.not_preserved])
    everything: list[tuple[bytes, bool]] = []
    for index, items in enumerate(lists):
        keys = [tree_order(item.path.raw) for item in items]
        _check_order(keys)
        everything += [(key, index == 1) for key in keys]
    everything.sort()
    for (earlier, is_directory), (later, _) in pairwise(everything):
        if earlier == later:
            raise InvalidDocumentError(Reason.DUPLICATE_KEY, "a path stands twice in the manifest")
        if not is_directory and later.startswith(earlier + b"\0"):
            raise InvalidDocumentError(Reason.WRONG_VALUE, "a path stands below one that is no directory")


def _check_order(keys: Sequence[bytes]) -> None:
    if any(earlier >= later for earlier, later in pairwise(keys)):
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "a list of the manifest is not in its order, each item once")
