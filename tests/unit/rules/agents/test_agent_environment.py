"""Variables that point programs at the boundary, and the addresses they held before."""

from __future__ import annotations

import pytest

from docket.errors import RefusedBeforeStartError
from docket.formats.reason import Reason
from docket.rules.agents.environment import (
    ANTHROPIC,
    CORE,
    CORE_NAMES,
    FULL,
    OPENAI,
    dotenv_values,
    is_on,
    kept_upstream,
    local_address,
    no_proxy,
    pointing,
    proxy_variables,
)

BASE = "http://127.0.0.1:4000/tok"


def test_the_core_variables():
    pointed = pointing(BASE, {})
    assert pointed.variables == {
        "ANTHROPIC_BASE_URL": f"{BASE}/anthropic",
        "ANTHROPIC_API_BASE": f"{BASE}/anthropic",
        "OPENAI_BASE_URL": f"{BASE}/openai/v1",
        "OPENAI_API_BASE": f"{BASE}/openai/v1",
        "AIDER_OPENAI_API_BASE": f"{BASE}/openai/v1",
    }
    assert set(CORE_NAMES) == set(pointed.variables)
    assert pointed.upstreams == {}
    assert pointed.notes == ()


def test_the_full_variables_come_with_where_each_goes():
    pointed = pointing(BASE, {}, FULL)
    assert pointed.variables["GOOGLE_GEMINI_BASE_URL"] == f"{BASE}/gemini"
    assert pointed.variables["DEEPSEEK_BASE_URL"] == f"{BASE}/deepseek/v1"
    assert pointed.upstreams == {}
    assert set(CORE) < set(FULL)


@pytest.mark.parametrize(
    ("environ", "upstreams", "variables"),
    [
        ({"ANTHROPIC_BASE_URL": "https://gw/x/"}, {"anthropic": "https://gw/x"}, {"ANTHROPIC_BASE_URL": "/anthropic"}),
        ({"OPENAI_API_BASE": "https://gw/v1"}, {"openai": "https://gw/v1"}, {"OPENAI_BASE_URL": "/openai/v1"}),
        ({"OPENAI_BASE_URL": "https://gw/x"}, {"openai": "https://gw/x"}, {"OPENAI_API_BASE": "/openai"}),
        ({"OPENAI_BASE_URL": "https://gw/x/v1/"}, {"openai": "https://gw/x/v1"}, {"OPENAI_API_BASE": "/openai/v1"}),
        ({"OPENAI_BASE_URL": ""}, {}, {"OPENAI_BASE_URL": "/openai/v1"}),
        ({"ANTHROPIC_BASE_URL": "https://api.anthropic.com/"}, {}, {"ANTHROPIC_BASE_URL": "/anthropic"}),
        ({"OPENAI_BASE_URL": "https://api.openai.com/v1"}, {}, {"OPENAI_BASE_URL": "/openai/v1"}),
        ({"OPENAI_BASE_URL": "https://api.openai.com"}, {}, {"OPENAI_BASE_URL": "/openai"}),
        ({"OPENAI_BASE_URL": "http://api.openai.com/v1"}, {"openai": "http://api.openai.com/v1"}, {}),
        ({"OPENAI_BASE_URL": "https://api.openai.com/v2"}, {"openai": "https://api.openai.com/v2"}, {}),
    ],
)  # fmt: skip
def test_an_address_the_person_had_is_kept_as_upstream(environ, upstreams, variables):
    pointed = pointing(BASE, environ)
    assert pointed.upstreams == upstreams
    assert {name: pointed.variables[name] for name in variables} == {name: BASE + at for name, at in variables.items()}
    assert pointed.notes == ()


def test_of_two_addresses_the_first_wins_and_the_other_is_left_alone():
    pointed = pointing(BASE, {"OPENAI_API_BASE": "https://b/v1", "OPENAI_BASE_URL": "https://a/v1"})
    assert pointed.upstreams == {"openai": "https://a/v1"}
    assert pointed.variables["OPENAI_BASE_URL"] == f"{BASE}/openai/v1"
    assert "OPENAI_API_BASE" not in pointed.variables
    assert pointed.notes == (
        "OPENAI_API_BASE is left as it is, for it names another address: its calls are not metered",
    )
    assert "https" not in pointed.notes[0]


def test_equal_addresses_are_no_conflict():
    pointed = pointing(BASE, {"OPENAI_API_BASE": "https://a/v1/", "OPENAI_BASE_URL": "https://a/v1"})
    assert pointed.notes == ()
    assert pointed.variables["OPENAI_API_BASE"] == f"{BASE}/openai/v1"


def test_what_an_agent_is_known_to_use_decides():
    pointed = pointing(
        BASE, {"ANTHROPIC_API_BASE": "https://litellm"}, decided={"anthropic": "https://api.anthropic.com"}
    )
    assert pointed.upstreams == {}
    assert pointed.variables["ANTHROPIC_BASE_URL"] == f"{BASE}/anthropic"
    assert "ANTHROPIC_API_BASE" not in pointed.variables
    assert len(pointed.notes) == 1


@pytest.mark.parametrize(
    "url", ["http://u:p@h", "h:80", "ftp://h", "http://h?k=v", "http://", "http://h:0", "http://h /x"]
)
def test_an_address_that_cannot_be_kept_refuses_the_run(url):
    with pytest.raises(RefusedBeforeStartError, match="OPENAI_BASE_URL") as caught:
        pointing(BASE, {"OPENAI_BASE_URL": url})
    assert caught.value.reason == Reason.AGENT_UNSUPPORTED
    assert url not in caught.value.detail


def test_local_addresses_follow_the_version_of_the_upstream():
    assert local_address(BASE, OPENAI, "https://x/v1/") == f"{BASE}/openai/v1"
    assert local_address(BASE, OPENAI, "https://x") == f"{BASE}/openai"
    assert local_address(BASE, ANTHROPIC, "https://x/v1") == f"{BASE}/anthropic"
    assert kept_upstream(ANTHROPIC, "https://x/v1/", "here") == {"anthropic": "https://x/v1"}


@pytest.mark.parametrize(
    ("environ", "upper", "lower"),
    [
        ({}, "127.0.0.1,localhost,::1", "127.0.0.1,localhost,::1"),
        ({"NO_PROXY": "corp"}, "corp,127.0.0.1,localhost,::1", "corp,127.0.0.1,localhost,::1"),
        ({"no_proxy": " a , b "}, "a,b,127.0.0.1,localhost,::1", "a,b,127.0.0.1,localhost,::1"),
        ({"NO_PROXY": "A", "no_proxy": "b"}, "A,127.0.0.1,localhost,::1", "b,127.0.0.1,localhost,::1"),
        ({"NO_PROXY": "localhost,127.0.0.1"}, "localhost,127.0.0.1,::1", "localhost,127.0.0.1,::1"),
        ({"NO_PROXY": "*"}, "*", "*"),
        ({"NO_PROXY": ""}, "127.0.0.1,localhost,::1", "127.0.0.1,localhost,::1"),
    ],
)
def test_hosts_without_a_proxy_are_kept_and_gain_the_loopback(environ, upper, lower):
    assert no_proxy(environ) == {"NO_PROXY": upper, "no_proxy": lower}


def test_values_of_an_env_file():
    data = b"""
# A=comment
A=1
export B = 'two words'
 C="three" # no
D= four # yes
E=
A=last
F=x#y
=5
G
\xff=1
H=\xff
"""
    names = ("A", "B", "C", "D", "E", "F", "G", "H")
    assert dotenv_values(data, names) == {
        "A": "last", "B": "two words", "C": "three", "D": "four", "E": "", "F": "x#y", "H": "\ufffd",
    }  # fmt: skip
    assert dotenv_values(data, ("D",)) == {"D": "four"}
    assert dotenv_values(None, names) == {}


@pytest.mark.parametrize(("value", "on"), [(None, False), ("", False), ("0", False), ("False", False), (" no ", False),
                                           ("off", False), ("1", True), ("true", True), ("yes", True)])  # fmt: skip
def test_switches(value, on):
    assert is_on(value) is on


def test_a_boundary_becomes_the_proxy_of_every_program():
    found = proxy_variables("http://127.0.0.1:4000/t0ken")
    names = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    assert {found[name] for name in names} == {"http://docket:t0ken@127.0.0.1:4000"}
    assert found.keys() - {*names} == {"NODE_USE_ENV_PROXY"}
