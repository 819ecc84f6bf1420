"""Checkpoints: what a ledger was at one size, in the form of c2sp.org/tlog-checkpoint, and the file that keeps them.

Rules (spec/checkpoint.md):
1. The body is three lines: the origin, the number of events in decimal digits, the root in base64. docket writes no
   further line and reads none.
2. With a key the body is the text of a signed note; without one the body stands alone.
3. The file is JSON Lines, each line canonical: {format, note, number}, numbered from 1.
"""

from __future__ import annotations

import re

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode, encode
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest, parse_digest
from docket.formats.proof.note import SIGNATURE_MARK, SignedNote, is_key_name, read_note
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.visible import Base64Fault, base64_bytes, base64_text

FORMAT = "docket/checkpoint/v1"
CHECKPOINTS_SUFFIX = ".checkpoints"
MAX_CHECKPOINTS_BYTES = 64 * 1024 * 1024
HEAD_WORD = "docket-head"
_SAID = "docket:"
_ROOT_BYTES = 32
_SIZE = re.compile(r"[1-9][0-9]{0,15}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeHead:
    """What a ledger was: whose it is, how many events it had, from 1 on, and the root over them."""

    origin: str
    size: int
    root: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCheckpoint:
    """One line of the file: its head, and the note that was read if it is one, else None."""

    number: int
    head: TreeHead
    note: SignedNote | None


def head_text(head: TreeHead) -> str:
    """Return the body of a checkpoint."""
    return f"{head.origin}\n{head.size}\n{base64_text(bytes.fromhex(head.root))}\n"


def read_head_text(text: str) -> TreeHead:
    """Return what a body says; InvalidDocumentError where it is not docket's three lines."""
    origin, size, coded, *rest = [*text.split("\n"), "", ""]
    if rest != ["", "", ""] or not is_key_name(origin):
        raise _wrong("its text is not an origin, a size and a root, a line each")
    root = base64_bytes(coded)
    if root is Base64Fault.UNREADABLE:
        raise _wrong("the base64 of its root cannot be read")
    if root is Base64Fault.RESPELLED or len(root) != _ROOT_BYTES:
        raise _wrong("its root is not 32 bytes in base64")
    return TreeHead(origin=origin, size=_size(size), root=Digest(root.hex()))


def read_checkpoint(text: str) -> tuple[TreeHead, SignedNote | None]:
    """Return what a checkpoint says, and the note if it is signed."""
    if "\n\n" not in text:
        return read_head_text(text), None
    note = read_note(text)
    return read_head_text(note.text), note


def head_words(head: TreeHead) -> str:
    """Return a head in the words that a person writes down: `ORIGIN SIZE ROOT`, the root in hexadecimal."""
    return f"{head.origin} {head.size} {head.root}"


def read_head_words(text: str) -> TreeHead:
    """Return the head that somebody wrote down, the printed line or its words; InvalidDocumentError if it is none."""
    words = text.split()
    if words[:2] == [_SAID, HEAD_WORD]:
        words = words[1:]
    if words[:1] == [HEAD_WORD]:
        words = words[1:]
    if len(words) != 3 or not is_key_name(words[0]):
        raise _wrong("a head is an origin, a number of events and a root")
    return TreeHead(origin=words[0], size=_size(words[1]), root=parse_digest(words[2]))


def anchored_text(note: str) -> str:
    """Return a checkpoint as it is appended to a person's own file: with an empty line after it."""
    return f"{note}\n"


def read_anchored(text: str) -> list[TreeHead]:
    """Return the heads of a file to which checkpoints were appended, signatures unread; InvalidDocumentError."""
    lines = [line for line in text.split("\n") if line and not line.startswith(SIGNATURE_MARK)]
    bodies = ("".join(f"{line}\n" for line in lines[at : at + 3]) for at in range(0, len(lines), 3))
    return [read_head_text(body) for body in bodies]


def checkpoint_line(number: int, note: str) -> bytes:
    """Return one line of the file, LF included."""
    return encode({"format": FORMAT, "note": note, "number": number}) + b"\n"


def read_checkpoints(data: bytes) -> list[KeptCheckpoint]:
    """Return the lines of a file; InvalidDocumentError names the first line that is none, or out of its turn."""
    *lines, tail = data.split(b"\n")
    if tail or not lines:
        raise _wrong(f"line {len(lines) + 1} is not whole" if tail else "the file holds no line")
    found: list[KeptCheckpoint] = []
    for line in lines:
        try:
            found.append(_kept(line, len(found) + 1))
        except InvalidDocumentError as error:
            raise InvalidDocumentError(error.reason, f"line {len(found) + 1}: {error.detail}") from error
    return found


def _kept(line: bytes, number: int) -> KeptCheckpoint:
    reader = Reader(decode(line), "the checkpoint")
    if reader.text("format") != FORMAT:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"the checkpoint is not {FORMAT}")
    found, note = reader.integer("number"), reader.text("note")
    reader.close()
    if found != number:
        raise _wrong(f"its number is {found}, the next one is {number}")
    head, signed = read_checkpoint(note)
    return KeptCheckpoint(number=number, head=head, note=signed)


def _size(text: str) -> int:
    if not _SIZE.fullmatch(text):
        raise _wrong("its size is not a number of events in decimal digits, from 1 on")
    return int(text)


def _wrong(detail: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.WRONG_VALUE, f"the checkpoint is none: {detail}")
