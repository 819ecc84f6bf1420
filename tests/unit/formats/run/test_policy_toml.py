"""Policy files: what is read, and how each mistake is told."""

from __future__ import annotations

from decimal import Decimal

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.reason import Reason
from docket.formats.run.policy import Admission, BudgetMode, EgressMode, OnBreach, Policy
from docket.formats.run.policy_toml import MAX_POLICY_BYTES, parse_policy, read_policy


def parse(text):
    return parse_policy(text.encode(), "docket.toml")


def problems(text):
    raw = text if isinstance(text, bytes) else text.encode()
    reading = read_policy(raw)
    assert (reading.policy is None) == bool(reading.problems)
    return [(problem.line, problem.key, problem.message) for problem in reading.problems]


def only(text):
    found = problems(text)
    assert len(found) == 1, found
    return found[0]


def test_nothing_written_is_the_default():
    assert parse("") == Policy()
    assert parse("").stated == frozenset()
    assert parse("[caps]\n[models]\n[upstreams]\n") == Policy()


def test_a_file_with_every_kind_of_value():
    policy = parse(
        """
        [policy]
        name = "Füße"
        [budget]
        admission = "strict"
        [caps]
        max_usd = 0.000001
        max_tokens = 1_000_000
        warn_at = 80
        on_breach = 'deny'
        grace_seconds = 0.250
        [models]
        allow = [
            "claude-*", # these
            'gpt-5*',
        ]
        [egress]
        mode = "tunnel"
        allow = ["example.com", ".example.org", "*.example.net", "[::1]", "127.0.0.1"]
        [files]
        watch = ["src/", "docs"]
        [resilience]
        max_calls_per_second = "2.50"
        max_ledger_bytes = 0
        fail_fast_evidence = true
        [upstreams]
        openai = "http://127.0.0.1:8080/v1"
        my-gateway_2 = "https://[::1]/x"
        """
    )
    assert policy.name == "Füße"
    assert policy.budget.admission is Admission.STRICT
    assert policy.caps.max_usd == Usd(1)
    assert policy.caps.max_tokens == 1_000_000
    assert policy.caps.warn_at == Decimal("0.8")
    assert policy.caps.on_breach is OnBreach.DENY
    assert policy.caps.grace_seconds == Decimal("0.25")
    assert policy.models.allow == ("claude-*", "gpt-5*")
    assert policy.egress.mode is EgressMode.TUNNEL
    assert policy.resilience.max_calls_per_second == Decimal("2.5")
    assert policy.resilience.max_ledger_bytes is None
    assert policy.upstreams.mapping() == {"openai": "http://127.0.0.1:8080/v1", "my-gateway_2": "https://[::1]/x"}
    assert policy.stated >= {"policy.name", "caps.max_usd", "resilience.max_ledger_bytes", "upstreams.openai"}
    assert "caps.max_model_calls" not in policy.stated


@pytest.mark.parametrize(
    ("written", "micros"),
    [
        ("5", 5_000_000), ("5.0", 5_000_000), ("5.25", 5_250_000), ("0.05", 50_000), ("1e2", 100_000_000),
        ("12.5E-1", 1_250_000), ("0", 0), ("0.0", 0), ("1_0.5", 10_500_000), ("+5", 5_000_000), ('"0.30"', 300_000),
        ("0x10", 16_000_000), ("1.123456", 1_123_456), ("999999999999.999999", 999_999_999_999_999_999),
        # 0.1 + 0.2 in binary floating point is not 0.3; the text is what counts.
        ("0.300000", 300_000),
    ],
)  # fmt: skip
def test_amounts_are_what_is_written(written, micros):
    assert parse(f"caps.max_usd = {written}").caps.max_usd == Usd(micros)


@pytest.mark.parametrize(
    "written",
    [
        "nan", "-nan", "+nan", "inf", "-inf", "+inf", "1e999", "-1", "-0.5", "-0.0", "true", "false", "0.1234567",
        "5.0000000", "1e-7", "1e400000000", "-1e400000000", "1e-400000000", "1000000000000", "99999999999999999999",
        '""', '"five"', '"5 "', '" 5"', '"1e2"', '"+5"', '"NaN"', '"5,00"', '"\u0665"', "[5]", "{}", "{ a = 1 }",
        "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", '"""\n5\n"""',
    ],
)  # fmt: skip
def test_what_is_not_an_amount_is_refused_by_key_and_line(written):
    line, key, message = only(f"[caps]\n\nmax_usd = {written}\n")
    assert (line, key) == (3, "caps.max_usd")
    assert message.startswith("must be an amount of dollars")


@pytest.mark.parametrize("name", ["max_tokens", "max_model_calls", "max_wall_seconds", "admission_wait_ms"])
@pytest.mark.parametrize("written", ["nan", "inf", "-1", "true", "1.0", "1e3", '"5"', "9007199254740992", "[]"])
def test_what_is_not_a_whole_number_is_refused(name, written):
    assert only(f"[caps]\n{name} = {written}")[:2] == (2, f"caps.{name}")


@pytest.mark.parametrize(
    ("written", "share"), [("0.8", "0.8"), ("80", "0.8"), ("1", "1"), ("1.0", "1"), ("100", "1"), ("2", "0.02"),
                           ("0.0001", "0.0001"), ('"0.5"', "0.5"), ("33", "0.33"), ("80.0", "0.8")],
)  # fmt: skip
def test_shares_are_fractions_or_whole_percentages(written, share):
    assert parse(f"caps.warn_at = {written}").caps.warn_at == Decimal(share)


@pytest.mark.parametrize("written", ["0", "1.5", "101", "-0.8", "0.00001", "nan", "inf", "true", '"80%"', "1e30"])
def test_what_is_no_share_is_refused(written):
    assert only(f"caps.warn_at = {written}")[:2] == (1, "caps.warn_at")


@pytest.mark.parametrize("written", ["-1", "0.0001", "1e10", "nan", "true"])
def test_what_is_no_number_of_seconds_is_refused(written):
    assert only(f"caps.grace_seconds = {written}")[:2] == (1, "caps.grace_seconds")


@pytest.mark.parametrize(
    ("text", "line", "key", "says"),
    [
        ("[caps]\nmax_usdd = 5", 2, "caps.max_usdd", "is not a known key; the nearest is caps.max_usd"),
        ("caps.max_usdd = 5", 1, "caps.max_usdd", "the nearest is caps.max_usd"),
        ("\ncaps = {max_tokens = 1, max_token = 5}", 2, "caps.max_token", "the nearest is caps.max_tokens"),
        ("[caps]\nMax_USD = 5", 2, "caps.Max_USD", "the nearest is caps.max_usd"),
        ("[caps]\nmax-usd = 5", 2, "caps.max-usd", "the nearest is caps.max_usd"),
        ("[caps]\ndeny_write = []", 2, "caps.deny_write", "the nearest is files.deny_write"),
        ("[models]\nxyzzy = 5", 2, "models.xyzzy", "[models] has allow, deny"),
        ('[caps]\n"a\\nb\'c" = 5', 2, 'caps."a\\nb\'c"', "is not a known key"),
        ('"caps.max_usd" = 5', 1, '"caps.max_usd"', "the nearest is caps.max_usd"),
        ("max_usd = 5", 1, "max_usd", "the nearest is caps.max_usd"),
        ("zzzzzzzz = 5", 1, "zzzzzzzz", "the sections are policy, budget"),
        ("[cap]\nmax_usd = 5", 1, "cap", "is not a known section; the nearest is [caps]"),
        ("[Caps]\nmax_usd = 5", 1, "Caps", "the nearest is [caps]"),
        ("[upstream]\nopenai = 5", 1, "upstream", "the nearest is [upstreams]"),
        ("caps = 5", 1, "caps", "must be a table, written as [caps], not 5"),
        ("[[caps]]\nmax_usd = 5", 1, "caps", "must be a table, written as [caps], not an array"),
        ("upstreams = 'x'", 1, "upstreams", "must be a table"),
        ("[caps.max_usd]\nx = 1", 1, "caps.max_usd", "not a table"),
        ("[models]\nallow = 'claude-*'", 2, "models.allow", "write a single one as ['claude-*']"),
        ("[models]\nallow = [\n 'a',\n 5]", 2, "models.allow", "5 is not one of them"),
        ("[models]\nallow = false", 2, "models.allow", "not false"),
        ("[models]\nallow = ['']", 2, "models.allow", "'' is not one of them"),
        ("[models]\nallow = ['a b']", 2, "models.allow", "'a b' is not one of them"),
        ("[egress]\nallow = ['https://x.com']", 2, "egress.allow", "is not one of them"),
        ("[egress]\nallow = ['X.com']", 2, "egress.allow", "is not one of them"),
        ("[files]\nwatch = []", 2, "files.watch", "one or more"),
        ("[files]\nwatch = ['/etc']", 2, "files.watch", "'/etc' is not one of them"),
        ("[files]\nwatch = ['a/../b']", 2, "files.watch", "is not one of them"),
        ("[files]\nwatch = ['a//b']", 2, "files.watch", "is not one of them"),
        ("[files]\nignore = [' ']", 2, "files.ignore", "is not one of them"),
        ('[files]\nignore = ["a\\nb"]', 2, "files.ignore", "is not one of them"),
        ("[budget]\npass_endpoints = ['/v1/x']", 2, "budget.pass_endpoints", "is not one of them"),
        ("[caps]\non_breach = 'Kill'", 2, "caps.on_breach", '"kill" or "deny"'),
        ("[caps]\non_breach = true", 2, "caps.on_breach", "not true"),
        ("[resilience]\nfail_fast_evidence = 'yes'", 2, "resilience.fail_fast_evidence", "true or false"),
        ("[resilience]\nfail_fast_evidence = 1", 2, "resilience.fail_fast_evidence", "true or false"),
        ("[resilience]\nmax_ledger_bytes = 4095", 2, "resilience.max_ledger_bytes", "0 (no ceiling) or a whole number"),
        ("[resilience]\nmax_ledger_bytes = false", 2, "resilience.max_ledger_bytes", "not false"),
        ("[policy]\nname = ''", 2, "policy.name", "must be a line of text"),
        ("[policy]\nname = 5", 2, "policy.name", "must be a line of text"),
        ("[policy]\nnmae = 'x'", 2, "policy.nmae", "the nearest is policy.name"),
        ("[upstreams]\nOpenAI = 'http://x'", 2, "upstreams.OpenAI", "is not a provider name"),
        ("[upstreams]\nopenai = 5", 2, "upstreams.openai", "must be a URL"),
        ("[upstreams]\nopenai = 'x.com'", 2, "upstreams.openai", "must be a URL"),
        ("[upstreams]\nopenai = 'http://'", 2, "upstreams.openai", "must be a URL"),
        ("[upstreams]\nopenai = 'http://u:p@h'", 2, "upstreams.openai", "must be a URL"),
        ("[upstreams]\nopenai = 'http://h?k=1'", 2, "upstreams.openai", "must be a URL"),
        ("[upstreams]\nopenai = 'http://h/#a'", 2, "upstreams.openai", "must be a URL"),
        ("[upstreams]\nopenai = 'http://h:99999'", 2, "upstreams.openai", "must be a URL"),
        ("[upstreams]\nopenai = 'http://h:0'", 2, "upstreams.openai", "must be a URL"),
        ("[upstreams]\nopenai = 'http://h /'", 2, "upstreams.openai", "must be a URL"),
    ],
)
def test_each_mistake_names_its_key_its_line_and_what_was_meant(text, line, key, says):
    found = only(text)
    assert found[:2] == (line, key)
    assert says in found[2]


def test_long_values_are_shown_short_and_on_one_line():
    message = only(f"[caps]\non_breach = '{'x' * 500}'")[2]
    assert len(message) < 120
    message = only('[caps]\non_breach = "a\\u0007\\nb"')[2]
    assert message.isprintable()


def test_all_mistakes_of_a_file_are_told_together_in_the_order_of_their_lines():
    text = "max_usd = 5\n[models]\nallow = 'x'\n[caps]\nmax_usd = true\nmax_token = 5\n[egres]\n"
    assert [(line, key) for line, key, _ in problems(text)] == [
        (1, "max_usd"),
        (3, "models.allow"),
        (5, "caps.max_usd"),
        (6, "caps.max_token"),
        (7, "egres"),
    ]
    with pytest.raises(InvalidDocumentError) as caught:
        parse(text)
    assert caught.value.reason == Reason.POLICY_INVALID
    assert caught.value.detail == "docket.toml has 5 errors:"
    assert caught.value.points[0] == "line 1: max_usd is not a known key; the nearest is caps.max_usd"
    assert len(caught.value.points) == 5


def test_one_mistake_is_told_in_one_line():
    with pytest.raises(InvalidDocumentError) as caught:
        parse("[caps]\nmax_usdd = 5")
    assert caught.value.detail == "docket.toml: line 2: caps.max_usdd is not a known key; the nearest is caps.max_usd"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[caps]\nmax_usd = 1\n\nmax_usd = 2", [(4, "caps.max_usd", "stands twice; it already stands on line 2")]),
        ("[caps]\nmax_usd = 1\n[caps]\nmax_usd = 2",
         [(3, "caps", "stands twice; it already stands on line 1"),
          (4, "caps.max_usd", "stands twice; it already stands on line 2")]),
        ("caps = {max_usd = 1, max_usd = 2}", [(1, "caps.max_usd", "stands twice; it already stands on line 1")]),
        ("caps.max_usd = 1\n'caps'.\"max_usd\" = 2",
         [(2, "caps.max_usd", "stands twice; it already stands on line 1")]),
    ],
)  # fmt: skip
def test_a_key_written_twice_is_told_with_both_lines(text, expected):
    assert problems(text) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[caps\nmax_usd = 1", 1), ("[caps]\nmax_usd = \n", 2), ("[caps]\nmax_usd 5\n", 2), ("a = 01", 1),
        ("\n\na = '''x\ny\n\n\n", 4), ("[caps]\nmax_usd = 1 2", 2), ("a.b = 1\n[a]\n", 2), ("a = 2020-13-45", 1),
        ("[caps]\n\tmax_usd = $5\n", 2), ('a = "\x00"', 1), ("a = 1\rb = 2", 1), ("[]", 1), ("a = [1,\n2", 2),
    ],
)  # fmt: skip
def test_what_is_not_toml_is_told_with_its_line(text, line):
    found = only(text)
    assert found[0] == line
    assert found[2].startswith("not TOML: ")


@pytest.mark.parametrize("broken", ["max_usd = 01", "max_usd = 2020-13-45"])
def test_a_broken_value_and_a_repeated_key_are_both_told(broken):
    found = problems(f"[caps]\n{broken}\nmax_tokens = 1\nmax_tokens = 2\n")
    assert [(line, key) for line, key, _ in found] == [(2, None), (4, "caps.max_tokens")]
    assert found[0][2].startswith("not TOML: ")
    assert found[1][2] == "stands twice; it already stands on line 3"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (b'[caps]\nname = "\xff"', 2, "byte 0xff is not UTF-8"),
        (b"\xef\xbb\xbf[caps]", 1, "byte order mark"),
        ("[caps]".encode("utf-16"), 1, "byte 0xff is not UTF-8"),
        (b"#" * (MAX_POLICY_BYTES + 1), None, "larger than 1048576 bytes"),
        (b"a = " + b"[" * 20000, None, "nested too deeply"),
        (b"a = " + b"9" * 5000, None, "too many digits"),
        (b"a = 1" + b"0" * 5000 + b"\n", None, "too many digits"),
    ],
)  # fmt: skip
def test_bytes_that_are_no_policy_are_told(text, line, says):
    found = only(text)
    assert found[0] == line
    assert found[1] is None
    assert says in found[2]


def test_a_file_of_the_largest_size_is_read():
    assert parse("#" * (MAX_POLICY_BYTES - 1) + "\n") == Policy()


@pytest.mark.parametrize(
    ("text", "enabled"),
    [
        ("", False), ("[cache]", False), ("[cache]\nenabled = false", False), ("[cache]\nenabled = true", True),
        ("[cache]\nttl_seconds = 5", True), ("[cache]\nmax_hits = 0\nenabled = false", False),
    ],
)  # fmt: skip
def test_naming_a_key_of_the_cache_switches_it_on_unless_it_says_not(text, enabled):
    policy = parse(text)
    assert policy.cache.enabled is enabled
    assert ("cache.enabled" in policy.stated) == (enabled or "enabled" in text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", False), ("[evidence]\nrecord_responses = true", True), ("[evidence]\nrecord_response_max_bytes = 9", True),
        ("[evidence]\nrecord_response_max_bytes = 9\nrecord_responses = false", False),
    ],
)  # fmt: skip
def test_naming_the_size_of_evidence_switches_keeping_on_unless_it_says_not(text, kept):
    assert parse(text).evidence.record_responses is kept


def test_a_dollar_cap_that_could_never_hold_is_refused():
    line, _, message = only("[caps]\nmax_usd = 5\n\n[budget]\nmode = 'quota'\n")
    assert line == 5
    assert "caps.max_usd could never hold" in message
    assert parse("[budget]\nmode = 'quota'\n[caps]\nmax_tokens = 5").budget.mode is BudgetMode.QUOTA


def test_keys_that_contradict_each_other_are_told_at_their_section():
    line, _, message = only("\n[resilience]\nbreaker_cooldown_seconds = 301\n")
    assert line == 2
    assert "must not exceed resilience.breaker_max_cooldown_seconds" in message


@pytest.mark.parametrize("address", ["https://h/v1?key=s3cret", "https://h/v1#s3cret", "https://u:s3cret@h/v1"])
def test_an_address_that_may_carry_a_key_is_in_no_policy_and_is_not_repeated(address):
    line, key, message = only(f"[upstreams]\nopenai = '{address}'")
    assert (line, key) == (2, "upstreams.openai")
    assert "s3cret" not in message
