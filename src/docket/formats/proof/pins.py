"""The keys that somebody who verifies names: whose word they will take."""

from __future__ import annotations

from docket.formats.dataclass import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedKey:
    """A signer's public key, 32 bytes, and what whoever named it calls it, if anything."""

    public_key: bytes
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedSeal:
    """A key that seals, and what whoever named it calls it, if anything."""

    key: bytes = field(repr=False)
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """The keys that were named: any one of a kind will do.

    `either`: of signature and seal one is enough, where both kinds were named in one list of trusted keys.
    """

    signers: tuple[PinnedKey, ...] = ()
    seals: tuple[PinnedSeal, ...] = ()
    either: bool = False


NO_PINS = Pins()
