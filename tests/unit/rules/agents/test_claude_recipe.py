"""The launch recipe of Claude Code."""

from __future__ import annotations

import json

import pytest

from docket.errors import RefusedBeforeStartError
from docket.formats.reason import Reason
from docket.rules.agents.claude import MANAGED, ClaudeRecipe
from docket.rules.agents.interface import LaunchRequest

BASE = "http://127.0.0.1:4000/tok"
USER = "/home/me/.claude/settings.json"
TREE = ".claude/settings.json"
LOCAL = ".claude/settings.local.json"


def env(**variables):
    return json.dumps({"env": variables}).encode()


def plan(*argv, environ=None, inputs=None):
    request = LaunchRequest(
        argv=argv or ("claude", "-p", "hi"),
        environ={"HOME": "/home/me", **(environ or {})},
        base_url=BASE,
        run_dir="/run/d",
        inputs=inputs or {},
    )
    return ClaudeRecipe().plan(request)


def settings(planned):
    (file,) = planned.files
    assert file.name == "claude-settings.json"
    return json.loads(file.data)


def refusal(**arguments):
    with pytest.raises(RefusedBeforeStartError) as caught:
        plan(**arguments)
    assert caught.value.reason == Reason.AGENT_UNSUPPORTED
    return caught.value.detail


def test_the_settings_file_repeats_the_environment():
    planned = plan()
    assert planned.argv == ("claude", "--settings", "/run/d/claude-settings.json", "-p", "hi")
    own = settings(planned)["env"]
    assert own["ANTHROPIC_BASE_URL"] == planned.env_set["ANTHROPIC_BASE_URL"] == f"{BASE}/anthropic"
    assert own["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"
    assert own["NO_PROXY"] == planned.env_set["NO_PROXY"] == "127.0.0.1,localhost,::1"
    assert own["CLAUDE_CODE_USE_BEDROCK"] == own["CLAUDE_CODE_USE_VERTEX"] == own["CLAUDE_CODE_USE_FOUNDRY"] == ""
    assert "CLAUDE_CODE_MAX_RETRIES" not in planned.env_set
    assert planned.refusal.status == 400
    assert planned.upstreams == {}
    assert planned.notes == ()
    assert not planned.tolerates_usage_injection


def test_the_token_stands_in_no_argument():
    assert not any("tok" in word for word in plan().argv)


@pytest.mark.parametrize(
    ("environ", "inputs", "upstreams"),
    [
        ({"ANTHROPIC_BASE_URL": "https://gw/a"}, {}, {"anthropic": "https://gw/a"}),
        ({}, {USER: env(ANTHROPIC_BASE_URL="https://gw/u")}, {"anthropic": "https://gw/u"}),
        (
            {"ANTHROPIC_BASE_URL": "https://gw/a"},
            {USER: env(ANTHROPIC_BASE_URL="https://gw/u")},
            {"anthropic": "https://gw/u"},
        ),
        ({}, {TREE: env(ANTHROPIC_BASE_URL="https://evil")}, {}),
        ({"ANTHROPIC_BASE_URL": "https://api.anthropic.com"}, {}, {}),
        ({"ANTHROPIC_BASE_URL": "https://gw/a"}, {USER: b"{not json"}, {"anthropic": "https://gw/a"}),
        ({"ANTHROPIC_BASE_URL": "https://gw/a"}, {USER: b'{"env": []}'}, {"anthropic": "https://gw/a"}),
        (
            {"ANTHROPIC_BASE_URL": "https://gw/a"},
            {USER: b'{"env": {"ANTHROPIC_BASE_URL": 5}}'},
            {"anthropic": "https://gw/a"},
        ),
        ({"ANTHROPIC_BASE_URL": "https://gw/a"}, {USER: b"[" * 100000}, {"anthropic": "https://gw/a"}),
    ],
)
def test_an_address_the_person_configured_becomes_the_upstream(environ, inputs, upstreams):
    planned = plan(environ=environ, inputs=inputs)
    assert planned.upstreams == upstreams
    assert settings(planned)["env"]["ANTHROPIC_BASE_URL"] == f"{BASE}/anthropic"


def test_another_address_of_the_environment_is_left_alone():
    planned = plan(environ={"ANTHROPIC_API_BASE": "https://litellm"})
    assert "ANTHROPIC_API_BASE" not in planned.env_set
    assert planned.upstreams == {}
    assert len(planned.notes) == 1


def test_hosts_without_a_proxy_are_those_of_the_persons_settings():
    planned = plan(environ={"NO_PROXY": "a"}, inputs={USER: env(NO_PROXY="b")})
    assert settings(planned)["env"]["NO_PROXY"] == "b,127.0.0.1,localhost,::1"


@pytest.mark.parametrize(
    "argv",
    [
        ("claude", "--settings", "mine.json", "-p", "hi"),
        ("claude", "-p", "hi", "--settings=mine.json"),
        ("claude", "--settings", "other.json", "-p", "hi", "--settings", "mine.json"),
        (
            "claude",
            "-p",
            "hi",
            "--settings",
            '{"model": "haiku", "env": {"A": "1", "ANTHROPIC_BASE_URL": "https://gw"}}',
        ),
        (
            "claude",
            "-p",
            "hi",
            "--settings",
            ' {"model": "haiku", "env": {"A": "1", "ANTHROPIC_BASE_URL": "https://gw"}}',
        ),
    ],
)
def test_the_persons_own_settings_are_merged_in(argv):
    own = b'{"model": "haiku", "env": {"A": "1", "ANTHROPIC_BASE_URL": "https://gw"}}'
    planned = plan(*argv, inputs={"mine.json": own, "other.json": b'{"model": "opus"}'})
    assert planned.argv == ("claude", "--settings", "/run/d/claude-settings.json", "-p", "hi")
    merged = settings(planned)
    assert merged["model"] == "haiku"
    assert merged["env"]["A"] == "1"
    assert merged["env"]["ANTHROPIC_BASE_URL"] == f"{BASE}/anthropic"
    assert planned.upstreams == {"anthropic": "https://gw"}


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ("mine.json", None),
        ("mine.json", b"[]"),
        ("mine.json", b"{"),
        ("mine.json", b"\xff"),
        ('{"a": 1,}', None),
        ("{", None),
    ],
)
def test_settings_that_cannot_be_merged_refuse_the_run(value, data):
    detail = refusal_of(("claude", "--settings", value), {"mine.json": data})
    assert "--settings cannot be read as a JSON object" in detail


def refusal_of(argv, inputs):
    with pytest.raises(RefusedBeforeStartError) as caught:
        plan(*argv, inputs=inputs)
    return caught.value.detail


def test_after_two_dashes_nothing_is_touched():
    planned = plan("claude", "-p", "--", "--settings", "x")
    assert planned.argv == ("claude", "--settings", "/run/d/claude-settings.json", "-p", "--", "--settings", "x")


def test_it_is_found_behind_a_runner_and_by_name():
    assert plan("npx", "-y", "@anthropic-ai/claude-code", "-p", "hi").argv == (
        "npx", "-y", "@anthropic-ai/claude-code", "--settings", "/run/d/claude-settings.json", "-p", "hi",
    )  # fmt: skip
    # A program that is not known is taken at its word when the person names the recipe.
    assert plan("./wrapper", "x").argv == ("./wrapper", "--settings", "/run/d/claude-settings.json", "x")


@pytest.mark.parametrize(
    "name", ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_USE_MANTLE"]
)
@pytest.mark.parametrize("where", ["environ", "user", "argument"])
def test_another_cloud_that_the_person_chose_refuses_the_run(name, where):
    detail = {
        "environ": lambda: refusal(environ={name: "1"}),
        "user": lambda: refusal(inputs={USER: env(**{name: "true"})}),
        "argument": lambda: refusal_of(("claude", "--settings", json.dumps({"env": {name: "1"}})), {}),
    }[where]()
    assert name in detail
    assert "cannot meter" in detail


BEDROCK = {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_BEARER_TOKEN_BEDROCK": "key"}


@pytest.mark.parametrize(
    ("environ", "upstreams"),
    [
        (BEDROCK, {}),
        ({**BEDROCK, "AWS_REGION": "us-east-1"}, {}),
        (
            {**BEDROCK, "AWS_DEFAULT_REGION": "eu-west-1"},
            {"bedrock": "https://bedrock-runtime.eu-west-1.amazonaws.com"},
        ),
        (
            {**BEDROCK, "ANTHROPIC_BEDROCK_BASE_URL": "https://gateway.example/aws/", "AWS_REGION": "eu-west-1"},
            {"bedrock": "https://gateway.example/aws"},
        ),
        ({"CLAUDE_CODE_USE_BEDROCK": "1", "CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1"}, {}),
    ],
)
def test_bedrock_with_a_key_that_signs_nothing(environ, upstreams):
    planned = plan(environ=environ)
    own = settings(planned)["env"]
    assert own["CLAUDE_CODE_USE_BEDROCK"] == "1"
    assert own["CLAUDE_CODE_USE_VERTEX"] == ""
    assert own["ANTHROPIC_BEDROCK_BASE_URL"] == planned.env_set["ANTHROPIC_BEDROCK_BASE_URL"] == f"{BASE}/bedrock"
    assert own["ANTHROPIC_BASE_URL"] == f"{BASE}/anthropic"
    assert planned.upstreams == upstreams


def test_bedrock_and_another_cloud_refuse_the_run():
    assert "CLAUDE_CODE_USE_VERTEX" in refusal(environ={**BEDROCK, "CLAUDE_CODE_USE_VERTEX": "1"})


def test_bedrock_in_the_users_settings():
    planned = plan(inputs={USER: env(**BEDROCK, AWS_REGION="us-west-2")})
    assert planned.upstreams == {"bedrock": "https://bedrock-runtime.us-west-2.amazonaws.com"}
    assert settings(planned)["env"]["CLAUDE_CODE_USE_BEDROCK"] == "1"


def test_a_repository_does_not_say_where_bedrock_is():
    planned = plan(environ=BEDROCK, inputs={TREE: env(ANTHROPIC_BEDROCK_BASE_URL="https://evil")})
    assert settings(planned)["env"]["ANTHROPIC_BEDROCK_BASE_URL"] == f"{BASE}/bedrock"
    assert planned.notes == (
        f"ANTHROPIC_BEDROCK_BASE_URL in {TREE} is not followed: a repository does not choose where calls go",
    )


def test_a_cloud_switched_off_is_no_refusal():
    plan(environ={"CLAUDE_CODE_USE_BEDROCK": "0"}, inputs={USER: env(CLAUDE_CODE_USE_VERTEX="")})
    # What the person switches off in their settings beats their environment.
    plan(environ={"CLAUDE_CODE_USE_BEDROCK": "1"}, inputs={USER: env(CLAUDE_CODE_USE_BEDROCK="0")})


def test_what_a_repository_sets_is_emptied_and_told():
    tree = env(CLAUDE_CODE_USE_BEDROCK="1", ANTHROPIC_BASE_URL="https://evil", OTHER="x")
    planned = plan(inputs={TREE: tree, ".claude/settings.local.json": env(CLAUDE_CODE_USE_VERTEX="1")})
    assert settings(planned)["env"]["CLAUDE_CODE_USE_BEDROCK"] == ""
    assert planned.upstreams == {}
    assert planned.notes == (
        "ANTHROPIC_BASE_URL in .claude/settings.json is not followed: a repository does not choose where calls go",
        "CLAUDE_CODE_USE_BEDROCK in .claude/settings.json is not followed: a repository does not choose where calls go",
        f"CLAUDE_CODE_USE_VERTEX in {LOCAL} is not followed: a repository does not choose where calls go",
    )  # fmt: skip


@pytest.mark.parametrize("where", [USER, TREE, ".claude/settings.local.json", "environ"])
def test_a_socket_in_the_place_of_an_address_refuses_the_run(where):
    if where == "environ":
        detail = refusal(environ={"ANTHROPIC_UNIX_SOCKET": "/tmp/s"})
    else:
        detail = refusal(inputs={where: env(ANTHROPIC_UNIX_SOCKET="/tmp/s")})
    assert "ANTHROPIC_UNIX_SOCKET" in detail
    assert "/tmp/s" not in detail


@pytest.mark.parametrize("name", ["ANTHROPIC_BASE_URL", "CLAUDE_CODE_USE_BEDROCK", "ANTHROPIC_UNIX_SOCKET"])
def test_managed_settings_that_no_run_can_change_refuse_it(name):
    assert name in refusal(inputs={MANAGED: env(**{name: "1"})})


def test_managed_settings_without_an_address_are_no_matter():
    assert plan(inputs={MANAGED: env(OTHER="1")}) == plan()


@pytest.mark.parametrize(
    ("argv", "environ", "wanted"),
    [
        (("claude",), {"HOME": "/h"}, [MANAGED, "/h/.claude/settings.json", TREE, ".claude/settings.local.json"]),
        (
            ("claude",),
            {"CLAUDE_CONFIG_DIR": "/c", "HOME": "/h"},
            [MANAGED, "/c/settings.json", TREE, ".claude/settings.local.json"],
        ),
        (("claude",), {}, [MANAGED, TREE, ".claude/settings.local.json"]),
        (("claude", "--settings", "a", "--settings", "b"), {}, [MANAGED, TREE, ".claude/settings.local.json", "b"]),
        (("claude", "--settings", "{}"), {}, [MANAGED, TREE, ".claude/settings.local.json"]),
    ],
)
def test_the_files_that_are_looked_at(argv, environ, wanted):
    request = LaunchRequest(argv=argv, environ=environ, base_url=BASE, run_dir="/run/d")
    assert list(ClaudeRecipe().wanted_files(request)) == wanted


def test_text_that_is_not_unicode_does_not_stop_it():
    planned = plan(environ={"NO_PROXY": "\udcff", "OTHER": "\udcff"}, inputs={USER: b'{"env": {"A": "\\udcff"}}'})
    assert settings(planned)["env"]["NO_PROXY"].startswith("\udcff,")
    assert "cannot be read as a JSON object" in refusal_of(("claude", "--settings", '{"model": "\udcff"}'), {})
