"""Look for bytes that a parser answers with anything but a value or a refusal: `python tools/fuzz_parsers.py TARGET`.

    python tools/fuzz_parsers.py canonical -max_total_time=60 [options of libFuzzer] [FOLDER of inputs]
    python tools/fuzz_parsers.py --list

It needs atheris (not a dependency of docket). Beside faults and hangs it looks for answers that are wrong: canonical
bytes that do not come back, a note that is written otherwise than it was read, a ledger that reads otherwise in other
pieces.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

with atheris.instrument_imports(include=["docket"]):
    from docket.errors import DocketError, InvalidDocumentError
    from docket.formats.canonical import JsonValue, decode, decode_document, encode
    from docket.formats.digest import Digest
    from docket.formats.ledger.event import GENESIS, Event, draft, read_event, seal
    from docket.formats.ledger.line_shape import LineShapes
    from docket.formats.ledger.lines import follow
    from docket.formats.ledger.payload_codec import from_members
    from docket.formats.ledger.vocabulary import PAYLOADS
    from docket.formats.proof import key_text
    from docket.formats.proof.checkpoint import read_checkpoints
    from docket.formats.proof.note import read_note, write_note
    from docket.formats.proof.trust import read_trust
    from docket.formats.proof.verifier_state import read_state
    from docket.formats.run.verdict import Word
    from docket.rules.checks.ledger_pass import LedgerPass, LedgerReading
    from docket.rules.checks.registry import judge
    from docket.rules.receipt.assemble import receipt_from_ledger

HASH = re.compile(rb',"hash":"[0-9a-f]{64}"')
VECTORS = Path(__file__).resolve().parent.parent / "spec" / "vectors"
Target = Callable[[bytes], None]


class WrongAnswerError(Exception):
    """A parser took bytes for what they are not."""


def held(condition: bool, what: str) -> None:  # noqa: FBT001 - a claim, as an assertion has it
    """Stop at an answer that is wrong."""
    if not condition:
        raise WrongAnswerError(what)


def canonical(data: bytes) -> None:
    """A canonical value is its bytes; a document's value has one spelling, which comes back."""
    with suppress(InvalidDocumentError):
        held(encode(decode(data)) == data, "canonical bytes that are written otherwise")
    with suppress(InvalidDocumentError):
        value = decode_document(data)
        held(encode(decode(encode(value))) == encode(value), "a value that does not come back")


def lines(data: bytes) -> None:
    """A ledger reads alike whatever pieces it comes in."""
    whole = _followed([data])
    size = 1 + len(data) % 7
    held(
        whole == _followed([data[at : at + size] for at in range(0, len(data), size)]), "other pieces, another reading"
    )


def _followed(pieces: list[bytes]) -> list[str]:
    found: list[str] = []
    try:
        found += (repr(item) for item in follow(pieces))
    except InvalidDocumentError as error:
        found.append(str(error.detail))
    return found


def shapes(data: bytes) -> None:
    """What a learned shape takes for an event is what the strict reading gives; the hash is made to fit first."""
    found = HASH.search(data)
    if found is None:
        return
    body = data[: found.start()] + data[found.end() :]
    line = data[: found.start()] + b',"hash":"' + sha256(body).hexdigest().encode() + b'"' + data[found.end() :]
    glanced = SHAPES.read(line)
    if glanced is not None:
        strict = read_event(decode(line), line)
        held(glanced[:6] == strict[:6], "a shape that reads another event")
        held(glanced.payload == from_members(PAYLOADS[strict.type], strict.data, strict.type), "another payload")


def notes(data: bytes) -> None:
    """A note is its text; checkpoints are read or refused."""
    with suppress(InvalidDocumentError):
        read_checkpoints(data)
    with suppress(InvalidDocumentError, UnicodeDecodeError):
        text = data.decode("utf-8")
        held(write_note(read_note(text)) == text, "a note that is written otherwise")


def keys(data: bytes) -> None:
    """Texts of keys are 32 bytes or refused."""
    for read in (key_text.read_private_key, key_text.read_seal_key):
        with suppress(InvalidDocumentError):
            held(len(read(data)) == 32, "a key of another length")
    with suppress(InvalidDocumentError, UnicodeDecodeError):
        held(len(key_text.read_public_key(data.decode("utf-8"))) == 32, "a key of another length")


def documents(data: bytes) -> None:
    """Lists of trusted keys and states of a verifier are read or refused."""
    with suppress(InvalidDocumentError):
        value = decode_document(data)
        for read in (read_trust, read_state):
            with suppress(InvalidDocumentError):
                read(value)


def receipts(data: bytes) -> None:
    """Any object in a receipt's place is judged, with a ledger and without; a good receipt has no twin."""
    with suppress(InvalidDocumentError):
        value = decode_document(data)
        if isinstance(value, dict):
            for reading in (READING, None):
                verdict = judge(value, reading, Word.CONSISTENT)
                held(bool(verdict.checks), "a verdict without a check")
                held(reading is None or not verdict.ok or encode(value) == RECEIPT, "another receipt of this ledger")


def ledgers(data: bytes) -> None:
    """Any bytes in a ledger's place are judged, and what folds is consistent or incomplete with its own receipt."""
    reading = _reading(data)
    held(bool(judge(GOOD, reading, Word.CONSISTENT).checks), "a verdict without a check")
    with suppress(DocketError):
        own = receipt_from_ledger([data])
        held(bool(judge(own, reading, Word.CONSISTENT).checks), "a verdict without a check")


def records(data: bytes) -> None:
    """A ledger with one event changed and chained anew is judged with the receipt that it gives, if it gives one."""
    source = atheris.FuzzedDataProvider(data)
    bodies = [dict(body) for body in BODIES[source.ConsumeIntInRange(0, len(BODIES) - 1)]]
    at = source.ConsumeIntInRange(0, len(bodies) - 1)
    bodies[at] = bodies[at] | {"data": _other(bodies[at]["data"], source)}
    if source.ConsumeBool():
        bodies.insert(source.ConsumeIntInRange(0, len(bodies)), bodies[source.ConsumeIntInRange(0, len(bodies) - 1)])
    raw = _chained(bodies)
    if raw is not None:
        ledgers(raw)


def _other(value: JsonValue, source: atheris.FuzzedDataProvider) -> JsonValue:
    """The value with junk, or a value of another place, somewhere in it."""
    if isinstance(value, dict) and value and source.ConsumeIntInRange(0, 5):
        name = source.PickValueInList(sorted(value))
        if source.ConsumeIntInRange(0, 9) == 0:
            return {key: item for key, item in value.items() if key != name}
        return {**value, name: _other(value[name], source)}
    if isinstance(value, list) and value and source.ConsumeIntInRange(0, 5):
        place = source.ConsumeIntInRange(0, len(value) - 1)
        return [*value[:place], _other(value[place], source), *value[place + 1 :]]
    if isinstance(value, dict):
        return {**value, source.PickValueInList(NAMES): source.PickValueInList(JUNK)}
    kind = source.ConsumeIntInRange(0, 2)
    if kind == 0:
        return source.ConsumeIntInRange(1 - 2**53, 2**53 - 1)
    return source.PickValueInList(JUNK) if kind == 1 else source.ConsumeUnicodeNoSurrogates(12)


def _chained(bodies: list[dict[str, JsonValue]]) -> bytes | None:
    prev, made = GENESIS, []
    for seq, body in enumerate(bodies):
        if not isinstance(body["data"], dict):
            return None
        event = seal(draft(str(body["type"]), body["data"]), seq=seq, ts=str(body["ts"]), prev=prev)
        made.append(event.line + b"\n")
        prev = event.hash
    return b"".join(made)


def _reading(data: bytes) -> LedgerReading:
    ledger, damage = LedgerPass(), None
    try:
        for item in follow([data]):
            ledger.take(item)
    except InvalidDocumentError as error:
        damage = error.detail
    return ledger.finish(file_sha256=Digest(sha256(data).hexdigest()), damage=damage)


def _side(name: str) -> tuple[bytes, bytes]:
    document = decode_document((VECTORS / "records" / f"{name}.json").read_bytes())
    accepted = document["accepted"]  # type: ignore[index,call-overload]
    return accepted["receipt"]["text"].encode(), accepted["ledger"]["text"].encode()  # type: ignore[index,call-overload,union-attr]


NAMED = (
    "plain-run",
    "cache-hits",
    "windows",
    "transaction",
    "theirs",
    "vouched-no-key-named",
    "busy-run",
    "everything",
)
SEEDS = [_side(name) for name in NAMED]
GOOD = decode_document(SEEDS[0][0])
RECEIPT, READING = encode(GOOD), _reading(SEEDS[0][1])
BODIES: list[list[dict[str, JsonValue]]] = [
    [
        {"type": event.type, "ts": event.ts, "data": dict(event.data)}
        for event in follow([ledger])
        if isinstance(event, Event)
    ]
    for _, ledger in SEEDS
]
NAMES = ["x", "proof", "window", "reported_by", "path_b64", "__proto__", "scope", "origin", "cache", "usage_parts"]
JUNK: list[JsonValue] = [
    None, True, False, 0, -1, 1, 2**53 - 1, "", "x", "*", "[", "0.00", "999999999999.999999", "1e9", "00" * 32,
    "a/../b", "2026-11-05T08:00:61.500Z", [], [None], {}, {"x": 1}, {"seq": 0, "hash": "ab" * 32}, {"max_usd": "0.01"},
    "model", "agent",
]  # fmt: skip
SHAPES = LineShapes(PAYLOADS)
for _, known in SEEDS:
    for item in follow([known]):
        for _ in range(16 if isinstance(item, Event) else 0):
            SHAPES.learn(item)
TARGETS: dict[str, Target] = {
    target.__name__: target for target in (canonical, lines, shapes, notes, keys, documents, receipts, ledgers, records)
}


def main(arguments: list[str]) -> None:
    """Run one target until libFuzzer's options end it."""
    if arguments[:1] == ["--list"] or not arguments or arguments[0] not in TARGETS:
        raise SystemExit("\n".join(TARGETS))
    name, *options = arguments
    target = TARGETS[name]
    with TemporaryDirectory() as folder:
        for number, (receipt, ledger) in enumerate(SEEDS):
            for part, data in (("receipt", receipt), ("ledger", ledger), *enumerate(ledger.split(b"\n"))):
                Path(folder, f"{part}-{number}").write_bytes(data)
        atheris.Setup([sys.argv[0], "-timeout=20", "-rss_limit_mb=1500", *options, folder], target)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
