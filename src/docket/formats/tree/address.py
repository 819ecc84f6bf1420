"""The address of a content: what its bytes are called in every store."""

from __future__ import annotations

from dataclasses import dataclass

from docket.formats.digest import Digest


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """The SHA-256 and the size in bytes of a content; it names no place."""

    sha256: Digest
    size: int

    def __str__(self) -> str:
        return self.sha256
