"""Filling a new file: content whose digest is checked as it is written, holes, and everything but the bytes.

Rules:
1. A file is what its address says, or it is not put in place.
2. Holes are left only where they are asked for; the file's size is the content's all the same.
3. Mode and time come last, on the open descriptor: until then the file is its owner's alone.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Protocol

from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.formats.tree.address import Address
from docket.formats.tree.steps import WriteFile
from docket.host.attribute_setting import not_kept, set_attributes
from docket.host.looking import Found
from docket.host.reaching import Refusal
from docket.host.tree_calls import TreeCalls

HOLE_BYTES = 4096
_CHUNK_BYTES = 1024 * 1024


class Content(Protocol):
    """The bytes of one address."""

    def clone_into(self, descriptor: int) -> bool:
        """Make an empty file share or copy the bytes without reading them here; False where that cannot be done."""
        ...

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes in order."""
        ...


def fill(calls: TreeCalls, descriptor: int, step: WriteFile, content: Content) -> Refusal | None:
    """Write the step's content to a new empty file. May raise OSError."""
    if not step.sparse and content.clone_into(descriptor):
        return _compared(step.content, _read_back(descriptor))
    return _compared(step.content, _written(calls, descriptor, step, content))


def dress(calls: TreeCalls, descriptor: int, step: WriteFile, before: Found | None) -> str:
    """Give a filled file its owner, attributes, mode and time; return what could not be kept, in words, or "".

    `before` is the file that stood at the path: its attributes are carried over where the step names none.
    """
    lost: tuple[str, ...] = ()
    if before is not None:
        now, was = os.fstat(descriptor), before.status
        if (now.st_uid, now.st_gid) != (was.st_uid, was.st_gid):
            try:
                calls.chown(descriptor, was.st_uid, was.st_gid)
            except OSError as error:
                if not not_kept(error):
                    raise
                lost = ("owner",)
    carried = () if before is None else before.xattrs
    wanted = carried if step.xattrs is None else step.xattrs
    if wanted:  # a new file has none
        lost += set_attributes(calls, descriptor, wanted)
    calls.chmod(descriptor, step.mode)
    if step.mtime_ns is not None:
        calls.set_mtime(descriptor, step.mtime_ns)
    return f"not kept: {', '.join(lost)}" if lost else ""


def _written(calls: TreeCalls, descriptor: int, step: WriteFile, content: Content) -> Address:
    digest, size = hashlib.sha256(), 0
    for chunk in content.chunks():
        digest.update(chunk)
        size += len(chunk)
        if size > step.content.size:  # what is longer than its address says is never worth the disk it takes
            break
        if step.sparse:
            _write_sparse(calls, descriptor, chunk)
        else:
            calls.write(descriptor, chunk)
    if step.sparse:
        calls.truncate(descriptor, size)
    return Address(Digest(digest.hexdigest()), size)


def _write_sparse(calls: TreeCalls, descriptor: int, chunk: bytes) -> None:
    start, zeros = 0, bytes(HOLE_BYTES)
    for offset in range(0, len(chunk), HOLE_BYTES):
        block = chunk[offset : offset + HOLE_BYTES]
        if block == zeros:
            if start < offset:
                calls.write(descriptor, chunk[start:offset])
            os.lseek(descriptor, HOLE_BYTES, os.SEEK_CUR)
            start = offset + HOLE_BYTES
    if start < len(chunk):
        calls.write(descriptor, chunk[start:])


def _read_back(descriptor: int) -> Address:
    digest, size = hashlib.sha256(), 0
    os.lseek(descriptor, 0, os.SEEK_SET)
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        digest.update(chunk)
        size += len(chunk)
    return Address(Digest(digest.hexdigest()), size)


def _compared(wanted: Address, found: Address) -> Refusal | None:
    if found == wanted:
        return None
    detail = f"the stored content is not what its address {wanted.sha256[:12]} names ({wanted.size} bytes)"
    return Refusal(Reason.CONTENT_DAMAGED, detail, failed=True)
