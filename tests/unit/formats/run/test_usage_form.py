"""The JSON form of a usage: exactly one spelling."""

from __future__ import annotations

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue
from docket.formats.run.usage import Usage

NOTHING = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}


def test_the_three_of_v1_always_and_others_only_when_they_count_something() -> None:
    assert Usage().to_json() == NOTHING
    assert Usage(input_tokens=5, cache_write_1h_tokens=5).to_json() == {
        **NOTHING,
        "input_tokens": 5,
        "cache_write_1h_tokens": 5,
    }


def test_it_reads_what_it_writes() -> None:
    usage = Usage(input_tokens=9, cached_input_tokens=2, cache_write_5m_tokens=3, output_tokens=4, web_searches=1)

    assert Usage.from_json(usage.to_json()) == usage
    assert (usage.total_tokens, usage.written_tokens) == (13, 3)
    assert (usage + usage).output_tokens == 8


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"input_tokens": 1, "cached_input_tokens": 0}, "usage has no member 'output_tokens'"),
        ({**NOTHING, "web_searches": 0}, "usage.web_searches is below 1"),
        ({**NOTHING, "input_tokens": -1}, "usage.input_tokens is below 0"),
        ({**NOTHING, "input_tokens": True}, "usage.input_tokens is not an integer"),
        ({**NOTHING, "tokens": 1}, "usage has the unknown member 'tokens'"),
        ({**NOTHING, "cached_input_tokens": 1}, "usage: the cached parts exceed the input"),
        ([], "usage is not an object"),
    ],
)
def test_any_other_spelling_is_refused(value: JsonValue, words: str) -> None:
    with pytest.raises(InvalidDocumentError) as refused:
        Usage.from_json(value)
    assert refused.value.detail == words


def test_a_count_is_a_whole_number_that_is_not_negative() -> None:
    for value in (-1, 1.0, "1", True):
        with pytest.raises(InvalidDocumentError, match=r"usage\.output_tokens is not a non-negative integer"):
            Usage(output_tokens=value)  # type: ignore[arg-type]
