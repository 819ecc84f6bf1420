"""Records that docket-ai wrote, handed to other tools by us."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from agent_lab import program

from export_lab import document, exported


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The receipt of a run of its own demonstration, which a cap ends."""
    named = os.environ.get("DOCKET_AI")
    command, folder = named or str(program("docket-ai")), tmp_path_factory.mktemp("theirs")
    around = {**os.environ, "TMPDIR": str(folder), "HOME": str(folder), "NO_COLOR": "1"}
    subprocess.run([command, "demo", "--keep"], cwd=folder, env=around, capture_output=True, timeout=100, check=False)
    (receipt,) = folder.glob("*/.docket/receipts/*.receipt.json")
    return receipt


def test_their_usage_adds_up(theirs: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    totals = json.loads(theirs.read_bytes())["totals"]
    rows = [json.loads(line) for line in exported(capsysbinary, "usage", theirs).splitlines()]
    assert len(rows) == totals["calls"] > 0
    assert sum(row["cost_micros"] for row in rows) == Decimal(totals["cost_usd"]) * 1_000_000
    assert sum(row["fresh_input_tokens"] + row["cache_read_tokens"] for row in rows) == totals["input_tokens"]
    assert {row["component"] for row in rows} == {"base"}


def test_their_trace_says_where_times_are_approximate(theirs: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    receipt = json.loads(theirs.read_bytes())
    trace = document(capsysbinary, "otlp", theirs)
    *spans, root = trace["resourceSpans"][0]["scopeSpans"][0]["spans"]
    kinds = Counter(span["name"].split()[0] for span in spans)
    counts = receipt["event_counts"]
    assert kinds["chat"] == counts["model.response"] + counts.get("model.error", 0)
    # Its demonstration tells of events by the time of day alone.
    approximate = {"key": "docket.time", "value": {"stringValue": "approximate"}}
    assert all(approximate in span["attributes"] for span in spans)
    # Whether the call beyond the cap is refused before its program is stopped is a matter of moments.
    told = Counter(event["name"] for event in root["events"])
    assert told["docket.call_refused"] == counts.get("model.denied", 0)
    assert told["docket.cap_exceeded"] == counts["cap.exceeded"] > 0
    assert root["status"] == {"code": 2, "message": receipt["session"]["breached"]}


def test_their_statement_is_about_receipt_and_ledger(theirs: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    statement = document(capsysbinary, "intoto", theirs)
    receipt = json.loads(theirs.read_bytes())
    assert [one["name"].split("/")[0] for one in statement["subject"]] == ["receipts", "runs"]
    assert statement["predicate"]["cost"]["usd"] == receipt["totals"]["cost_usd"]
    assert statement["predicate"]["writer"] == {"name": "docket", "version": receipt["tool"]["version"]}
