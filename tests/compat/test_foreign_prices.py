"""A receipt with a call of every kind that is priced apart: another implementation recomputes each to the cent."""

from __future__ import annotations

import json
import os
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from agent_lab import program

from docket.formats.canonical import encode_document
from docket.formats.run.usage import Usage, UsagePart
from docket.formats.run.verdict import Word
from docket.rules.spending.price_book import PriceBook
from docket.rules.spending.pricing import CallFacts, price_call
from golden_ledgers.build import closed, opened, request, response
from golden_ledgers.judging import judged, receipt_of

BOOK = PriceBook.parse(resources.files("docket").joinpath("data/prices.json").read_bytes())
WRITTEN = Usage(
    input_tokens=1500, cached_input_tokens=500, cache_write_tokens=100, cache_write_5m_tokens=100,
    cache_write_30m_tokens=100, cache_write_1h_tokens=100, cache_write_12h_tokens=100, output_tokens=40,
)  # fmt: skip
TEXT = Usage(input_tokens=1000, cached_input_tokens=200, output_tokens=100, reasoning_tokens=60)
KINDS: dict[str, dict[str, Any]] = {
    "cache writes of every lifetime": {"model": "claude-opus-4-8", "usage": WRITTEN},
    "a batch": {"model": "claude-opus-4-8", "usage": TEXT, "service_tier": "batch"},
    "fast": {"model": "claude-opus-4-8", "usage": TEXT, "speed": "fast"},
    "a region": {"model": "claude-opus-4-8", "usage": TEXT, "inference_geo": "us"},
    "a long input": {"model": "claude-sonnet-4-5", "usage": Usage(input_tokens=200_001, output_tokens=1)},
    "flex": {"provider": "openai", "model": "gpt-5.5", "usage": TEXT, "service_tier": "flex"},
    "priority": {"provider": "openai", "model": "gpt-5.5", "usage": TEXT, "service_tier": "priority"},
    "searches and containers": {
        "provider": "openai", "model": "gpt-5.5",
        "usage": Usage(input_tokens=100, output_tokens=10, web_searches=3, file_searches=2, code_sessions=1),
    },
    "audio": {
        "provider": "openai", "model": "gpt-audio",
        "usage": Usage(input_tokens=100, audio_input_tokens=60, output_tokens=100, audio_output_tokens=90),
    },
    "images": {
        "provider": "openai", "model": "gpt-image-1.5",
        "usage": Usage(input_tokens=350, image_input_tokens=300, output_tokens=4160, image_output_tokens=4000),
    },
    "audio by the second": {"provider": "groq", "model": "whisper-large-v3", "usage": Usage(audio_seconds=3601)},
    "Bedrock in a region": {
        "provider": "bedrock", "section": "aws", "model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "usage": TEXT,
    },
    "several models": {
        "model": "claude-opus-4-8",
        "usage": TEXT + TEXT,
        "parts": (UsagePart(model="claude-fable-5", usage=TEXT), UsagePart(model="claude-opus-4-8", usage=TEXT)),
    },
}  # fmt: skip


def ledger_of_every_kind() -> bytes:
    ledger, patterns, spent = opened(), set(), 0
    for number, members in enumerate(KINDS.values(), start=1):
        facts = CallFacts(**{"provider": "anthropic", "at": "2026-11-29T12:00:00.000Z", **members})
        priced = price_call(BOOK, facts)
        assert not priced.assumed
        spent += priced.cost.micros
        ledger.add(request(number, facts.provider, facts.model))
        for row in priced.rows:
            if row.pattern not in patterns:
                patterns.add(row.pattern)
                ledger.add(row)
        total = str(type(priced.cost)(spent))
        ledger.add(
            response(
                number, facts.provider, facts.model, usage=facts.usage, usage_parts=facts.parts or None,
                components=priced.components, cost=str(priced.cost), cumulative=total, assumed_price=False,
            )
        )  # fmt: skip
    return closed(ledger, total).data()


@pytest.fixture(scope="module")
def theirs() -> Path:
    """The other implementation's command; DOCKET_AI names one that stands elsewhere."""
    named = os.environ.get("DOCKET_AI")
    return Path(named) if named else program("docket-ai")


def test_it_accepts_a_receipt_with_every_kind_of_price(theirs: Path, tmp_path: Path) -> None:
    raw = ledger_of_every_kind()
    document = receipt_of(raw)
    assert judged(document, raw).word is Word.CONSISTENT
    receipt, ledger = tmp_path / "receipt.json", tmp_path / "run.jsonl"
    receipt.write_bytes(encode_document(document))
    ledger.write_bytes(raw)
    command = [str(theirs), "verify", str(receipt), "--ledger", str(ledger), "--impl", "python", "--json"]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path), "NO_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100, check=False)
    answer = json.loads(done.stdout[done.stdout.find("{") : done.stdout.rfind("}") + 1])
    assert [check["name"] for check in answer["checks"] if check["status"] == "fail"] == []
    passed = {check["name"] for check in answer["checks"] if check["status"] == "pass"}
    assert {"cost-recomputation", "totals"} <= passed
