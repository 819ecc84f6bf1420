"""Where services stand behind the boundary, and what the boundary forwards to."""

from __future__ import annotations

import pytest

from docket.errors import RefusedBeforeStartError
from docket.rules.agents.interface import LaunchRequest
from docket.rules.agents.services import SERVICES, beside, compatible_name, nested, placed, placed_at

HERE = "http://127.0.0.1:4000"


def test_a_known_service_at_its_own_address():
    assert placed(HERE, "google").address == f"{HERE}/gemini/v1beta"
    assert placed(HERE, "anthropic", "").address == f"{HERE}/anthropic"
    assert placed(HERE, "openai").upstreams == {}
    assert all(service.entry.official.startswith("https://") for service in SERVICES.values())


@pytest.mark.parametrize(
    ("name", "url", "address", "upstreams"),
    [
        ("openai", "https://api.openai.com/v1", "/openai", {}),
        ("openai", "https://api.openai.com/v1/", "/openai", {}),
        # The agent appends /messages alone to this, so the host is not enough.
        ("anthropic", "https://api.anthropic.com/v1", "/anthropic", {"anthropic": "https://api.anthropic.com/v1"}),
        ("google", "https://gw/x/", "/gemini", {"gemini": "https://gw/x"}),
        ("My Own_LLM!", "http://127.0.0.1:1/v1", "/my-own_llm", {"my-own_llm": "http://127.0.0.1:1/v1"}),
        ("!!", "http://h", "/other", {"other": "http://h"}),
    ],
)
def test_a_service_at_an_address_of_the_persons(name, url, address, upstreams):
    place = placed_at(HERE, name, url, "here")
    assert (place.address, place.upstreams) == (HERE + address, upstreams)


@pytest.mark.parametrize("url", ["ftp://h", "http://u:p@h", "http://h?k=v", "{file:x}", "http://[::1"])
def test_an_address_that_cannot_be_kept_refuses_the_run(url):
    with pytest.raises(RefusedBeforeStartError, match="here"):
        placed_at(HERE, "openai", url, "here")


@pytest.mark.parametrize(
    ("url", "taken", "name"),
    [
        ("https://gw/v1", None, "openai"),
        ("https://gw/v1/", {"openai": "https://gw/v1"}, "openai"),
        ("https://gw/v1", {"openai": "https://other"}, "gw-v1"),
        ("http://localhost:1/v1", None, "local"),
        ("http://127.0.0.1:2/v1", {"local": "http://127.0.0.1:1/v1"}, "127-0-0-1-2-v1"),
        ("https://openrouter.ai/api/v1", None, "openrouter"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", {}, "google"),
        ("http://[::1", None, "openai"),
        ("nothing", None, "openai"),
    ],
)
def test_names_for_compatible_services(url, taken, name):
    assert compatible_name(url, taken) == name


def test_the_boundary_of_an_outer_run_is_called_with_its_token():
    assert nested("http://127.0.0.1:1/openai", {"X-Docket-Token": "outer"}, "x-docket-token") == (
        "http://127.0.0.1:1/outer/openai"
    )
    assert nested("http://127.0.0.1:1", {"x-docket-token": "outer"}, "x-docket-token") == "http://127.0.0.1:1/outer"
    assert nested("https://gw/v1", {"x-mine": "1"}, "x-docket-token") == "https://gw/v1"
    assert nested("https://gw/v1", {"x-docket-token": 1}, "x-docket-token") == "https://gw/v1"


@pytest.mark.parametrize(
    ("environ", "upstreams", "variables", "notes"),
    [
        ({}, {}, ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"], 0),
        ({}, {"gw": "https://gw"}, ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"], 0),
        # What is in the environment would else send its keys to the agent's own gateway.
        ({}, {"openai": "https://gw"}, ["ANTHROPIC_BASE_URL"], 0),
        ({"OPENAI_BASE_URL": "https://b"}, {"openai": "https://gw"}, ["ANTHROPIC_BASE_URL"], 1),
        ({"OPENAI_BASE_URL": "https://gw/"}, {"openai": "https://gw"}, ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"], 0),
    ],
)
def test_other_programs_do_not_get_an_address_of_the_agents_own(environ, upstreams, variables, notes):
    request = LaunchRequest(argv=("x",), environ=environ, base_url=f"{HERE}/tok", run_dir="/run/d")
    pointed = beside(request, upstreams)
    assert sorted(name for name in pointed.variables if name.endswith("_BASE_URL") and "AIDER" not in name) == variables
    assert len(pointed.notes) == notes
    assert {**pointed.upstreams, **upstreams} == pointed.upstreams
