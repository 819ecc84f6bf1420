"""Which paths of a git worktree differ from its index, asked of git with none of the person's configuration.

Rules (spec/windows.md, Nomination):
1. git works on a copy of the index, in a folder of its own: its times are those of the original, so that what git
   takes for unchanged is what it would take for unchanged there. No lock of the person's repository is taken.
2. Nominated is what differs from the index by status or bytes (no line ends, no filters), what is neither tracked nor
   ignored, and what is known of the index (`index_notes`): what is staged, what differs where no status tells it.
3. The ignore patterns are the tree's own, those of the repository and the person's. They nominate and decide nothing
   else.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from docket.errors import DocketError, PartialEvidenceError
from docket.formats.dataclass import dataclass
from docket.formats.windows.names import Hashes, PartialReason
from docket.host.clearing import remove_tree
from docket.host.disk_errors import reported
from docket.host.git_place import GitPlace, global_excludes
from docket.host.git_program import Deadline, GitWorkplace, run_together
from docket.host.regular_file import open_regular_file
from docket.stores.windows.git_store import GitStore, quoted_path
from docket.stores.windows.index_notes import IndexState, known_notes, noted

MAX_INDEX_BYTES = 1024**3
_EMPTY_TREES = {
    Hashes.SHA1: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    Hashes.SHA256: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_RAW = re.compile(rb":\d{6} \d{6} [0-9a-f]+ [0-9a-f]+ [A-Z]\d*\0([^\0]+)\0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """A folder in which git works for one look: a copy of the index at `index`, a HEAD that says nothing."""

    workplace: GitWorkplace
    index: Path
    index_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Nominated:
    """Paths to look at; `unseen` are those among them that need not be on the disk, `repositories` submodules."""

    paths: frozenset[bytes] = frozenset()
    unseen: frozenset[bytes] = frozenset()
    repositories: frozenset[bytes] = frozenset()


@contextmanager
def workbench(store: GitStore) -> Iterator[Workbench]:
    """Make a folder for one look, and remove it afterwards."""
    folder = store.work / os.urandom(8).hex()
    index = folder / "index"
    with reported("make", folder):
        folder.mkdir(mode=0o700)
    try:
        with reported("write", folder):
            (folder / "HEAD").write_bytes(b"ref: refs/heads/none\n")
            (folder / "commondir").write_bytes(os.fsencode(store.folder) + b"\n")
            digest = _copy_index(store.place, folder, index)
        borrowed = quoted_path(os.fsencode(store.place.objects)).decode("ascii")
        extra = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": borrowed} if store.is_inner else {}
        place = GitWorkplace(git_dir=folder, worktree=store.place.worktree, index=index, extra=extra)
        yield Workbench(workplace=place, index=index, index_sha256=digest)
    finally:
        with suppress(DocketError):
            remove_tree(folder)


def nominate(store: GitStore, bench: Workbench, head: str | None, deadline: Deadline) -> Nominated:
    """Return the paths to look at."""
    raw = ("--raw", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
    base = head or _EMPTY_TREES[store.hashes]
    ignored = [f"--exclude-from={path}" for path in exclude_files(store.place)]
    of_index = IndexState(sha256=bench.index_sha256, head=head)
    notes = known_notes(store, of_index)
    commands = [
        ("diff-files", *raw),
        ("ls-files", "-z", "--others", "--exclude-per-directory=.gitignore", *ignored),
    ]
    if notes is None:
        commands += [("ls-files", "-z", "-s", "-v"), ("diff-index", "--cached", *raw, base)]
    changed, others, *told = run_together(bench.workplace, commands, deadline)
    if notes is None:
        notes = noted(store, bench.workplace, of_index, (told[0], _names(told[1])), deadline)
    paths = notes.unwatched.union(
        notes.filtered, notes.repositories, notes.staged, _names(changed), others.split(b"\0")[:-1]
    )
    return Nominated(paths=paths, unseen=notes.unseen, repositories=notes.repositories)


def exclude_files(place: GitPlace) -> list[Path]:
    """Return the files of ignore patterns outside the tree that there are."""
    own = global_excludes(os.environ.get("HOME"), os.environ.get("XDG_CONFIG_HOME"))
    return [path for path in (own, place.common_dir / "info/exclude") if path is not None and path.is_file()]


def exclude_digest(place: GitPlace) -> str:
    """Return the SHA-256 of the ignore patterns outside the tree."""
    digest = hashlib.sha256()
    for path in exclude_files(place):
        with suppress(OSError), open_regular_file(path) as file:
            digest.update(b"%b\0" % file.read())
    return digest.hexdigest()


def _names(raw: bytes) -> list[bytes]:
    found = _RAW.findall(raw)
    if raw.count(b"\0") != 2 * len(found):
        raise PartialEvidenceError(PartialReason.MALFORMED_STATUS, "git's list of changed paths cannot be read")
    return found


def _copy_index(place: GitPlace, folder: Path, index: Path) -> str:
    try:
        with open_regular_file(place.git_dir / "index") as source:
            status = os.fstat(source.fileno())
            data = source.read(MAX_INDEX_BYTES)
    except FileNotFoundError:
        return hashlib.sha256().hexdigest()
    index.write_bytes(data)
    for shared in place.git_dir.glob("sharedindex.*") if b"link" in data else ():
        with open_regular_file(shared) as source:
            (folder / shared.name).write_bytes(source.read(MAX_INDEX_BYTES))
    # git compares a file's time with the index's own to know what it must read again.
    os.utime(index, ns=(status.st_atime_ns, status.st_mtime_ns))
    return hashlib.sha256(data).hexdigest()  # its own trailer may be left out (index.skipHash)
