"""What a person is told of a run's windows: lines while it goes on, a figure in the report, the cost of a tool."""

from __future__ import annotations

from docket.formats.amount import Usd
from docket.formats.ledger.vocabulary import read_payload
from docket.rules.windows.cost import AskedBy
from docket.surfaces.render import live_lines, operations
from docket.surfaces.render.windows import cost_members
from golden_ledgers import samples
from golden_ledgers.judging import receipt_of


def test_lines_of_a_run_tell_what_each_tool_changed() -> None:
    lines = [live_lines.line(event, read_payload(event)) or "" for event in samples.windowed().events]
    told = [line[10:] for line in lines if "tool Bash " in line or "hook" in line]
    assert told == [
        "tool Bash done",
        "tool Bash changed 1 file",
        "tool Bash failed: failed",
        "tool Bash done",
        "tool Bash changed 3 files, together with 1 other",
        "tool Bash changed 3 files, together with 1 other",
        "no window came of 1 hook (malformed)",
        "no window came of 1 hook (malformed)",
        "tool Bash unknown: process_gone",
    ]


def test_the_report_counts_what_is_recorded() -> None:
    # One tool changed one path; two that overlapped changed three together.
    told = dict(operations.lines(receipt_of(samples.windowed().data())))
    assert told["Tools"] == (
        "4 used, 1 failed (the agent's word); what 3 of them changed is recorded, 4 paths (docket windows list)"
    )
    assert (
        dict(operations.lines(receipt_of(samples.asserted().data())))["Tools"] == "1 used, 1 failed (the agent's word)"
    )


def test_a_cost_says_that_it_is_derived() -> None:
    asked = AskedBy(call=2, seq=9, provider="anthropic", model="claude-haiku-4-5", tools=3, share_usd=Usd(100))
    assert cost_members(asked) == {
        "share_usd": "0.000100", "derived": True, "call": 2, "seq": 9, "tools": 3, "provider": "anthropic",
        "model": "claude-haiku-4-5",
    }  # fmt: skip
