"""Reading objects out of a git object folder with `git cat-file --batch`, and nothing else of git.

Rules:
1. The program runs against an empty repository of docket's own that borrows the object folder: the repository's
   configuration, hooks, attributes, replacements and remotes are never read, so none of its programs is executed and
   nothing is fetched. Nothing is written to it.
2. Its environment is fixed: of docket's own only PATH is handed on.
3. One object is read at a time, streamed; one that was not read to its end is skipped before the next.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host.git_environment import fixed_environment

_OBJECT_NAME = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?", re.ASCII)
_HEAD = re.compile(rb"[0-9a-f]{40,64} ([a-z]+) ([0-9]+)\n")
_CONFIG = "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{extensions}"
_SHA256 = "[extensions]\n\tobjectformat = sha256\n"
_CHUNK_BYTES = 64 * 1024


def empty_repository(home: Path, *, is_sha256: bool = False) -> None:
    """Make an empty bare repository in a folder, for git to find that and nothing else."""
    (home / "refs").mkdir()
    (home / "objects").mkdir()
    (home / "HEAD").write_text("ref: refs/heads/none\n")
    extensions = _SHA256 if is_sha256 else ""
    (home / "config").write_text(_CONFIG.format(version=int(is_sha256), extensions=extensions))


def _index_at(index: Path | None) -> dict[str, str]:
    return {} if index is None else {"GIT_INDEX_FILE": str(index)}


class GitBatch:
    """A running `git cat-file --batch` over the object folder of a repository; close it."""

    def __init__(self, objects: Path, *, is_sha256: bool = False, index: Path | None = None) -> None:
        """Start it; UnavailableError(PROGRAM_MISSING) where there is no git. `index` is what `begin_in_index` reads."""
        self._home = Path(tempfile.mkdtemp(prefix="docket-git-"))
        self._left = 0
        self._process: subprocess.Popen[bytes] | None = None
        try:
            empty_repository(self._home, is_sha256=is_sha256)
            self._process = subprocess.Popen(
                ["git", "--no-replace-objects", "cat-file", "--batch"],
                cwd=self._home,
                env={**fixed_environment(self._home), "GIT_OBJECT_DIRECTORY": str(objects), **_index_at(index)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except FileNotFoundError as error:
            self.close()
            raise UnavailableError(Reason.PROGRAM_MISSING, "git is not installed") from error
        except OSError as error:
            self.close()
            raise UnavailableError(Reason.PROGRAM_NOT_RUNNABLE, f"git cannot be run: {error.strerror}") from error

    def begin(self, name: str) -> int | None:
        """Begin to read the blob of that object name and return its size; None where there is no such blob."""
        return self._begin(name.encode()) if _OBJECT_NAME.fullmatch(name) else None

    def begin_in_commit(self, commit: str, path: bytes) -> int | None:
        """Begin to read the file at a path of a commit, as `begin` does."""
        return self._begin(b"%b:%b" % (commit.encode(), path)) if _OBJECT_NAME.fullmatch(commit) else None

    def begin_in_index(self, path: bytes) -> int | None:
        """Begin to read the file at a path of the index, as `begin` does; a path in conflict is none."""
        return self._begin(b":0:" + path)

    def tree(self, name: str) -> bytes | None:
        """Return a tree object as git keeps it; None where there is no such tree."""
        size = self._begin(name.encode(), b"tree") if _OBJECT_NAME.fullmatch(name) else None
        if size is None:
            return None
        pieces = []
        while piece := self.read(size):
            pieces.append(piece)
        return b"".join(pieces)

    def _begin(self, asked: bytes, kind: bytes = b"blob") -> int | None:
        if b"\n" in asked:
            return None
        self._skip()
        source, sink = self._pipes()
        try:
            sink.write(asked + b"\n")
            sink.flush()
            line = source.readline()
        except OSError as error:
            raise self._gone() from error
        if not line:
            raise self._gone()
        head = _HEAD.fullmatch(line)
        if head is None:
            return None
        self._left = int(head[2]) + 1  # a line end stands behind the content
        if head[1] != kind:
            self._skip()
            return None
        return int(head[2])

    def read(self, size: int) -> bytes:
        """Return up to `size` of the next bytes of the object begun, none at its end."""
        wanted = min(size, self._left - 1)
        if wanted <= 0:
            return b""
        source, _ = self._pipes()
        data = source.read(wanted)
        if not data:
            raise self._gone()
        self._left -= len(data)
        return data

    def close(self) -> None:
        """End the program and remove the empty repository."""
        process, self._process = self._process, None
        if process is not None:
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            process.kill()
            process.wait()
        shutil.rmtree(self._home, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        process = self._process
        if process is None or process.stdout is None or process.stdin is None:
            raise self._gone()
        return process.stdout, process.stdin

    def _skip(self) -> None:
        source, _ = self._pipes()
        while self._left > 0:
            data = source.read(min(self._left, _CHUNK_BYTES))
            if not data:
                raise self._gone()
            self._left -= len(data)

    @staticmethod
    def _gone() -> UnavailableError:
        return UnavailableError(Reason.UNREADABLE, "git ended while an object was read from it")
