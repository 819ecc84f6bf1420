"""The closed lists under spec/ are those that docket writes by. That verify-js embeds them, test_event_grammar.py says.

That `when` says which limits apply is shown by ledgers drawn at random, in test_rebuild.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docket.formats.disclosure import SENTENCES, Group
from docket.formats.run.receipt import CHAIN, PROOF_NOTE
from docket.rules.receipt.cache import CACHE_NOTE
from docket.rules.receipt.calls import BASIS_ESTIMATED, BASIS_MIXED, BASIS_REPORTED
from docket.rules.receipt.windows import WINDOWS_NOTE
from golden_ledgers import samples
from golden_ledgers.build import LedgerBuilder, start
from golden_ledgers.judging import receipt_of

ROOT = Path(__file__).resolve().parents[2]


def spec(name: str) -> Any:
    """A document of the specification."""
    return json.loads((ROOT / "spec" / name).read_text(encoding="utf-8"))


def test_codes_groups_and_sentences_of_the_disclosure() -> None:
    written = spec("disclosure.json")

    assert written["groups"] == [str(group) for group in Group]
    assert [(item["code"], item["group"], item["sentence"]) for item in written["limits"]] == [
        (str(limit), str(group), sentence) for limit, (group, sentence) in SENTENCES.items()
    ]
    assert {fact.removeprefix("!") for item in written["limits"] for fact in item["when"]} == set(written["facts"])


def test_sentences_that_stand_in_every_receipt() -> None:
    made = {name: receipt_of(samples.ALL[name]().data()) for name in ("zero", "no_end", "gap")}
    evidence = {name: receipt["evidence"]["note"] for name, receipt in made.items()}

    assert spec("sentences.json") == {
        "format": "docket/sentences/v1",
        "cost_basis": {"reported": BASIS_REPORTED, "estimated": BASIS_ESTIMATED, "mixed": BASIS_MIXED},
        "evidence": {"whole": evidence["zero"], "no_end": evidence["no_end"], "gap": evidence["gap"]},
        "chain": CHAIN,
        "appendix": PROOF_NOTE,
        "price_table": made["zero"]["price_table"]["document"]["_meta"]["note"],
        "cache": CACHE_NOTE,
        "windows": WINDOWS_NOTE,
    }


def test_the_example_of_the_fold() -> None:
    page = (ROOT / "spec" / "fold.md").read_text(encoding="utf-8")
    events, members = page.split("```")[1].splitlines()[1:], json.loads(page.split("```json")[1].split("```")[0])
    ledger = LedgerBuilder()
    ledger.add(start())
    for kind, data in (line.split(maxsplit=1) for line in events):
        ledger.add_raw(kind, json.loads(data))

    receipt = receipt_of(ledger.data())

    assert receipt["event_counts"].pop("session.start") == 1
    assert {name: receipt[name] for name in members} == members
    assert receipt["limits_disclosure"]["codes"][-1] == "agent-asserted"
