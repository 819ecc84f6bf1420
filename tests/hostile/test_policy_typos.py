"""A slip of the finger never removes a cap: every misspelling of every key is refused by name and line."""

from __future__ import annotations

import pytest

from docket.formats.run.policy import KEYS, SECTIONS
from docket.formats.run.policy_toml import UPSTREAMS, parse_policy, read_policy

NAMES = {key.section: {other.name for other in KEYS if other.section == key.section} for key in KEYS}
SECTION_NAMES = {*NAMES, UPSTREAMS}

# A valid value of each kind, so that nothing but the name is wrong.
VALUES = {
    "budget.mode": '"usd"', "budget.admission": '"strict"', "budget.unknown_models": '"refuse"',
    "budget.unknown_endpoints": '"refuse"', "caps.max_usd": "0.05", "caps.warn_at": "0.5", "caps.on_breach": '"deny"',
    "egress.mode": '"deny"', "policy.name": '"x"', "resilience.max_ledger_bytes": "4096",
    "resilience.breaker_max_cooldown_seconds": "301",
    "caps.per_model": '{ "*opus*" = 2 }', "caps.per_agent": '{ "*" = 2 }', "caps.on_sub_breach": '"kill"',
    "workspace.backend": '"copy"', "workspace.settle": '"review"',
    "proof.sign": '"~/signing.key"',
}  # fmt: skip


def value_of(key):
    if key.path in VALUES:
        return VALUES[key.path]
    if isinstance(key.default, bool):
        return "true"
    return "[]" if isinstance(key.default, tuple) and key.name != "watch" else '["a"]' if key.name == "watch" else "7"


def slips(word):
    """One letter dropped, doubled, swapped with its neighbour, or in the other case; `-` for `_`."""
    for at in range(len(word)):
        yield word[:at] + word[at + 1 :]
        yield word[:at] + word[at] + word[at:]
        yield word[:at] + word[at].upper() + word[at + 1 :]
    for at in range(len(word) - 1):
        yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    yield word.replace("_", "-")
    yield word.replace("_", "")
    yield word + " "
    yield word + "s"


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_the_right_spelling_is_read(key):
    policy = parse_policy(f"[{key.section}]\n{key.name} = {value_of(key)}\n".encode(), "p")
    assert key.path in policy.stated


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_every_slip_in_a_key_is_refused_at_its_line_with_a_near_key(key):
    tried = 0
    for slip in dict.fromkeys(slips(key.name)):
        if slip in NAMES[key.section]:
            continue
        tried += 1
        quoted = f'"{slip}"'
        text = f"# a policy\n[caps]\nmax_tokens = 5\n\n[{key.section}]\n{quoted} = {value_of(key)}\n"
        if key.section == "caps":
            text = f"# a policy\n\n\n\n[caps]\n{quoted} = {value_of(key)}\n"
        reading = read_policy(text.encode())
        assert reading.policy is None
        (problem,) = reading.problems
        assert problem.line == 6
        assert problem.key is not None
        assert problem.key.startswith(f"{key.section}.")
        assert "is not a known key" in problem.message
        assert f"{key.section}." in problem.message or f"[{key.section}] has" in problem.message
    assert tried > 3


@pytest.mark.parametrize("section", sorted(SECTION_NAMES))
def test_every_slip_in_a_section_is_refused(section):
    for slip in dict.fromkeys(slips(section)):
        if slip in SECTION_NAMES or not slip:
            continue
        reading = read_policy(f'\n["{slip}"]\nmax_usd = 5\n'.encode())
        assert reading.policy is None
        (problem,) = reading.problems
        assert problem.line == 2
        assert "is not a known section" in problem.message


@pytest.mark.parametrize("section", [section for section in SECTIONS if section.NAME != "caps"], ids=lambda s: s.NAME)
def test_a_cap_under_the_wrong_section_is_refused_and_its_place_is_named(section):
    reading = read_policy(f"[{section.NAME}]\nmax_usd = 5\n".encode())
    (problem,) = reading.problems
    assert problem.key == f"{section.NAME}.max_usd"
    assert "the nearest is" in problem.message or f"[{section.NAME}] has" in problem.message


@pytest.mark.parametrize(
    "text",
    [
        "[caps]\nmax_usd = 5\n[caps ]\nmax_tokens = 1\n", "[caps]\nmax_usd = 5\n[ 'caps' ]\n",
        "[caps.caps]\nmax_usd = 5\n",
        "[caps]\n[caps.max]\nusd = 5\n", "[[caps]]\nmax_usd = 5\n", "caps.'max usd' = 5\n", "caps.max.usd = 5\n",
        '"caps.max_usd" = 5\n', "[policy]\ncaps = {max_usd = 5}\n", "[policy.caps]\nmax_usd = 5\n",
        "[budget]\nmax_usd = 5\n",
        "max_usd = 5\n", "[caps]\nmax_usd = [5]\n", "[caps]\nmax_usd = {usd = 5}\n", "[caps]\nmax_usd = '$5'\n",
        "[caps]\nmax_usd = 5.00.00\n", "[caps]\nmax_usd = 5,00\n", "[caps]\nmax_usd: 5\n", '{"caps": {"max_usd": 5}}\n',
        "caps:\n  max_usd: 5\n", "[caps]\nm\u0430x_usd = 5\n", '[caps]\n"m\u0430x_usd" = 5\n',
        '[caps]\n"max_usd\\u0000" = 5\n',
        '[caps]\n"\\u200bmax_usd" = 5\n',
    ],
)  # fmt: skip
def test_no_twisted_spelling_of_a_cap_gives_a_policy_without_it(text):
    reading = read_policy(text.encode())
    assert reading.policy is None
    assert reading.problems
