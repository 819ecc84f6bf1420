"""The manifests, plans and records of the specification, each scenario: what is accepted, and its twin that is not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.tree.manifest import decode_manifest
from docket.formats.tree.plan import decode_plan, plan_of
from docket.formats.tree.restore_record import decode_record, encode_record
from docket.formats.tree.steps import Link, MakeDirectory, MakeSymlink, Remove, SetMode, WriteFile

REPOSITORY = Path(__file__).parents[2]
VECTORS = REPOSITORY / "spec" / "vectors"
STEPS = {WriteFile: "write", MakeDirectory: "directory", MakeSymlink: "symlink", SetMode: "mode", Link: "link",
         Remove: "remove"}  # fmt: skip


def read_manifest(document: bytes) -> dict[str, int]:
    manifest = decode_manifest(document)
    return {
        "entries": len(manifest.files),
        "directories": len(manifest.directories),
        "symlinks": len(manifest.symlinks),
        "not_covered": len(manifest.not_covered),
        "not_preserved": len(manifest.not_preserved),
        "contents": len(manifest.addresses()),
    }


def read_plan(document: bytes) -> dict[str, int]:
    plan = decode_plan(document)
    assert plan.digest == sha256(document).hexdigest()
    assert plan_of(reversed(plan.steps), plan.root) == plan
    counts = Counter(STEPS[type(step)] for step in plan.steps)
    return {name: counts[name] for name in STEPS.values()}


def read_record(document: bytes) -> dict[str, int]:
    record = decode_record(document)
    assert encode_record(record) == document
    counts = Counter(str(item.status) for item in record.paths)
    names = ("applied", "already", "refused", "failed", "skipped")
    return {"paths": len(record.paths), **{name: counts[name] for name in names}}


READERS = {"snapshot": read_manifest, "plan": read_plan, "restore": read_record}


def bytes_of(told: dict[str, Any]) -> bytes:
    return bytes.fromhex(told["hex"]) if "hex" in told else told["text"].encode("utf-8")


def vectors(*, twins: bool) -> list[Any]:
    found = []
    for subject in READERS:
        for path in sorted((VECTORS / subject).glob("*.json")):
            vector = json.loads(path.read_text("utf-8"))
            if "refused" in vector or not twins:
                found.append(pytest.param(subject, vector, id=f"{subject}-{path.stem}"))
    return found


@pytest.mark.parametrize(("subject", "vector"), vectors(twins=False))
def test_accepted(subject, vector):
    document = bytes_of(vector["accepted"])
    assert READERS[subject](document) == vector["accepted"]["figures"]
    assert sha256(document).hexdigest() == vector["accepted"]["sha256"]


@pytest.mark.parametrize(("subject", "vector"), vectors(twins=True))
def test_refused(subject, vector):
    with pytest.raises(InvalidDocumentError) as caught:
        READERS[subject](bytes_of(vector["refused"]))
    assert caught.value.reason == vector["refused"]["reason"]
    assert caught.value.detail


def test_they_are_what_the_writer_writes_without_docket(tmp_path):
    script = REPOSITORY / "tools" / "write_document_vectors.py"
    subprocess.run([sys.executable, "-I", "-S", str(script), str(tmp_path)], check=True, timeout=60)
    for subject in READERS:
        written = {path.name: path.read_bytes() for path in (tmp_path / subject).iterdir()}
        assert written == {path.name: path.read_bytes() for path in (VECTORS / subject).iterdir()}


@pytest.mark.parametrize("subject", READERS)
def test_the_example_of_the_page_is_the_example(subject):
    page = (REPOSITORY / "spec" / f"{subject}.md").read_text("utf-8")
    shown = page.split("```\n")[1]
    whole = shown if subject == "plan" else "".join(line.strip() for line in shown.splitlines()) + "\n"
    vector = json.loads((VECTORS / subject / "example.json").read_text("utf-8"))
    assert whole == vector["accepted"]["text"]


@pytest.mark.parametrize("subject", READERS)
def test_each_rule_that_is_named_stands_on_the_page(subject):
    page = (REPOSITORY / "spec" / f"{subject}.md").read_text("utf-8")
    named = {vector.values[1]["refused"]["rule"] for vector in vectors(twins=True) if vector.values[0] == subject}
    for rule in named:
        section, _, number = rule.rpartition(" ")
        text = page.split(f"## {section}\n")[1].split("\n## ")[0]
        assert f"\n{number}. " in text
