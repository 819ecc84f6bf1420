"""The receipt member `proof`: what the run's first event says will vouch for it; and what the next run says of it."""

from __future__ import annotations

from docket.formats.canonical import JsonObject, JsonValue, object_at
from docket.formats.digest import digest_of, parse_digest
from docket.formats.ledger.checkpoint_events import CheckpointMade
from docket.formats.ledger.payload_codec import from_members, to_members
from docket.formats.ledger.proof_facts import PreviousRun, ProofFacts
from docket.formats.proof.checkpoint import TreeHead, head_text

_MAY_BE_NULL = ("previous", "signature", "seal")


def proof_member(facts: ProofFacts | None) -> JsonValue:
    """Return the member, None where the ledger says nothing of it; what is absent there is null here."""
    return None if facts is None else {**dict.fromkeys(_MAY_BE_NULL), **to_members(facts)}


def previous_of(receipt: JsonObject) -> PreviousRun:
    """Return what the next run of the project says of the one that has this receipt, seal and signature included."""
    ledger = object_at(receipt, "ledger")
    members = {
        "session": object_at(receipt, "session").get("id"),
        "events": ledger.get("events"),
        "head": ledger.get("head"),
        "receipt_sha256": digest_of(receipt),
    }
    return from_members(PreviousRun, members, "the receipt")


def unsigned_end(receipt: JsonObject) -> str | None:
    """Return the checkpoint of the whole ledger, where that has its end and the run names no key that would sign it."""
    proof, ledger = object_at(receipt, "proof"), object_at(receipt, "ledger")
    origin, size = proof.get("origin"), ledger.get("events")
    if object_at(receipt, "evidence").get("ended") is not True or proof.get("signature") is not None:
        return None
    if not isinstance(origin, str) or not isinstance(size, int):
        return None
    return head_text(TreeHead(origin=origin, size=size, root=parse_digest(ledger.get("merkle_root"))))


def tells_of_checkpoints(receipt: JsonObject) -> bool:
    """Whether the receipt's ledger tells of a checkpoint."""
    return CheckpointMade.TYPE in object_at(receipt, "event_counts")


def announces_a_key(receipt: JsonObject) -> bool:
    """Whether the run said that its receipt would be signed or sealed."""
    proof = object_at(receipt, "proof")
    return any(proof.get(name) is not None for name in ("signature", "seal"))
