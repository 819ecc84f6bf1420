"""What a redacted copy of a record says of itself in its first event (spec/ledger.md, Redacted copies).

Rules:
1. A ledger with these facts is a copy that was made from another one; what it hides nobody can find in it.
2. `commitment` binds the copy to the other one's head and tells nobody what that is: see `commitment_of`.

How a copy is made is `rules.redaction`.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest

OPENING_BYTES = 32


class Profile(StrEnum):
    """What a copy hides."""

    ARGV = "argv"
    HOSTS = "hosts"
    NAMES = "names"
    PATHS = "paths"
    SECRETS = "secrets"


class NotCarried(StrEnum):
    """What the other record had, or may have had beside it, and a copy has not."""

    CHECKPOINTS = "checkpoints"
    DELTAS = "deltas"
    PREVIOUS_RUN = "previous-run"
    RESPONSES = "responses"
    SEAL = "seal"
    SIGNATURE = "signature"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionFacts:
    """`profiles` are of Profile, `not_carried` of NotCarried, both sorted; `replaced` counts values that were."""

    profiles: tuple[str, ...]
    replaced: int
    not_carried: tuple[str, ...]
    commitment: Digest


def commitment_of(opening: bytes, head: Digest) -> Digest:
    """Return the commitment to a ledger's head: SHA-256 of OPENING_BYTES bytes by chance and the head's 32 bytes."""
    return Digest(hashlib.sha256(opening + bytes.fromhex(head)).hexdigest())
