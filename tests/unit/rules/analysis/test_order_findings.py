"""The rules that look at what was refused, written and given again; and findings as a whole."""

from __future__ import annotations

import pytest

from analysis_lab import Story, the
from docket.formats.canonical import encode
from docket.rules.analysis import thresholds
from docket.rules.analysis.registry import MAX_A_RULE, RULES, findings_of
from golden_ledgers import samples
from golden_ledgers.judging import receipt_of


def test_refused_calls_by_reason_and_those_of_a_cap_matter_most() -> None:
    story = Story()
    first = story.add("model.denied", provider="p", model="dear", reason="max_usd", cap="max_usd", detail="d")
    second = story.add("model.denied", provider="p", model="cheap", reason="max_usd", cap="max_usd", detail="d")
    third = story.add("model.denied", provider="p", model="", reason="", detail="d")
    by_cap, other = story.findings("denials")
    assert (by_cap.evidence, str(by_cap.severity)) == ((first, second), "high")
    assert by_cap.detail == "2 calls were refused (max_usd): cheap, dear"
    assert (other.evidence, str(other.severity)) == ((third,), "medium")
    assert other.detail == "1 call was refused (no reason)"


def test_refused_connections_are_counted_by_the_event() -> None:
    story = Story()
    door = story.add("net.denied", reason="no-token", kind="door", count=7)
    host = story.add("net.denied", reason="egress", kind="tunnel", count=1, host="b.example")
    other = story.add("net.denied", reason="egress", kind="tunnel", host="a.example")
    to_hosts, at_door = story.findings("denials")
    assert (to_hosts.evidence, str(to_hosts.severity)) == ((host, other), "medium")
    assert to_hosts.detail == "2 requests were refused (egress): a.example, b.example"
    assert (at_door.evidence, str(at_door.severity)) == ((door,), "low")
    assert at_door.detail == "7 requests were refused (no-token)"


def test_violations_by_rule_name_their_paths() -> None:
    story = Story()
    seqs = [story.add("policy.violation", rule="deny_write", path=f"secrets/{at}") for at in range(5)]
    odd = story.add("policy.violation", rule="", path_b64="//8=")
    story.add("policy.violation", rule="", detail="no path")
    odd_found, found = sorted(story.findings("write-scope"), key=lambda item: item.evidence, reverse=True)
    assert (found.evidence, str(found.severity)) == (tuple(seqs), "high")
    assert found.detail == "deny_write was violated 5 times: secrets/0, secrets/1, secrets/2 and 2 more"
    assert odd_found.evidence == (odd, odd + 1)
    assert odd_found.detail == r"a rule was violated 2 times: \xff\xff and 1 more"


def test_a_violation_without_a_path_says_so() -> None:
    story = Story()
    story.add("policy.violation", rule="deny_write", detail="d")
    assert the(story.findings("write-scope")).detail == "deny_write was violated once: no path is named"


@pytest.mark.parametrize(
    ("outcome", "severity"),
    [
        ("committed", "high"),
        ("interrupted", "high"),
        (7, "high"),
        ("discarded", "medium"),
        ("left-for-review", "medium"),
    ],
)
def test_a_violation_in_a_stage_that_did_not_land_matters_less(outcome: object, severity: str) -> None:
    story = Story()
    story.add("policy.violation", rule="deny_write", path="a", detail="d")
    (found,) = findings_of({**story.receipt, "workspace": {"outcome": outcome}}, story.events)
    assert str(found.severity) == severity
    assert ("in a stage that did not land" in found.title) == (severity == "medium")


@pytest.mark.parametrize(
    ("watch", "outside"),
    [(["src", "docs/"], ["srcs/a", "b"]), (["."], []), (["./"], []), ([], []), ("src", []), ([7], [])],
)
def test_changes_beyond_the_watched_folders(watch: object, outside: list[str]) -> None:
    story = Story()
    story.policy = {"files": {"watch": watch}}  # type: ignore[dict-item]
    paths = ("src/a", "srcs/a", "docs", "docs/x", "b")
    seqs = {path: story.add("fs.change", path=path, change="added") for path in paths}
    story.add("fs.change", change="added")
    found = story.findings("write-scope")
    assert [item.evidence for item in found] == ([tuple(seqs[path] for path in outside)] if outside else [])


def test_of_a_redacted_copy_nobody_can_say_what_is_beyond_the_watched_folders() -> None:
    story = Story()
    story.policy = {"files": {"watch": ["[redacted]"]}}
    story.add("fs.change", path="[path-1]", change="added")
    assert len(findings_of(story.receipt, story.events)) == 1
    assert findings_of({**story.receipt, "redaction": {}}, story.events) == ()


def test_writes_that_a_stage_leaves_out() -> None:
    story = Story()
    story.add("x-docket.workspace-intent", excluded_write_count=0)
    seq = story.add("x-docket.workspace-intent", excluded_write_count=3)
    found = the(story.findings("write-scope"))
    assert (found.evidence, found.detail) == (
        (seq,),
        "3 paths were written that the stage leaves out; nothing of that lands",
    )


def test_a_reply_given_again_after_a_tool_changed_files() -> None:
    story = Story()
    origin = story.call()
    early = story.add("model.cache_hit", origin={"seq": origin})
    assert story.findings("cache-hazard") == ()
    story.add("x-docket.tool-delta", files=0)
    change = story.add("fs.change", path="a", change="added")
    found = the(story.findings("cache-hazard"))
    assert (found.evidence, str(found.severity), str(found.confidence)) == ((early,), "low", "low")
    story.add("x-docket.tool-delta", files=2)
    late = story.add("x-docket.cache-hit", origin={"seq": origin})
    found = the(story.findings("cache-hazard"))
    assert change < late
    assert (found.evidence, str(found.severity), str(found.confidence)) == ((late,), "medium", "medium")


def test_every_threshold_is_of_a_rule_and_every_rule_has_one() -> None:
    assert {item.rule for item in thresholds.ALL} == set(RULES)


def test_most_money_comes_first_then_what_matters_most() -> None:
    story = Story()
    story.add("model.denied", provider="p", model="dear", reason="models", detail="d")
    story.add("policy.violation", rule="deny_write", path="a")
    story.call((200_000, 0, 0))
    for _ in range(6):
        story.ask(fingerprint="aa")
        story.reply((10, 0, 1), "9.00")
    found = findings_of(story.receipt, story.events)
    assert [item.rule for item in found] == ["runaway-loop", "fat-context", "write-scope", "denials"]
    assert found[0].to_json() == {
        "rule": "runaway-loop",
        "title": "The agent sent the same request over and over",
        "severity": "medium",
        "confidence": "high",
        "evidence": [4, 6, 8, 10, 12, 14],
        "usd_impact": "45.00",
        "detail": "6 requests to p have the fingerprint aa; all but the first are repeats",
        "remedy": found[0].remedy,
    }
    assert found[2].to_json()["usd_impact"] is None


def test_a_rule_finds_only_so_much() -> None:
    story = Story()
    for at in range(MAX_A_RULE + 4):
        for _ in range(6):
            story.ask(fingerprint=f"{at:02}")
            story.reply((10, 0, 1), f"0.{at:02}")
    found = story.findings("runaway-loop")
    assert [str(item.usd_impact) for item in found] == [f"0.{5 * at:02}" for at in range(11, 3, -1)]


def test_another_writers_events_are_joined_by_provider_and_model() -> None:
    story = Story()
    for _ in range(6):
        story.add("model.request", provider="p", model="alias", fingerprint="aa")
        story.add("model.response", provider="p", model="dear", usage={"input_tokens": 120_000}, cost_usd="0.50")
    story.add("model.error", provider="q", model="dear")
    found = {item.rule: item for item in findings_of(story.receipt, story.events)}
    assert str(found["runaway-loop"].usd_impact) == "2.50"
    assert str(found["fat-context"].usd_impact) == "1.80"  # 6 x 20,000 at 15.00 a million
    assert "unknown-spend" not in found


def test_without_a_ledger_the_usage_rows_are_the_calls() -> None:
    rows = [
        {"seq": 3, "model": "dear+cache-write-5m", "provider": "p", "input_tokens": 20_000, "cached_input_tokens": 0,
         "output_tokens": 0, "cost_usd": "0.30", "usage_source": "reported"},
        {"seq": 3, "model": "dear+web-search", "provider": "p", "input_tokens": 9_000_000, "cached_input_tokens": 0,
         "output_tokens": 0, "cost_usd": "0.01", "usage_source": "reported"},
        {"seq": 3, "model": "dear", "provider": "p", "input_tokens": 90_000, "cached_input_tokens": 0,
         "output_tokens": 9, "cost_usd": "1.35", "usage_source": "reported"},
        {"model": "no event"},
        "no row",
    ]  # fmt: skip
    receipt = {**Story().receipt, "appendix": {"usage": rows}}
    found = the(findings_of(receipt))
    assert (found.rule, found.evidence, str(found.usd_impact)) == ("fat-context", (3,), "0.15")
    assert "110,000 at most" in found.detail
    assert findings_of({"appendix": {"usage": "none"}, "price_table": {"document": {"families": 7}}}) == ()


@pytest.mark.parametrize("models", [("dear+image", "dear"), ("dear+audio", "dear"), ("dear+cache-write", "dear+flex")])
def test_without_a_ledger_every_token_of_a_call_counts_whatever_it_is_of(models: tuple[str, str]) -> None:
    rows = [{"seq": 3, "model": model, "input_tokens": 60_000, "cost_usd": "0.90"} for model in models]
    found = the(findings_of({**Story().receipt, "appendix": {"usage": rows}}))
    assert found.rule == "fat-context"
    assert "120,000 at most" in found.detail


@pytest.mark.parametrize("sample", [samples.anthropic, samples.busy, samples.no_end, samples.gap, samples.asserted])
def test_records_of_runs_give_findings_that_are_documents(sample: object) -> None:
    builder = sample()  # type: ignore[operator]
    document = receipt_of(builder.data())
    found = findings_of(document, builder.events)
    assert found == findings_of(document, iter(builder.events))
    assert encode([item.to_json() for item in found])
    assert document["findings"] == []
