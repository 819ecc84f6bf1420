"""Token usage of one call."""

from __future__ import annotations

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.reason import Reason
from docket.formats.run.usage import Usage

FULL = {
    "input_tokens": 100,
    "cached_input_tokens": 10,
    "output_tokens": 50,
    "cache_write_tokens": 1,
    "cache_write_5m_tokens": 2,
    "cache_write_1h_tokens": 3,
    "reasoning_tokens": 7,
    "audio_input_tokens": 4,
    "audio_output_tokens": 5,
    "web_searches": 6,
}


def test_every_member_goes_round():
    usage = Usage(**FULL)
    assert usage.to_json() == FULL
    assert Usage.from_json(FULL) == usage
    assert (usage.written_tokens, usage.total_tokens) == (6, 150)


def test_the_three_public_members_stand_always_and_zeros_elsewhere_do_not():
    assert Usage().to_json() == {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}
    three = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 3}
    assert Usage.from_json(three) == Usage(output_tokens=3)
    for name in three:
        with pytest.raises(InvalidDocumentError) as caught:
            Usage.from_json({key: count for key, count in three.items() if key != name})
        assert caught.value.reason == Reason.MISSING_MEMBER


@pytest.mark.parametrize("value", [-1, 1.0, True, "1", None])
@pytest.mark.parametrize("name", sorted(FULL))
def test_a_count_is_a_non_negative_integer(name, value):
    with pytest.raises(InvalidDocumentError) as caught:
        Usage(**{**FULL, name: value})
    assert caught.value.reason == Reason.WRONG_VALUE
    with pytest.raises(InvalidDocumentError):
        Usage.from_json({**FULL, name: value})


@pytest.mark.parametrize("name", sorted(set(FULL) - {"input_tokens", "cached_input_tokens", "output_tokens"}))
def test_a_zero_that_is_not_written_is_not_read(name):
    with pytest.raises(InvalidDocumentError) as caught:
        Usage.from_json({**FULL, name: 0})
    assert caught.value.reason == Reason.WRONG_VALUE


def test_the_cached_parts_fit_into_the_input():
    Usage(input_tokens=16, cached_input_tokens=10, cache_write_tokens=6)
    for parts in ({"cached_input_tokens": 11}, {"cache_write_5m_tokens": 11}, {"cached_input_tokens": 5,
                  "cache_write_1h_tokens": 6}):  # fmt: skip
        with pytest.raises(InvalidDocumentError, match="exceed the input"):
            Usage(input_tokens=10, **parts)


def test_an_unknown_member_is_refused():
    with pytest.raises(InvalidDocumentError, match="usage of call 3 has the unknown member 'tokens'"):
        Usage.from_json({**FULL, "tokens": 1}, "usage of call 3")


@pytest.mark.parametrize("value", [None, [], 5])
def test_usage_is_an_object(value):
    with pytest.raises(InvalidDocumentError):
        Usage.from_json(value)


def test_usages_add_member_by_member():
    doubled = {name: 2 * count for name, count in FULL.items()}
    assert Usage(**FULL) + Usage(**FULL) == Usage(**doubled)
