"""A receipt as text and as Markdown: right figures, and nothing from the record is interpreted."""

from __future__ import annotations

import io

import click
import pytest
from rich.console import Console

from docket.formats import lenient
from docket.rules.analysis.comparison import Comparison, Figure
from docket.surfaces.render import comparison, figures, markdown, operations, text

RECEIPT = {
    "format": "docket/receipt/v1",
    "docket_number": "DKT-20260131-0A1B2C",
    "session": {
        "argv": ["claude", "-p", "fix it; now"], "cwd": "/w/[bold]x", "exit_code": 42, "exit_source": "cap",
        "breached": "max_usd", "interrupted": False, "duration_seconds": "12.345",
    },
    "policy": {"name": "default", "document": {"caps": {"max_usd": "0.05"}, "budget": {"admission": "strict"}}},
    "totals": {
        "input_tokens": 1234567, "cached_input_tokens": 1000, "output_tokens": 42, "cost_usd": "0.049500",
        "cost_basis": "reported", "assumed_price_models": [],
        "by_model": [{"model": "a|b`c", "calls": 3, "input_tokens": 1, "cached_input_tokens": 2, "output_tokens": 3,
                      "cost_usd": "0.049500"}],
    },
    "model_calls": {"count": 1, "denied": 2, "errors": 0},
    "files": {"changed": 2, "added": 1, "modified": 1, "removed": 0, "violations": 1,
              "top_paths": ["a`b", "\x1b[31mx"]},
    "ledger": {"events": 12, "head": "ab" * 32},
    "latency": {"measured_calls": 1, "p50_ms": 5, "p95_ms": 6, "p99_ms": 7},
    "evidence": {"ledger_complete": True},
    "signature": None,
    "seal": None,
}  # fmt: skip


def test_figures_are_words_a_person_reads():
    assert figures.command_line(RECEIPT) == "claude -p 'fix it; now'"
    assert figures.ending(RECEIPT) == "stopped by the cap max_usd, exit 42"
    assert figures.spend(RECEIPT) == "$0.049500 of $0.05 (strict)"
    assert figures.calls(RECEIPT) == "1 call, 2 refused"
    assert figures.files(RECEIPT) == "2 paths changed (1 added, 1 modified), 1 policy violation"
    assert figures.vouching(RECEIPT) == "not signed: consistent at best"


def test_what_a_gap_leaves_unknown_is_not_said_to_be_nothing():
    passes = {"before": {"tree_sha256": "11"}, "after": {"tree_sha256": "22"}}
    gap = {"evidence": {"ledger_complete": False, "unwritten_events": 3, "write_failures": 1}}

    assert figures.files({"files": {"changed": 0, "passes": passes}, **gap}) == (
        "files changed, which ones is not on the record"
    )
    assert figures.files({"files": {"changed": 1, "added": 1, "passes": passes}, **gap}) == (
        "at least 1 path changed (1 added)"
    )
    same = {"before": {"tree_sha256": "11"}, "after": {"tree_sha256": "11"}}
    assert figures.files({"files": {"changed": 0, "passes": same}, **gap}) == "no file changed"
    assert figures.gap(gap) == (
        "the record has a gap: 3 events could not be written, and what they cost is not in the sum"
    )
    assert figures.gap({"evidence": {"unwritten_events": 0, "write_failures": 0}}) == ""


def test_figures_of_an_empty_document_raise_nothing():
    assert figures.ending({}) == "no recorded end"
    assert figures.spend({}) == "$0.00 (no cap in dollars)"
    assert figures.calls({"model_calls": []}) == "0 calls"
    assert lenient.rows_at({"totals": {"by_model": "x"}}, "totals", "by_model") == ()


def test_the_summary_is_two_lines():
    first, second = text.summary(RECEIPT)
    assert first == "DKT-20260131-0A1B2C  stopped by the cap max_usd, exit 42"
    assert second == (
        "spent $0.049500 of $0.05 (strict) in 1 call, 2 refused; "
        "2 paths changed (1 added, 1 modified), 1 policy violation"
    )


def test_the_report_shows_everything_and_interprets_nothing():
    out = io.StringIO()
    text.report(RECEIPT, Console(file=out, width=120, force_terminal=False, highlight=False))
    shown = out.getvalue()
    for piece in ("1,234,567 in", "/w/[bold]x", "a|b`c", "p50 5 ms, p95 6 ms, p99 7 ms", "\\x1b[31mx", "12.345 s"):
        assert piece in shown
    assert "\x1b" not in shown


def test_markdown_escapes_names_and_keeps_code_whole():
    shown = markdown.report(RECEIPT)
    assert "| a\\|b\\`c | 3 | 1 | 2 | 3 | \\$0.049500 |" in shown
    assert "- `` a`b ``" in shown
    assert "- `\\x1b[31mx`" in shown
    assert shown.startswith("## DKT-20260131-0A1B2C: stopped by the cap max\\_usd, exit 42\n")


def test_a_path_of_another_kind_is_counted_in_words():
    files = {"changed": 1, "added": 0, "modified": 0, "removed": 0, "retyped": 1, "violations": 0}
    assert figures.files({"files": files}) == "1 path changed (1 retyped)"


def test_more_paths_than_the_receipt_names_are_told():
    many = {**RECEIPT, "files": {**RECEIPT["files"], "changed": 50, "top_paths": [f"f{n}" for n in range(25)]}}
    assert "  f24\n  and 25 more: the ledger names every one" in text.rendered(many, colour=False)
    assert "- `f24`\n- and 25 more: the ledger names every one" in markdown.report(many)


def test_a_report_for_a_file_has_no_spaces_at_its_line_ends_and_breaks_no_command():
    long = {**RECEIPT, "session": {**RECEIPT["session"], "argv": ["claude", "-p", "word " * 60]}}
    lines = text.rendered(long, colour=False).splitlines()
    assert all(line == line.rstrip() for line in lines)
    assert figures.command_line(long) in lines


def test_a_quota_is_counted_in_tokens():
    quota = {"caps": {"max_tokens": 2000000}, "budget": {"mode": "quota"}}
    run = {"policy": {"document": quota}, "totals": {"total_tokens": 9110, "cost_usd": "0.00"}}
    assert figures.spend(run) == "9,110 of 2,000,000 tokens (quota)"
    assert figures.spend({**run, "policy": {"document": {"budget": {"mode": "quota"}}}}) == "9,110 tokens (quota)"


BESIDE = {
    **RECEIPT,
    "cache": {"hits": 2, "saved_usd": "0.009200", "component_hits": {"hits": 1, "saved_usd": "0.019500"}},
    "responses": {"kept": 2, "kept_bytes": 1400, "truncated": 1, "not_kept": 3},
    "pools": [{"pool": "team", "spent_usd": "0.049500"}, {"pool": "daily", "spent_usd": None}],
    "ops": {
        "rate_limiter": {"waited": 1, "waited_ms": 1500, "refused": 4},
        "circuit_breaker": {"groq": {"openings": 1, "state": "open"}, "openai": {"openings": 2, "state": "closed"}},
        "chaos_run": True,
        "fault_injection": {"injections": 5},
    },
}


def test_a_copy_tells_that_it_leaves_kept_responses_out():
    assert dict(text.facts({**BESIDE, "redaction": {"profiles": ["argv"]}}))["Kept"] == "left out of this copy"


def test_a_change_too_small_for_its_share_is_no_change_of_minus_nothing():
    sides = {"few": (20_000, 19_999), "more": (1000, 1001)}
    counted = tuple(Figure(name=name, unit="count", left=was, right=now) for name, (was, now) in sides.items())
    nothing: dict[str, tuple[()]] = dict.fromkeys(("models", "findings", "texts", "caveats"), ())
    compared = Comparison(figures=counted, paths_only_left=(), paths_only_right=(), **nothing)
    said = [click.unstyle(line).split() for line in comparison.lines(RECEIPT, RECEIPT, compared)]
    assert [line[3:] for line in said if line[:1] in (["few"], ["more"])] == [["-1", "<0.1", "%"], ["+1", "+0.1", "%"]]


def test_what_stood_beside_the_calls_has_lines_of_its_own():
    said = dict(text.facts(BESIDE))
    assert said["Cache"] == "3 calls answered again, $0.028700 not spent"
    assert said["Kept"] == "2 responses (1,400 bytes), 1 to the policy's size, 3 could not be kept"
    assert said["Pools"] == "team $0.049500 by this run; daily $0.00 by this run"
    assert said["Pace"] == "1 call waited 1.5 s in all, 4 turned away"
    assert said["Breaker"] == "groq opened 1 time, open at the end; openai opened 2 times, closed at the end"
    assert said["Drill"] == "this run is one: 5 faults injected"
    assert text.summary(BESIDE)[2] == "cache: 3 calls answered again, $0.028700 not spent"
    assert "Cache" in markdown.report(BESIDE)


def test_what_did_not_happen_has_no_line():
    assert not {"Cache", "Kept", "Pools", "Pace", "Breaker", "Drill"} & dict(text.facts(RECEIPT)).keys()


def test_a_saving_that_is_no_amount_shows_as_none():
    odd = {**RECEIPT, "cache": {"hits": "x", "saved_usd": [], "hits_ceiling_reached": True}}
    assert dict(text.facts(odd))["Cache"] == "0 calls answered again, as many as the policy lets it, $0.00 not spent"


def test_what_went_through_the_proxy_is_told_where_there_was_one():
    assert "Network" not in dict(text.facts(RECEIPT))
    network = {"tunnels_allowed": 1, "tunnels_denied": 2, "turned_away": 5}
    assert dict(text.facts(RECEIPT | {"network": network}))["Network"] == "1 connection through the proxy, 2 refused"


def test_what_the_agent_says_is_told_as_its_word():
    said = {
        **RECEIPT,
        "tools": {"calls": 3, "names": ["bash"], "failures": 1},
        "asserted": {"calls": 1, "input_tokens": 812, "output_tokens": 64, "notes": {"plan": 1, "saving": 2}},
    }
    facts = dict(text.facts(said))
    assert facts["Tools"] == "3 used, 1 failed (the agent's word)"
    assert facts["Said"] == "1 call of 876 tokens, 3 remarks on the agent's word, in no total"
    assert not {"Tools", "Said"} & dict(text.facts(RECEIPT)).keys()


def test_a_summary_names_what_the_proxy_refused():
    refused = {**RECEIPT, "network": {"tunnels_allowed": 1, "tunnels_denied": 2, "turned_away": 0}}
    assert text.summary(refused)[-1] == (
        "network: 1 connection through the proxy, 2 refused (docket watch --lines names them)"
    )


def test_who_counted_is_told_only_where_there_was_a_call():
    assert "Counted by" in dict(text.facts(RECEIPT))
    assert "Counted by" not in dict(text.facts({**RECEIPT, "model_calls": {"count": 0, "denied": 1, "errors": 0}}))


@pytest.mark.parametrize(
    ("outcome", "reason", "said"),
    [
        ("refused", "special-file", "docket tx show 1f2e tells why it cannot land"),
        ("refused", "too-large", "docket tx show 1f2e tells why it cannot land"),
        ("refused", "unreadable", "docket tx show 1f2e tells why it cannot land"),
        ("refused", "locked", "docket tx commit 1f2e lands it"),
        ("discarded", "agent-failed", "docket tx commit --from-discarded 1f2e lands it"),
    ],
)
def test_no_command_is_promised_to_land_what_refuses_by_nature(outcome: str, reason: str, said: str) -> None:
    workspace = {"transaction": "1f2e", "outcome": outcome, "reason": reason, "diff_sha256": "ab" * 32}
    told = operations.landing({"files": {"changed": 1}, "workspace": workspace})
    assert told == f"; docket tx diff 1f2e shows what it would change, {said}"


def test_what_landed_is_not_said_to_be_yet_to_land() -> None:
    workspace = {"transaction": "1f2e", "outcome": "committed", "diff_sha256": "ab" * 32}
    assert operations.landing({"files": {"changed": 1}, "workspace": workspace}) == ""
