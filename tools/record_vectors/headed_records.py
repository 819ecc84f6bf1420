"""Scenarios of checkpoints, of heads that were written down, and of copies that hide something."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator

from record_vectors import ledgers
from record_vectors.ledgers import Story
from record_vectors.primitives import Json, canonical, chained, root, signature, signed
from record_vectors.scenario import PUBLIC, SECRET, Scenario, Side, doctored, side, twin
from record_vectors.vouched_records import OTHER_SECRET, facts

CHECK = "checkpoints"
KEY_NAME = facts(seal=False)["origin"].rpartition("/")[0]
ORIGIN = f"{KEY_NAME}/{ledgers.SESSION}"


def scenarios() -> Iterator[Scenario]:
    """Every scenario."""
    yield from _events()
    yield from _files()
    yield from _heads()
    yield from _copies()


def marked(story: Story, *, number: int, size: int | None = None, other_root: str | None = None) -> Story:
    """The story with a checkpoint over what stands so far, or over its first `size` events."""
    hashes = [event["hash"] for event in chained(story.bodies)]
    size = len(hashes) if size is None else size
    return story.tell("x-docket.checkpoint", number=number, size=size, root=other_root or root(hashes[:size]))


def told(first: Json | None = None, second: Json | None = None) -> Story:
    """A signed run with two checkpoints, each with what is said otherwise of it."""
    start = Story().begin(proof=facts(seal=False))
    story = marked(start, number=1, **(first or {}))
    story.look("before", 2).spawn().price("gpt-5", "1.25", "0.125", "10").ask(1, "openai", "gpt-5")
    usage, parts = ledgers.counts(1000, 400, 50), [ledgers.part("gpt-5", "0.001300", 1000, 400, 50)]
    story.answer(1, ("openai", "gpt-5"), usage, parts, ("0.001300", "0.001300"))
    return marked(story, **{"number": 2, **(second or {})}).finish("0.001300")


def signed_side(story: Story, **more: object) -> Side:
    """Its record, signed."""
    return side(story, lambda receipt: signed(receipt, SECRET), **more)


def note(size: int, head: str, *, secret: bytes = SECRET, origin: str = ORIGIN) -> str:
    """A checkpoint as a signed note."""
    body = f"{origin}\n{size}\n{base64.b64encode(bytes.fromhex(head)).decode()}\n"
    mark = hashlib.sha256(KEY_NAME.encode() + b"\n\x01" + bytes.fromhex(PUBLIC)).digest()[:4]
    value = base64.b64encode(mark + signature(secret, body.encode())).decode()
    return f"{body}\n\u2014 {KEY_NAME} {value}\n"


def lines(story: Story) -> list[tuple[int, str]]:
    """Size and root of each checkpoint: those that events tell of, and the whole."""
    events = chained(story.bodies)
    hashes = [event["hash"] for event in events]
    sizes = [event["data"]["size"] for event in events if event["type"] == "x-docket.checkpoint"]
    return [(size, root(hashes[:size])) for size in (*sizes, len(hashes))]


def file_of(notes: list[str]) -> bytes:
    """The file beside the ledger."""
    of = [{"format": "docket/checkpoint/v1", "note": text, "number": number} for number, text in enumerate(notes, 1)]
    return b"".join(canonical(line) + b"\n" for line in of)


def _events() -> Iterator[Scenario]:
    good = signed_side(told())
    yield Scenario(name="checkpoints-told", says="checkpoints that the ledger tells of", accepted=good)
    zeros = "0" * 64
    for name, says, story in (
        ("root-other", "a root is the ledger's at that size", told(second={"other_root": zeros})),
        ("first-root-other", "the first one's too", told(first={"other_root": zeros})),
        ("size-other", "the size is that of the root", told(second={"size": 7, "other_root": lines(told())[1][1]})),
        ("size-smaller", "a later one is of more events", told(second={"size": 2})),
        ("number-left-out", "they number from 1", told(second={"number": 3})),
        ("number-twice", "each once", told(second={"number": 1})),
    ):
        made = signed_side(story)
        yield twin(f"checkpoint-{name}", says, CHECK, good, receipt=made.receipt, ledger=made.ledger)


def _files() -> Iterator[Scenario]:
    known = lines(told())
    notes = [note(*line) for line in known]
    good = signed_side(told(), checkpoints=file_of(notes), public_keys=(PUBLIC,), verdict="verified")
    yield Scenario(name="checkpoints-kept", says="the file of checkpoints, signed and whole", accepted=good)
    other = note(known[1][0], known[0][1])
    body = notes[2].partition("\n\n")[0] + "\n"
    for name, says, data in (
        ("line-left-out", "there is one for each that is told of", file_of([notes[0], notes[2]])),
        ("last-left-out", "and one over the whole", file_of(notes[:2])),
        ("line-twice", "each once", file_of([notes[0], *notes])),
        ("root-of-another", "a line has the root that the ledger has", file_of([notes[0], other, notes[2]])),
        ("by-another-key", "and is signed by the run's key",
         file_of([*notes[:2], note(*known[2], secret=OTHER_SECRET)])),
        ("unsigned", "never by none", file_of([*notes[:2], body])),
        ("of-another-run", "and of the run's origin",
         file_of([*notes[:2], note(*known[2], origin=f"{KEY_NAME}/000000000000")])),
        ("numbered-otherwise", "numbers are those of the events", file_of(notes).replace(b'"number":2', b'"number":4')),
        ("torn", "a line is whole", file_of(notes)[:-1]),
        ("blank", "and canonical", file_of(notes).replace(b'"number":2', b'"number": 2')),
        ("empty", "a file has a line", b""),
    ):  # fmt: skip
        yield twin(f"checkpoint-file-{name}", says, CHECK, good, checkpoints=data)
    yield twin("checkpoint-file-of-a-longer-ledger", "who cut the ledger has to sign it anew", "head", good,
               ledger=b"".join((good.ledger or b"").splitlines(keepends=True)[:-1]))  # fmt: skip


def _heads() -> Iterator[Scenario]:
    known = lines(told())
    words = [f"{ORIGIN} {size} {head}" for size, head in known]
    good = signed_side(told(), heads=(words[0], words[2]))
    yield Scenario(name="heads-known", says="heads that somebody wrote down", accepted=good)
    for name, says, head in (
        ("of-another-ledger", "a ledger begins as it was", f"{ORIGIN} {known[1][0]} {known[0][1]}"),
        ("beyond-the-end", "and goes on", f"{ORIGIN} {known[2][0] + 1} {known[2][1]}"),
        ("of-another-run", "and is the run's", f"{KEY_NAME}/000000000000 {known[0][0]} {known[0][1]}"),
    ):
        yield twin(f"head-{name}", says, CHECK, good, heads=(head,))


def _copies() -> Iterator[Scenario]:
    hidden = {"profiles": ["argv", "paths"], "replaced": 3, "not_carried": ["checkpoints"], "commitment": ledgers.SOME}
    story = ledgers.called(argv=["[redacted]"], redaction=hidden).finish("0.001300", ({"path": "[path-1]"},))
    good = side(story)
    yield Scenario(name="copy-that-hides", says="a copy that says what it hides", accepted=good)
    yield doctored("copy-as-whole", "a copy that hides something says so", "receipt-rebuild", good,
                   lambda r: r.pop("redaction") and None)  # fmt: skip
    yield doctored("copy-hides-less", "and how much", "receipt-rebuild", good,
                   lambda r: r["redaction"].update(replaced=0))  # fmt: skip
