"""Sweeping the pool: what no manifest names goes, while its lock is held alone.

Rules (spec/snapshot.md, Sweeping):
1. What is needed is told by every manifest there is. One that cannot be read stops the sweep before anything goes.
2. A pack is written anew under a partial name, synced, named, its name synced; only then do the packs it stands for go.
   A sweep that dies leaves contents twice, never none, and the next one goes on from there.
3. What is found to be damaged while a pack is written anew leaves that pack as it is.

Which contents go is `rules.tree.sweeping`'s saying.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.tree.address import blob_parts
from docket.formats.tree.pack import Row
from docket.host.disk import Folder
from docket.stores.blob_batch import PACKS
from docket.stores.packs import MAX_PACK_BYTES, PARTIAL_SUFFIX, PackWriter, is_pack, pack_name, packed_stream, seal
from docket.stores.pool import Pool
from docket.stores.snapshots import MANIFEST, manifest_folders, named_by

Rewritten = Sequence[tuple[str, tuple[Row, ...]]]


def needed_by(snapshots: Folder, *, without: Iterable[str] = ()) -> dict[bytes, int]:
    """Return the sizes of all contents, by digest, that manifests name, but for those of the sessions given.

    UnavailableError or InvalidDocumentError where one of them cannot be read, with its path.
    """
    left_out, sizes = frozenset(without), dict[bytes, int]()
    for name in manifest_folders(snapshots):
        if name not in left_out:
            try:
                with snapshots.folder(name) as session:
                    sizes |= named_by(session).sizes
            except InvalidDocumentError as error:
                where = snapshots.path / name / MANIFEST
                detail = f"{where} cannot be read, so nobody knows what it needs: {error.detail}"
                hint = "docket snapshots verify tells of it; if nothing of it is wanted, remove that folder"
                raise InvalidDocumentError(error.reason, detail, hint=hint) from error
    return sizes


def large_contents(contents: Folder) -> dict[bytes, int]:
    """Return the sizes of the contents that stand in files of their own, by digest."""
    found = {}
    for fan in contents.names():
        if len(fan) == 2:
            with suppress(UnavailableError), contents.folder(fan) as inner:
                for name in inner.names():
                    with suppress(ValueError):
                        figures = inner.look(name)
                        if figures is not None and figures.is_file and len(fan + name) == 64:
                            found[bytes.fromhex(fan + name)] = figures.size_bytes
    return found


def remove_files(contents: Folder, digests: Iterable[bytes]) -> None:
    """Remove contents that stand in files of their own."""
    for digest in digests:
        fan, rest = blob_parts(digest.hex())
        with contents.folder(fan) as inner:
            inner.remove(rest)


def remove_packs(contents: Folder, names: Sequence[str]) -> None:
    """Remove packs, and what a sweep that died had begun."""
    if contents.identity(PACKS) is None:
        return
    with contents.folder(PACKS) as folder:
        leftovers = [name for name in folder.names() if name.endswith(PARTIAL_SUFFIX)]
        for name in (*names, *leftovers):
            folder.remove(name)


def rewrite_packs(pool: Pool, rewritten: Rewritten) -> tuple[str, ...]:
    """Write packs anew with the rows that stay, several into one; return the packs that were left as they are.

    UnavailableError where it cannot be written: then all that was there is still there.
    """
    damaged: list[str] = []
    waiting = list(rewritten)
    while waiting:
        batch, size = [waiting.pop(0)], 0
        while waiting and (size := size + sum(row[2] for row in batch[-1][1])) < MAX_PACK_BYTES:
            batch.append(waiting.pop(0))
        damaged += _rewrite(pool, batch)
    return tuple(damaged)


def _rewrite(pool: Pool, batch: Rewritten) -> list[str]:
    with pool.contents.folder(PACKS) as folder:
        name, written, damaged = pack_name(), list[Row](), list[str]()
        partial = f"{name}{PARTIAL_SUFFIX}"
        try:
            with folder.create(partial) as target:
                writer = PackWriter(target)
                for source, rows in batch:
                    try:
                        written += _copied(folder, source, rows, writer)
                    except InvalidDocumentError:
                        damaged.append(source)
                seal(target, written)
            folder.claim(partial, name)
            folder.sync()
        except DocketError:
            with suppress(DocketError):
                folder.remove(partial)
            raise
        for source, _ in batch:
            if source not in damaged:
                folder.remove(source)
        folder.sync()
    return damaged


def _copied(folder: Folder, source: str, rows: Sequence[Row], writer: PackWriter) -> list[Row]:
    copied = []
    with folder.open(source) as file:
        for row in rows:
            with packed_stream(file, row) as stream:
                data = b"".join(stream)
            copied.append((row[0], writer.add(row[0], data), len(data)))
    return copied


def unreadable_packs(pool: Pool) -> tuple[str, ...]:
    """Return the names of packs that cannot be read; they are left as they are."""
    readable = {pack.name for pack in pool.packs()}
    with suppress(UnavailableError), pool.contents.folder(PACKS) as folder:
        return tuple(name for name in folder.names() if is_pack(name) and name not in readable)
    return ()
