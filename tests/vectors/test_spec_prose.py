"""What the specification shows is true: its examples are run, its vocabulary is the code's."""

from __future__ import annotations

import re
import shutil
import subprocess
import typing
from collections.abc import Mapping, Sequence
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from types import UnionType

import pytest

from docket.formats.canonical import JsonValue, decode_document, encode
from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import follow
from docket.formats.ledger.tree_events import EntryState, OmittedPath
from docket.formats.ledger.vocabulary import PAYLOADS
from docket.formats.merkle import MerkleTree
from docket.formats.relpath import RelPath

SPEC = Path(__file__).parents[2] / "spec"
CANONICAL = (SPEC / "canonical.md").read_text("utf-8")
LEDGER = (SPEC / "ledger.md").read_text("utf-8")


def blocks(text: str) -> list[str]:
    return re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_canonical_example():
    written, canonical = (block.encode("utf-8") for block in blocks(CANONICAL)[:2])
    canonical = canonical.removesuffix(b"\n")
    assert encode(decode_document(written)) == canonical
    assert f"{len(canonical)} bytes" in CANONICAL
    assert sha256(canonical).hexdigest() in CANONICAL


def test_the_ledger_example():
    data = blocks(LEDGER)[0].encode("utf-8")
    events = list(follow([data]))
    assert len(events) == 4
    assert all(isinstance(event, Event) for event in events)
    root = MerkleTree([event.hash for event in events]).root
    assert f"`{root}`" in LEDGER
    assert f"`{sha256(data).hexdigest()}`" in LEDGER


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell")
def test_the_ledger_example_by_hand(tmp_path):
    data, script = blocks(LEDGER)[:2]
    (tmp_path / "ledger.jsonl").write_text(data, "utf-8")
    command, expected = script.strip().split("\n")
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == expected.removeprefix("# ")


def members_of(cls: type) -> list[str]:
    names = {"Sequence": Sequence, "Mapping": Mapping, "JsonValue": JsonValue}
    hints = typing.get_type_hints(cls, localns=names)
    shown = []
    for item in fields(cls):
        kind = hints[item.name]
        optional = typing.get_origin(kind) in (UnionType, typing.Union)
        name = "path" if kind is RelPath else item.name
        shown.append(f"[{name}]" if optional else name)
    return shown


def test_the_vocabulary_lists_every_type_with_its_members():
    rows = re.findall(r"^\| `([\w.-]+)` \| [^|]+ \| ([^|]+) \|$", LEDGER, re.MULTILINE)
    listed = {type_: members.strip().split(", ") for type_, members in rows}
    assert listed == {type_: members_of(cls) for type_, cls in PAYLOADS.items()}


@pytest.mark.parametrize("cls", [EntryState, OmittedPath])
def test_what_stands_within_a_payload_of_the_tree_is_listed_too(cls):
    assert f"{{{', '.join(members_of(cls))}}}" in " ".join(LEDGER.split())
