"""Keys that this version does not act on."""

from __future__ import annotations

import pytest

from docket.errors import RefusedBeforeStartError
from docket.formats.run.policy import KEYS, Policy
from docket.formats.run.policy_toml import parse_policy
from docket.rules.policy.enforced import LIMITS_NOT_HELD, RECORDED_ONLY, check_enforced


def test_the_names_are_keys():
    assert {*LIMITS_NOT_HELD, *RECORDED_ONLY} <= {key.path for key in KEYS}


def test_a_policy_of_enforced_keys_has_no_remark():
    assert check_enforced(Policy()) == ()
    assert check_enforced(parse_policy(b"[caps]\nmax_usd = 5\n[models]\ndeny = ['x']", "p")) == ()


@pytest.mark.parametrize("path", LIMITS_NOT_HELD)
def test_a_limit_that_is_not_held_refuses_the_run(path):
    section, name = path.split(".")
    written = {"transaction": "true", "protect": "['x']"}.get(name, "5")
    with pytest.raises(RefusedBeforeStartError, match=path):
        check_enforced(parse_policy(f"[{section}]\n{name} = {written}".encode(), "p"))


def test_another_key_without_effect_is_a_remark():
    policy = parse_policy(b"[workspace]\nsettle = 'review'\nexclude = ['a']", "p")
    assert check_enforced(policy) == (
        "workspace.settle has no effect in this version",
        "workspace.exclude has no effect in this version",
    )


def test_keys_of_the_proxy_have_no_effect_in_a_run_without_one():
    policy = parse_policy(b"[egress]\nmode = 'tunnel'\nallow = ['a.example', '[::1]:443', '*.b.example:8080']", "p")
    assert check_enforced(policy) == (
        "egress.mode has no effect in a run without --http-proxy",
        "egress.allow has no effect in a run without --http-proxy",
    )
    assert check_enforced(policy, http_proxy=True) == ()
