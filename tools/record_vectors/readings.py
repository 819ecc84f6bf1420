"""Scenarios of a receipt's bytes: spellings that a document may have, and what is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from record_vectors import ledgers
from record_vectors.foreign_records import theirs
from record_vectors.scenario import READING, Scenario, side, twin


def scenarios() -> Iterator[Scenario]:
    """Every scenario."""
    good = side(ledgers.plain())
    text = good.receipt
    label = b'"label": "a vector"'
    for name, says, accepted, refused in (
        ("key-twice", "a key stands once", label, label + b", " + label),
        ("key-twice-escaped", "by whatever escapes", label, label + b', "l\\u0061bel": "a vector"'),
        (
            "escape",
            "an escape is read, half of a pair is not",
            b'"label": "\\u0061 vector"',
            b'"label": "\\ud800 vector"',
        ),
        ("control", "a control character has an escape", b'"label": "a\\u0020vector"', b'"label": "a\nvector"'),
        ("escape-unknown", "an escape is one of JSON's", b'"label": "a\\u0020vector"', b'"label": "a\\x20vector"'),
        ("comma", "no comma stands at the end", label + b",", label + b",,"),
        ("comment", "nor a comment", label + b",\n ", label + b", // by me\n"),
        ("not-utf8", "the bytes are UTF-8", label, b'"label": "a vector\xff"'),
        ("overlong", "in its shortest form", label, b'"label": "a\xc0\xa0vector"'),
        ("single-quotes", "a text has double quotes", label, b"\"label\": 'a vector'"),
    ):
        old = replace(good, receipt=text.replace(label + b",", accepted, 1) if name in ("comma", "comment")
                      else text.replace(label, accepted, 1))  # fmt: skip
        new = (
            text.replace(label + b",", refused, 1) if name in ("comma", "comment") else text.replace(label, refused, 1)
        )
        yield twin(f"receipt-{name}", says, READING, old, receipt=new)
    one = b'"calls": 1,'
    for name, says, accepted, refused in (
        ("number", "a whole number may have a point", b'"calls": 1.0,', b'"calls": 1.5,'),
        ("exponent", "or an exponent, if it is whole", b'"calls": 10e-1,', b'"calls": 1e-1,'),
        ("exponent-huge", "however large", b'"calls": 1e0,', b'"calls": 1e999999999999,'),
        ("close-to-one", "its digits decide", one, b'"calls": 0.99999999999999999999,'),
        ("not-a-number", "NaN is none", one, b'"calls": NaN,'),
        ("infinity", "nor is infinity", one, b'"calls": Infinity,'),
        ("plus", "nor has one a plus", one, b'"calls": +1,'),
        ("hexadecimal", "nor other digits", one, b'"calls": 0x1,'),
        ("zero-in-front", "nor a zero in front", one, b'"calls": 01,'),
        ("digits-of-others", "nor those of other scripts", one, '"calls": \u0661,'.encode()),
    ):
        old = replace(good, receipt=text.replace(one, accepted, 1))
        yield twin(f"receipt-{name}", says, READING, old, receipt=text.replace(one, refused, 1))
    for name, says, refused in (
        ("byte-order-mark", "no byte order mark in front", b"\xef\xbb\xbf" + text),
        ("two-values", "nothing stands behind the value", text + b"{}"),
        ("nul-behind", "not even a NUL", text + b"\0"),
        ("cut", "a receipt is whole", text[:-3]),
        ("nothing", "no bytes are no receipt", b""),
        ("list", "a receipt is an object", b"[" + text + b"]"),
        ("utf-16", "in UTF-8", text.decode().encode("utf-16")),
    ):
        yield twin(f"receipt-{name}", says, READING, good, receipt=refused)
    yield from _bounds()


def _bounds() -> Iterator[Scenario]:
    """A receipt of another writer may have members of its own: at the bounds of what a value is."""

    def with_member(value: bytes) -> bytes:
        return theirs().receipt.replace(b'"format":', b'"theirs": ' + value + b',\n  "format":', 1)

    for name, says, accepted, refused in (
        ("levels", "values nest 64 deep", b"[" * 63 + b"]" * 63, b"[" * 64 + b"]" * 64),
        ("levels-thousands", "and never as deep as they please", b"[" * 63 + b"]" * 63, b"[" * 5000 + b"]" * 5000),
        ("integer-largest", "an integer has 53 bits", b"9007199254740991", b"9007199254740992"),
        ("integer-least", "below zero too", b"-9007199254740991", b"-9007199254740992"),
        ("integer-spelt-large", "whatever its spelling", b"900719925474099.1e1", b"9.007199254740992e15"),
    ):
        old = replace(theirs(), receipt=with_member(accepted))
        yield twin(f"receipt-{name}", says, READING, old, receipt=with_member(refused))
