"""The list of trusted keys: read strictly, each fault named by its member."""

from __future__ import annotations

from typing import Any

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.proof.trust import Trust, TrustedSeal, TrustedSigner, read_trust

PUBLIC = "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1"
SIGNER = {"name": "build server", "public_key": PUBLIC}
SEAL = {"name": "mine", "key_id": "0" * 16, "file": "seal.key"}


def listed(**changes: Any) -> dict[str, Any]:
    return {"format": "docket/trust/v1", "signers": [SIGNER], "seal_keys": [SEAL], **changes}


def test_a_list_with_both_kinds() -> None:
    assert read_trust(listed()) == Trust(
        signers=(TrustedSigner(name="build server", public_key=bytes.fromhex(PUBLIC)),),
        seals=(TrustedSeal(name="mine", key_id="0" * 16, file="seal.key"),),
    )


def test_either_kind_may_be_absent() -> None:
    both = listed()
    assert read_trust({name: both[name] for name in ("format", "signers")}).seals == ()
    assert read_trust({name: both[name] for name in ("format", "seal_keys")}).signers == ()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "trust is not an object"),
        ({}, "no member 'format'"),
        (listed(format="docket/trust/v2"), "trust.format is not docket/trust/v1"),
        (listed(signers={}), "trust.signers is not an array"),
        (listed(more=1), "unknown member 'more'"),
        ({"format": "docket/trust/v1"}, "names no key"),
        (listed(signers=[], seal_keys=[]), "names no key"),
        (listed(signers=[{**SIGNER, "x": 1}]), "trust.signers[0] has the unknown member"),
        (listed(signers=[{**SIGNER, "public_key": "x"}]), "trust.signers[0].public_key: it is neither"),
        (listed(signers=[{**SIGNER, "name": " "}]), "trust.signers[0].name is no name"),
        (listed(seal_keys=[{**SEAL, "name": "a\nb"}]), "trust.seal_keys[0].name is no name"),
        (listed(seal_keys=[{**SEAL, "file": 1}]), "trust.seal_keys[0].file is not a text"),
    ],
)
def test_what_is_no_list_is_told(value: Any, said: str) -> None:
    with pytest.raises(InvalidDocumentError) as raised:
        read_trust(value)
    assert said in raised.value.detail
