"""How faults are written, and which call gets which."""

import pytest

from docket.errors import UsageError
from docket.rules.drills.faults import (
    MAX_SEED,
    Fault,
    FaultKind,
    FaultyCall,
    draw,
    parse_fault_file,
    parse_faults,
)


def call(number=1, *, provider="anthropic", model="claude-a", path="/anthropic/v1/messages"):
    return FaultyCall(number=number, provider=provider, model=model, path=path)


def struck(plan, numbers=range(1, 13), **members):
    return [number for number in numbers if plan.fault_for(call(number, **members)) is not None]


@pytest.mark.parametrize(
    ("text", "fault", "recorded", "detail", "asked"),
    [
        ("delay", ("delay", 2000), "delay=2", "the request is sent 2 s later", True),
        ("delay=0.25", ("delay", 250), "delay=0.25", "the request is sent 0.25 s later", True),
        ("drop", ("drop", None), "drop", "the connection breaks before any answer", False),
        ("hang=10", ("hang", 10_000), "hang=10", "nothing is answered for 10 s", False),
        ("status", ("status", 503), "status=503", "HTTP 503 in place of the upstream's answer", False),
        ("reset=0", ("reset", 0), "reset=0", "the connection breaks after 0 bytes of the reply", True),
        ("truncate=7", ("truncate", 7), "truncate=7", "the reply ends after 7 bytes as if it were whole", True),
        ("corrupt=9", ("corrupt", 9), "corrupt=9", "one byte in 9 of the reply is changed", True),
        ("slow=100", ("slow", 100), "slow=100", "the reply comes at 100 bytes a second", True),
    ],
)
def test_each_kind_has_a_value_of_its_own(text, fault, recorded, detail, asked):
    plan = parse_faults(text, 5)
    (rule,) = plan.rules
    assert rule.fault == Fault(kind=FaultKind(fault[0]), value=fault[1])
    assert (plan.spec, plan.seed, rule.fault.detail, rule.fault.asked) == ((recorded,), 5, detail, asked)


def test_a_status_may_say_when_to_come_back():
    plan = parse_faults(" status=429 @ retry_after=7 , calls=1 ", 0)
    assert plan.rules[0].fault == Fault(kind=FaultKind.STATUS, value=429, retry_after_seconds=7)
    assert plan.spec == ("status=429@calls=1,retry_after=7",)


@pytest.mark.parametrize(
    ("calls", "numbers"),
    [
        ("3", [3]),
        ("2-4", [2, 3, 4]),
        ("10-", [10, 11, 12]),
        ("*/5", [5, 10]),
        ("1+3-4+*/6", [1, 3, 4, 6, 12]),
    ],
)
def test_calls_are_named_by_their_numbers(calls, numbers):
    assert struck(parse_faults(f"drop@calls={calls}", 0)) == numbers


def test_patterns_of_provider_model_and_path():
    plan = parse_faults("drop@provider=anthropic,model=claude-*,path=*/messages", 0)
    assert struck(plan, [1]) == [1]
    for other in ({"provider": "openai"}, {"model": "gpt-x"}, {"path": "/anthropic/v1/other"}):
        assert struck(plan, [1], **other) == []


def test_the_first_rule_that_fits_counts():
    plan = parse_faults("status=500@calls=1; slow\ndrop@calls=1-2", 0)
    kinds = [plan.fault_for(call(number)).kind for number in (1, 2)]
    assert kinds == [FaultKind.STATUS, FaultKind.SLOW]


def test_a_share_hits_that_share_and_the_seed_decides_which():
    numbers = range(1, 10_001)
    first = struck(parse_faults("drop@share=0.3", 1), numbers)
    assert 2850 < len(first) < 3150
    assert struck(parse_faults("drop@share=0.3", 1), numbers) == first
    assert struck(parse_faults("drop@share=0.3", 2), numbers) != first
    assert struck(parse_faults("drop@share=0", 1)) == []
    assert struck(parse_faults("drop@share=1", 1)) == list(range(1, 13))


def test_the_draw_never_changes():
    # The first sixteen digits that sha256sum prints for the text (7, 0, 1): a recorded seed keeps its meaning.
    assert draw(7, 0, 1) == 0x30CCEA0C6CCABFFA


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no fault is named"),
        (" ; ", "no fault is named"),
        ("dorp", "did you mean 'drop'?"),
        ("zzzz", "known: delay, drop"),
        ("drop=1", "drop takes no value"),
        ("drop@cals=1", "did you mean 'calls'?"),
        ("drop@calls", "is not OPTION=VALUE"),
        ("drop@calls=1,calls=2", "named twice"),
        ("drop@calls=0", "calls must be a whole number from 1"),
        ("drop@calls=4-2", "calls must be a whole number from 4"),
        ("drop@calls=x", "calls must be"),
        ("drop@calls=*/0", "calls must be"),
        ("drop@model=", "model must be a text without blanks"),
        ("drop@model=a b", "model must be a text without blanks"),
        ("drop@model=\udc80", "model must be a text without blanks"),
        ("drop@share=2", "share must be a number from 0 to 1"),
        ("drop@share=nan", "share must be"),
        ("drop@retry_after=1", "only a status has"),
        ("status=429@retry_after=-1", "retry_after must be"),
        ("status=200", "status must be a whole number from 400 to 599"),
        ("delay=-1", "delay must be a number from 0 to 3600"),
        ("delay=1e9", "delay must be"),
        ("hang=soon", "hang must be"),
        ("corrupt=0", "corrupt must be a whole number from 1"),
        ("slow=0", "slow must be"),
        ("truncate=1.5", "truncate must be"),
        ("truncate=99999999999999999999", "truncate must be"),
    ],
)
def test_what_is_wrong_is_named(text, said):
    with pytest.raises(UsageError) as raised:
        parse_faults(text, 0)
    assert said in raised.value.detail
    assert raised.value.detail.startswith("--faults: ")


@pytest.mark.parametrize("seed", [-1, MAX_SEED + 1])
def test_a_seed_has_bounds(seed):
    with pytest.raises(UsageError, match="seed"):
        parse_faults("drop", seed)


def test_a_file_holds_the_same_rules():
    data = b"""
    [[fault]]
    kind = "status"
    value = 529
    calls = "1-2"
    retry_after = 3
    [[fault]]
    kind = "slow"
    share = 0.5
    """
    assert parse_fault_file(data, "f.toml", 4) == parse_faults("status=529@calls=1-2,retry_after=3;slow@share=0.5", 4)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff", "f.toml is no TOML"),
        (b"[[fault", "f.toml is no TOML"),
        (b"", "must hold [[fault]] tables"),
        (b"seed = 1\n[[fault]]\nkind='drop'", "must hold [[fault]] tables"),
        (b"[[fault]]\nkind='drop'\nmodel='a;b'", "f.toml, fault 1: model must be a text without"),
        (b"fault = 3", "must hold [[fault]] tables"),
        (b"fault = []", "no fault is named"),
        (b"fault = [1]", "f.toml, fault 1: no fault is called ''"),
        (b"[[fault]]\nkind='drop'\n[[fault]]\nkind='status'\nvalue=1", "f.toml, fault 2: status must be"),
        (b"[[fault]]\nkind='drop'\nseed=1", "f.toml, fault 1: drop has no option 'seed'"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(data, said):
    with pytest.raises(UsageError) as raised:
        parse_fault_file(data, "f.toml", 0)
    assert said in raised.value.detail
