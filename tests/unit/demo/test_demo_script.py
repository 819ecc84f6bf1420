"""Scripts as values and as JSON."""

from __future__ import annotations

import pytest

from docket.demo.script import (
    Cut,
    Failure,
    Filler,
    Pace,
    Script,
    Tokens,
    ToolCall,
    Turn,
    encode_script,
    parse_script,
)
from docket.errors import InvalidDocumentError

EVERYTHING = Script(
    side=Turn(text="a title"),
    turns=(
        Turn(
            text="grüße",
            tool_calls=(ToolCall(name="Write", arguments={"path": "a", "n": [1, None]}), ToolCall(name="p", text="t")),
            tokens=Tokens(fresh=1, cache_read=2, cache_write_5m=3, cache_write_1h=4, output=5, reasoning=6),
            extra_usage={"server_tool_use": {"web_search_requests": 1}},
            model="other",
            service_tier="flex",
            truncated=True,
            cut=Cut(after_bytes=10, clean=True),
            pace=Pace(delay_ms=1, pause_ms=2, gated=True, text_chars=3, write_bytes=4),
            filler=Filler(total_bytes=7, delta_bytes=2),
            coding="gzip",
            headers={"retry-after": "7"},
        ),
        Turn(failure=Failure(status=529, code="overloaded_error", message="busy", in_band=True), tokens=None),
        Turn(cut=Cut()),
    ),
)


def test_json_form_brings_back_every_member():
    assert parse_script(encode_script(EVERYTHING)) == EVERYTHING


def test_json_form_is_what_a_person_would_write():
    data = b'{"turns": [{"text": "hi", "tokens": {"fresh": 3, "output": 1}, "pace": {"delay_ms": 5}}]}'
    assert parse_script(data) == Script(
        turns=(Turn(text="hi", tokens=Tokens(fresh=3, output=1), pace=Pace(delay_ms=5)),)
    )


def test_input_is_the_sum_of_the_four_disjoint_counts():
    assert Tokens(fresh=1, cache_read=20, cache_write_5m=300, cache_write_1h=4000, output=9).input == 4321


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"{}", "turns"),
        (b'{"turns": []}', "at least one turn"),
        (b'{"turns": [{"txt": "x"}]}', "txt"),
        (b'{"turns": [{"text": 1}]}', "script.turns[0].text"),
        (b'{"turns": [{"tokens": {"fresh": -1}}]}', "fresh"),
        (b'{"turns": [{"tokens": {"fresh": true}}]}', "fresh"),
        (b'{"turns": [{"coding": "br"}]}', "br"),
        (b'{"turns": [{"tool_calls": [{"arguments": {}}]}]}', "name"),
        (b'{"turns": {}}', "turns"),
        (b"[]", "script"),
        (b"{", "JSON"),
        (b"\xff", "UTF-8"),
    ],
)
def test_a_wrong_script_is_refused_by_name(data, named):
    with pytest.raises(InvalidDocumentError) as caught:
        parse_script(data)
    assert named in caught.value.detail


def test_only_plain_turns_are_written_at_once():
    assert Turn(text="x").immediate
    for turn in (Turn(pace=Pace(delay_ms=1)), Turn(cut=Cut()), Turn(filler=Filler(total_bytes=1)), Turn(coding="gzip")):
        assert not turn.immediate
