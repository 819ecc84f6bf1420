"""Signed notes: the example of the first implementation, our own against OpenSSL's arithmetic, and what is refused."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from docket.errors import InvalidDocumentError
from docket.formats.proof.checkpoint import TreeHead, read_checkpoint
from docket.formats.proof.key_text import read_public_key, verifier_key
from docket.formats.proof.note import MAX_SIGNATURES, is_key_name, read_note, write_note
from docket.formats.proof.tlog_proof import proof_text
from docket.rules.proof.ed25519 import Signer
from docket.rules.proof.signed_note import checkpoint_text, note_fault, signed_note
from golden_ledgers.headed import note_of
from golden_ledgers.proven import PUBLIC_KEY, SECRET_KEY

# golang.org/x/mod/sumdb/note, where the format comes from: its example, and the key that signed it.
EXAMPLE = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
    "\n"
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
EXAMPLE_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
SIGNER = Signer.of_seed(SECRET_KEY)
HEAD = TreeHead(origin="docket.local/unsigned/0123456789ab", size=7, root="5c" * 32)  # type: ignore[arg-type]
NOTE = checkpoint_text(HEAD, SIGNER)


def test_the_example_of_the_format_holds_and_is_written_again_as_it_was() -> None:
    note = read_note(EXAMPLE)
    assert write_note(note) == EXAMPLE
    key = read_public_key(EXAMPLE_KEY)
    assert note_fault(note, "PeterNeumann", key) is None
    assert note_fault(note, "PeterNeuman", key) == "it carries no signature by the key"
    assert note_fault(read_note(EXAMPLE.replace("crypto", "krypto")), "PeterNeumann", key) is not None


def test_a_note_of_ours_is_what_the_format_says_and_its_verifier_key_opens_it() -> None:
    assert checkpoint_text(HEAD, SIGNER) == note_of(HEAD.origin, 7, HEAD.root, SECRET_KEY)
    body, _, line = NOTE.partition("\n\n")
    name, coded = line.removeprefix("\u2014 ").split()
    raw = base64.b64decode(coded)
    assert verifier_key(SIGNER.public_key).startswith(f"{name}+{raw[:4].hex()}+")
    Ed25519PublicKey.from_public_bytes(bytes.fromhex(PUBLIC_KEY)).verify(raw[4:], f"{body}\n".encode())
    assert read_checkpoint(NOTE)[0] == HEAD


def test_a_signature_by_others_is_passed_over_and_a_false_one_by_the_key_is_not() -> None:
    note = read_note(NOTE)
    other = signed_note(note.text, Signer.of_seed(b"\7" * 32)).signatures[0]
    both = write_note(note).rstrip("\n") + "\n" + write_note(signed_note("", Signer.of_seed(b"\7" * 32))).lstrip("\n")
    assert note_fault(read_note(both), note.signatures[0].name, SIGNER.public_key) is None
    false = write_note(note) + NOTE.partition("\n\n")[2].replace("\u2014", "\u2014").replace(
        base64.b64encode(note.signatures[0].key_hash + note.signatures[0].value).decode(),
        base64.b64encode(note.signatures[0].key_hash + other.value).decode(),
    )
    fault = note_fault(read_note(false), note.signatures[0].name, SIGNER.public_key)
    assert fault == "the signature is not one of this text by this key"


LINE = NOTE.partition("\n\n")[2]
CODED = LINE.split()[2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no empty line"),
        ("text\n", "no empty line"),
        ("text\n\n", "does not end with a line"),
        (f"text\n\n{LINE[:-1]}", "does not end with a line"),
        (f"te\txt\n\n{LINE}", "a control character"),
        (f"text\r\n\n{LINE}", "a control character"),
        ("text\n\n- a AAAAAAAA\n", "not a dash"),
        ("text\n\n\u2014 aAAAAAAAA\n", "not a dash"),
        ("text\n\n\u2014  AAAAAAAA\n", "not a dash"),
        ("text\n\n\u2014 a+b AAAAAAAA\n", "not a dash"),
        ("text\n\n\u2014 a\u00a0b AAAAAAAA\n", "not a dash"),
        ("text\n\n\u2014 a AAAA\n", "too short"),
        ("text\n\n\u2014 a AAA\n", "cannot be read"),
        ("text\n\n\u2014 a AAA!AAAA\n", "cannot be read"),
        ("text\n\n\u2014 a AAAAAAA=  \n", "cannot be read"),
        (
            f"text\n\n\u2014 a {CODED[:-2]}{'B' if CODED[-2] == 'A' else chr(ord(CODED[-2]) + 1)}=\n",
            "does not re-encode",
        ),
        ("text\n\n" + LINE * (MAX_SIGNATURES + 1), "more than 64"),
    ],
)
def test_what_is_no_note(text: str, said: str) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        read_note(text)
    assert said in caught.value.detail


def test_names_of_keys() -> None:
    assert [is_key_name(name) for name in ("a", "docket.local/00", "", "a b", "a+b", "a\u2003b")] == [
        True, True, False, False, False, False,
    ]  # fmt: skip


def test_a_proof_of_one_entry_is_laid_out_as_its_format_says() -> None:
    assert proof_text(5, (b"\0" * 32, b"\xff" * 32), NOTE) == (
        "c2sp.org/tlog-proof@v1\n"
        "index 5\n"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
        "//////////////////////////////////////////8=\n"
        f"\n{NOTE}"
    )
    assert proof_text(0, (), NOTE) == f"c2sp.org/tlog-proof@v1\nindex 0\n\n{NOTE}"
