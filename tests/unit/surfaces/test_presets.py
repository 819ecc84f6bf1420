"""The policy files that `docket init` writes."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal

import pytest

from docket.errors import InvalidDocumentError, UsageError
from docket.formats.amount import Usd
from docket.formats.run.policy import KEYS, Policy
from docket.formats.run.policy_toml import parse_policy
from docket.rules.agents.registry import names
from docket.rules.policy.enforced import check_enforced
from docket.rules.policy.tighten import tighten
from docket.surfaces.cli.presets import PRESETS, policy_text, preset

NAMES = [entry.name for entry in PRESETS]


def text_of(name, amount=5_000_000):
    return policy_text(preset(name), name=name, max_usd=Usd(amount))


def test_there_is_one_for_each_agent():
    assert [name for name in names() if name != "none"] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_a_policy_with_a_dollar_cap_and_nothing_else(name):
    policy = parse_policy(text_of(name).encode(), "docket.toml")
    assert policy.stated == {"policy.name", "caps.max_usd"}
    assert policy.caps.max_usd == Usd(5_000_000)
    assert policy.name == name
    assert check_enforced(policy) == ()


@pytest.mark.parametrize("name", NAMES)
def test_in_a_tree_it_tightens_and_warns_of_nothing(name):
    policy, warnings = tighten(Policy(), parse_policy(text_of(name).encode(), "docket.toml"))
    assert warnings == ()
    assert policy.caps.max_usd == Usd(5_000_000)


@pytest.mark.parametrize("name", NAMES)
def test_every_key_stands_in_it_and_reads_when_it_is_switched_on(name):
    text = text_of(name)
    switched_on = re.sub(r"(?m)^# ([a-z_]+ = .*)$", r"\1", text)
    tables = tomllib.loads(switched_on)
    written = {f"{section}.{key}" for section, keys in tables.items() for key in keys}
    assert written == {key.path for key in KEYS} | {"upstreams.openai"}
    for key in KEYS:
        alone = f"[{key.section}]\n{key.name} = {_literal(switched_on, key)}\n"
        if key.path not in ("resilience.max_calls_per_minute", "resilience.breaker_max_cooldown_seconds"):
            parse_policy(alone.encode(), "docket.toml")
    assert max(len(line) for line in text.splitlines()) <= 120


def _literal(text, key):
    section = text.split(f"\n[{key.section}]\n")[1].split("\n[")[0]
    return re.search(rf"(?m)^{key.name} = (.*)$", section).group(1)


@pytest.mark.parametrize("name", NAMES)
def test_a_commented_default_is_the_default(name):
    text = text_of(name)
    for key in KEYS[1:]:
        section = text.split(f"\n[{key.section}]\n")[1].split("\n[")[0]
        literal = re.search(rf"(?m)^(?:# )?{key.name} = (.*)$", section).group(1)
        value = key.kind.from_toml(tomllib.loads(f"v = {literal}", parse_float=Decimal)["v"])
        if key.default not in (None, ()) and key.path != "caps.max_usd":
            assert value == key.default, key.path


def test_the_amount_is_written_exactly():
    assert "\nmax_usd = 0.000001\n" in text_of("generic", 1)
    assert "\nmax_usd = 1234567.89\n" in text_of("generic", 1_234_567_890_000)


@pytest.mark.parametrize("name", ['a "b" \\ c', "Füße 😀", "#x", "'"])
def test_any_name_is_written_so_that_it_reads_back(name):
    text = policy_text(preset("codex"), name=name, max_usd=Usd(0))
    assert parse_policy(text.encode(), "p").name == name


@pytest.mark.parametrize("name", ["", "a\nb", "\x7f", "\udcff", "x" * 201])
def test_a_name_that_is_no_line_is_refused(name):
    with pytest.raises(InvalidDocumentError):
        policy_text(preset("codex"), name=name, max_usd=Usd(0))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("claud", "claude-code"),
        ("claude_code", "claude-code"),
        ("codx", "codex"),
        ("ader", "aider"),
        ("minni", "mini-swe-agent"),
    ],
)
def test_an_unknown_preset_names_the_nearest(name, meant):
    with pytest.raises(UsageError, match=f"did you mean {meant}\\?") as caught:
        preset(name)
    assert caught.value.hint == f"presets: {', '.join(NAMES)}"


def test_short_names_and_names_like_no_other():
    assert preset("claude").name == "claude-code"
    assert preset("mini").name == "mini-swe-agent"
    with pytest.raises(UsageError) as caught:
        preset("zzzz")
    assert "did you mean" not in caught.value.detail
