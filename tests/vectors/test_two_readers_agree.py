"""Documents that nobody thought of: docket's readers and the specification's second reader accept the same ones.

Each begins as a document of the vectors and is changed at random, by a generator with a fixed seed.
"""

from __future__ import annotations

import base64
import copy
import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.tree.manifest import decode_manifest
from docket.formats.tree.plan import decode_plan
from docket.formats.tree.restore_record import decode_record

HERE = Path(__file__).parent
VECTORS = HERE.parents[1] / "spec" / "vectors"
READERS = {"snapshot": decode_manifest, "plan": decode_plan, "restore": decode_record}
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**53 - 1, 420, 511, 512, 1536, 4095, 4096, "", "a", "/", "..", "a/b", "a\0b", "0",
    "-1", "01", "/w==", "YQ==", "file", "directory", "symlink", "fifo", "absent", "anything", "applied", "refused",
    "\xe9", "0" * 64, [], {}, ["."], {"path": "q"}, {"kind": "file", "mode": 1, "size": 1},
    {"kind": "symlink", "target": "x"},
)  # fmt: skip
NAMES = (
    "path", "path_b64", "target", "target_b64", "mode", "size", "sha256", "kind", "xattrs", "sparse", "link_group",
    "mtime_ns", "to", "was", "now", "kept", "status", "reason", "detail", "root_b64", "precondition", "step", "other",
)  # fmt: skip
LARGEST_BYTES = 5000


def containers(value: Any) -> list[Any]:
    if not isinstance(value, (dict, list)):
        return []
    inner = value.values() if isinstance(value, dict) else value
    return [value, *(found for item in inner for found in containers(item))]


def change(value: Any, chance: random.Random) -> None:
    found = chance.choice(containers(value))
    new = copy.deepcopy(chance.choice(VALUES))
    way = chance.random()
    if isinstance(found, dict):
        names = sorted(found)
        if way < 0.2 and names:
            del found[chance.choice(names)]
        else:
            found[chance.choice(names if way < 0.8 and names else NAMES)] = new
    elif way < 0.3:
        chance.shuffle(found)
    elif way < 0.7 and found:
        found.append(copy.deepcopy(chance.choice(found)))
    else:
        found.append(new)


def changed(document: bytes, chance: random.Random) -> bytes:
    lines = [json.loads(line) for line in document.splitlines()]
    for _ in range(chance.choice((1, 1, 2, 3))):
        change(lines, chance)
    texts = (json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for line in lines)
    return "".join(text + "\n" for text in texts).encode("utf-8")


def is_accepted(subject: str, document: bytes) -> bool:
    try:
        READERS[subject](document)
    except InvalidDocumentError:
        return False
    return True


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("subject", READERS)
def test_they_accept_the_same(subject):
    chance = random.Random(subject)
    found = (json.loads(path.read_text("utf-8"))["accepted"] for path in sorted((VECTORS / subject).glob("*.json")))
    documents = [item["text"].encode("utf-8") for item in found if len(item.get("text", "")) in range(1, LARGEST_BYTES)]
    strange = [changed(chance.choice(documents), chance) for _ in range(1500)]
    asked = "".join(json.dumps([subject, base64.b64encode(item).decode()]) + "\n" for item in strange)
    done = subprocess.run(
        ["node", str(HERE / "judge.mjs")], input=asked, capture_output=True, text=True, timeout=120, check=True
    )
    verdicts = [verdict == "accepted" for verdict in done.stdout.splitlines()]
    assert [item for item, ok in zip(strange, verdicts, strict=True) if is_accepted(subject, item) is not ok] == []
    assert 20 < sum(verdicts) < len(strange) - 20
