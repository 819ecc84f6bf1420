"""How a usage falls into components."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from docket.formats.run.usage import Usage
from docket.rules.spending.components import FEES, Share, split


def test_an_empty_usage_has_its_base() -> None:
    assert split(Usage(), audio_apart=True) == (Share("", 0),)


def test_every_kind_stands_apart_and_the_base_last() -> None:
    usage = Usage(
        input_tokens=1000,
        cached_input_tokens=200,
        output_tokens=300,
        cache_write_tokens=1,
        cache_write_5m_tokens=2,
        cache_write_30m_tokens=3,
        cache_write_1h_tokens=4,
        cache_write_12h_tokens=5,
        audio_input_tokens=100,
        audio_output_tokens=50,
        web_searches=6,
        file_searches=7,
    )
    assert split(usage, audio_apart=True) == (
        Share("+cache-write", 1),
        Share("+cache-write-5m", 2),
        Share("+cache-write-30m", 3),
        Share("+cache-write-1h", 4),
        Share("+cache-write-12h", 5),
        Share("+audio", 100, 0, 50),
        Share("+web-search", 6),
        Share("+file-search", 7),
        # 1000 - 15 written - 100 audio.
        Share("", 885, 200, 250),
    )
    assert split(usage, audio_apart=False)[-1] == Share("", 985, 200, 300)


def test_cached_audio_goes_with_the_audio() -> None:
    usage = Usage(input_tokens=100, cached_input_tokens=90, audio_input_tokens=60, output_tokens=0)
    assert split(usage, audio_apart=True) == (Share("+audio", 60, 50, 0), Share("", 40, 40, 0))


def test_audio_beyond_the_rest_is_cut_to_it() -> None:
    usage = Usage(input_tokens=10, cache_write_tokens=4, audio_input_tokens=50, audio_output_tokens=9, output_tokens=2)
    assert split(usage, audio_apart=True) == (Share("+cache-write", 4), Share("+audio", 6, 0, 2), Share("", 0))


PART = st.integers(0, 1000)


@given(st.tuples(PART, PART, PART, PART, PART, PART, PART, PART, PART, PART), st.booleans())
def test_the_components_add_up_to_the_usage(parts: tuple[int, ...], audio_apart: bool) -> None:
    fresh, cached, out, write, five, half, hour, day, audio_in, audio_out = parts
    usage = Usage(
        input_tokens=fresh + cached + write + five + half + hour + day,
        cached_input_tokens=cached,
        output_tokens=out,
        cache_write_tokens=write,
        cache_write_5m_tokens=five,
        cache_write_30m_tokens=half,
        cache_write_1h_tokens=hour,
        cache_write_12h_tokens=day,
        audio_input_tokens=audio_in,
        audio_output_tokens=audio_out,
        web_searches=3,
    )
    shares = [share for share in split(usage, audio_apart=audio_apart) if share.suffix not in FEES]
    assert sum(share.input_tokens for share in shares) == usage.input_tokens
    assert sum(share.cached_input_tokens for share in shares) == usage.cached_input_tokens
    assert sum(share.output_tokens for share in shares) == usage.output_tokens
    assert all(0 <= share.cached_input_tokens <= share.input_tokens for share in shares)


def test_images_stand_apart_where_they_have_prices() -> None:
    usage = Usage(
        input_tokens=100, cached_input_tokens=90, image_input_tokens=60, output_tokens=40, image_output_tokens=50,
        code_sessions=2, audio_seconds=9,
    )  # fmt: skip
    fees = (Share("+code-interpreter", 2), Share("+audio-seconds", 9))
    assert split(usage, audio_apart=False, image_apart=True) == (
        Share("+image", 60, 50, 40),
        *fees,
        Share("", 40, 40, 0),
    )
    assert split(usage, audio_apart=True) == (*fees, Share("", 100, 90, 40))


def test_audio_and_images_leave_the_text_its_cached_part() -> None:
    usage = Usage(
        input_tokens=100, cached_input_tokens=95, audio_input_tokens=30, image_input_tokens=30, output_tokens=9,
        audio_output_tokens=4, image_output_tokens=3,
    )  # fmt: skip
    assert split(usage, audio_apart=True, image_apart=True) == (
        Share("+audio", 30, 25, 4),
        Share("+image", 30, 30, 3),
        Share("", 40, 40, 2),
    )
