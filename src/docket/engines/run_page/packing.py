"""Bytes as a page carries them: gzip in base64, made as they are read, with their size and their digest.

Equal bytes are packed equally: the time and the name in gzip's head are empty.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Iterator

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest

MOST_PACKED_BYTES = 32 * 1024 * 1024
# Beyond, the time that is saved is worth more than the fifth that a page grows by.
_LARGE_BYTES = 8 * 1024 * 1024
_LEVEL, _LEVEL_OF_LARGE, _WITH_HEAD = 6, 1, 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """`coded` is the gzip in base64, None where it is more than MOST_PACKED_BYTES; the others are of the bytes."""

    coded: str | None
    size_bytes: int
    sha256: Digest


class Packer:
    """Packs what passes through it; `size_bytes` is how much that will be, as far as is known."""

    def __init__(self, size_bytes: int = 0) -> None:
        self._deflate = zlib.compressobj(
            _LEVEL_OF_LARGE if size_bytes > _LARGE_BYTES else _LEVEL, zlib.DEFLATED, _WITH_HEAD
        )
        self._hash = hashlib.sha256()
        self._parts: list[bytes] = []
        self._packed_bytes = self._size_bytes = 0

    def through(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the chunks, each packed on its way."""
        for chunk in chunks:
            self.add(chunk)
            yield chunk

    def add(self, chunk: bytes) -> None:
        """Pack the next bytes."""
        self._hash.update(chunk)
        self._size_bytes += len(chunk)
        self._keep(self._deflate.compress(chunk))

    def finish(self) -> Packed:
        """Return all that was packed."""
        self._keep(self._deflate.flush())
        fits = self._packed_bytes * 4 // 3 <= MOST_PACKED_BYTES
        return Packed(
            coded=base64.b64encode(b"".join(self._parts)).decode("ascii") if fits else None,
            size_bytes=self._size_bytes,
            sha256=Digest(self._hash.hexdigest()),
        )

    def _keep(self, part: bytes) -> None:
        self._packed_bytes += len(part)
        if self._packed_bytes * 4 // 3 <= MOST_PACKED_BYTES:
            self._parts.append(part)
        else:
            self._parts.clear()


def packed(data: bytes) -> Packed:
    """Return bytes packed."""
    packer = Packer(len(data))
    packer.add(data)
    return packer.finish()


__all__ = ["MOST_PACKED_BYTES", "Packed", "Packer", "packed"]
