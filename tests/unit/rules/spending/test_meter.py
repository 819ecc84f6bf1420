from docket.rules.spending.meter import Calibration, tokens_of_bytes


def test_four_bytes_are_a_token_rounded_up():
    assert [tokens_of_bytes(size) for size in (0, 1, 4, 5, 400)] == [0, 1, 1, 2, 100]


def test_an_estimate_learns_from_what_was_reported():
    first = Calibration()
    assert first.input_tokens("m", 1000) == 250
    # 300 tokens for 1000 bytes, then 500 for 1000: 800 / 2000.
    taught = first.learned("m", 1000, 300).learned("m", 1000, 500)
    assert taught.input_tokens("m", 1000) == 400
    assert taught.input_tokens("m", 1001) == 401
    assert taught.input_tokens("other", 1000) == 250
    assert first.input_tokens("m", 1000) == 250


def test_no_estimate_exceeds_a_token_a_byte():
    stored_history = Calibration().learned("m", 10, 5000)
    assert stored_history.input_tokens("m", 20) == 20
    assert Calibration().learned("m", 0, 5).input_tokens("m", 8) == 2
    assert Calibration().learned("m", 5, 0).input_tokens("m", 8) == 2
