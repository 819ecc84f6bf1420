"""Vectors of seals and signatures: each that is refused beside one that is accepted, with the keys that were named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from golden_ledgers import elsewhere, samples
from golden_ledgers.build import LedgerBuilder, closed, opened
from golden_ledgers.judging import receipt_of
from golden_ledgers.proven import NUMBERED, PREVIOUS, PUBLIC_KEY, SEAL_KEY, sealed, signed, vouched_for

Make = Callable[..., dict[str, Any]]

KEYS: dict[str, list[str]] = {"public_keys": [PUBLIC_KEY], "seal_keys": [SEAL_KEY.hex()]}
OTHER_SECRET, OTHER_SEAL = b"\x07" * 32, b"\x0c" * 32
# The second and third key of RFC 8032, 7.1.
OTHER_KEYS = [
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
]
# The order of the group, 2^252 + 27742317777372353535851937790883648493 (RFC 8032, 5.1).
ORDER = 2**252 + 27742317777372353535851937790883648493
# A point of order 4, one of order 1, and y = p + 1, another spelling of the second.
SMALL, ONE, BEYOND = "00" * 32, "01" + "00" * 31, "ee" + "ff" * 30 + "7f"


def both() -> tuple[dict[str, Any], bytes]:
    """A receipt that is sealed and signed, and its ledger."""
    raw = vouched_for().data()
    return signed(sealed(receipt_of(raw))), raw


def killed() -> tuple[dict[str, Any], bytes]:
    """What `docket recover` makes of a run that was to be signed and sealed: it has no end."""
    ledger = LedgerBuilder()
    ledger.events = vouched_for().events[:-1]
    return receipt_of(ledger.data()), ledger.data()


def accepted(vector: Make) -> Iterator[dict[str, Any]]:
    """Each with its verdict."""
    receipt, raw = both()
    yield vector("sealed and signed, no key named", receipt, raw, "consistent")
    yield vector("sealed and signed, both keys named", receipt, raw, "verified", **KEYS)
    yield vector("signed, one of three keys named", receipt, raw, "verified", public_keys=[*OTHER_KEYS, PUBLIC_KEY])
    yield vector("sealed, its key named alone", receipt, raw, "verified", seal_keys=KEYS["seal_keys"])
    yield vector("vouched for, without its ledger", receipt, None, "consistent", **KEYS)
    raw = vouched_for(seal=False).data()
    yield vector("signed alone", signed(receipt_of(raw)), raw, "verified", public_keys=[PUBLIC_KEY])
    raw = vouched_for(signature=False).data()
    yield vector("sealed alone", sealed(receipt_of(raw)), raw, "verified", seal_keys=KEYS["seal_keys"])
    receipt, raw = killed()
    yield vector("to be signed, and killed", receipt, raw, "incomplete", "evidence-completeness")
    yield vector(
        "to be signed, and killed, its keys named", receipt, raw, "incomplete", "evidence-completeness", **KEYS
    )
    built = elsewhere.ledger()
    theirs = signed(sealed(elsewhere.receipt(built)))
    yield vector("another writer's, sealed and signed", theirs, built.data(), "verified", **KEYS)


def refused(vector: Make) -> Iterator[dict[str, Any]]:
    """Each with the check that fails first."""
    yield from _missing(vector)
    yield from _doctored(vector)
    yield from _facts(vector)


def _missing(vector: Make) -> Iterator[dict[str, Any]]:
    receipt, raw = both()
    plain = samples.chat().data()
    yield vector("a signature taken off", {**receipt, "signature": None}, raw, "failed", "signature")
    yield vector("a seal taken off, signed anew", signed({**receipt, "seal": None}), raw, "failed", "seal")
    yield vector("by a key that was not named", receipt, raw, "failed", "signature", public_keys=OTHER_KEYS)
    yield vector("sealed with a key that was not named", receipt, raw, "failed", "seal", seal_keys=[OTHER_SEAL.hex()])
    yield vector(
        "signed by nobody, a key named", receipt_of(plain), plain, "failed", "signature", public_keys=[PUBLIC_KEY]
    )
    yield vector(
        "sealed by nobody, a key named", receipt_of(plain), plain, "failed", "seal", seal_keys=KEYS["seal_keys"]
    )
    yield vector("signed anew by another key", signed(receipt, OTHER_SECRET), raw, "failed", "signature")
    yield vector("sealed anew with another key", signed(sealed(receipt, OTHER_SEAL)), raw, "failed", "seal")
    receipt, raw = killed()
    yield vector("killed, and another key named", receipt, raw, "failed", "signature", public_keys=OTHER_KEYS)
    raw = samples.numbered().data()
    yield vector("signed, where none was announced", signed(receipt_of(raw)), raw, "failed", "signature")


def _doctored(vector: Make) -> Iterator[dict[str, Any]]:
    receipt, raw = both()
    signature, seal = receipt["signature"], receipt["seal"]

    def with_signature(name: str, **changes: Any) -> dict[str, Any]:
        return vector(name, {**receipt, "signature": {**signature, **changes}}, raw, "failed", "signature")

    scalar = int.from_bytes(bytes.fromhex(signature["value"][64:]), "little") + ORDER
    malleable = signature["value"][:64] + scalar.to_bytes(32, "little").hex()
    yield with_signature("an S beyond the order of the group", value=malleable)
    yield with_signature("an R in another spelling", value=BEYOND + signature["value"][64:])
    yield with_signature("one bit of it", value=f"{int(signature['value'], 16) ^ 1:0128x}")
    yield with_signature("a public key in upper case", public_key=PUBLIC_KEY.upper())
    yield with_signature("a signature of another algorithm", alg="ed448")
    yield with_signature("a member too many in a signature", comment="")
    yield with_signature("a signature that is too short", value=signature["value"][:-2])
    yield vector("a signature that is a text", {**receipt, "signature": "none"}, raw, "failed", "receipt-shape")
    flipped = {**seal, "value": f"{int(seal['value'], 16) ^ 1:064x}"}
    yield vector("a seal doctored, signed anew", signed({**receipt, "seal": flipped}), raw, "failed", "seal", **KEYS)
    yield vector("a seal doctored, and not signed anew", {**receipt, "seal": flipped}, raw, "failed", "signature")
    yield vector("a member too many in a seal", signed({**receipt, "seal": {**seal, "x": 1}}), raw, "failed", "seal")
    yield vector("a label changed under a signature", {**receipt, "label": "x"}, raw, "failed", "signature")
    built = elsewhere.ledger()
    theirs = elsewhere.receipt(built)
    for name, key in (("order 4", SMALL), ("order 1", ONE), ("another spelling", BEYOND)):
        # With such a key, R of order 1 and S of 0 hold for every text that is hashed to a multiple of the order.
        forged = {"alg": "ed25519", "public_key": key, "value": ONE + "00" * 32}
        yield vector(f"a key of {name}", {**theirs, "signature": forged}, built.data(), "failed", "signature")


def _facts(vector: Make) -> Iterator[dict[str, Any]]:
    def told(name: str, **changes: Any) -> dict[str, Any]:
        """A record that says so itself, and a receipt that agrees."""
        ledger = closed(opened(proof=replace(NUMBERED, **changes)), "0.00").data()
        return vector(name, receipt_of(ledger), ledger, "failed", "proof-facts")

    def changed(name: str, first: str, **changes: Any) -> dict[str, Any]:
        raw = samples.numbered().data()
        receipt = receipt_of(raw)
        receipt["proof"] |= changes
        return vector(name, receipt, raw, "failed", first)

    yield told("an origin that names a key", origin="docket.local/0000000000000000/0123456789ab")
    yield told("an origin of another session", origin="docket.local/unsigned/ba9876543210")
    yield told("a project that is none", project="0F" * 16)
    yield told("a run before the first", run=0)
    yield told("a run that is its own predecessor", previous=replace(PREVIOUS, session="0123456789ab"))
    yield told("a predecessor without an event", previous=replace(PREVIOUS, events=0))
    yield changed("another number", "receipt-rebuild", run=5)
    yield changed("another predecessor", "receipt-rebuild", previous=None)
    announced = {"alg": "hmac-sha256", "key_id": "0" * 16}
    yield changed("a seal announced that the ledger does not name", "seal", seal=announced)
    yield changed("a seal announced by an unknown algorithm", "receipt-shape", seal={**announced, "alg": "md5"})
