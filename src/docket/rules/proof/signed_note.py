"""Notes signed with a run's key, made and checked (spec/checkpoint.md).

Rules:
1. The key's name is the one that `docket keygen` gives it in a verifier key, whatever the note is about.
2. A note of docket's has exactly one signature, by the run's key. One by another key, or a second one, is refused
   where the note stands in a file of docket's own.
"""

from __future__ import annotations

from docket.formats.proof.checkpoint import KeptCheckpoint, TreeHead, head_text
from docket.formats.proof.key_text import key_name, note_key_hash
from docket.formats.proof.note import NoteSignature, SignedNote, write_note
from docket.rules.proof import ed25519
from docket.rules.proof.ed25519 import Signer


def signed_note(text: str, signer: Signer) -> SignedNote:
    """Return the note of a text that ends in LF, signed."""
    name = key_name(signer.public_key)
    signature = NoteSignature(
        name=name, key_hash=note_key_hash(name, signer.public_key), value=signer.sign(text.encode("utf-8"))
    )
    return SignedNote(text=text, signatures=(signature,))


def checkpoint_text(head: TreeHead, signer: Signer | None) -> str:
    """Return the checkpoint of a head: a signed note, or without a key the body alone."""
    return head_text(head) if signer is None else write_note(signed_note(head_text(head), signer))


def note_fault(note: SignedNote, name: str, public_key: bytes) -> str | None:
    """Return why no signature of the note holds by the key, None where one does and none of that key's fails.

    ImportError where the library is not there.
    """
    key_hash, message, holds = note_key_hash(name, public_key), note.text.encode("utf-8"), False
    for one in note.signatures:
        if (one.name, one.key_hash) != (name, key_hash):
            continue
        fault = ed25519.fault(public_key, one.value, message)
        if fault is not None:
            return fault
        holds = True
    return None if holds else "it carries no signature by the key"


def checkpoint_fault(kept: KeptCheckpoint, public_key: bytes | None) -> str | None:
    """Return what is wrong with the signature of a run's own checkpoint, where the run has that key or none."""
    if public_key is None:
        return None if kept.note is None else "it is signed, and the run names no key"
    if kept.note is None:
        return "it is not signed, and the run names a key"
    if len(kept.note.signatures) != 1:
        return "it has other signatures than the run's"
    return note_fault(kept.note, key_name(public_key), public_key)
