"""Records of later commits: what a signature of one is over, and which of them hold."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from docket.engines.verify_commit import verify_commit
from docket.formats.proof.pins import NO_PINS, PinnedKey, Pins
from docket.formats.run.verdict import Word
from docket.formats.workspace.commit_record import RecordSignature, decode_commit, encode_commit
from docket.rules.proof.commit_signature import commit_fault, signed_commit
from docket.rules.proof.ed25519 import Signer
from golden_ledgers.proven import PUBLIC_KEY, SECRET_KEY
from golden_ledgers.vouched import OTHER_KEYS
from workspace_records import LANDED, REFUSED

SIGNED = signed_commit(LANDED, Signer.of_seed(SECRET_KEY))
MINE, OTHERS = (Pins(signers=(PinnedKey(public_key=bytes.fromhex(key)),)) for key in (PUBLIC_KEY, OTHER_KEYS[0]))


def test_the_signature_is_over_the_canonical_form_without_it() -> None:
    document = json.loads(encode_commit(SIGNED))
    assert decode_commit(encode_commit(SIGNED)) == SIGNED
    found = document.pop("signature")
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    Ed25519PublicKey.from_public_bytes(bytes.fromhex(PUBLIC_KEY)).verify(bytes.fromhex(found["value"]), text)
    assert (found["alg"], found["public_key"]) == ("ed25519", PUBLIC_KEY)


def said(data: bytes, pins: Pins = NO_PINS) -> tuple[Word, list[str]]:
    verdict = verify_commit(data, pins, Word.CONSISTENT)
    return verdict.word, [str(check.status) for check in verdict.checks]


def test_only_a_key_that_was_named_vouches_for_a_record() -> None:
    signed, unsigned = encode_commit(SIGNED), encode_commit(REFUSED)
    assert said(signed, MINE) == (Word.VERIFIED, ["pass", "pass"])
    assert said(signed) == (Word.CONSISTENT, ["pass", "pass"])
    assert said(signed, OTHERS) == (Word.FAILED, ["pass", "fail"])
    assert said(unsigned) == (Word.CONSISTENT, ["pass", "skip"])
    assert said(unsigned, MINE) == (Word.FAILED, ["pass", "fail"])
    assert said(signed[:-2])[0] is Word.UNREADABLE
    assert said(signed.replace(b'"applied": 1', b'"applied":  1'))[0] is Word.UNREADABLE


def test_any_change_of_a_signed_record_fails() -> None:
    for change in (
        {"committed": False}, {"at": "2026-10-01T12:00:00.001Z"}, {"docket_number": None}, {"applied": 2},
        {"successor": None}, {"approval": "digest"},
    ):  # fmt: skip
        assert said(encode_commit(replace(SIGNED, **change)))[0] is Word.FAILED


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"value": "00" * 64}, "not one of this text"),
        ({"value": "zz"}, "no"),
        ({"public_key": PUBLIC_KEY.upper()}, "lower-case"),
        ({"public_key": "01" + "00" * 31}, ""),
        ({"value": "ab"}, ""),
    ],
)
def test_a_signature_of_another_form_fails(changes: dict[str, str], why: str) -> None:
    assert SIGNED.signature is not None
    doctored = replace(SIGNED, signature=replace(SIGNED.signature, **changes))
    assert why in str(commit_fault(doctored))
    assert commit_fault(doctored) is not None
    assert said(encode_commit(doctored), MINE) == (Word.FAILED, ["pass", "fail"])


def test_an_unsigned_record_has_no_fault_and_no_word_of_a_signature() -> None:
    assert commit_fault(LANDED) is None
    assert b"signature" not in encode_commit(LANDED)
    assert RecordSignature(public_key="a", value="b").alg == "ed25519"


def test_without_the_library_nothing_vouches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cryptography.exceptions", None)
    assert said(encode_commit(SIGNED), MINE) == (Word.FAILED, ["pass", "fail"])
