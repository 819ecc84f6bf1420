"""The records of the specification: each scenario's two sides, in both verifiers, and how they came to be.

They are made by a program that shares no code with docket, so that both a right receipt and what must be refused are
somebody else's word.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import record_vectors_lab
from docket.engines.verify import verify_receipt
from docket.formats.canonical import encode_document
from docket.formats.run.verdict import Verdict
from docket.rules.checks.registry import CHECKS
from golden_ledgers.judging import first_failure
from receipt_vectors_lab import request_of
from record_vectors_lab import Told
from verify_js.in_node import Pair, disagreements, needs_node, verdicts

TOOLS = Path(__file__).parents[2] / "tools"
# Of all files in the order of their names: each name, a NUL, and the file's bytes. It changes with them alone.
CORPUS_SHA256 = "e5df057575a64a4c5e25d8fc5011e22f068f12b1b2d005d08312a72d8688cefc"
# What a check can fail at alone that stands in no record of this corpus: what is held beside the ledger.
BESIDE = {"retained-responses", "tool-deltas"}


def judged(told: Told, folder: Path) -> Verdict:
    """What docket says of a side."""
    kept = None if told.checkpoints is None else told.checkpoints.decode("utf-8")
    vector = {
        "receipt": told.receipt,
        "ledger": told.ledger,
        "checkpoints": kept,
        "heads": told.heads,
        "state": told.state,
        **told.keys,
    }
    return verify_receipt(request_of(vector, folder))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Told, Pair]]:
    """Each side with docket's verdict."""
    folder = tmp_path_factory.mktemp("records")
    return [
        (
            told,
            Pair(
                told.name,
                told.receipt,
                told.ledger,
                judged(told, folder),
                public_keys=tuple(told.keys["public_keys"]),
                seal_keys=tuple(told.keys["seal_keys"]),
                checkpoints=told.checkpoints,
                heads=tuple(told.heads),
                state=None if told.state is None else encode_document(told.state),
            ),
        )
        for told in record_vectors_lab.sides()
    ]


def test_docket_says_of_each_side_what_the_scenario_says(pairs: list[tuple[Told, Pair]]) -> None:
    found = [(pair.verdict, told) for told, pair in pairs]

    assert [
        (told.name, str(verdict.word), verdict.failures[:1], told.verdict, told.first_failure)
        for verdict, told in found
        if (str(verdict.word), first_failure(verdict) or None) != (told.verdict, told.first_failure)
    ] == []
    assert all(verdict.detail for verdict, told in found if told.verdict == "unreadable")


@needs_node
def test_verify_js_says_the_same_check_by_check(pairs: list[tuple[Told, Pair]]) -> None:
    given = verdicts(pair for _, pair in pairs)
    found = [(one["verdict"], one["failures"][0].partition(":")[0] if one["failures"] else None) for one in given]

    assert [
        (told.name, *both, told.verdict, told.first_failure)
        for (told, _), both in zip(pairs, found, strict=True)
        if both != (told.verdict, told.first_failure)
    ] == []
    assert disagreements([pair for _, pair in pairs], given) == []


def test_each_refusal_has_a_twin_that_is_accepted_and_each_check_a_refusal() -> None:
    sides = record_vectors_lab.sides()
    accepted = [told for told in sides if told.name.endswith(", accepted")]
    failing = Counter(told.first_failure for told in sides if told.verdict == "failed")

    assert {(told.verdict, told.first_failure) for told in accepted} == {
        ("consistent", None), ("verified", None), ("incomplete", "evidence-completeness"),
    }  # fmt: skip
    assert {name for name, _ in CHECKS} - set(failing) <= BESIDE
    assert sum(told.verdict == "unreadable" for told in sides) > 30
    assert failing.total() > 180


def test_they_are_what_the_writer_writes_without_docket(tmp_path: Path) -> None:
    script = TOOLS / "write_record_vectors.py"
    subprocess.run([sys.executable, "-I", "-S", str(script), str(tmp_path)], check=True, timeout=60)
    here = {path.name: path.read_bytes() for path in record_vectors_lab.FOLDER.iterdir()}

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == here
    corpus = hashlib.sha256(b"".join(name.encode() + b"\0" + here[name] for name in sorted(here)))
    assert corpus.hexdigest() == CORPUS_SHA256


def test_the_keys_are_those_of_the_standard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    from record_vectors import primitives

    # RFC 8032, 7.1, tests 1 and 3.
    secrets = {
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60": (
            "", "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7": (
            "af82", "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    }  # fmt: skip
    for secret, (message, public, value) in secrets.items():
        assert primitives.public_key(bytes.fromhex(secret)).hex() == public
        assert primitives.signature(bytes.fromhex(secret), bytes.fromhex(message)).hex() == value


def test_nothing_of_docket_is_imported_by_the_writer() -> None:
    sources = [*(TOOLS / "record_vectors").glob("*.py"), TOOLS / "write_record_vectors.py"]
    assert len(sources) > 10
    assert [
        path.name
        for path in sources
        if re.search(r"^ *(?:from|import) docket\b", path.read_text("utf-8"), re.MULTILINE)
    ] == []
