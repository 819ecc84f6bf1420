"""Whatever bytes stand in the place of a receipt or a ledger: `docket verify` says a word and why, and exits with 1."""

from __future__ import annotations

import json
import random
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import record_vectors_lab
from docket.surfaces.cli.root import run
from sweeps import some
from verify_js.in_node import Pair, needs_node, verdicts

MEGA = 200_000
MEMORY_KIB, LONG = 700 * 1024, 2_000_000
PLAIN = next(told for told in record_vectors_lab.sides() if told.name == "plain-run, accepted")
THEIRS = next(told for told in record_vectors_lab.sides() if told.name == "theirs, accepted")

# Texts that ask much of a reader: levels, digits, exponents, long texts, many members, escapes without an end.
HEAVY: dict[str, bytes] = {
    "levels of arrays": b"[" * MEGA,
    "levels of objects": b'{"a":' * MEGA,
    "closed levels": b"[" * MEGA + b"]" * MEGA,
    "digits": b'{"a":' + b"9" * MEGA + b"}",
    "digits behind a point": b'{"a":1.' + b"0" * MEGA + b"}",
    "nines behind a point": b'{"a":0.' + b"9" * MEGA + b"}",
    "an exponent": b'{"a":1e999}',
    "an exponent of many digits": b'{"a":1e' + b"9" * MEGA + b"}",
    "a small exponent of many digits": b'{"a":1e-' + b"9" * MEGA + b"}",
    "nothing to a large power": b'{"a":0e' + b"9" * 5000 + b"}",
    "a long text": b'{"a":"' + b"x" * 8 * MEGA + b'"}',
    "a long key": b'{"' + b"x" * 8 * MEGA + b'":1}',
    "a text without an end": b'{"a":"' + b"x" * 8 * MEGA,
    "escapes": b'{"a":"' + b"\\u0000" * MEGA + b'"}',
    "backslashes": b'{"a":"' + b"\\" * (2 * MEGA + 1) + b'"}',
    "many members": b"{" + b",".join(b'"%d":0' % number for number in range(MEGA // 2)) + b"}",
    "many members of one name": b"{" + b'"a":0,' * MEGA + b'"a":0}',
    "many items": b'{"a":[' + b"0," * (2 * MEGA) + b"0]}",
    "more values than are read": b'{"a":[' + b"0," * 6_000_000 + b"0]}",
    "blanks": b" " * 8 * MEGA,
    "line ends": b"\n" * 2 * MEGA,
    "NULs": b"\0" * 8 * MEGA,
    "bytes that are no text": b"\xff" * 8 * MEGA,
    "half of a character": '"é"'.encode()[:-2],
}  # fmt: skip


def told(receipt: bytes, ledger: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The word that is said, which has a reason, and goes with its exit code."""
    paths = folder / "x.receipt.json", folder / "x.jsonl"
    for path, data in zip(paths, (receipt, ledger), strict=True):
        path.write_bytes(data)
    code = run(["verify", str(paths[0]), "--ledger", str(paths[1]), "--json"])
    found = capsys.readouterr()
    verdict = json.loads(found.out)
    assert (code, found.err) == (0 if verdict["ok"] else 1, "")
    if verdict["verdict"] == "unreadable":
        assert (verdict["docket_number"], verdict["checks"], verdict["failures"]) == (None, [], [])
        assert 0 < len(verdict["detail"]) < 1000
    else:
        assert verdict["ok"] == (not verdict["failures"])
    return str(verdict["verdict"])


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", HEAVY)
def test_heavy_texts_are_refused_soon_and_in_little_room(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The most that this process ever took: what other tests took before counts for nothing.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for receipt, ledger in ((HEAVY[name], PLAIN.ledger or b""), (PLAIN.receipt, HEAVY[name])):
        assert told(receipt, ledger, tmp_path, capsys) in ("unreadable", "failed"), name
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY_KIB


def in_a_member() -> Iterator[tuple[str, bytes]]:
    """Receipts of another writer, which may have members of their own, with each heavy text as one."""
    for name, data in HEAVY.items():
        if len(data) > LONG:
            continue
        member = data[len(b'{"a":') : -1] if data.startswith(b'{"a":') and data.endswith(b"}") else data
        yield name, THEIRS.receipt.replace(b'"format":', b'"heavy": ' + member + b', "format":', 1)


@needs_node
def test_both_verifiers_say_the_same_word_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        *((name, data, PLAIN.ledger or b"") for name, data in HEAVY.items() if len(data) < LONG),
        *((f"{name}, inside", data, THEIRS.ledger or b"") for name, data in in_a_member()),
    ]
    here = [told(receipt, ledger, tmp_path, capsys) for _, receipt, ledger in asked]
    there = verdicts(Pair(name, receipt, ledger, None) for name, receipt, ledger in asked)  # type: ignore[arg-type]

    assert [(name, word, other["verdict"]) for (name, *_), word, other in zip(asked, here, there, strict=True)
            if word != other["verdict"]] == []  # fmt: skip
    assert {"unreadable", "consistent"} <= set(here)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    receipt=st.binary(max_size=200) | st.text(max_size=60).map(str.encode) | st.just(PLAIN.receipt),
    ledger=st.binary(max_size=200) | st.just((PLAIN.ledger or b"")[:-1]) | st.just(b""),
)
def test_any_bytes(receipt: bytes, ledger: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(receipt, ledger, tmp_path, capsys) in ("unreadable", "failed")


# Of JSON, what a random walk seldom makes: marks, numbers in all spellings, names that a program knows otherwise.
TOKENS = tuple(
    b'{ } [ ] , : " \\ - 0 1 9 . e E + true false null NaN "a" "" "\\u0061" "\\ud800" "\\ud83d\\ude00" 1.0 1e2 -0 0.1'
    b' 9007199254740992 "__proto__" "constructor" "format" "tool" "fold" "docket/receipt/v1" "docket/fold/v1" \xff'
    b" \xc3\xa9 \xef\xbb\xbf \xe2\x80\xa8 // /* */ '".split(b" ")
)  # fmt: skip


def drawn(source: random.Random) -> bytes:
    """A value that is mostly JSON, by a walk through its grammar."""
    if source.random() < 0.2:
        return b"".join(source.choice(TOKENS) for _ in range(source.randrange(12)))

    def value(levels: int) -> bytes:
        kind = source.randrange(6 if levels else 3)
        if kind < 3:
            return source.choice(TOKENS)
        items = [value(levels - 1) for _ in range(source.randrange(4))]
        if kind == 3:
            return b"[" + b",".join(items) + b"]"
        return b"{" + b",".join(source.choice(TOKENS[17:22] + TOKENS[29:37]) + b":" + item for item in items) + b"}"

    return source.choice((b"", b" ", b"\n")) + value(4) + source.choice((b"", b"", b"\n", b"\0", b"{}"))


@needs_node
@some(80)
def test_both_parsers_take_the_same_bytes_for_a_receipt(
    stride: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = random.Random(20261130)
    asked = []
    for _ in range(20_000 // stride):
        inside = THEIRS.receipt.replace(b'"format":', b'"x": ' + drawn(source) + b', "format":', 1)
        asked.append(inside if source.random() < 0.7 else drawn(source))
    here = [told(receipt, THEIRS.ledger or b"", tmp_path, capsys) for receipt in asked]
    there = [one["verdict"] for one in verdicts(Pair("", data, THEIRS.ledger, None) for data in asked)]  # type: ignore[arg-type]

    assert [(data, *both) for data, *both in zip(asked, here, there, strict=True) if both[0] != both[1]] == []
    assert min(map(here.count, ("unreadable", "consistent"))) > len(asked) // 20
