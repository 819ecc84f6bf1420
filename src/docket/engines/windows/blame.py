"""Whose line is this: a file of a tree as it stands, with where each line comes from (spec/windows.md, Blame).

It gathers what is recorded and asks `rules.windows.blame`. It writes nothing, and finishes nothing that a hook left.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path

from docket.engines.windows.large_deltas import LARGE_BYTES, MOST_HELD, FilesOfLarge
from docket.errors import DocketError, UnavailableError, UsageError
from docket.formats.dataclass import dataclass, replace
from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.windows.delta import Delta, FileDelta, decode_delta
from docket.formats.windows.key import WindowKey
from docket.formats.windows.names import Hashes
from docket.formats.windows.registry import OpenWindow
from docket.host.tree_files import TreeFiles
from docket.rules.line_difference import split_lines
from docket.rules.windows.blame import PresentFile, Sights, blame
from docket.rules.windows.blame_history import History, Recorded, history_of
from docket.rules.windows.naming import content_name
from docket.rules.windows.origin import LineOrigin
from docket.stores.windows.evidence import Evidence
from docket.stores.windows.registry_file import RegistryFile

MAX_FILE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """The model call that asked for a tool use, as far as it is joined. Derived.

    `provider` and `model` are what the call names, `cost_usd` a decimal string.
    """

    provider: str | None = None
    model: str | None = None
    cost_usd: str | None = None


def _unjoined(_key: WindowKey) -> ModelCall | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameWorld:
    """The ports. `calls` joins a tool use with the model call that asked for it."""

    root: Path
    hashes: Hashes
    history: History
    sights: Sights
    calls: Callable[[WindowKey], ModelCall | None] = _unjoined


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBlame:
    """A file as it stands: its lines without line feeds, and where each comes from. `name` is its content's."""

    path: RelPath
    name: str
    content: bytes
    lines: tuple[bytes, ...]
    origins: tuple[LineOrigin, ...]


def recorded_history(
    repository: str, registry: RegistryFile, evidence: Evidence, landings: Mapping[str, str] | None = None
) -> History:
    """Return the history of a tree. What cannot be read of it is a tool that may have run at any time.

    `landings` are the instants at which the stages of runs landed, by the runs' session ids.
    """
    unreadable, running = 0, tuple[OpenWindow, ...]()
    try:
        running = registry.read().windows
    except DocketError:
        unreadable = 1
    there = evidence.count_closed()
    closed = tuple(evidence.every_closed())
    deltas, files = _deltas(evidence, {record.delta_sha256 for record in closed})
    return history_of(
        Recorded(
            repository=repository,
            closed=closed,
            deltas=deltas,
            tombstones=tuple(evidence.every_tombstone()),
            open=running,
            unreadable=unreadable + max(there - len(closed), 0),
            landings=landings or {},
            files=files,
        )
    )


def _deltas(
    evidence: Evidence, digests: Iterable[Digest]
) -> tuple[dict[Digest, Delta], dict[Digest, Mapping[RelPath, FileDelta]]]:
    """Return the deltas that can be read, and apart from them the files of those that are large."""
    deltas, files = dict[Digest, Delta](), dict[Digest, Mapping[RelPath, FileDelta]]()

    @lru_cache(maxsize=MOST_HELD)
    def read(digest: Digest) -> Mapping[RelPath, FileDelta]:
        return {file.path: file for file in evidence.delta(digest).files}

    for digest in digests:
        with suppress(DocketError):
            document = evidence.delta_document(digest)
            delta = decode_delta(document)
            if len(document) >= LARGE_BYTES:
                paths = frozenset(file.path for file in delta.files)
                files[digest] = FilesOfLarge(paths, partial(read, digest))
                delta = replace(delta, files=())
            deltas[digest] = delta
    return deltas, files


def blame_file(path: RelPath, world: BlameWorld) -> FileBlame:
    """Return the blame of a regular file; UsageError where there is none."""
    content = _read(world.root, path)
    name = content_name(content, world.hashes)
    origins = blame(PresentFile(path=path, content=content, name=name), world.history, world.sights)
    return FileBlame(path=path, name=name, content=content, lines=split_lines(content).lines, origins=origins)


def _read(root: Path, path: RelPath) -> bytes:
    try:
        with TreeFiles(os.fsencode(root)) as files:
            descriptor = files.open(path)
    except UnavailableError as error:
        raise UsageError(error.reason, error.detail) from error
    with os.fdopen(descriptor, "rb") as stream:
        content = stream.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise UnavailableError(Reason.TOO_LARGE, f"{path} has more than {MAX_FILE_BYTES:,} bytes")
    return content
