"""What a run signed before its ledger had an end counts for that ledger alone, and by the keys that it names."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from docket.formats.canonical import encode_document
from docket.rules.proof.prepared import prepared_for
from docket.rules.receipt.assemble import receipt_from_ledger
from golden_ledgers import samples
from golden_ledgers.proven import SECRET_KEY, sealed, signed, vouched_for
from golden_ledgers.vouched import OTHER_SECRET

NOTE = "docket.local/21fe31dfa154a261/0123456789ab\n7\nAAAA\n"


def derived(**keys: bool) -> Any:
    return receipt_from_ledger([vouched_for(**keys).data()])


def written(receipt: dict[str, Any]) -> bytes:
    return encode_document(receipt)


def test_a_receipt_that_is_signed_and_sealed_is_found_with_the_checkpoint_behind_it() -> None:
    whole = signed(sealed(derived()))
    found = prepared_for(derived(), written(whole) + NOTE.encode())
    assert found is not None
    assert (found.receipt == whole, found.data, found.note) == (True, written(whole), NOTE)
    without = prepared_for(derived(), written(whole))
    assert without is not None
    assert without.note == ""


def test_each_kind_alone() -> None:
    for keys, make in (({"seal": False}, signed), ({"signature": False}, sealed)):
        assert prepared_for(derived(**keys), written(make(derived(**keys)))) is not None


@pytest.mark.parametrize(
    "make",
    [
        lambda: written(signed(derived())),
        lambda: written(sealed(derived())),
        lambda: written(derived()),
        lambda: written(signed(sealed(derived()), OTHER_SECRET)),
        lambda: written(signed(sealed(derived(), b"\x0c" * 32))),
        lambda: written({**signed(sealed(derived())), "seal": {"alg": "hmac-sha256", "key_id": "f0e38b830ebd8a50"}}),
        lambda: written({**signed(sealed(derived())), "label": "another"}),
        lambda: written(signed(sealed(derived())))[1:],
        lambda: written(signed(sealed(derived())))[:-2],
        lambda: written(signed(sealed(derived()))) + b"\xff",
        lambda: written(signed(sealed(receipt_from_ledger([samples.zero().data()])))),
        lambda: b"[\n1\n]\n",
        lambda: b"[\n}\n",
        lambda: b"1\n",
        lambda: b"",
    ],
)
def test_anything_else_is_of_no_use(make: Any) -> None:
    assert prepared_for(derived(), make()) is None


def test_a_signature_of_no_form_or_that_does_not_hold() -> None:
    whole = signed(derived(seal=False), SECRET_KEY)
    for value in ("zz", "00" * 64, whole["signature"]["value"][:-2]):
        doctored = {**whole, "signature": {**whole["signature"], "value": value}}
        assert prepared_for(derived(seal=False), written(doctored)) is None
    assert prepared_for(derived(signature=False), written(signed(sealed(derived(signature=False))))) is None


def test_without_the_library_nothing_is_taken_for_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = written(signed(sealed(derived())))
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    assert prepared_for(derived(), whole) is None
