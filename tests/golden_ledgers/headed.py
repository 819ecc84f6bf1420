"""Records with checkpoints, and the files of checkpoints beside them, made without docket's tree, notes or signing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from docket.formats.canonical import encode
from docket.formats.digest import Digest
from docket.formats.ledger.checkpoint_events import CheckpointMade
from docket.formats.ledger.event import Event
from docket.formats.ledger.proof_facts import ProofFacts, SigningKey
from docket.formats.ledger.session_events import Note
from golden_ledgers.build import LedgerBuilder, closed, opened
from golden_ledgers.judging import receipt_of
from golden_ledgers.proven import FINGERPRINT, NUMBERED, PROJECT, PUBLIC_KEY, SECRET_KEY, signed

Make = Callable[..., dict[str, Any]]
ORIGIN, SIGNED_ORIGIN = "docket.local/unsigned/0123456789ab", f"docket.local/{FINGERPRINT}/0123456789ab"


def root_of(hashes: Sequence[str]) -> str:
    """The root as RFC 9162, 2.1.1 defines it, by recursion."""
    if len(hashes) == 1:
        return hashlib.sha256(b"\0" + bytes.fromhex(hashes[0])).hexdigest()
    split = 1
    while split * 2 < len(hashes):
        split *= 2
    return hashlib.sha256(
        b"\1" + b"".join(bytes.fromhex(root_of(part)) for part in (hashes[:split], hashes[split:]))
    ).hexdigest()


def root_by(entry: bytes, index: int, size: int, proof: list[bytes]) -> str:
    """The root by the recursion of RFC 9162, 2.1.3.1, read backwards."""

    def climb(at: int, leaves: int, left: list[bytes]) -> bytes:
        if leaves == 1:
            return hashlib.sha256(b"\0" + entry).digest()
        half = 1 << (leaves - 1).bit_length() - 1
        *below, sibling = left
        if at < half:
            return hashlib.sha256(b"\1" + climb(at, half, below) + sibling).digest()
        return hashlib.sha256(b"\1" + sibling + climb(at - half, leaves - half, below)).digest()

    return climb(index, size, proof).hex()


def made(events: Sequence[Event], number: int, size: int) -> CheckpointMade:
    """The event of a checkpoint over the first `size` events."""
    return CheckpointMade(number=number, size=size, root=Digest(root_of([event.hash for event in events[:size]])))


def _course(ledger: LedgerBuilder) -> LedgerBuilder:
    ledger.add(made(ledger.events, 1, 2))
    ledger.add(Note(code="policy-remark", message="nothing of note"))
    ledger.add(made(ledger.events, 2, len(ledger.events)))
    return ledger


def checkpointed() -> LedgerBuilder:
    """A run with two checkpoints before its last, and no key."""
    return closed(_course(opened(proof=NUMBERED)), "0.00")


def signed_run() -> LedgerBuilder:
    """A run with two checkpoints before its last, to be signed."""
    facts = ProofFacts(origin=SIGNED_ORIGIN, project=PROJECT, run=7, signature=SigningKey(public_key=PUBLIC_KEY))
    return closed(_course(opened(proof=facts)), "0.00")


def note_of(origin: str, size: int, root: str, secret: bytes | None = None, public: str = PUBLIC_KEY) -> str:
    """A checkpoint as its specification spells it."""
    body = f"{origin}\n{size}\n{base64.b64encode(bytes.fromhex(root)).decode()}\n"
    if secret is None:
        return body
    name = f"docket.local/{hashlib.sha256(bytes.fromhex(public)).hexdigest()[:16]}"
    key_hash = hashlib.sha256(name.encode() + b"\n\x01" + bytes.fromhex(public)).digest()[:4]
    value = Ed25519PrivateKey.from_private_bytes(secret).sign(body.encode())
    return f"{body}\n\u2014 {name} {base64.b64encode(key_hash + value).decode()}\n"


def line_of(number: int, note: str) -> bytes:
    """One line of the file."""
    return encode({"format": "docket/checkpoint/v1", "number": number, "note": note}) + b"\n"


def sizes_of(ledger: LedgerBuilder) -> list[int]:
    """The sizes that a run's checkpoints have: those its ledger tells of, and all of it."""
    told = [event.data["size"] for event in ledger.events if event.type == CheckpointMade.TYPE]
    return [*told, len(ledger.events)]  # type: ignore[list-item] # the samples' sizes are integers


def file_of(ledger: LedgerBuilder, origin: str = ORIGIN, secret: bytes | None = None) -> bytes:
    """The file of checkpoints beside a ledger."""
    hashes = [event.hash for event in ledger.events]
    return b"".join(
        line_of(number, note_of(origin, size, root_of(hashes[:size]), secret))
        for number, size in enumerate(sizes_of(ledger), 1)
    )


def accepted(vector: Make) -> Iterator[dict[str, Any]]:
    """Each with its verdict."""
    ledger = checkpointed()
    raw, told = ledger.data(), file_of(ledger).decode()
    receipt = receipt_of(raw)
    head = f"{ORIGIN} 2 {root_of([event.hash for event in ledger.events[:2]])}"
    yield vector("checkpoints told of, their file not given", receipt, raw, "consistent")
    yield vector("checkpoints and their file", receipt, raw, "consistent", checkpoints=told)
    yield vector("checkpoints without their ledger", receipt, None, "consistent", checkpoints=told)
    yield vector("a head written down earlier", receipt, raw, "consistent", heads=[head, f"docket-head {head}"])
    whole = f"{ORIGIN} {len(ledger.events)} {root_of([event.hash for event in ledger.events])}"
    yield vector("the whole ledger's head, without it", receipt, None, "consistent", heads=[whole])
    ledger = signed_run()
    raw = ledger.data()
    notes = file_of(ledger, SIGNED_ORIGIN, SECRET_KEY).decode()
    yield vector(
        "signed checkpoints", signed(receipt_of(raw)), raw, "verified", checkpoints=notes, public_keys=[PUBLIC_KEY]
    )
    ledger = checkpointed()
    *lines, _ = file_of(ledger).splitlines(keepends=True)
    ledger.events = ledger.events[:-1]
    yield from _killed(vector, "killed", ledger, b"".join(lines))
    size = len(ledger.events) - 1
    root = root_of([event.hash for event in ledger.events[:size]])
    untold = line_of(len(lines) + 1, note_of(ORIGIN, size, root))
    yield from _killed(vector, "killed, one kept that the ledger does not tell of", ledger, b"".join((*lines, untold)))


def _killed(vector: Make, name: str, ledger: LedgerBuilder, kept: bytes) -> Iterator[dict[str, Any]]:
    raw = ledger.data()
    yield vector(name, receipt_of(raw), raw, "incomplete", "evidence-completeness", checkpoints=kept.decode())


def refused(vector: Make) -> Iterator[dict[str, Any]]:
    """Each fails at this check first."""
    yield from _other_events(vector)
    ledger = checkpointed()
    raw, receipt = ledger.data(), receipt_of(ledger.data())
    for name, data in _other_files(ledger):
        yield vector(f"checkpoints: {name}", receipt, raw, "failed", "checkpoints", checkpoints=data.decode())
    hashes = [event.hash for event in ledger.events]
    for name, head in (
        ("another root", f"{ORIGIN} 2 {'ab' * 32}"),
        ("another origin", f"{SIGNED_ORIGIN} 2 {root_of(hashes[:2])}"),
        ("a larger ledger", f"{ORIGIN} {len(hashes) + 1} {root_of(hashes)}"),
        ("the root of another size", f"{ORIGIN} 3 {root_of(hashes[:2])}"),
    ):
        yield vector(f"a head written down earlier: {name}", receipt, raw, "failed", "checkpoints", heads=[head])
    yield vector(
        "a head written down earlier, and no ledger",
        receipt,
        None,
        "failed",
        "checkpoints",
        heads=[f"{ORIGIN} 2 {root_of(hashes[:2])}"],
    )
    exchanged = b"".join(line_of(at, note_of(ORIGIN, size, root_of(hashes[:size]))) for at, size in ((1, 6), (2, 2)))
    whole = line_of(3, note_of(ORIGIN, len(hashes), root_of(hashes)))
    yield vector(
        "checkpoints without their ledger: a smaller size behind a larger one",
        receipt,
        None,
        "failed",
        "checkpoints",
        checkpoints=(exchanged + whole).decode(),
    )
    ledger.events = ledger.events[:-1]
    *lines, _ = file_of(checkpointed()).splitlines(keepends=True)
    untold = line_of(3, note_of(ORIGIN, len(ledger.events) - 1, "ab" * 32))
    yield vector(
        "killed, one kept that the ledger does not tell of, with another root",
        receipt_of(ledger.data()),
        ledger.data(),
        "failed",
        "evidence-completeness",
        checkpoints=b"".join((*lines, untold)).decode(),
    )
    ledger = signed_run()
    raw, receipt = ledger.data(), signed(receipt_of(ledger.data()))
    for name, data in _other_signatures(ledger):
        yield vector(f"signed checkpoints: {name}", receipt, raw, "failed", "checkpoints", checkpoints=data.decode())


def _other_events(vector: Make) -> Iterator[dict[str, Any]]:
    for name, number, size, changed in (
        ("another root", 1, 2, "ab" * 32),
        ("another number", 2, 2, None),
        ("the size of what comes after", 1, 5, None),
        ("no event", 1, 0, "ab" * 32),
    ):
        ledger = opened(proof=NUMBERED)
        hashes = [event.hash for event in ledger.events]
        root = Digest(changed or root_of((hashes * 2)[:size]))
        ledger.add(CheckpointMade(number=number, size=size, root=root))
        raw = closed(ledger, "0.00").data()
        yield vector(f"a checkpoint in the ledger: {name}", receipt_of(raw), raw, "failed", "checkpoints")
    ledger = opened(proof=NUMBERED)
    ledger.add(made(ledger.events, 1, 3))
    ledger.add(made(ledger.events, 2, 3))
    raw = closed(ledger, "0.00").data()
    yield vector("two checkpoints of one size", receipt_of(raw), raw, "failed", "checkpoints")


def _other_files(ledger: LedgerBuilder) -> Iterator[tuple[str, bytes]]:
    one, two, three = lines = file_of(ledger).splitlines(keepends=True)
    hashes, sizes = [event.hash for event in ledger.events], sizes_of(ledger)

    def numbered(*kept: int) -> bytes:
        return b"".join(
            line_of(at, note_of(ORIGIN, sizes[which], root_of(hashes[: sizes[which]])))
            for at, which in enumerate(kept, 1)
        )

    yield "the last line cut off", one + two
    yield "cut within a line", b"".join(lines)[:-9]
    yield "without its last LF", b"".join(lines)[:-1]
    yield "empty", b""
    yield "two lines exchanged", two + one + three
    yield "two lines exchanged and numbered anew", numbered(1, 0, 2)
    yield "a line twice", one + one + two + three
    yield "a line twice, numbered anew", numbered(0, 0, 1, 2)
    yield "a line left out, numbered anew", numbered(0, 2)
    yield "an empty line", one + two + b"\n" + three
    yield "another run's", file_of(ledger, ORIGIN.replace("0123456789ab", "ba9876543210"))
    yield "another root", one + two + line_of(3, note_of(ORIGIN, sizes[2], "ab" * 32))
    yield "another root in the middle", one + line_of(2, note_of(ORIGIN, sizes[1], "ab" * 32)) + three
    yield "a blank in a line", one.replace(b'{"', b'{ "', 1) + two + three
    yield "a further line in a body", one + two + line_of(3, note_of(ORIGIN, sizes[2], root_of(hashes)) + "more\n")
    yield "a size with a zero in front", one.replace(b"\\n2\\n", b"\\n02\\n") + two + three
    yield "a further member", one.replace(b"{", b'{"also":1,', 1) + two + three
    yield "signed, where the run names no key", file_of(ledger, ORIGIN, SECRET_KEY)


def _other_signatures(ledger: LedgerBuilder) -> Iterator[tuple[str, bytes]]:
    good = file_of(ledger, SIGNED_ORIGIN, SECRET_KEY)
    one, two, _ = good.splitlines(keepends=True)
    hashes, size = [event.hash for event in ledger.events], len(ledger.events)
    note = note_of(SIGNED_ORIGIN, size, root_of(hashes), SECRET_KEY)
    body, _, line = note.partition("\n\n")
    first_note = note_of(SIGNED_ORIGIN, 2, root_of(hashes[:2]), SECRET_KEY)
    other = first_note.partition("\n\n")[2]
    yield "none", file_of(ledger, SIGNED_ORIGIN)
    yield "that of another checkpoint", one + two + line_of(3, f"{body}\n\n{other}")
    yield (
        "by another key under this one's name",
        one + two + line_of(3, note_of(SIGNED_ORIGIN, size, root_of(hashes), b"\x07" * 32)),
    )
    yield "two of them", one + two + line_of(3, note + line)
    yield "base64 with a loose bit", one + two + line_of(3, note.replace(line, _loose(line)))
    yield "without the last LF", one + two + line_of(3, note[:-1])
    yield "of another name", one + two + line_of(3, note.replace(f"— docket.local/{FINGERPRINT}", "— elsewhere"))


def _loose(line: str) -> str:
    """The same bytes in another base64: 68 of them leave two bits that say nothing."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    text = line.rstrip("\n").rstrip("=")
    padding = line.rstrip("\n")[len(text) :]
    return text[:-1] + alphabet[alphabet.index(text[-1]) ^ 1] + padding + "\n"
