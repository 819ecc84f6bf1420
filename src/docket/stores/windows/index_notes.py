"""What an index says of its paths that does not change while it and HEAD stay: kept beside the store, by its digest.

Rules (spec/windows.md, Nomination):
1. *Unwatched* are paths that git was told not to compare (assume-unchanged, skip-worktree); *unseen* those among them
   that need not be on the disk.
2. *Filtered* are files that stand on the disk in another form than in the repository: line ends, encodings, pointers
   of large files. They are known by their size, where the repository can have such files at all. What is compared
   after a tool is what stood on the disk before it, so they are looked at before it.
3. *Repositories* are submodules: they are looked into, for an index says only their commit.
4. *Staged* is what the commit that is checked out has in another way.
5. It is a convenience: lost or damaged it costs time.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError
from docket.formats.dataclass import dataclass
from docket.formats.visible import base64_text
from docket.host.durable import temporary_name
from docket.host.git_program import Deadline, GitWorkplace, run_git
from docket.host.regular_file import open_regular_file
from docket.stores.windows.git_store import GitStore

NOTES = "index.notes"
_LISTS = ("unwatched", "unseen", "filtered", "repositories", "staged")
MAX_NOTES_BYTES = 256 * 1024 * 1024
_MAX_CONFIG_BYTES = 1024 * 1024
# A letter (of another case or S for what is not compared), a mode, an object, a stage, a path.
_UNWATCHED = re.compile(rb"(?:\A|(?<=\0))[a-zS] [0-7]{6} [0-9a-f]+ \d\t([^\0]+)\0")
_UNSEEN = re.compile(rb"(?:\A|(?<=\0))[sS] [0-7]{6} [0-9a-f]+ \d\t([^\0]+)\0")
_REPOSITORY = re.compile(rb"(?:\A|(?<=\0))[A-Za-z] 160000 [0-9a-f]+ 0\t([^\0]+)\0")
_ATTRIBUTES = re.compile(rb"[\t/]\.gitattributes\0")
_STAGED = re.compile(rb"(?:\A|(?<=\0))[A-Za-z] 100[0-7]{3} ([0-9a-f]+) 0\t([^\0]+)\0")
_CONVERTING = re.compile(rb"autocrlf|attributesfile|\[\s*include", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """An index by the digest of its bytes, and the commit that is checked out beside it."""

    sha256: str
    head: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexNotes:
    """What is known of one index beside one commit."""

    unwatched: frozenset[bytes] = frozenset()
    unseen: frozenset[bytes] = frozenset()
    filtered: frozenset[bytes] = frozenset()
    repositories: frozenset[bytes] = frozenset()
    staged: frozenset[bytes] = frozenset()


def known_notes(store: GitStore, state: IndexState) -> IndexNotes | None:
    """Return what is known of an index, None where it is not known yet."""
    try:
        with open_regular_file(_path(store)) as file:
            value = json.loads(file.read(MAX_NOTES_BYTES))
        if (value["index"], value["head"]) != (state.sha256, state.head):
            return None
        return IndexNotes(**{name: frozenset(map(base64.b64decode, value[name])) for name in _LISTS})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def noted(
    store: GitStore,
    workplace: GitWorkplace,
    state: IndexState,
    said: tuple[bytes, list[bytes]],
    deadline: Deadline,
) -> IndexNotes:
    """Return, and keep, what is found out of an index from what git lists of it (`-s -v`), and what is staged."""
    told, staged = said
    filtered = _filtered(store, workplace, told, deadline) if _may_convert(store, told) else frozenset[bytes]()
    notes = IndexNotes(
        unwatched=frozenset(_UNWATCHED.findall(told)),
        unseen=frozenset(_UNSEEN.findall(told)),
        filtered=filtered,
        repositories=frozenset(_REPOSITORY.findall(told)),
        staged=frozenset(staged),
    )
    with suppress(DocketError):
        _store(store, state, notes)
    return notes


def _may_convert(store: GitStore, told: bytes) -> bool:
    place = store.place
    if _ATTRIBUTES.search(told) or (place.worktree / ".gitattributes").exists():
        return True
    home = os.environ.get("HOME") or "/"
    own = Path(os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config") / "git"
    attributes = (place.common_dir / "info/attributes", own / "attributes", Path("/etc/gitattributes"))
    configs = (place.common_dir / "config", Path(home) / ".gitconfig", own / "config", Path("/etc/gitconfig"))
    return any(path.exists() for path in attributes) or any(_CONVERTING.search(_text(path)) for path in configs)


def _text(path: Path) -> bytes:
    with suppress(OSError), open_regular_file(path) as file:
        return file.read(_MAX_CONFIG_BYTES)
    return b""


def _filtered(store: GitStore, workplace: GitWorkplace, told: bytes, deadline: Deadline) -> frozenset[bytes]:
    staged = _STAGED.findall(told)
    if not staged:
        return frozenset()
    asked = b"".join(name + b"\n" for name, _ in staged)
    sizes = run_git(workplace, ("cat-file", "--batch-check=%(objectsize)", "--buffer"), deadline, fed=asked)
    root = os.open(store.place.worktree, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return frozenset(
            path
            for (_, path), size in zip(staged, sizes.split(b"\n"), strict=False)
            if size.isdigit() and _size(root, path) not in (None, int(size))
        )
    finally:
        os.close(root)


def _size(root: int, path: bytes) -> int | None:
    with suppress(OSError):
        return os.stat(path, dir_fd=root, follow_symlinks=False).st_size
    return None


def _path(store: GitStore) -> Path:
    git_dir = hashlib.sha256(os.fsencode(store.place.git_dir)).hexdigest()[:16]
    return store.work.parent / f"{NOTES}-{git_dir}"


def _store(store: GitStore, state: IndexState, notes: IndexNotes) -> None:
    path = _path(store)
    value = {"index": state.sha256, "head": state.head, **{name: _coded(getattr(notes, name)) for name in _LISTS}}
    with store.disk.folder(path.parent) as folder:
        temporary = temporary_name(path.name)
        with folder.create(temporary) as file:
            file.append(json.dumps(value).encode())
        folder.replace(temporary, path.name)


def _coded(paths: Iterable[bytes]) -> list[str]:
    return [base64_text(path) for path in sorted(paths)]
