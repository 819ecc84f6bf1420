"""The address of a content: what its bytes are called in every store.

What stands under an address has exactly that digest and that size, or nothing stands there. An address names no
place, so no document can point at a file by one.
"""

from __future__ import annotations

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest, sha256

_FANOUT_DIGITS = 2


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """The SHA-256 and the size in bytes of a content; it names no place."""

    sha256: Digest
    size: int

    @classmethod
    def of(cls, data: bytes) -> Address:
        """Return the address of `data`."""
        return cls(sha256(data), len(data))

    def __str__(self) -> str:
        return self.sha256


def blob_parts(digest: str) -> tuple[str, str]:
    """Return the folder and the name of a digest's blob, `<aa>` and `<rest>`: derived from it and nothing else."""
    return digest[:_FANOUT_DIGITS], digest[_FANOUT_DIGITS:]


def blob_name(digest: str) -> str:
    """Return `<aa>/<rest>`, where a digest's blob stands below a store's `blobs`."""
    return "/".join(blob_parts(digest))
