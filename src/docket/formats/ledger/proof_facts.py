"""What a run says at its start of what will vouch for it (spec/ledger.md, Vocabulary; spec/receipt.md, Proof).

Rules:
1. The facts stand in the first event, so that a signature which is later missing, or another's, contradicts the
   record itself.
2. They name keys and never hold one.

How they are made up is `engines.supervise.proving`; what is checked of them is `rules.checks.proof_facts`.
"""

from __future__ import annotations

from enum import StrEnum

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest


class SignatureAlgorithm(StrEnum):
    """How a receipt may be signed."""

    ED25519 = "ed25519"


class SealAlgorithm(StrEnum):
    """How a receipt may be sealed."""

    HMAC_SHA256 = "hmac-sha256"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousRun:
    """The run of the project whose receipt was published last; `receipt_sha256` is over its canonical form."""

    session: str
    events: int
    head: Digest
    receipt_sha256: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """The key that will sign: `public_key` is 64 hexadecimal digits."""

    alg: SignatureAlgorithm = SignatureAlgorithm.ED25519
    public_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SealingKey:
    """The key that will seal: `key_id` is the first 16 hexadecimal digits of its SHA-256."""

    alg: SealAlgorithm = SealAlgorithm.HMAC_SHA256
    key_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofFacts:
    """`project` is 32 hexadecimal digits by chance, `run` counts the project's runs from 1."""

    origin: str
    project: str
    run: int
    previous: PreviousRun | None = None
    signature: SigningKey | None = None
    seal: SealingKey | None = None
