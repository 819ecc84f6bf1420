"""The grammar of events in spec/events.json says what docket's own reader does: the same types, members and values."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Any

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import MAX_INTEGER, JsonValue, encode
from docket.formats.digest import Digest
from docket.formats.ledger.event import GENESIS, Event
from docket.formats.ledger.model_events import PriceRow
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.vocabulary import PAYLOADS
from docket.formats.relpath import RelPath
from docket.formats.run.usage import Usage
from docket.rules.checks.typed import typed
from docket.rules.receipt.prices import family_of
from golden_ledgers import mutate, samples
from golden_ledgers.strange import strange
from sweeps import some
from verify_js.in_node import NODE, needs_node

ROOT = Path(__file__).parents[2]
GRAMMAR = json.loads((ROOT / "spec" / "events.json").read_bytes())
PLAIN: Mapping[Any, str] = {
    str: "text", bool: "flag", int: "integer", Usd: "amount", Digest: "digest", RelPath: "path", Usage: "@usage",
}  # fmt: skip
# What the vocabulary takes for any text, and the receipt's fold for a price.
PRICES = {"x-docket.price": ("input", "cached_input", "output")}


class Described:
    """The members of payload classes as the grammar spells them."""

    def __init__(self) -> None:
        self.records: dict[str, Any] = {}

    def record(self, cls: type) -> dict[str, Any]:
        """The required and the optional members of a class."""
        hints = typing.get_type_hints(cls, localns={"Sequence": Sequence, "Mapping": Mapping, "JsonValue": JsonValue})
        sides: dict[str, dict[str, Any]] = {"required": {}, "optional": {}}
        for item in fields(cls):
            kind, side = hints[item.name], "required"
            if typing.get_origin(kind) in (UnionType, typing.Union):
                (kind,) = (one for one in typing.get_args(kind) if one is not type(None))
                side = "optional"
            sides[side][item.name] = self.kind(kind)
        return {side: members for side, members in sides.items() if members or side == "required"}

    def kind(self, kind: Any) -> Any:
        """The word for a type."""
        if kind in PLAIN:
            return PLAIN[kind]
        if typing.get_origin(kind) is tuple:
            return f"{self.kind(typing.get_args(kind)[0])}[]"
        if typing.get_origin(kind) is not None:
            return "object"
        if issubclass(kind, StrEnum):
            return [str(choice) for choice in kind]
        name = re.sub("(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
        self.records[name] = self.record(kind)
        return f"@{name}"


def test_types_members_and_what_may_be_absent_are_those_of_the_vocabulary() -> None:
    described = Described()
    types = {type_: described.record(cls) for type_, cls in PAYLOADS.items()}
    for type_, names in PRICES.items():
        for side in types[type_].values():
            side.update((name, "price") for name in names if name in side)
    assert GRAMMAR["types"] == types
    assert {name: record for name, record in GRAMMAR["records"].items() if name != "usage"} == described.records


def test_a_usage_names_three_counts_always_and_the_others_where_there_are_some() -> None:
    usage = GRAMMAR["records"]["usage"]
    assert usage["required"] == dict.fromkeys(Usage(input_tokens=0).to_json(), "count")
    others = {item.name for item in fields(Usage)} - set(usage["required"])
    assert usage["optional"] == dict.fromkeys(others, "positive")
    whole = dict.fromkeys(usage["sum"], 1)
    assert Usage(**whole | {usage["at_most"]: len(whole)})
    try:
        Usage(**whole | {usage["at_most"]: len(whole) - 1})
    except InvalidDocumentError:
        return
    raise AssertionError


def test_verify_js_embeds_it() -> None:
    tool = ROOT / "tools" / "write_verify_js_lists.py"
    assert subprocess.run([sys.executable, str(tool), "--check"], timeout=60, check=False).returncode == 0


NEAR: Sequence[Any] = (
    None, True, 0, -1, MAX_INTEGER, "", "x", "agent", "tree", "1.00", "1.000000", "01.00", "0.5", "1.234567",
    "1000000000000.00", "9999999", "10000000", "ab" * 32, "AB" * 32, [], ["a"], [1], {}, {"path": "a"},
    {"path_b64": "Y2Fm6Q=="}, "a/b", "a//b", "/a", "a/", ".", "a/../b", "a\0b", "é/😀", "Y2Fm6Q==", "Y2Fm6R==", "YQ==",
    "x" * 16384, "x" * 16385,
)  # fmt: skip
INSTANTS = (
    "2026-10-01T12:00:00Z", "2026-10-01T12:00:00.5Z", "2026-10-01T12:00:00.123456789Z", "2026-10-01T12:00:60.000Z",
    "2026-02-31T12:00:00.000Z", "2026-10-01T12:00:00.Z", "2026-10-01T24:00:00.000Z", "2026-10-01t12:00:00.000z",
    "2026-10-01T12:00:00.000+00:00", "2026-13-01T12:00:00.000Z", " 2026-10-01T12:00:00.000Z",
    "2026-10-01T12:00:00.000Z\n", "٢026-10-01T12:00:00.000Z",
)  # fmt: skip


def variants() -> Iterator[dict[str, Any]]:
    """Every event of the golden ledgers, and each with one leaf, member or item changed."""
    seen = set()
    for sample in (*samples.ALL.values(), strange):
        for event in sample().events:
            data = dict(event.data)
            key = encode({"type": event.type, "data": data})
            if key in seen:
                continue
            seen.add(key)
            yield {"type": event.type, "ts": event.ts, "data": data}
            for _, changed in mutate.mutations(data):
                if isinstance(changed, dict):
                    yield {"type": event.type, "ts": event.ts, "data": changed}
            for path, _ in mutate.leaves(data):
                for other in NEAR if path else ():
                    yield {"type": event.type, "ts": event.ts, "data": mutate.replaced(data, path, other)}
            for name in ("path", "path_b64", "reported_by", "toString", "__proto__", "constructor"):
                yield {"type": event.type, "ts": event.ts, "data": {**data, name: "a"}}


def is_accepted(item: dict[str, Any]) -> bool:
    """Whether docket takes the event for one of its own."""
    event = Event(seq=0, ts=item["ts"], type=item["type"], prev=GENESIS, hash=GENESIS, line=b"", read_data=item["data"])
    try:
        payload = typed(event)
        if isinstance(payload, PriceRow):
            family_of(payload)
    except InvalidDocumentError:
        return False
    assert payload is None or isinstance(payload, Payload)
    return True


@needs_node
@some(37)
def test_both_readers_take_the_same_events(stride: int) -> None:
    items = [item for number, item in enumerate(variants()) if number % stride == 0]
    items += [{"type": "x-docket.other-type", "ts": ts, "data": {"ts": ts}} for ts in INSTANTS]
    lines = b"".join(encode(item) + b"\n" for item in items)
    script = Path(__file__).parent / "grammar.mjs"
    done = subprocess.run([str(NODE), str(script)], input=lines, capture_output=True, timeout=300, check=True)
    answers = done.stdout.decode().split("\n")[:-1]
    assert len(answers) == len(items)
    differing = [
        f"{item['type']} {item['ts']} {encode(item['data'])[:300]!r}: {answer or 'accepted'}"
        for item, answer in zip(items, answers, strict=True)
        if is_accepted(item) is not (answer == "")
    ]
    assert differing == []
    assert 0 < sum(answer == "" for answer in answers) < len(answers)
