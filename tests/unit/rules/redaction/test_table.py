"""The table of what each member is covers the vocabulary: nothing new is copied before it was decided on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.ledger.redaction_facts import Profile
from docket.formats.ledger.vocabulary import PAYLOADS
from docket.rules.redaction.hide import Hider
from docket.rules.redaction.names import Names
from docket.rules.redaction.table import EVENTS, RECORDS, Kind

GRAMMAR = json.loads((Path(__file__).parents[4] / "spec" / "events.json").read_text("utf-8"))
HARMLESS = {"integer", "flag", "count", "positive"}
HIDER = Hider(frozenset(Profile), Names(key=b"k", paths=(), hosts=(), hidden=()))


def needed(entry: dict[str, Any]) -> dict[str, Any]:
    """The members of a type or a record that hold more than a number or a flag."""
    members = {**entry["required"], **entry.get("optional", {})}
    return {name: word for name, word in members.items() if not (isinstance(word, str) and word in HARMLESS)}


def test_every_type_of_the_vocabulary_is_decided_on() -> None:
    assert set(EVENTS) == set(PAYLOADS)


@pytest.mark.parametrize("type_", sorted(GRAMMAR["types"]))
def test_every_member_is_decided_on(type_: str) -> None:
    pending = [(EVENTS[type_], GRAMMAR["types"][type_])]
    while pending:
        table, entry = pending.pop()
        for name, word in needed(entry).items():
            kind = table.get(name)
            assert kind is not None, f"{type_}: {name}"
            if isinstance(kind, str):
                assert word in (f"@{kind}", f"@{kind}[]")
                pending.append((RECORDS[kind], GRAMMAR["records"][kind]))
            elif word == "digest":
                assert kind in (Kind.DIGEST, Kind.LINK)
            elif word == "path":
                assert kind is Kind.PATH


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidDocumentError, match=r"x-docket\.later is a type of event that this version"):
        HIDER.event("x-docket.later", {})
    with pytest.raises(InvalidDocumentError, match="later is a member that this version does not know"):
        HIDER.event("x-docket.paced", {"later": "text"})
    assert HIDER.event("x-docket.paced", {"later": 7}) == {"later": 7}
