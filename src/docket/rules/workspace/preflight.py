"""What must hold before anything of a transaction is registered or copied, and before it commits.

Rules (spec/workspace.md, Preconditions):
1. The base is neither the root of the file system nor a home; base and state folder do not lie in one another.
2. What the stage takes, with a tenth more and a reserve, fits on the disk; so does a commit on the base's.
3. In a stage that stands at another path than its base nothing leads back into the base: no link to an absolute path
   in it, no `.git` file, worktree setting or alternate that names a place outside of the stage. Nothing is followed
   silently.
4. Every refusal names both numbers or both paths.

Pure; what is looked at is handed in.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import FileEntry, Listing
from docket.formats.tree.parts import links_of, paths_ending, records_at
from docket.formats.visible import visible
from docket.rules.workspace.git_reach import COMMON, GIT, GITDIR, WORKTREE, is_within, places_outside

RESERVE_BYTES = 64 * 1024 * 1024
RESERVE_INODES = 1024
MAX_ENTRIES = 2_000_000
MAX_NAMED = 5
_DOCUMENT_NAMES = (GIT, COMMON, b"config", b"config.worktree", b"alternates")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a transaction does not begin, or does not commit."""

    reason: Reason
    detail: str
    hint: str | None = None


def place_refusal(base: bytes, state: bytes, home: bytes | None) -> Refusal | None:
    """Refuse a base that is nobody's project, or that shares its place with the state; all are real paths."""
    if base == b"/" or (home is not None and base == home):
        detail = f"{visible(base)} is not staged: a copy of it is never what was meant"
        return Refusal(reason=Reason.BASE_REFUSED, detail=detail, hint="name a project with --cwd")
    if is_within(state, base) or is_within(base, state):
        detail = f"the tree {visible(base)} and the state folder {visible(state)} lie in one another"
        return Refusal(reason=Reason.NESTED, detail=detail, hint="set DOCKET_STATE_DIR to a folder outside the tree")
    return None


def room_refusal(listing: Listing, free_bytes: int | None, free_inodes: int | None) -> Refusal | None:
    """Refuse a stage that is too large, or that the disk of the state folder cannot hold."""
    counts = listing.counts
    entries = counts.files + counts.directories + counts.symlinks
    if entries > MAX_ENTRIES:
        detail = f"the stage needs {entries:,} entries and may have {MAX_ENTRIES:,}"
        return Refusal(reason=Reason.TOO_LARGE, detail=detail, hint="leave out what need not be staged")
    for needed, free, reserve, what in (
        (counts.bytes, free_bytes, RESERVE_BYTES, "bytes"),
        (entries, free_inodes, RESERVE_INODES, "inodes"),
    ):
        if free is not None and needed + needed // 10 + reserve > free:
            wanted = needed + needed // 10 + reserve
            detail = f"the stage needs {wanted:,} {what}, a reserve included, and the state folder's disk has {free:,}"
            hint = "leave out what need not be staged with --workspace-tx-exclude, or set DOCKET_STATE_DIR"
            return Refusal(reason=Reason.NO_SPACE, detail=detail, hint=hint)
    return None


def leads_into_base(listing: Listing, base: bytes, documents: Iterable[tuple[RelPath, bytes]]) -> Refusal | None:
    """Refuse what, in a stage at another path, would lead out of it and back; `documents` are git's, as they stand."""
    outside = places_outside(listing, base, ())
    found = [*_links(listing, base), *_git_documents(base, documents)]
    found += [f"{item.path} (git's own, a link to {visible(item.place)})" for item in outside]
    if not found:
        return None
    more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    detail = f"in a stage these would lead back to the real tree or to nothing: {', '.join(found[:MAX_NAMED])}{more}"
    hint = "leave them out with --workspace-tx-exclude, or use a backend that stages at the tree's own path"
    return Refusal(reason=Reason.LEADS_INTO_BASE, detail=detail, hint=hint)


def git_documents(listing: Listing) -> tuple[RelPath, ...]:
    """Return the files of a listing by which git finds other places."""
    named = (path for path in paths_ending(listing, *_DOCUMENT_NAMES) if _is_git_document(path.parts))
    return tuple(path for path, record in records_at(listing, named).items() if isinstance(record, FileEntry))


def _is_git_document(parts: tuple[bytes, ...]) -> bool:
    if parts[-1] == GIT:
        return True
    if GIT not in parts:
        return False
    return parts[-1] in (b"config", b"config.worktree", COMMON) or parts[-3:] == (b"objects", b"info", b"alternates")


def _links(listing: Listing, base: bytes) -> Iterator[str]:
    for entry in links_of(listing):
        if entry.target.startswith(b"/"):
            target = posixpath.normpath(entry.target)
            if is_within(target.replace(b"//", b"/", 1) if target.startswith(b"//") else target, base):
                yield f"{entry.path} (a link to {visible(entry.target)})"


def _git_documents(base: bytes, documents: Iterable[tuple[RelPath, bytes]]) -> Iterator[str]:
    for path, data in documents:
        where = posixpath.dirname(base + b"/" + path.raw)
        if path.parts[-1] == GIT:
            named = GITDIR.match(data)
            if named is not None and not _stays(named[1], where, base):
                yield f"{path} (a repository at {visible(named[1])})"
        elif path.parts[-1] == COMMON:
            if not _stays(data.rstrip(b"\r\n"), where, base):
                yield f"{path} (a repository at {visible(data.rstrip())})"
        elif path.parts[-1] == b"alternates":
            for line in data.split(b"\n"):
                outside = line and not line.startswith((b"#", b"/"))
                if outside and not _stays(line, posixpath.dirname(where), base):
                    yield f"{path} (objects at {visible(line)})"
        else:
            for setting in WORKTREE.findall(data):
                if not _stays(setting.strip(b'"'), where, base):
                    yield f"{path} (a working tree at {visible(setting)})"


def _stays(target: bytes, where: bytes, base: bytes) -> bool:
    """Whether a path that is told from `where` is relative and stays within the base."""
    if target.startswith((b"/", b"~")):
        return False
    return is_within(posixpath.normpath(where + b"/" + target), base)
