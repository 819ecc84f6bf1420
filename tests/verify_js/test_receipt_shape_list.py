"""`spec/receipt-shape.json`, read by a small reader of its own, takes the receipts that docket takes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.run.receipt_view import view
from golden_ledgers import elsewhere, samples
from golden_ledgers.judging import receipt_of
from golden_ledgers.mutate import containers, dotted, leaves, replaced
from golden_ledgers.strange import strange
from sweeps import some

SHAPE = json.loads((Path(__file__).parents[2] / "spec" / "receipt-shape.json").read_text("utf-8"))
INSTANT = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]{1,9})?Z"
)
JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**53 - 1, "", "x", "0.00", "0.000000", "0.1", "00" * 32, "AB" * 32,
    "2026-02-31T23:59:60Z", "2026-13-01T00:00:00.000Z", [], ["x"], [None], {}, {"x": 1}, {"x": "y"},
)  # fmt: skip


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_text_like(form: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(form, value, re.ASCII) is not None


def is_amount(value: Any) -> bool:
    if not is_text_like(r"(0|[1-9][0-9]{0,11})\.([0-9]{2}|[0-9]{6})")(value):
        return False
    return len(value.partition(".")[2]) == 2 or not value.endswith("0000")


def is_step(value: Any) -> bool:
    names = isinstance(value, dict) and set(value) == {"side", "hash"}
    return names and value["side"] in ("left", "right") and WORDS["digest"](value["hash"])


WORDS: dict[str, Callable[[Any], bool]] = {
    "any": lambda _: True,
    "text": lambda value: isinstance(value, str),
    "flag": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "integer": is_integer,
    "count": lambda value: is_integer(value) and value >= 0,
    "amount": is_amount,
    "digest": is_text_like("[0-9a-f]{64}"),
    "instant": is_text_like(INSTANT.pattern),
    "proof": lambda value: isinstance(value, list) and len(value) <= 64 and all(map(is_step, value)),
}


def takes(word: Any, value: Any) -> bool:
    """Whether a value is as a word of the list says."""
    if isinstance(word, list):
        return isinstance(value, str) and value in word
    if isinstance(word, dict):
        return type(value) is type(word["is"]) and value == word["is"]
    if word.endswith("?"):
        return value is None or takes(word[:-1], value)
    if word.endswith("[]"):
        return isinstance(value, list) and all(takes(word[:-2], item) for item in value)
    if word.endswith("{}"):
        return isinstance(value, dict) and all(takes(word[:-2], item) for item in value.values())
    return takes_record(SHAPE["records"][word[1:]], value) if word.startswith("@") else WORDS[word](value)


def takes_record(shape: dict[str, Any], value: Any) -> bool:
    """Whether a value is an object of this shape."""
    required, optional = shape["required"], shape.get("optional", {})
    if not isinstance(value, dict) or not required.keys() <= value.keys():
        return False
    if not shape.get("open", False) and not value.keys() <= required.keys() | optional.keys():
        return False
    words = {**required, **optional}
    return all(takes(words[name], member) for name, member in value.items() if name in words)


def is_taken(document: dict[str, Any], *, ours: bool) -> bool:
    """Whether docket takes the receipt."""
    try:
        view(document, ours=ours)
    except InvalidDocumentError:
        return False
    return True


def changed(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The receipt with junk at each place, and with each member left out and one more put in."""
    paths = dict.fromkeys([*(path for path, _ in leaves(document)), *containers(document)])
    for path in paths:
        for number, junk in enumerate(JUNK if path else ()):
            yield f"{dotted(path)} -> {number}", replaced(document, path, junk)
    for path in containers(document):
        there: Any = document
        for key in path:
            there = there[key]
        if isinstance(there, dict):
            yield f"{dotted(path)} and more", replaced(document, path, {**there, "zzz": 1})
            for name in there:
                fewer = {key: value for key, value in there.items() if key != name}
                yield f"{dotted((*path, name))} left out", replaced(document, path, fewer)


@some(149)
@pytest.mark.parametrize("ours", [True, False])
def test_the_list_takes_what_docket_takes(stride: int, *, ours: bool) -> None:
    built = elsewhere.ledger()
    documents = [receipt_of(sample().data()) for sample in (*samples.ALL.values(), strange)]
    documents.append(elsewhere.receipt(built))
    seen, wrong = {True: 0, False: 0}, []
    for document in documents:
        for number, (what, other) in enumerate(changed(document)):
            if number % stride:
                continue
            taken = takes_record(SHAPE["ours" if ours else "v1"], other)
            seen[taken] += 1
            if taken is not is_taken(other, ours=ours):
                wrong.append((document["docket_number"], what))
    assert wrong == []
    assert min(seen.values()) > 20


def test_every_record_of_the_list_is_used() -> None:
    words = json.dumps(SHAPE)
    assert [name for name in SHAPE["records"] if not re.search(f'"@{name}[^a-z_]', words)] == []
