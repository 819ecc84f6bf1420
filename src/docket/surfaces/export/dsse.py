"""DSSE, version 1.0.2: a payload and signatures of it in one JSON object (https://github.com/secure-systems-lab/dsse).

Rules:
1. What is signed is the pre-authentication encoding of type and payload, so that no payload passes for one of another
   type.
2. base64 is the padded standard one. `keyid` is a hint: a verifier knows the key by other means.
"""

from __future__ import annotations

from docket.formats.canonical import JsonValue
from docket.formats.proof.key_text import key_name
from docket.formats.visible import base64_text
from docket.rules.proof.ed25519 import Signer


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """Return what a signature is over: lengths in bytes, in decimal digits."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def envelope(payload_type: str, payload: bytes, signer: Signer) -> dict[str, JsonValue]:
    """Return the envelope, signed once."""
    signature = signer.sign(pre_authentication_encoding(payload_type, payload))
    return {
        "payload": base64_text(payload),
        "payloadType": payload_type,
        "signatures": [{"keyid": key_name(signer.public_key), "sig": base64_text(signature)}],
    }
