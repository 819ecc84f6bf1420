"""Signed notes (c2sp.org/signed-note): a text, an empty line, and one line for each signature of it.

Rules:
1. The text ends in LF; the last empty line parts it from the signatures. A note holds no control character but LF.
2. A signature line is an em dash, a space, the key's name, a space, and base64 of four bytes that name the key and
   the signature itself. A name is not empty and holds neither a space nor a plus sign.
3. One spelling: base64 that does not re-encode to itself is refused, and so is a name that ends a line otherwise.

Whether a signature holds is for `rules.proof.signed_note`.
"""

from __future__ import annotations

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.visible import Base64Fault, base64_bytes, base64_text

MAX_SIGNATURES = 64
KEY_HASH_BYTES = 4
SIGNATURE_MARK = "\u2014 "


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSignature:
    """One signature line: the key's name, the four bytes that name it, and the signature."""

    name: str
    key_hash: bytes
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedNote:
    """A text that ends in LF, and its signatures, in their order."""

    text: str
    signatures: tuple[NoteSignature, ...]


def write_note(note: SignedNote) -> str:
    """Return the note as it is stored and sent."""
    lines = [f"{SIGNATURE_MARK}{one.name} {base64_text(one.key_hash + one.value)}\n" for one in note.signatures]
    return f"{note.text}\n{''.join(lines)}"


def read_note(text: str) -> SignedNote:
    """Return the parts of a note; InvalidDocumentError says what is wrong with its form."""
    if any(character < " " and character != "\n" for character in text):
        raise _wrong("it holds a control character")
    above, separator, below = text.rpartition("\n\n")
    if not separator:
        raise _wrong("no empty line parts a text from its signatures")
    if not below.endswith("\n"):
        raise _wrong("it does not end with a line of a signature")
    lines = below[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise _wrong(f"it has more than {MAX_SIGNATURES} signatures")
    return SignedNote(text=f"{above}\n", signatures=tuple(_signature(line) for line in lines))


def is_key_name(name: str) -> bool:
    """Whether a key may be called so."""
    return name != "" and "+" not in name and not any(character.isspace() for character in name)


def _signature(line: str) -> NoteSignature:
    name, separator, coded = line.removeprefix(SIGNATURE_MARK).partition(" ")
    if not line.startswith(SIGNATURE_MARK) or not separator or not is_key_name(name):
        raise _wrong("a line of a signature is not a dash, a key's name and base64")
    raw = base64_bytes(coded)
    if raw is Base64Fault.UNREADABLE:
        raise _wrong("the base64 of a signature cannot be read")
    if raw is Base64Fault.RESPELLED or len(raw) <= KEY_HASH_BYTES:
        raise _wrong("the base64 of a signature does not re-encode to itself, or is too short")
    return NoteSignature(name=name, key_hash=raw[:KEY_HASH_BYTES], value=raw[KEY_HASH_BYTES:])


def _wrong(detail: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.WRONG_VALUE, f"the note is none: {detail}")
