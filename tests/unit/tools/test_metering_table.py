"""Every wire and form of reply is booked exactly, however its bytes come, and the page of the docs says so."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard

from docket.rules.providers.encoding import PIECE_BYTES, decoder
from metering.cases import CASES
from metering.forms import Case
from metering.measure import Measured, measure
from metering.page import page

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "metering.md"
EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.provider}: {case.form}")
CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def assert_exact(case: Case, found: Measured) -> None:
    assert found.tokens == case.tokens
    assert Decimal(found.cost) == Decimal(case.cost)
    assert (found.reported, found.assumed) == (not case.estimated, case.assumed)


@EACH
def test_tokens_and_cost_are_exact(case: Case) -> None:
    assert_exact(case, measure(case))


@EACH
def test_byte_by_byte_they_are_the_same(case: Case) -> None:
    assert_exact(case, measure(case, [case.body[at : at + 1] for at in range(len(case.body))]))


@EACH
@pytest.mark.parametrize("at", [1, 7, 13, 50, 99])
def test_cut_in_two_anywhere_they_are_the_same(case: Case, at: int) -> None:
    place = len(case.body) * at // 100
    assert_exact(case, measure(case, [case.body[:place], case.body[place:]]))


@EACH
@pytest.mark.parametrize("coding", CODINGS)
def test_compressed_they_are_the_same(case: Case, coding: str) -> None:
    undone = decoder(coding)
    assert undone is not None
    pieces: list[bytes] = []
    encoded = CODINGS[coding](case.body)
    for at in range(0, len(encoded), 3):
        undone.feed(encoded[at : at + 3], pieces.append)
    assert not undone.failed
    assert max(map(len, pieces)) <= PIECE_BYTES
    assert_exact(case, measure(case, pieces))


@EACH
def test_junk_behind_the_reply_changes_nothing(case: Case) -> None:
    if case.content_type not in ("websocket", "audio/mpeg"):
        assert_exact(case, measure(case, [case.body, b"\r\n<!-- x -->"]))


def test_every_wire_has_a_row() -> None:
    wires = {measure(case).wire for case in CASES}
    assert wires == {
        "anthropic-messages", "openai-chat", "openai-responses", "gemini", "bedrock-converse", "bedrock-invoke",
        "vertex-claude", "ollama", "gemini-interactions", "gemini-batches", "batch-results", "unknown",
    }  # fmt: skip


def test_the_page_is_what_was_measured() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run tools/generate_metering_table.py"
