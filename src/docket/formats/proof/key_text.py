"""How keys are written: hexadecimal digits, PEM, and the verifier key of a C2SP signed note.

Rules (spec/receipt.md, Keys):
1. Each form has one spelling: what does not re-encode to itself is refused, so that no two texts name one key.
2. A private key is PKCS#8 without a passphrase (RFC 8410), as docket and OpenSSL write it; a key of another kind is
   named as what it is.
3. What is wrong with a key is told without a byte of it.

Whether 32 bytes are a point that may vouch for something is for `rules.proof.ed25519`.
"""

from __future__ import annotations

import hashlib
import re

from docket.errors import InvalidDocumentError
from docket.formats.proof.origin import fingerprint
from docket.formats.reason import Reason
from docket.formats.visible import Base64Fault, base64_bytes, base64_text

KEY_BYTES = 32
MAX_KEY_FILE_BYTES = 16 * 1024

_PUBLIC_DER = bytes.fromhex("302a300506032b6570032100")
_PRIVATE_DER = bytes.fromhex("302e020100300506032b657004220420")
_ED25519_NOTE = b"\x01"
_PUBLIC, _PRIVATE = "PUBLIC KEY", "PRIVATE KEY"
_HEX = re.compile(r"[0-9a-f]{64}")
_VKEY = re.compile(r"(?P<name>[^+\s]+)\+(?P<hash>[0-9a-f]{8})\+(?P<coded>[A-Za-z0-9+/=]+)")
_PEM = re.compile(r"-----BEGIN (?P<label>[A-Z0-9 ]+)-----\r?\n(?P<body>[^-]*)-----END (?P=label)-----")
_LINE_CHARACTERS = 64

_OTHER_LABELS = {
    "ENCRYPTED PRIVATE KEY": "it is encrypted: docket asks for no passphrase",
    "OPENSSH PRIVATE KEY": "it is an OpenSSH key: docket keygen makes one of its own",
    _PUBLIC: "it is a public key: the private one signs",
    _PRIVATE: "it is a private key: nobody who verifies needs it",
    "CERTIFICATE": "it is a certificate, no key",
}


def key_name(public_key: bytes) -> str:
    """Return what signed notes call a key of docket's."""
    return f"docket.local/{fingerprint(public_key)}"


def verifier_key(public_key: bytes) -> str:
    """Return the verifier key of a signed note, `NAME+HASH+BASE64` (c2sp.org/signed-note)."""
    name = key_name(public_key)
    return f"{name}+{note_key_hash(name, public_key).hex()}+{base64_text(_ED25519_NOTE + public_key)}"


def note_key_hash(name: str, public_key: bytes) -> bytes:
    """Return the four bytes by which a signed note names the key."""
    return hashlib.sha256(name.encode("utf-8") + b"\n" + _ED25519_NOTE + public_key).digest()[:4]


def public_pem(public_key: bytes) -> str:
    """Return the key as SubjectPublicKeyInfo in PEM."""
    return _pem(_PUBLIC, _PUBLIC_DER + public_key)


def private_pem(seed: bytes) -> str:
    """Return the private key as PKCS#8 in PEM, without a passphrase."""
    return _pem(_PRIVATE, _PRIVATE_DER + seed)


def read_public_key(text: str) -> bytes:
    """Return the 32 bytes of a public key in any of its forms; InvalidDocumentError says what is wrong."""
    bare = text.strip()
    if _HEX.fullmatch(bare):
        return bytes.fromhex(bare)
    if bare.startswith("-----BEGIN "):
        return _of_pem(bare, _PUBLIC, _PUBLIC_DER)
    note = _VKEY.fullmatch(bare)
    if note is not None:
        return _of_note(note)
    if bare.startswith("ssh-"):
        raise _unusable("it is a public key of OpenSSH, whose keys sign nothing here: docket keygen makes one")
    raise _unusable("it is neither 64 lower-case hexadecimal digits nor a public key in PEM nor a verifier key")


def read_private_key(data: bytes) -> bytes:
    """Return the 32 bytes of a private key in PEM; InvalidDocumentError says what it is instead."""
    text = _ascii(data).strip()
    if not text.startswith("-----BEGIN "):
        raise _unusable("it is no private key in PEM, as docket keygen and openssl genpkey write it")
    return _of_pem(text, _PRIVATE, _PRIVATE_DER)


def read_seal_key(data: bytes) -> bytes:
    """Return the 32 bytes of the key of a seal, whose file holds 64 hexadecimal digits and an LF."""
    text = _ascii(data).strip()
    if not _HEX.fullmatch(text):
        raise _unusable("it is not 64 lower-case hexadecimal digits")
    return bytes.fromhex(text)


def _of_pem(text: str, label: str, prefix: bytes) -> bytes:
    found = _PEM.fullmatch(text)
    if found is None:
        raise _unusable("it is not one block of PEM")
    if found["label"] != label:
        raise _unusable(_OTHER_LABELS.get(found["label"], f"it is a {found['label'].lower()}, not Ed25519"))
    der = _decoded("".join(found["body"].split()))
    if len(der) != len(prefix) + KEY_BYTES or not der.startswith(prefix):
        raise _unusable("it is not an Ed25519 key in its plain form")
    return der[len(prefix) :]


def _of_note(note: re.Match[str]) -> bytes:
    coded = _decoded(note["coded"])
    key = coded[1:]
    if coded[:1] != _ED25519_NOTE or len(key) != KEY_BYTES:
        raise _unusable("it is not an Ed25519 verifier key")
    if note_key_hash(note["name"], key).hex() != note["hash"]:
        raise _unusable("its hash is not that of its name and key")
    return key


def _decoded(text: str) -> bytes:
    raw = base64_bytes(text)
    if raw is Base64Fault.UNREADABLE:
        raise _unusable("its base64 cannot be read")
    if raw is Base64Fault.RESPELLED:
        raise _unusable("its base64 does not re-encode to itself")
    return raw


def _ascii(data: bytes) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as error:
        raise _unusable("it is not text") from error


def _pem(label: str, der: bytes) -> str:
    coded = base64_text(der)
    lines = [coded[at : at + _LINE_CHARACTERS] for at in range(0, len(coded), _LINE_CHARACTERS)]
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""))


def _unusable(detail: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.KEY_UNUSABLE, detail)
