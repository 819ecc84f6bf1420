"""Which family of a table prices a model, and for how much: verify-js looks names up and finds what a walk finds."""

from __future__ import annotations

import json
import random

from docket.formats.run.price_table import Family, PriceTable, cost_row
from verify_js.in_node import needs_node
from verify_js.test_primitives import asked

PARTS = ["a", "b", "A", "*", "?", "?", "[ab]", "[", "]", "[!a]", " ", "/", "\n", "\u0130", "\U0001f600", "__proto__"]
NAMES = [
    "",
    "a",
    "b",
    "ab",
    "aa",
    "A",
    "[",
    "]",
    "a]",
    "[a",
    " a",
    "a\n",
    "\u0130",
    "i\u0307",
    "c",
    "\U0001f600",
    "a\U0001f600",
    "__proto__",
]


@needs_node
def test_tables_drawn_at_random() -> None:
    source = random.Random(7)
    tables = []
    for _ in range(250):
        patterns = ["".join(source.choices(PARTS, k=source.randrange(4))) for _ in range(source.randrange(1, 7))]
        tables.append([Family(pattern=one, input=str(number), output="0") for number, one in enumerate(patterns, 1)])
    questions, wanted = [], []
    for families in tables:
        document = json.dumps({"families": [family.to_json() for family in families]})
        walked = PriceTable(meta={}, families=tuple(families))
        for name in NAMES:
            match = walked.match(name)
            wanted.append("null" if match is None else str(cost_row(match.family, 1_000_000, 0, 0).micros))
            tokens = {"input_tokens": 1_000_000, "cached_input_tokens": 0, "output_tokens": 0}
            questions.append(["cost", document, name, tokens])

    assert asked(questions) == wanted
    assert len(set(wanted)) > 5
