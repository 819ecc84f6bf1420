"""docket's own bare git repository for what stood in a tree before and after tools (spec/windows.md, Store).

Rules:
1. It has the object format of the person's repository and borrows that one's objects read-only, by one alternate.
   Nothing of the person's repository is ever written, and none of its configuration is read.
2. Its configuration is exactly CONFIG, its attributes exactly ATTRIBUTES: anything else is somebody else's doing, and
   the store is refused. So is one that is a link.
3. A ref is written whole under its name, never over another tree, and removed only while it names the tree it was
   made for.

How a tree is looked at is `stores.windows.git_tree`, how it is cleared `stores.windows.git_upkeep`.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError, PartialEvidenceError, UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.windows.key import REF_ROOT
from docket.formats.windows.names import Hashes, PartialReason
from docket.host.disk import SYSTEM_DISK, Disk, Folder
from docket.host.durable import publish
from docket.host.git_loose import FRESH_SECONDS, LooseObjects
from docket.host.git_place import GitPlace
from docket.host.git_program import GitWorkplace

STORE, WORK = "git", "work"
UNKEPT = "unkept"
CONFIG = """\
[core]
	repositoryformatversion = {version}
	bare = true
	filemode = true
	symlinks = true
	trustctime = true
	checkstat = default
	ignorestat = false
	untrackedcache = false
	fsmonitor = false
	preloadindex = true
	sparsecheckout = true
	autocrlf = false
	safecrlf = false
	protecthfs = false
	protectntfs = false
	hookspath = /dev/null
	attributesfile = /dev/null
	excludesfile = /dev/null
	logallrefupdates = false
[gc]
	auto = 0
[maintenance]
	auto = false
[protocol]
	allow = never
[diff]
	ignoresubmodules = none
{extensions}"""
SHA256 = "[extensions]\n\tobjectformat = sha256\n"
# Every name as it is: no line ends, no drivers, no encodings.
ATTRIBUTES = b"* -text -ident !filter !working-tree-encoding !eol !merge !diff\n"
HEAD = b"ref: refs/heads/none\n"
_MAX_BYTES = 64 * 1024
_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class GitStore:
    """The store at `folder` for the repository at `place`; `work` is where looks at the tree have their own files.

    `is_inner` for a repository inside of the one that the store was opened for: its objects are read and not borrowed.
    """

    folder: Path
    work: Path
    place: GitPlace
    hashes: Hashes
    disk: Disk = SYSTEM_DISK
    is_inner: bool = False

    @property
    def objects(self) -> LooseObjects:
        """Where contents go."""
        return LooseObjects(self.folder / "objects", self.hashes)

    def git(self) -> GitWorkplace:
        """Where git works on objects alone."""
        return GitWorkplace(git_dir=self.folder)

    def keep(self, ref: str, tree: str) -> None:
        """Let a ref keep a tree; one that does already stays. UnavailableError(ALREADY_EXISTS) for another tree."""
        for _ in range(_TRIES - 1):
            try:
                self._keep(ref, tree)
                return
            except UnavailableError as error:  # whoever let another name go has removed a folder on the way
                if error.reason != Reason.NOT_FOUND:
                    raise
        self._keep(ref, tree)

    def _keep(self, ref: str, tree: str) -> None:
        *folders, name = ref.split("/")
        folder = self.disk.folder(self.folder)
        for part in folders:
            with folder:
                inner = folder.folder(part, create=True, durable=False)
            folder = inner
        with folder:
            try:
                publish(folder, name, f"{tree}\n".encode(), overwrite=False)
            except UnavailableError as error:
                if error.reason != Reason.ALREADY_EXISTS or self.kept(ref) != tree:
                    raise

    def kept(self, ref: str) -> str | None:
        """Return the tree that a ref keeps, None where there is no such ref."""
        path = self.folder / ref
        try:
            with self.disk.folder(path.parent) as folder, folder.open(path.name) as file:
                return file.read(0, _MAX_BYTES).decode("ascii", "replace").strip()
        except UnavailableError as error:
            if error.reason in (Reason.NOT_FOUND, Reason.NOT_A_DIRECTORY):
                return None
            raise

    def release(self, ref: str, tree: str) -> None:
        """Remove a ref if it still keeps that tree, and the folders that are empty then."""
        if self.kept(ref) != tree:
            return
        path = self.folder / ref
        with suppress(UnavailableError), self.disk.folder(path.parent) as folder:
            folder.remove(path.name)
        for parent in path.parents:
            if parent.parent == self.folder / REF_ROOT:
                break  # the worktree's own folder stays, for others are about to use it
            try:
                with self.disk.folder(parent.parent) as folder:
                    folder.remove_folder(parent.name)
            except UnavailableError:
                break

    def refs(self) -> dict[str, str]:
        """Return every ref and its tree."""
        found: dict[str, str] = {}
        with suppress(UnavailableError), self.disk.folder(self.folder / REF_ROOT) as folder:
            for ref in _below(folder, REF_ROOT):
                tree = self.kept(ref)
                if tree is not None:
                    found[ref] = tree
        return found

    def note_unkept(self, names: list[str]) -> None:
        """Take down that contents of these names are not kept, on purpose."""
        if names:
            with self.disk.folder(self.folder) as folder:
                try:
                    file = folder.open(UNKEPT, writable=True)
                except UnavailableError:
                    file = folder.create(UNKEPT)
                with file:
                    file.append("".join(f"{name}\n" for name in names).encode("ascii"))

    def use_unkept(self) -> None:
        """Mark what was taken down as in use, so that it is not cleared away."""
        with suppress(OSError):
            if (self.folder / UNKEPT).stat().st_mtime < time.time() - FRESH_SECONDS:
                os.utime(self.folder / UNKEPT)

    def unkept(self) -> frozenset[str]:
        """Return the names of the contents that are not kept on purpose."""
        with suppress(UnavailableError), self.disk.folder(self.folder) as folder, folder.open(UNKEPT) as file:
            return frozenset(file.read(0, file.size()).decode("ascii", "replace").split())
        return frozenset()


def open_git_store(windows: Path, place: GitPlace, hashes: Hashes, *, disk: Disk = SYSTEM_DISK) -> GitStore:
    """Open the store, made where it is missing; snapshot_store_unavailable (PartialEvidenceError) if it is not ours."""
    store = GitStore(folder=windows / STORE, work=windows / WORK, place=place, hashes=hashes, disk=disk)
    try:
        with disk.folder(store.folder, create=True) as folder:
            _prepare(folder, hashes)
            _borrow(folder, place.objects)
        with disk.folder(store.work, create=True):
            pass
    except PartialEvidenceError:
        raise
    except DocketError as error:
        raise unavailable(error.detail) from error
    return store


def repository_of(place: GitPlace) -> str:
    """Return what a worktree is called in a window's key."""
    named = b"\0".join((os.fsencode(place.git_dir), b"%d %d" % place.identity))
    return hashlib.sha256(named).hexdigest()[:32]


def unavailable(detail: str) -> PartialEvidenceError:
    """Return the error of a store that cannot be used."""
    return PartialEvidenceError(PartialReason.SNAPSHOT_STORE_UNAVAILABLE, detail)


def _prepare(folder: Folder, hashes: Hashes) -> None:
    sha256 = hashes is Hashes.SHA256
    config = CONFIG.format(version=int(sha256), extensions=SHA256 if sha256 else "").encode()
    if folder.identity("config") is None:
        for name in ("objects", "refs", "info"):
            folder.folder(name, create=True).close()
        _first(folder, "HEAD", HEAD)
        with folder.folder("info") as info:
            _first(info, "attributes", ATTRIBUTES)
        _first(folder, "config", config)
    _demand(folder, "config", config)
    with folder.folder("info") as info:
        _demand(info, "attributes", ATTRIBUTES)
    for name in ("commondir", "config.worktree"):
        if folder.identity(name) is not None:
            raise unavailable(f"{folder.path} has a {name} that is not docket's")


def _first(folder: Folder, name: str, data: bytes) -> None:
    with suppress(UnavailableError):
        publish(folder, name, data, overwrite=False)


def _demand(folder: Folder, name: str, data: bytes) -> None:
    with folder.open(name) as file:
        if file.read(0, _MAX_BYTES) != data:
            raise unavailable(f"{folder.path / name} is not as docket wrote it, or of another object format")


def _borrow(folder: Folder, objects: Path) -> None:
    line = quoted_path(os.fsencode(objects)) + b"\n"
    with folder.folder("objects") as own, own.folder("info", create=True) as info:
        try:
            with info.open("alternates") as file:
                if file.read(0, _MAX_BYTES) == line:
                    return
        except UnavailableError as error:
            if error.reason != Reason.NOT_FOUND:
                raise
        publish(info, "alternates", line)


def quoted_path(path: bytes) -> bytes:
    """Return a path as git's own quoting spells it, so that a line end in it ends no line."""
    shown = bytearray(b'"')
    for byte in path:
        if byte in b'"\\':
            shown += b"\\" + bytes((byte,))
        elif byte < 0x20 or byte >= 0x7F:
            shown += b"\\%03o" % byte
        else:
            shown.append(byte)
    return bytes(shown + b'"')


def _below(folder: Folder, prefix: str) -> Iterator[str]:
    for name in folder.names():
        if name.startswith("."):
            continue
        found = folder.look(name)
        if found is not None and found.is_folder:
            with folder.folder(name) as inner:
                yield from _below(inner, f"{prefix}/{name}")
        elif found is not None and found.is_file:
            yield f"{prefix}/{name}"
