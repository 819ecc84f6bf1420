from docket.formats.run.usage import Usage
from docket.rules.providers.estimate import tokens_of_bytes
from docket.rules.spending.meter import Calibration, InputEstimate

WINDOW = 1_000_000


def fresh(tokens: int) -> Usage:
    return Usage(input_tokens=tokens)


def test_four_bytes_are_a_token_rounded_up():
    assert [tokens_of_bytes(size) for size in (0, 1, 4, 5, 400)] == [0, 1, 1, 2, 100]


def test_nothing_of_a_first_call_is_expected_from_the_cache():
    assert Calibration().expected("m", 1001, WINDOW) == InputEstimate(251, 0)
    other = Calibration().learned("m", 1000, Usage(input_tokens=300, cached_input_tokens=300))
    assert other.expected("another", 1000, WINDOW) == InputEstimate(250, 0)


def test_a_grown_conversation_is_its_last_call_and_fresh_bytes():
    first = Calibration().learned("m", 1000, Usage(input_tokens=300, cache_write_5m_tokens=280))
    assert first.expected("m", 1000, WINDOW) == InputEstimate(300, 280)
    # 100 bytes more at 300 tokens for 1000 bytes.
    assert first.expected("m", 1100, WINDOW) == InputEstimate(330, 280)
    second = first.learned("m", 1100, Usage(input_tokens=330, cached_input_tokens=280, cache_write_1h_tokens=30))
    # 630 tokens for 2100 bytes: 0.3 a byte.
    assert second.expected("m", 1210, WINDOW) == InputEstimate(330 + 33, 310)
    assert second.expected("m", 1099, WINDOW) == InputEstimate(300 + 30, 280)


def test_a_cache_that_had_expired_is_not_expected_again():
    hit = Calibration().learned("m", 1000, Usage(input_tokens=300, cached_input_tokens=300))
    assert hit.expected("m", 1000, WINDOW) == InputEstimate(300, 300)
    assert hit.learned("m", 1000, fresh(300)).expected("m", 1000, WINDOW) == InputEstimate(300, 0)


def test_a_shorter_body_is_another_conversation():
    long = Calibration().learned("m", 1000, Usage(input_tokens=300, cached_input_tokens=290))
    assert long.expected("m", 999, WINDOW) == InputEstimate(300, 0)
    side = long.learned("m", 50, fresh(18))
    # 318 tokens for 1050 bytes.
    assert side.expected("m", 60, WINDOW) == InputEstimate(18 + 4, 0)
    assert side.expected("m", 1000, WINDOW) == InputEstimate(300, 290)


def test_old_reports_are_forgotten_but_for_the_ratio():
    taught = Calibration().learned("m", 1000, Usage(input_tokens=500, cached_input_tokens=500))
    for _ in range(7):
        taught = taught.learned("m", 10, fresh(5))
    assert taught.expected("m", 1000, WINDOW) == InputEstimate(500, 500)
    taught = taught.learned("m", 10, fresh(5))
    # 5 for the 10 bytes and 990 bytes at 540 tokens for 1080 bytes.
    assert taught.expected("m", 1000, WINDOW) == InputEstimate(5 + 495, 0)


def test_no_byte_is_more_than_a_token():
    stored_history = Calibration().learned("m", 10, Usage(input_tokens=5000, cached_input_tokens=4000))
    assert stored_history.expected("m", 20, WINDOW) == InputEstimate(5010, 4000)
    assert stored_history.expected("m", 9, WINDOW) == InputEstimate(9, 0)


def test_what_has_no_size_teaches_no_ratio():
    assert Calibration().learned("m", 0, fresh(5)).expected("m", 8, WINDOW) == InputEstimate(5 + 2, 0)
    assert Calibration().learned("m", 5, fresh(0)).expected("m", 8, WINDOW) == InputEstimate(1, 0)


def test_a_calibration_is_a_value():
    first = Calibration()
    first.learned("m", 10, fresh(5))
    assert first.expected("m", 8, WINDOW) == InputEstimate(2, 0)


def test_what_nobody_has_reported_stays_within_the_context_window() -> None:
    assert Calibration().expected("m", 800, 200) == InputEstimate(200, 0)
    assert Calibration().expected("m", 804, 200) == InputEstimate(200, 0)
    # A report of more is believed, and nothing is added to it.
    taught = Calibration().learned("m", 1000, fresh(300))
    assert taught.expected("m", 1000, 200) == taught.expected("m", 2000, 200) == InputEstimate(300, 0)
    assert taught.expected("m", 1400, 400) == InputEstimate(400, 0)
