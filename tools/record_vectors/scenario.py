"""What a scenario of a record is, how one is told from its twin, and how it is filed."""

from __future__ import annotations

import copy
import difflib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from record_vectors.fold import receipt_of
from record_vectors.ledgers import Story
from record_vectors.primitives import Json, chained, digest, lines_of, path, root, sealed, signed

# The first key of RFC 8032, 7.1, whose secret is printed there too; and 32 bytes of 0b.
SECRET = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
SEAL = b"\x0b" * 32
READING = "reading"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A record as files, the keys that are named, and what a verifier must say: `fails` is a check, or READING."""

    receipt: bytes
    ledger: bytes | None
    public_keys: tuple[str, ...] = ()
    seal_keys: tuple[str, ...] = ()
    checkpoints: bytes | None = None
    heads: tuple[str, ...] = ()
    state: Json | None = None
    verdict: str = "consistent"
    fails: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is accepted, and its twin that differs in what `says` tells."""

    name: str
    says: str
    accepted: Side
    refused: Side | None = None


def printed(receipt: Json) -> bytes:
    """A receipt as a document for people."""
    return json.dumps(receipt, indent=2, ensure_ascii=False).encode("utf-8") + b"\n"


def side(story: Story, vouch: Callable[[Json], Json] = lambda receipt: receipt, **more: object) -> Side:
    """The record of a story, with a receipt that follows from it."""
    events = chained(story.bodies)
    made = Side(receipt=printed(vouch(receipt_of(events))), ledger=lines_of(events))
    return replace(made, **more)  # type: ignore[arg-type]


def both_keys(receipt: Json) -> Json:
    """Sealed and signed."""
    return signed(sealed(receipt, SEAL), SECRET)


def doctored(name: str, says: str, fails: str, good: Side, change: Callable[[Json], object]) -> Scenario:
    """The same ledger, and a receipt in which something was changed."""
    receipt = json.loads(good.receipt)
    made = change(receipt)
    receipt = made if isinstance(made, dict) and "format" in made else receipt
    return twin(name, says, fails, good, receipt=printed(receipt))


def twin(name: str, says: str, fails: str, good: Side, **changes: object) -> Scenario:
    """The same but for some of its parts."""
    verdict = "unreadable" if fails == READING else "failed"
    told = None if fails == READING else fails
    bad = replace(good, verdict=verdict, fails=told, **changes)  # type: ignore[arg-type]
    return Scenario(name=name, says=says, accepted=good, refused=bad)


def retold(
    name: str, says: str, fails: str, told: tuple[Story, Callable[[list[Json]], object]], *, derived: bool = True
) -> Scenario:
    """Another record that agrees with itself: the ledger chained anew, the receipt made of it.

    `told` is the story and what changes its bodies. Where `derived` is false the receipt is the old one, with what
    names events by hash made to fit.
    """
    story, change = told
    bodies = copy.deepcopy(story.bodies)
    change(bodies)
    events = chained(bodies)
    good = side(story)
    receipt = receipt_of(events) if derived else repinned(json.loads(good.receipt), events)
    return twin(name, says, fails, good, receipt=printed(receipt), ledger=lines_of(events))


def repinned(receipt: Json, events: list[Json]) -> Json:
    """The receipt with the figures of the chain made to fit: head, root, digest, the rows' hashes and paths."""
    hashes = [event["hash"] for event in events]
    receipt["ledger"] |= {"head": hashes[-1], "merkle_root": root(hashes), "file_sha256": digest(lines_of(events))}
    for row in receipt["appendix"]["usage"]:
        row |= {"event_hash": hashes[row["seq"]], "merkle_path": path(hashes, row["seq"])}
    return receipt


def first(bodies: list[Json], type_: str) -> Json:
    """The data of the first event of a type."""
    found: Json = next(body["data"] for body in bodies if body["type"] == type_)
    return found


def file_of(item: Scenario, same_as: str | None = None) -> bytes:
    """A scenario as the JSON that is filed; what is refused is told by the lines that differ.

    `same_as` is another scenario whose accepted record has the same files: they are not told twice.
    """
    accepted = _whole(item.accepted) if same_as is None else {"files_of": same_as, **_asked(item.accepted)}
    told: Json = {"format": "docket/vector/record/v1", "says": item.says, "accepted": accepted}
    if item.refused is not None:
        told["refused"] = _other(item.accepted, item.refused)
    return json.dumps(told, indent=1, ensure_ascii=False).encode("utf-8") + b"\n"


def _whole(of: Side) -> Json:
    parts = {"receipt": _text(of.receipt), "ledger": None if of.ledger is None else _text(of.ledger)}
    return {**parts, **_asked(of)}


def _asked(of: Side) -> Json:
    named = {"public_keys": list(of.public_keys), "seal_keys": list(of.seal_keys), "heads": list(of.heads)}
    told = {name: value for name, value in named.items() if value}
    if of.checkpoints is not None:
        told["checkpoints"] = of.checkpoints.decode("utf-8")
    if of.state is not None:
        told["state"] = of.state
    return {**told, "verdict": of.verdict, "first_failure": of.fails}


def _text(data: bytes) -> Json:
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"hex": data.hex()}


def _other(good: Side, bad: Side) -> Json:
    receipt = _edits(good.receipt, bad.receipt)
    if bad.ledger is None or good.ledger is None:
        return {"receipt": receipt, "ledger": None if bad.ledger is None else _text(bad.ledger), **_asked(bad)}
    return {"receipt": receipt, "ledger": _edits(good.ledger, bad.ledger), **_asked(bad)}


def _edits(old: bytes, new: bytes) -> Json:
    """[line, lines that go, text that stands there], the last first: so each may be made as it is read."""
    try:
        lines, others = (data.decode("utf-8").split("\n") for data in (old, new))
    except UnicodeDecodeError:
        return {"hex": new.hex()}
    found = difflib.SequenceMatcher(None, lines, others, autojunk=False).get_opcodes()
    edits = [[i, j - i, others[k:m]] for tag, i, j, k, m in found if tag != "equal"]
    return {"edits": edits[::-1]}
