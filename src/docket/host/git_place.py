"""Where a git repository stands and what it has checked out, read from its own files: no program is run for it.

Rules:
1. A worktree is the nearest folder upwards with a `.git` that is a repository's: a folder with HEAD and objects, or a
   file that names one. A linked worktree's `commondir` is followed.
2. Nothing of the configuration counts but the object format and where references are kept.
3. What git's files do not say plainly (references in another store, a chain of names that does not end) is an error
   with its reason, never a guess.

Objects are read elsewhere (`host.git_batch`, `host.git_program`).
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from pathlib import Path

from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.windows.names import Hashes
from docket.host.regular_file import open_regular_file

MAX_SMALL_BYTES = 64 * 1024
MAX_PACKED_BYTES = 256 * 1024 * 1024
_COMMIT = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SECTION = re.compile(rb'\s*\[\s*([A-Za-z0-9.-]+)\s*(?:"(?:[^"\\]|\\.)*"\s*)?\]\s*')
_SETTING = re.compile(rb"\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*\"?([^\"#;]*)\"?")
_MAX_LINKS = 5
_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ELOOP)
_OWN_REFS = (b"refs/bisect/", b"refs/worktree/", b"refs/rewritten/")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPlace:
    """A worktree with its git folder and the one that it shares with others (the same, in a main worktree)."""

    worktree: Path
    git_dir: Path
    common_dir: Path
    identity: tuple[int, int]
    """Device and inode of the git folder: a worktree that was made anew under an old name is another one."""

    @property
    def objects(self) -> Path:
        """The folder of the objects."""
        return self.common_dir / "objects"


def find_git_place(start: Path) -> GitPlace | None:
    """Return the worktree that a folder is in, None where it is in none."""
    here = Path(os.path.realpath(start))
    for folder in (here, *here.parents):
        found = git_place_at(folder)
        if found is not None:
            return found
    return None


def object_format(place: GitPlace) -> Hashes:
    """Return what names objects there; UnavailableError for references in another store than files."""
    settings = _extensions(_read(place.common_dir / "config", MAX_PACKED_BYTES) or b"")
    if settings.get(b"refstorage", b"files") != b"files":
        detail = f"{place.common_dir} keeps references in another store than files"
        raise UnavailableError(Reason.UNREADABLE, detail)
    name = settings.get(b"objectformat", b"sha1")
    if name not in (b"sha1", b"sha256"):
        raise UnavailableError(Reason.UNREADABLE, f"{place.common_dir} has objects of an unknown format")
    return Hashes.SHA256 if name == b"sha256" else Hashes.SHA1


def checked_out(place: GitPlace) -> str | None:
    """Return the commit that HEAD stands on, None on a branch without one; UnavailableError where nothing is told."""
    name = b"HEAD"
    for _ in range(_MAX_LINKS):
        value = _reference(place, name)
        if value is None:
            if name == b"HEAD":
                raise UnavailableError(Reason.UNREADABLE, f"{place.git_dir} has no HEAD")
            return None
        if not value.startswith(b"ref:"):
            if not _COMMIT.fullmatch(value):
                raise UnavailableError(Reason.UNREADABLE, f"what HEAD of {place.git_dir} names is no commit")
            return value.decode("ascii")
        name = value[4:].strip()
        if not name.startswith(b"refs/") or b"/../" in name + b"/" or b"\0" in name:
            raise UnavailableError(Reason.UNREADABLE, f"HEAD of {place.git_dir} names no reference")
    raise UnavailableError(Reason.UNREADABLE, f"HEAD of {place.git_dir} leads in a circle")


def head_log_bytes(place: GitPlace) -> int:
    """Return how long the log of HEAD is; 0 where none is kept."""
    with suppress(OSError):
        return (place.git_dir / "logs/HEAD").lstat().st_size
    return 0


def head_log_moves(place: GitPlace, since_bytes: int) -> int:
    """Return how many entries the log of HEAD has beyond so many bytes."""
    with suppress(OSError), open_regular_file(place.git_dir / "logs/HEAD") as log:
        log.seek(since_bytes)
        return log.read(MAX_PACKED_BYTES).count(b"\n")
    return 0


def global_excludes(home: str | None, config_home: str | None) -> Path | None:
    """Return where git looks for a person's own ignore patterns, unless they configured another place."""
    folder = Path(config_home) if config_home else Path(home) / ".config" if home else None
    return None if folder is None else folder / "git/ignore"


def git_place_at(folder: Path) -> GitPlace | None:
    """Return the worktree whose top this very folder is, None where it is none."""
    marker = folder / ".git"
    git_dir = marker
    if marker.is_file():
        named = _read(marker, MAX_SMALL_BYTES) or b""
        if not named.startswith(b"gitdir:"):
            return None
        git_dir = folder / os.fsdecode(named[7:].strip(b" \r\n"))
    common = git_dir
    shared = _read(git_dir / "commondir", MAX_SMALL_BYTES)
    if shared is not None:
        common = git_dir / os.fsdecode(shared.rstrip(b"\r\n"))
    if not (git_dir / "HEAD").is_file() or not (common / "objects").is_dir():
        return None
    real = Path(os.path.realpath(git_dir))
    status = real.stat()
    return GitPlace(
        worktree=folder,
        git_dir=real,
        common_dir=Path(os.path.realpath(common)),
        identity=(status.st_dev, status.st_ino),
    )


def _reference(place: GitPlace, name: bytes) -> bytes | None:
    own = name == b"HEAD" or name.startswith(_OWN_REFS)
    folder = place.git_dir if own else place.common_dir
    loose = _read(folder / os.fsdecode(name), MAX_SMALL_BYTES)
    if loose is not None:
        return loose.strip()
    packed = _read(place.common_dir / "packed-refs", MAX_PACKED_BYTES) or b""
    found = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(name) + rb"$", packed, re.MULTILINE)
    return found[1] if found else None


def _extensions(config: bytes) -> dict[bytes, bytes]:
    settings: dict[bytes, bytes] = {}
    section = b""
    for line in config.split(b"\n"):
        header = _SECTION.match(line)
        if header is not None:
            section = header[1].lower()
        setting = _SETTING.match(line, 0 if header is None else header.end())
        if setting is not None and section == b"extensions":
            settings[setting[1].lower()] = setting[2].strip().lower()
    return settings


def _read(path: Path, most: int) -> bytes | None:
    """Return a file's bytes, None where there is none; UnavailableError for one that is too large or unreadable."""
    try:
        with open_regular_file(path) as file:
            data = file.read(most + 1)
    except ValueError:  # no path at all
        return None
    except OSError as error:
        if error.errno in _NO_FILE:
            return None
        raise UnavailableError(Reason.UNREADABLE, f"cannot read {path}: {error.strerror}") from error
    if len(data) > most:
        raise UnavailableError(Reason.TOO_LARGE, f"{path} is larger than {most:,} bytes")
    return data
