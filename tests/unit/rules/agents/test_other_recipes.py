"""The launch recipes of mini-swe-agent and of any other program, and choosing one by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docket.errors import UsageError
from docket.rules.agents.interface import LaunchRequest
from docket.rules.agents.registry import RECIPES, names, recognise

BASE = "http://127.0.0.1:4000/tok"


def request(*argv, environ=None, inputs=None):
    return LaunchRequest(argv=argv, environ=environ or {}, base_url=BASE, run_dir="/run/d", inputs=inputs or {})


def test_mini_is_pointed_by_variables_and_refused_with_a_status_it_takes_as_final():
    asked = request("mini", "-t", "hi", environ={"MSWEA_COST_TRACKING": "default"})
    planned = recognise(asked.argv).plan(asked)
    assert planned.argv == asked.argv
    assert planned.refusal.status == 404
    assert planned.env_set["OPENAI_API_BASE"] == f"{BASE}/openai/v1"
    assert planned.env_set["ANTHROPIC_BASE_URL"] == f"{BASE}/anthropic"
    assert planned.env_set["MSWEA_CONFIGURED"] == "true"
    assert planned.env_set["MSWEA_SILENT_STARTUP"] == "1"
    assert planned.env_set["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
    assert "MSWEA_COST_TRACKING" not in planned.env_set
    assert not planned.tolerates_usage_injection


@pytest.mark.parametrize(
    ("environ", "paths"),
    [
        ({"MSWEA_GLOBAL_CONFIG_DIR": "/g", "HOME": "/h"}, ("/g/.env",)),
        ({"XDG_CONFIG_HOME": "/x"}, ("/x/mini-swe-agent/.env",)),
        ({"HOME": "/h"}, ("/h/Library/Application Support/mini-swe-agent/.env", "/h/.config/mini-swe-agent/.env")),
        ({}, ()),
    ],
)
def test_an_address_minis_own_settings_hold_becomes_the_upstream(environ, paths):
    recipe = recognise(("mini",))
    assert recipe.wanted_files(request("mini", environ=environ)) == paths
    if paths:
        stored = {paths[-1]: b"OPENAI_API_BASE='http://corp/v1'\nKEY=1\n"}
        planned = recipe.plan(request("mini", environ=environ, inputs=stored))
        assert planned.upstreams == {"openai": "http://corp/v1"}
        planned = recipe.plan(request("mini", environ={**environ, "OPENAI_API_BASE": "http://mine/v1"}, inputs=stored))
        assert planned.upstreams == {"openai": "http://mine/v1"}


def test_any_program_gets_every_variable_and_keeps_its_command():
    asked = request("./agent", "x", environ={"GROQ_BASE_URL": "http://g/v1"})
    recipe = recognise(asked.argv)
    planned = recipe.plan(asked)
    assert recipe.wanted_files(asked) == ()
    assert planned.argv == asked.argv
    assert planned.env_set["GROQ_BASE_URL"] == f"{BASE}/groq/v1"
    assert planned.env_set["GOOGLE_GEMINI_BASE_URL"] == f"{BASE}/gemini"
    assert planned.env_set["OPENAI_BASE_URL"] == f"{BASE}/openai/v1"
    assert planned.upstreams == {"groq": "http://g/v1"}
    assert planned.env_set["no_proxy"] == "127.0.0.1,localhost,::1"


def test_no_recipe_changes_nothing_and_says_what_that_means():
    recipe = recognise(("claude",), "none")
    planned = recipe.plan(request("claude"))
    assert (planned.argv, planned.env_set, planned.files, planned.upstreams) == (("claude",), {}, (), {})
    assert "neither metered nor capped" in planned.notes[0]
    assert recipe.wanted_files(request("claude")) == ()
    assert not recipe.recognises(("claude",))


def test_a_name_beats_the_program():
    assert recognise(("sh", "-c", "x"), "claude-code").name == "claude-code"
    assert recognise(("codex",), "generic").name == "generic"
    assert recognise(("x",), "claude").name == "claude-code"
    assert recognise(("x",), "mini").name == "mini-swe-agent"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("claud", "claude-code"),
        ("codx", "codex"),
        ("aidr", "aider"),
        ("minni", "mini-swe-agent"),
        ("Generic", "generic"),
    ],
)
def test_an_unknown_name_is_a_usage_error_with_the_nearest(name, meant):
    with pytest.raises(UsageError, match=f"did you mean {meant}") as caught:
        recognise(("x",), name)
    assert caught.value.hint == f"known: {', '.join(names())}"


def test_a_name_like_no_other_is_refused_without_a_guess():
    with pytest.raises(UsageError) as caught:
        recognise(("x",), "zzzzzz")
    assert "did you mean" not in caught.value.detail


def test_names_are_unique_and_recipes_are_values():
    assert len(set(names())) == len(RECIPES)
    assert all(recipe == type(recipe)() for recipe in RECIPES)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_no_plan_puts_the_token_into_an_argument(recipe):
    # What two of them need to be started at all.
    environ = {"HOME": "/h", "COPILOT_PROVIDER_BASE_URL": "https://api.openai.com/v1"}
    inputs = {"/h/.cline/data/settings/providers.json": b'{"lastUsedProvider": "anthropic"}'}
    planned = recipe.plan(replace(request("x", environ=environ), inputs=inputs))
    assert not any("/tok" in word for word in planned.argv)
    assert not any("/tok" in note for note in planned.notes)
