"""Whatever stands where a key, a seal or a signature is looked for: an answer comes of it, and never a fault."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from docket.errors import InvalidDocumentError
from docket.formats.proof import key_text
from docket.formats.proof.pins import PinnedKey, PinnedSeal, Pins
from docket.formats.proof.trust import read_trust
from docket.formats.run.verdict import Word
from docket.rules.checks.ledger_pass import LedgerReading
from docket.rules.checks.registry import Beside, judge
from docket.rules.proof import ed25519
from golden_ledgers.judging import reading_of, receipt_of
from golden_ledgers.proven import PUBLIC_KEY, SEAL_KEY, sealed, signed, vouched_for

PINS = Pins(signers=(PinnedKey(public_key=bytes.fromhex(PUBLIC_KEY)),), seals=(PinnedSeal(key=SEAL_KEY),))
HEX = st.text("0123456789abcdefA ", max_size=130)
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | HEX
NAMES = st.sampled_from(["alg", "value", "public_key", "key_id", "origin", "run", "previous", "x"])
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5))


@cache
def good() -> tuple[dict[str, Any], LedgerReading]:
    raw = vouched_for().data()
    return signed(sealed(receipt_of(raw))), reading_of(raw)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(["seal", "signature", "proof"]), JSON, st.sampled_from([Pins(), PINS]))
def test_any_value_of_a_member_that_vouches_is_judged(member: str, value: Any, pins: Pins) -> None:
    receipt, ledger = good()
    verdict = judge({**receipt, member: value}, ledger, Word.CONSISTENT, Beside(pins=pins))
    assert verdict.word is Word.FAILED


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=70), st.binary(max_size=70), st.binary(max_size=10))
def test_any_bytes_as_key_and_signature_are_judged(key: bytes, signature: bytes, message: bytes) -> None:
    assert ed25519.fault(key, signature, message) is not None


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=80).map(str.encode))
def test_any_bytes_as_the_text_of_a_key_are_read_or_refused(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for read, given_ in ((key_text.read_private_key, data), (key_text.read_seal_key, data)):
        with suppress(InvalidDocumentError):
            assert len(read(given_)) == 32
    with suppress(InvalidDocumentError):
        assert len(key_text.read_public_key(text)) == 32


@settings(max_examples=50, deadline=None)
@given(st.binary(min_size=32, max_size=32))
def test_every_key_comes_back_from_each_of_its_forms(key: bytes) -> None:
    for written in (key.hex(), key_text.public_pem(key), key_text.verifier_key(key)):
        assert key_text.read_public_key(written) == key
    assert key_text.read_private_key(key_text.private_pem(key).encode()) == key


@settings(max_examples=80, deadline=None)
@given(JSON)
def test_any_value_as_a_list_of_trusted_keys_is_read_or_refused(value: Any) -> None:
    with suppress(InvalidDocumentError):
        read_trust(value)
    with suppress(InvalidDocumentError):
        read_trust({"format": "docket/trust/v1", "signers": value, "seal_keys": value})
