"""The vectors of the specification, through docket's formats and through the script that shares no code with them."""

from __future__ import annotations

import json
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode, encode
from docket.formats.ledger.event import GENESIS, Event
from docket.formats.ledger.lines import TornTail, follow
from docket.formats.merkle import MerkleTree, Sibling, Side, root_from_path

VECTORS = Path(__file__).parents[2] / "spec" / "vectors"


def load(name: str) -> dict:
    return json.loads((VECTORS / name).read_text("utf-8"))


def named(vectors: list[dict]) -> list:
    return [pytest.param(vector, id=vector["name"]) for vector in vectors]


def bytes_of(vector: dict) -> bytes:
    return bytes.fromhex(vector["hex"]) if "hex" in vector else vector["text"].encode("utf-8")


CANONICAL, LEDGER, MERKLE = load("canonical.json"), load("ledger.json"), load("merkle.json")


@pytest.mark.parametrize("vector", named(CANONICAL["accepted"]))
def test_canonical_accepted(vector):
    written = vector["canonical"].encode("utf-8")
    assert encode(vector["value"]) == written
    assert decode(written) == vector["value"]
    assert sha256(written).hexdigest() == vector["sha256"]


@pytest.mark.parametrize("vector", named(CANONICAL["refused"]))
def test_canonical_refused(vector):
    with pytest.raises(InvalidDocumentError) as caught:
        decode(bytes_of(vector))
    assert caught.value.reason == vector["reason"]


@pytest.mark.parametrize("vector", named(LEDGER["accepted"]))
def test_ledger_accepted(vector):
    data = bytes_of(vector)
    items = list(follow([data]))
    events = [item for item in items if isinstance(item, Event)]
    torn = [item for item in items if isinstance(item, TornTail)]
    assert len(events) == vector["events"]
    assert (events[-1].hash if events else GENESIS) == vector["head"]
    assert sum(len(item.data) for item in torn) == vector["torn_bytes"]
    assert MerkleTree([event.hash for event in events]).root == vector["merkle_root"]
    assert sha256(data).hexdigest() == vector["file_sha256"]


@pytest.mark.parametrize("vector", named(LEDGER["refused"]))
def test_ledger_refused(vector):
    with pytest.raises(InvalidDocumentError) as caught:
        list(follow([bytes_of(vector)]))
    assert caught.value.reason == vector["reason"]
    assert caught.value.detail.startswith(f"event {vector['event']}: ")


def test_merkle():
    hashes = MERKLE["event_hashes"]
    assert [MerkleTree(hashes[:size]).root for size in range(9)] == MERKLE["roots"]
    for vector in MERKLE["paths"]:
        path = tuple(Sibling(Side(step["side"]), step["hash"]) for step in vector["path"])
        assert MerkleTree(hashes[: vector["size"]]).path(vector["index"]) == path
        assert root_from_path(hashes[vector["index"]], path) == MERKLE["roots"][vector["size"]]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_foreign_program_agrees():
    done = subprocess.run(["node", str(VECTORS / "check.mjs")], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("vectors hold") == 7
