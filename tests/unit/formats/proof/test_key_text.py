"""Keys in their forms: against OpenSSL's own files and verifier keys in use elsewhere; every other spelling."""

from __future__ import annotations

import base64
import shutil
import subprocess
from pathlib import Path

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.proof import key_text
from docket.formats.reason import Reason

# RFC 8410, 10.3 and 10.1: a private and a public key (the same pair).
RFC_PRIVATE = """-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
-----END PRIVATE KEY-----
"""
RFC_PUBLIC = """-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PUBLIC KEY-----
"""
SEED = "d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842"
PUBLIC = "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1"
# The key of Go's checksum database, as its own client has it.
NOTE_KEY = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"


def test_the_keys_of_the_standard() -> None:
    assert key_text.read_private_key(RFC_PRIVATE.encode()).hex() == SEED
    assert key_text.private_pem(bytes.fromhex(SEED)) == RFC_PRIVATE
    assert key_text.read_public_key(RFC_PUBLIC).hex() == PUBLIC
    assert key_text.public_pem(bytes.fromhex(PUBLIC)) == RFC_PUBLIC
    assert key_text.read_public_key(f"{PUBLIC}\n").hex() == PUBLIC
    assert key_text.read_public_key(RFC_PUBLIC.replace("\n", "\r\n")).hex() == PUBLIC


def test_a_verifier_key_goes_there_and_back() -> None:
    key = bytes.fromhex(PUBLIC)
    written = key_text.verifier_key(key)
    name, hashed, coded = written.split("+", 2)
    assert name == key_text.key_name(key)
    assert name.startswith("docket.local/")
    assert len(name) == len("docket.local/") + 16
    assert len(hashed) == 8
    assert base64.b64decode(coded) == b"\x01" + key
    assert key_text.read_public_key(written) == key


def test_the_verifier_key_of_a_page_elsewhere() -> None:
    name, hashed, coded = NOTE_KEY.split("+", 2)
    key = base64.b64decode(coded)[1:]
    assert key_text.note_key_hash(name, key).hex() == hashed
    assert key_text.read_public_key(NOTE_KEY) == key


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_reads_what_is_written_and_what_it_writes_is_read(tmp_path: Path) -> None:
    private, public = tmp_path / "a.pem", tmp_path / "a.pub"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    seed, key = key_text.read_private_key(private.read_bytes()), key_text.read_public_key(public.read_text())
    assert key_text.private_pem(seed) == private.read_text()
    assert key_text.public_pem(key) == public.read_text()


def _pem(label: str, body: str) -> str:
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no private key in PEM"),
        (SEED, "no private key in PEM"),
        (RFC_PUBLIC, "it is a public key"),
        (_pem("ENCRYPTED PRIVATE KEY", "AAAA"), "asks for no passphrase"),
        (_pem("OPENSSH PRIVATE KEY", "AAAA"), "an OpenSSH key"),
        (_pem("RSA PRIVATE KEY", "AAAA"), "it is a rsa private key, not Ed25519"),
        (_pem("CERTIFICATE", "AAAA"), "a certificate"),
        (_pem("PRIVATE KEY", "MC4CAQAwBQYDK2VuBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC"), "plain form"),
        (_pem("PRIVATE KEY", "MC4C"), "plain form"),
        (_pem("PRIVATE KEY", "MC4C!"), "base64 cannot be read"),
        (RFC_PRIVATE + RFC_PRIVATE, "not one block"),
        (RFC_PRIVATE.replace("END PRIVATE", "END PUBLIC"), "not one block"),
        ("\xff", "not text"),
    ],
)
def test_what_cannot_sign_is_named_as_what_it_is(text: str, said: str) -> None:
    with pytest.raises(InvalidDocumentError) as raised:
        key_text.read_private_key(text.encode("latin-1"))
    assert raised.value.reason == Reason.KEY_UNUSABLE
    assert said in raised.value.detail


@pytest.mark.parametrize(
    "text",
    [
        "",
        PUBLIC.upper(),
        PUBLIC[:-1],
        PUBLIC[:-1] + "é",
        RFC_PRIVATE,
        RFC_PUBLIC.replace("ZuE=", "ZuF="),  # the same bytes, with bits beside them
        RFC_PUBLIC.replace("ZuE=", "ZuE"),
        NOTE_KEY.replace("033de0ae", "033de0af"),
        NOTE_KEY.replace("033de0ae", "033DE0AE"),
        NOTE_KEY.replace("sum.golang", "sun.golang"),
        NOTE_KEY.replace("+Ac4z", "+As4z"),
        NOTE_KEY[:-4],
        "name+00000000+AQ==",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea me",
    ],
)
def test_what_is_no_public_key_in_its_one_spelling(text: str) -> None:
    with pytest.raises(InvalidDocumentError) as raised:
        key_text.read_public_key(text)
    assert raised.value.reason == Reason.KEY_UNUSABLE


def test_the_key_of_a_seal_is_64_digits() -> None:
    assert key_text.read_seal_key(b"0a" * 32 + b"\n") == b"\x0a" * 32
    for bad in (b"", b"0a" * 31, b"0A" * 32, b"\xff", b"0a" * 32 + b"\n0"):
        with pytest.raises(InvalidDocumentError):
            key_text.read_seal_key(bad)


def test_nothing_of_a_key_stands_in_a_message() -> None:
    secret = "c2VjcmV0IGtleSBieXRlcw"
    for text in (_pem("PRIVATE KEY", secret), _pem("EC PRIVATE KEY", secret), secret):
        with pytest.raises(InvalidDocumentError) as raised:
            key_text.read_private_key(text.encode())
        assert secret not in raised.value.detail
