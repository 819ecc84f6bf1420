"""Keys that this version does not act on."""

from __future__ import annotations

import pytest

from docket.errors import RefusedBeforeStartError
from docket.formats.run.policy import KEYS, Policy
from docket.formats.run.policy_toml import parse_policy
from docket.rules.policy.enforced import FOR_A_STAGE, FOR_THE_PROXY, LIMITS_OF_A_STAGE, check_enforced


def test_the_names_are_keys():
    assert {*LIMITS_OF_A_STAGE, *FOR_A_STAGE, *FOR_THE_PROXY} <= {key.path for key in KEYS}


def test_a_policy_of_enforced_keys_has_no_remark():
    assert check_enforced(Policy()) == ()
    assert check_enforced(parse_policy(b"[caps]\nmax_usd = 5\n[models]\ndeny = ['x']", "p")) == ()


def test_a_limit_that_is_not_held_without_a_stage_refuses_the_run():
    with pytest.raises(RefusedBeforeStartError, match=r"workspace\.protect"):
        check_enforced(parse_policy(b"[workspace]\nprotect = ['x']", "p"))
    assert check_enforced(parse_policy(b"[workspace]\ntransaction = true\nprotect = ['x']", "p")) == ()


def test_keys_of_a_stage_have_no_effect_in_a_run_without_one():
    keys = b"backend = 'copy'\nsettle = 'review'\nexclude = ['a']\nshare = ['b']"
    assert check_enforced(parse_policy(b"[workspace]\n" + keys, "p")) == (
        "workspace.backend has no effect in a run without --workspace-tx",
        "workspace.settle has no effect in a run without --workspace-tx",
        "workspace.exclude has no effect in a run without --workspace-tx",
        "workspace.share has no effect in a run without --workspace-tx",
    )
    assert check_enforced(parse_policy(b"[workspace]\ntransaction = true\n" + keys, "p")) == ()


def test_keys_of_the_proxy_have_no_effect_in_a_run_without_one():
    policy = parse_policy(b"[egress]\nmode = 'tunnel'\nallow = ['a.example', '[::1]:443', '*.b.example:8080']", "p")
    assert check_enforced(policy) == (
        "egress.mode has no effect in a run without --http-proxy",
        "egress.allow has no effect in a run without --http-proxy",
    )
    assert check_enforced(policy, http_proxy=True) == ()
