"""Payloads as bytes: read whole while they are small, by their short members while they are not."""

from __future__ import annotations

import json

import pytest

from docket.rules.agents.hook_body import NO_OBJECT, NOT_JSON, PIECE_BYTES, SMALL_BYTES, TOO_DEEP, TOO_LATE, read_body

LONG = "x" * (2 * SMALL_BYTES)


@pytest.mark.parametrize(
    ("body", "read"),
    [(b'{"a": 1}', {"a": 1}), (b'{"a": "\xff"}', {"a": "\udcff"}), (b"", NOT_JSON), (b"[1]", NO_OBJECT),
     (b"[" * 100_000, TOO_DEEP), (b'{"a": ' + b"9" * 5000 + b"}", NOT_JSON), (LONG.encode(), NOT_JSON),
     (json.dumps({"session_id": "s", "tool_use_id": "u", "tool_response": LONG, "is_error": True}).encode(),
      {"session_id": "s", "tool_use_id": "u", "is_error": True}),
     (json.dumps({"tool_input": {"command": LONG}, "sessionId": "s"}).encode(), {"sessionId": "s"})],
)  # fmt: skip
def test_a_payload_is_read_or_told_to_be_none(body, read):
    assert read_body(body) == read


def test_a_large_payload_is_read_no_further_than_there_is_time_for():
    asked = []

    def is_late() -> bool:
        asked.append(True)
        return len(asked) > 3

    assert read_body(b"[" * (SMALL_BYTES + 9 * PIECE_BYTES), is_late) == TOO_LATE
    assert len(asked) == 4
