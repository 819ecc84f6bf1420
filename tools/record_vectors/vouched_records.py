"""Scenarios of seals and signatures, of the keys that are named, and of what the ledger says of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator

from record_vectors import ledgers
from record_vectors.foreign_records import events as foreign_events
from record_vectors.foreign_records import receipt as foreign_receipt
from record_vectors.plain_receipts import hash_of
from record_vectors.primitives import ORDER, Json, P, lines_of, sealed, signed
from record_vectors.scenario import (
    PUBLIC,
    SEAL,
    SECRET,
    Scenario,
    Side,
    both_keys,
    doctored,
    printed,
    retold,
    side,
    twin,
)

OTHER_SECRET, OTHER_SEAL = b"\x19" * 32, b"\x2c" * 32
KEYS: Json = {"public_keys": (PUBLIC,), "seal_keys": (SEAL.hex(),)}
# The third key of RFC 8032, 7.1.
OTHER_PUBLIC = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"
ORDER_8 = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"


def facts(*, signature: bool = True, seal: bool = True, **changes: object) -> Json:
    """`proof` of session.start."""
    mark = hashlib.sha256(bytes.fromhex(PUBLIC)).hexdigest()[:16] if signature else "unsigned"
    told: Json = {"origin": f"docket.local/{mark}/{ledgers.SESSION}", "project": "0c" * 16, "run": 3}
    if signature:
        told["signature"] = {"alg": "ed25519", "public_key": PUBLIC}
    if seal:
        told["seal"] = {"alg": "hmac-sha256", "key_id": hashlib.sha256(SEAL).hexdigest()[:16]}
    return told | changes


def vouched(**more: object) -> Side:
    """A record that says who vouches for it, and whose receipt is sealed and signed."""
    return side(ledgers.called(proof=facts()).finish("0.001300"), both_keys, **more)


def everything() -> Side:
    """A record with every member that a receipt may have of these."""
    previous = {"session": "0a1b2c3d4e5f", "events": 12, "head": ledgers.SOME, "receipt_sha256": ledgers.OTHER}
    return side(ledgers.everything(hash_of, facts(previous=previous)), both_keys, verdict="verified", **KEYS)


def scenarios() -> Iterator[Scenario]:
    """Every scenario."""
    yield from _accepted()
    yield from _taken_off()
    yield from _spelt()
    yield from _forged()
    yield from _facts()


def _accepted() -> Iterator[Scenario]:
    yield Scenario(name="vouched-no-key-named", says="a signature by a key that nobody named", accepted=vouched())
    yield Scenario(name="vouched", says="both keys named", accepted=vouched(verdict="verified", **KEYS))
    yield Scenario(name="vouched-one-of-three", says="one of the keys that are named",
                   accepted=vouched(verdict="verified", public_keys=(OTHER_PUBLIC, PUBLIC)))  # fmt: skip
    only = side(
        ledgers.idle(proof=facts(seal=False)), lambda r: signed(r, SECRET), verdict="verified", public_keys=(PUBLIC,)
    )
    yield Scenario(name="signed-alone", says="a signature and no seal", accepted=only)
    only = side(ledgers.idle(proof=facts(signature=False)), lambda r: sealed(r, SEAL), verdict="verified",
                seal_keys=(SEAL.hex(),))  # fmt: skip
    yield Scenario(name="sealed-alone", says="a seal and no signature", accepted=only)
    of = foreign_events()
    made = Side(receipt=printed(both_keys(foreign_receipt(of))), ledger=lines_of(of), verdict="verified", **KEYS)
    yield Scenario(name="theirs-vouched", says="another writer's record, sealed and signed", accepted=made)
    previous = {"session": "0a1b2c3d4e5f", "events": 12, "head": ledgers.SOME, "receipt_sha256": ledgers.OTHER}
    numbered = side(ledgers.idle(proof=facts(signature=False, seal=False, previous=previous)))
    yield Scenario(name="numbered", says="a run with its number and the one before, and no key", accepted=numbered)
    yield Scenario(name="everything", says="rows in parts, hits, a stage, windows, both keys", accepted=everything())
    killed = side(ledgers.called(proof=facts()), verdict="incomplete", fails="evidence-completeness", **KEYS)
    yield Scenario(name="killed-before-it-was-signed", says="nobody could sign it", accepted=killed)


def _taken_off() -> Iterator[Scenario]:
    good, named = vouched(), vouched(verdict="verified", **KEYS)
    signature_named = vouched(verdict="verified", public_keys=(PUBLIC,))
    plain = side(ledgers.plain())

    def without(name: str) -> Callable[[Json], object]:
        return lambda receipt: receipt.update({name: None})

    yield doctored(
        "signature-stripped", "a signature that was announced is there", "signature", good, without("signature")
    )
    yield doctored(
        "signature-stripped-key-named", "though a key is named", "signature", signature_named, without("signature")
    )
    yield doctored("seal-stripped", "so is a seal, whoever signs anew", "seal", good,
                   lambda r: signed({**r, "seal": None}, SECRET))  # fmt: skip
    yield doctored("both-stripped", "and both", "seal", good, lambda r: r.update(seal=None, signature=None))
    yield twin("key-not-the-named", "a signature is by the key that is named", "signature", signature_named,
               public_keys=(OTHER_PUBLIC,))  # fmt: skip
    yield twin("seal-key-not-the-named", "a seal is by the key that is named", "seal", named,
               seal_keys=(OTHER_SEAL.hex(),))  # fmt: skip
    yield twin(
        "key-named-and-nobody-signed", "who names a key gets a signature", "signature", plain, public_keys=(PUBLIC,)
    )
    yield twin("seal-named-and-nobody-sealed", "who names a key gets a seal", "seal", plain, seal_keys=(SEAL.hex(),))
    yield doctored("signed-by-another", "a signature is by the key that was announced", "signature", good,
                   lambda r: signed(r, OTHER_SECRET))  # fmt: skip
    yield doctored("sealed-by-another", "a seal is by the key that was announced", "seal", good,
                   lambda r: signed(sealed(r, OTHER_SEAL), SECRET))  # fmt: skip
    numbered = side(ledgers.idle(proof=facts(signature=False, seal=False)))
    yield doctored("signed-though-not-announced", "what was not announced is not there", "signature", numbered,
                   lambda r: signed(r, SECRET))  # fmt: skip
    yield doctored("sealed-though-not-announced", "a seal neither", "seal", numbered, lambda r: sealed(r, SEAL))
    killed = side(ledgers.called(proof=facts()), verdict="incomplete", fails="evidence-completeness")
    yield twin("killed-and-another-key-named", "no key that is named was announced", "signature", killed,
               public_keys=(OTHER_PUBLIC,))  # fmt: skip


def _spelt() -> Iterator[Scenario]:
    good = vouched()
    signature = json.loads(good.receipt)["signature"]
    value = signature["value"]
    scalar = int.from_bytes(bytes.fromhex(value[64:]), "little")

    def put(**members: object) -> Callable[[Json], object]:
        return lambda receipt: receipt["signature"].update(members)

    def seal(**members: object) -> Callable[[Json], object]:
        def change(receipt: Json) -> Json:
            return signed({**receipt, "seal": {**receipt["seal"], **members}}, SECRET)

        return change

    second = value[:64] + (scalar + ORDER).to_bytes(32, "little").hex()
    for name, says, fails, change in (
        ("signature-s-malleable", "S is below the order", "signature", put(value=second)),
        ("signature-r-other-spelling", "R has one spelling", "signature",
         put(value=(P + 1).to_bytes(32, "little").hex() + value[64:])),
        ("signature-bit", "each bit counts", "signature", put(value=f"{int(value, 16) ^ 1:0128x}")),
        ("signature-upper-case", "its digits are in lower case", "signature", put(value=value.upper())),
        ("signature-short", "it has 128 of them", "signature", put(value=value[:-2])),
        ("signature-long", "and no more", "signature", put(value=value + "00")),
        ("signature-blank", "and nothing else", "signature", put(value=value[:-1] + " ")),
        ("signature-other-digits", "of no other script", "signature", put(value="\u0660" * 128)),
        ("signature-algorithm", "the algorithm is the one", "signature", put(alg="ed25519ph")),
        ("signature-member-unknown", "it has three members", "signature", put(note="x")),
        ("signature-text", "and is an object", "receipt-shape", lambda r: r.update(signature=value)),
        ("signature-key-upper-case", "a key's digits are in lower case", "signature", put(public_key=PUBLIC.upper())),
        ("signature-of-another-text", "it is over this receipt", "signature", lambda r: r.update(label="x")),
        ("seal-bit", "each bit of a seal counts", "signature",
         lambda r: r["seal"].update(value=f"{int(r['seal']['value'], 16) ^ 1:064x}")),
        ("seal-member-unknown", "a seal has three members", "seal", seal(note="x")),
        ("seal-algorithm", "by one algorithm", "seal", seal(alg="hmac-sha512")),
        ("seal-upper-case", "in lower case", "seal", seal(value="AB" * 32)),
        ("seal-short", "of 64 digits", "seal", seal(value="ab" * 16)),
        ("seal-key-id-other", "that names its key", "seal", seal(key_id="0" * 16)),
    ):  # fmt: skip
        yield doctored(name, says, fails, good, change)
    named = vouched(verdict="verified", **KEYS)
    flipped = f"{int(json.loads(named.receipt)['seal']['value'], 16) ^ 1:064x}"
    yield doctored("seal-bit-signed-anew", "by whoever signs", "seal", named, seal(value=flipped))


def _forged() -> Iterator[Scenario]:
    """Records made anew by somebody who has not the key, and keys that are none."""
    good = vouched(verdict="verified", public_keys=(PUBLIC,))
    rewritten = ledgers.called().finish("0.001300", ())
    anew = side(rewritten)
    for name, says, made in (
        ("rewritten-unsigned", "a record made anew, by nobody", anew),
        ("rewritten-signed-by-another", "a record made anew, signed by another key",
         side(rewritten, lambda r: signed(r, OTHER_SECRET))),
        ("rewritten-announcing", "a record made anew that announces the key", side(
            ledgers.called(proof=facts()).finish("0.001300", ()), lambda r: signed(sealed(r, SEAL), OTHER_SECRET))),
    ):  # fmt: skip
        yield twin(name, says, "signature", good, receipt=made.receipt, ledger=made.ledger)
    of = foreign_events()
    plain = Side(receipt=printed(signed(foreign_receipt(of), SECRET)), ledger=lines_of(of))
    one = "01" + "00" * 31
    for name, key in (
        ("order-1", one), ("order-2", "ec" + "ff" * 30 + "7f"), ("order-4", "00" * 32), ("order-8", ORDER_8),
        ("other-spelling", "ee" + "ff" * 30 + "7f"), ("no-point", "02" + "00" * 31),
    ):  # fmt: skip
        # With such a key R of order 1 and S of 0 hold for a part or all of the texts.
        forged = {"alg": "ed25519", "public_key": key, "value": one + "00" * 32}
        yield doctored(f"key-{name}", "a key is a point of the large order, in its one spelling", "signature", plain,
                       _with_signature(forged))  # fmt: skip


def _with_signature(forged: Json) -> Callable[[Json], object]:
    return lambda receipt: receipt.update(signature=forged)


def _facts() -> Iterator[Scenario]:
    previous = {"session": "0a1b2c3d4e5f", "events": 12, "head": ledgers.SOME, "receipt_sha256": ledgers.OTHER}
    story = ledgers.idle(proof=facts(signature=False, seal=False, previous=previous))

    def told(**members: object) -> Callable[[list[Json]], object]:
        return lambda bodies: bodies[0]["data"].update(proof={**bodies[0]["data"]["proof"], **members})

    def session_called(name: str) -> Callable[[list[Json]], object]:
        def change(bodies: list[Json]) -> None:
            told(origin=f"docket.local/unsigned/{name}")(bodies)
            bodies[0]["data"].update(session_id=name)

        return change

    for name, says, change in (
        (
            "origin-of-a-key",
            "an origin names the key that signs",
            told(origin=f"docket.local/0000000000000000/{ledgers.SESSION}"),
        ),
        ("origin-of-another-session", "and the session", told(origin="docket.local/unsigned/000000000000")),
        ("project-upper-case", "a project is 32 digits in lower case", told(project="0C" * 16)),
        ("run-zero", "runs are counted from 1", told(run=0)),
        ("session-with-a-blank", "a session has a plain name", session_called("0123 4567")),
        ("session-long", "and no long one", session_called("0" * 65)),
        ("previous-itself", "the run before is another", told(previous={**previous, "session": ledgers.SESSION})),
        ("previous-without-events", "and has an event", told(previous={**previous, "events": 0})),
    ):
        yield retold(f"facts-{name}", says, "proof-facts", (story, change))
    numbered = side(story)
    yield doctored(
        "facts-run-other", "a number is the ledger's", "receipt-rebuild", numbered, lambda r: r["proof"].update(run=9)
    )
    yield doctored("facts-previous-other", "so is the run before", "receipt-rebuild", numbered,
                   lambda r: r["proof"].update(previous=None))  # fmt: skip
    yield doctored("facts-left-out", "and all of it", "receipt-rebuild", numbered, lambda r: r.pop("proof") and None)
