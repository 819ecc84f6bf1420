"""Fetched batches, typed by hand after Google's API reference."""

from __future__ import annotations

import json

import pytest

from docket.formats.run.usage import Usage
from docket.rules.providers.endpoints import GEMINI_BATCHES, classify
from docket.rules.providers.interface import EndpointKind, Reading


def one(prompt: int, shown: int) -> dict[str, object]:
    return {"response": {"usageMetadata": {"promptTokenCount": prompt, "candidatesTokenCount": shown}}}


RESULTS = {"inlinedResponses": {"inlinedResponses": [one(10, 3), {"error": {"code": 3}}, one(20, 4)]}}
DONE = {"name": "batches/b1", "done": True, "metadata": {"model": "models/gemini-2.5-flash"}, "response": RESULTS}


def read(value: object, *, event: bool = False) -> Reading:
    meter = GEMINI_BATCHES.meter("application/json", streaming=False)
    data = json.dumps(value).encode()
    meter.feed(b"data: " + data if event else data)
    return meter.reading()


@pytest.mark.parametrize(
    "value", [DONE, {**DONE, "response": None, "metadata": {**DONE["metadata"], "output": RESULTS}}]
)  # type: ignore[dict-item]
def test_the_responses_of_a_batch_are_added_up(value: object) -> None:
    reading = read(value)
    assert (reading.usage, reading.usage_final) == (Usage(input_tokens=30, output_tokens=7), True)
    assert (reading.model, reading.service_tier, reading.response_id) == ("gemini-2.5-flash", "batch", "batches/b1")


def test_a_batch_that_is_not_done_has_used_nothing_yet() -> None:
    assert read({**DONE, "done": False}).usage is None


def test_results_in_a_file_are_said_not_to_be_read() -> None:
    reading = read({**DONE, "response": {"responsesFile": "files/f1"}})
    assert (reading.usage, reading.note is not None) == (None, True)


def test_what_else_may_come() -> None:
    assert read({"error": {"message": "no", "status": "NOT_FOUND"}}).error is not None
    assert read({"name": 5, "metadata": {"model": 5}}).model is None
    assert read(DONE, event=True).usage == Usage(input_tokens=30, output_tokens=7)
    meter = GEMINI_BATCHES.meter("", streaming=False)
    meter.feed(b"data: [DONE]\n\n")
    assert meter.reading().usage is None
    assert GEMINI_BATCHES.meter("image/png", streaming=False).reading().note is not None


@pytest.mark.parametrize(
    ("path", "wire"),
    [("/v1beta/batches/b1", "gemini-batches"), ("/v1beta/batches", None), ("/v1/batches/batch_1", None)],
)
def test_where_they_are_fetched(path: str, wire: str | None) -> None:
    endpoint = classify("GET", path)
    assert endpoint.kind is EndpointKind.FREE
    assert (endpoint.wire.name if endpoint.wire else None) == wire
