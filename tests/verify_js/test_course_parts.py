"""Patterns, plans of faults and deltas mean the same to verify-js as to docket."""

from __future__ import annotations

import base64
import json
import random
import subprocess
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from docket.errors import InvalidDocumentError, UsageError
from docket.formats.canonical import encode
from docket.formats.windows.delta import decode_delta
from docket.rules.drills.faults import FaultyCall, parse_faults
from golden_ledgers import mutate
from sweeps import some
from verify_js.in_node import NODE, needs_node

VECTORS = json.loads((Path(__file__).parents[2] / "spec/vectors/windows.json").read_bytes())
pytestmark = needs_node


def answers(questions: Sequence[dict[str, Any]]) -> list[Any]:
    """What verify-js says to each question."""
    lines = "".join(f"{json.dumps(question)}\n" for question in questions)
    script = Path(__file__).parent / "parts.mjs"
    done = subprocess.run(
        [str(NODE), str(script)], input=lines, capture_output=True, text=True, timeout=300, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_patterns_by_hand() -> None:
    held = [("", ""), ("", "*"), ("a]", "a]"), ("]", "[]]"), ("x", "[!]]"), ("[a", "[a"), ("a\nb", "a?b"), ("😀", "?")]
    held += [("b", "[a-c]"), ("-", "[a-]"), ("-", "[a-c-e]"), ("e", "[a-c-e]"), ("^", "[^a]"), ("q", "[!z-a]")]
    failed = [("", "?"), ("]", "[!]]"), ("d", "[a-c-e]"), ("b", "[z-a]"), ("A", "a"), ("😀", "??"), ("ab", "[]")]
    given = [*held, *failed]
    assert answers([{"match": pair} for pair in given]) == [True] * len(held) + [False] * len(failed)


@some(20)
def test_patterns_drawn_at_random(stride: int) -> None:
    drawn = random.Random(5)
    pairs = [
        ("".join(drawn.choices("ab-]é😀", k=drawn.randrange(5))), made_pattern(drawn)) for _ in range(40_000 // stride)
    ]
    found = answers([{"match": pair} for pair in pairs])
    assert [pair for pair, held in zip(pairs, found, strict=True) if fnmatchcase(*pair) is not held] == []
    assert True in found


def made_pattern(drawn: random.Random) -> str:
    return "".join(drawn.choices("ab-[]!*?^\\é😀", weights=[3, 3, 2, 4, 3, 2, 1, 1, 1, 1, 1, 1], k=drawn.randrange(8)))


VALUES = {
    "delay": ("2", "0", "1.5", "0.001", "3600", "3600.001", "1.50", "01", "", "1e1", "0.0001"),
    "hang": ("600", ".5"),
    "status": ("503", "399", "400", "599", "600", "0503", "x"),
    "reset": ("0", "256", str(2**40), str(2**40 + 1)),
    "truncate": ("0", "7"),
    "corrupt": ("0", "1", "64"),
    "slow": ("0", "200"),
    "drop": ("1",),
    "burn": ("1",),
}
OPTIONS = {
    "calls": ("3", "2-5", "4-", "*/3", "1+*/2+7-9", "0", "5-2", "*/0", "*/3-5", "a", "1++2", "007", "1-2-3", "9" * 20),
    "share": (
        "0",
        "1",
        "0.3",
        ".5",
        "5.",
        "0.0000009",
        "1.1",
        "1e-1",
        "0.9999999999999",
        "0.3333333",
        ".",
        "+0.5",
        "0_1",
    ),
    "provider": ("openai", "open*", "*", "x"),
    "model": ("gpt-?", "[ab]*", "é*"),
    "path": ("/v1/*", "/v1/messages", "*?q=1"),
    "retry_after": ("5", "0", "3600", "3601", "05", "x"),
    "when": ("now",),
}


def made_rule(drawn: random.Random) -> str:
    """A rule, mostly one that can be read."""
    kind = drawn.choice(sorted(VALUES))
    head = kind if kind == "drop" or drawn.random() < 0.1 else f"{kind}={drawn.choice(VALUES[kind])}"
    names = [name for name in OPTIONS if drawn.random() < 0.25]
    if drawn.random() < 0.1:
        drawn.shuffle(names)
    written = ",".join(f"{name}={drawn.choice(OPTIONS[name])}" for name in names)
    return f"{head}@{written}" if written or drawn.random() < 0.05 else head


@some(10)
def test_plans_of_faults_drawn_at_random(stride: int) -> None:
    drawn = random.Random(9)
    plans = [
        ([made_rule(drawn) for _ in range(drawn.randrange(3))], drawn.randrange(-1, 50)) for _ in range(8000 // stride)
    ]
    # Several rules are seldom all well formed; single ones are, and the same plan twice is another place in it.
    plans += [([rule, rule], seed) for (rule, *_), seed in [plan for plan in plans if plan[0]]]
    requests = [
        {
            "call": call,
            "provider": drawn.choice(("openai", "x")),
            "model": drawn.choice(("gpt-5", "a", "éa")),
            "path": path,
        }
        for call in (1, 2, 3, 6, 8, 100)
        for path in ("/v1/messages", "/v1/messages?q=1")
    ]
    found = answers([{"plan": [spec, seed, requests]} for spec, seed in plans])
    wanted = [wanted_faults(spec, seed, requests) for spec, seed in plans]
    assert [(plan, one, other) for plan, one, other in zip(plans, wanted, found, strict=True) if one != other] == []
    assert sum(one is not None for one in wanted) > 100 // stride


def wanted_faults(spec: list[str], seed: int, requests: list[dict[str, Any]]) -> list[Any] | None:
    """What docket injects into these calls, None where the plan is none as it is recorded."""
    try:
        plan = parse_faults(";".join(spec), seed)
    except UsageError:
        return None
    if plan.spec != tuple(spec):
        return None
    found: list[Any] = []
    for request in requests:
        call = FaultyCall(
            number=request["call"],
            provider=request["provider"],
            model=request["model"],
            path=request["path"].partition("?")[0],
        )
        fault = plan.fault_for(call)
        found.append(None if fault is None else {"kind": str(fault.kind), "detail": fault.detail, "asked": fault.asked})
    return found


NEAR: Sequence[Any] = (
    None, True, False, 0, 1, -1, 2, "", "a", "0" * 40, "1" * 40, "100644", "000000", "160000", "120000", "edit",
    "create", "delete", "typechange", "sha256", "content-sha256", [], ["a"], ["a\nb"], ["/w=="], ["YQ=="], "timeout",
    "Late", {},
)  # fmt: skip


def delta_variants() -> Iterator[bytes]:
    """The deltas of the vectors, each as it stands and with one leaf, member or item changed."""
    for vector in (*VECTORS["accepted"], *VECTORS["refused"]):
        yield vector["document"].encode()
    for vector in VECTORS["accepted"]:
        document = json.loads(vector["document"])
        for _, changed in mutate.mutations(document):
            yield encode(changed)
        for path, _ in mutate.leaves(document):
            for other in NEAR:
                yield encode(mutate.replaced(document, path, other))
        for path in mutate.containers(document):
            holder = mutate.at(document, path)
            if isinstance(holder, dict):
                for name in (
                    "binary",
                    "truncated",
                    "old_no_eof_newline",
                    "head_moves",
                    "reason",
                    "hunks",
                    "old_lines_b64",
                ):
                    for other in (True, 1, "timeout", []):
                        yield encode(mutate.replaced(document, path, {**holder, name: other}))


def is_delta(document: bytes) -> bool:
    try:
        decode_delta(document)
    except InvalidDocumentError:
        return False
    return True


@some(7)
def test_deltas_and_small_changes_of_them(stride: int) -> None:
    documents = [document for number, document in enumerate(delta_variants()) if number % stride == 0]
    documents += [vector["document"].encode() for side in ("accepted", "refused") for vector in VECTORS[side]]
    found = answers([{"delta": base64.b64encode(document).decode()} for document in documents])
    differing = [document for document, held in zip(documents, found, strict=True) if is_delta(document) is not held]
    assert differing == []
    assert {True, False} == set(found)
