"""The launch recipe of Codex."""

from __future__ import annotations

import json
import tomllib

import pytest

from docket.errors import RefusedBeforeStartError
from docket.formats.reason import Reason
from docket.rules.agents.codex import CHATGPT, CodexRecipe
from docket.rules.agents.codex_config import Login, read_facts
from docket.rules.agents.interface import LaunchRequest

BASE = "http://127.0.0.1:4000/tok"
CONFIG, AUTH = "/h/.codex/config.toml", "/h/.codex/auth.json"
KEY = json.dumps({"auth_mode": "apikey", "OPENAI_API_KEY": "sk"}).encode()
CHAT = json.dumps({"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": {"access_token": "t"}}).encode()
ORIGIN = "http://127.0.0.1:4000"


def request(*argv, environ=None, inputs=None):
    return LaunchRequest(
        argv=argv or ("codex", "exec", "hi"),
        environ={"HOME": "/h", **(environ or {})},
        base_url=BASE,
        run_dir="/run/d",
        inputs={AUTH: KEY} if inputs is None else inputs,
    )


def plan(*argv, **more):
    return CodexRecipe().plan(request(*argv, **more))


def overrides(planned):
    """The -c settings of a plan as codex reads them: TOML, later ones over earlier ones."""
    config = {}
    for at, word in enumerate(planned.argv):
        if word == "-c":
            key, _, text = planned.argv[at + 1].partition("=")
            table = config
            *outer, last = key.split(".")
            for part in outer:
                table = table.setdefault(part, {})
            try:
                table[last] = tomllib.loads(f"v = {text}")["v"]
            except tomllib.TOMLDecodeError:
                table[last] = text
    return config


def refusal(*argv, **more):
    with pytest.raises(RefusedBeforeStartError) as caught:
        plan(*argv, **more)
    assert caught.value.reason == Reason.AGENT_UNSUPPORTED
    return caught.value.detail


def test_the_built_in_provider_is_pointed_at_the_boundary():
    planned = plan()
    assert planned.argv[:1] == ("codex",)
    assert planned.argv[-2:] == ("exec", "hi")
    assert overrides(planned) == {
        "model_provider": "openai",
        "openai_base_url": f"{ORIGIN}/openai/v1",
        "features": {"plugins": False, "apps": False},
        "analytics": {"enabled": False},
    }
    assert planned.refusal.status == 400
    assert planned.upstreams == {}
    assert planned.files == ()
    assert planned.notes == ()
    assert planned.env_set["NO_PROXY"].endswith("::1")
    assert planned.env_set["OPENAI_BASE_URL"] == f"{BASE}/openai/v1"
    assert "CODEX_API_KEY" not in planned.env_set


@pytest.mark.parametrize(
    ("own", "carried"),
    [
        (None, "docket tok"),
        ("", "docket tok"),
        ("proj_1", "docket tok proj_1"),
        ("docket outer", "docket tok"),
        ("docket outer proj_1", "docket tok proj_1"),
    ],
)
def test_the_token_goes_by_the_environment_and_never_by_an_argument(own, carried):
    planned = plan(environ={} if own is None else {"OPENAI_PROJECT": own})
    assert planned.env_set["OPENAI_PROJECT"] == carried
    assert not any("tok" in word for word in planned.argv)
    # What codex starts reads other variables, and finds the token in them.
    assert planned.env_set["OPENAI_BASE_URL"] == f"{BASE}/openai/v1"


@pytest.mark.parametrize(
    ("environ", "inputs", "login"),
    [
        ({"CODEX_API_KEY": "k"}, {AUTH: CHAT}, Login.ENVIRONMENT_KEY),
        ({}, {AUTH: KEY}, Login.STORED_KEY),
        ({"OPENAI_API_KEY": "k"}, {AUTH: KEY}, Login.STORED_KEY),
        ({}, {AUTH: CHAT}, Login.CHATGPT),
        ({"OPENAI_API_KEY": "k"}, {AUTH: CHAT}, Login.CHATGPT),
        ({}, {AUTH: b'{"tokens": {"a": 1}}'}, Login.CHATGPT),
        ({}, {AUTH: b'{"auth_mode": "chatgpt", "OPENAI_API_KEY": "k"}'}, Login.CHATGPT),
        ({}, {AUTH: b"{}"}, Login.UNKNOWN),
        ({}, {AUTH: b"[]"}, Login.UNKNOWN),
        ({}, {AUTH: b"{"}, Login.UNKNOWN),
        ({}, {AUTH: b"[" * 100000}, Login.UNKNOWN),
        ({"OPENAI_API_KEY": "k"}, {}, Login.OPENAI_VARIABLE),
        ({"OPENAI_API_KEY": "k"}, {CONFIG: b'cli_auth_credentials_store = "keyring"'}, Login.UNKNOWN),
        ({"OPENAI_API_KEY": "k"}, {CONFIG: b'cli_auth_credentials_store = "file"'}, Login.OPENAI_VARIABLE),
        ({}, {}, Login.UNKNOWN),
        ({"HOME": ""}, {}, Login.UNKNOWN),
    ],
)
def test_the_kind_of_login(environ, inputs, login):
    assert read_facts(request(environ=environ, inputs=inputs), 1).login is login


def test_a_key_in_a_variable_that_codex_does_not_read_is_handed_on():
    planned = plan(environ={"OPENAI_API_KEY": "sk-secret"}, inputs={})
    assert planned.env_set["CODEX_API_KEY"] == "sk-secret"
    assert planned.notes[0] == "codex does not read OPENAI_API_KEY by itself; docket hands it on as CODEX_API_KEY"
    assert not any("sk-secret" in word for word in (*planned.argv, *planned.notes))


def test_a_chatgpt_login_goes_to_its_own_upstream_and_is_said():
    planned = plan(inputs={AUTH: CHAT})
    assert planned.upstreams == {"openai": CHATGPT}
    assert overrides(planned)["openai_base_url"] == f"{ORIGIN}/openai"
    assert "ChatGPT" in planned.notes[0]
    assert "quota" in planned.notes[0]
    # Other programs of the run must not send their keys there.
    assert "OPENAI_BASE_URL" not in planned.env_set
    assert planned.env_set["ANTHROPIC_BASE_URL"] == f"{BASE}/anthropic"


def test_a_login_that_cannot_be_seen_is_said():
    (note,) = plan(inputs={}).notes
    assert "--upstream openai=https://chatgpt.com" in note


GATEWAY = b"""
model_provider = "gw"
[model_providers.gw]
name = "Gateway"
base_url = "https://gw.example.com/x/v1"
env_key = "GW_KEY"
"""


def test_a_provider_the_person_chose_is_kept_and_its_address_replaced():
    planned = plan(inputs={CONFIG: GATEWAY, AUTH: KEY})
    config = overrides(planned)
    assert config["model_provider"] == "gw"
    assert "openai_base_url" not in config
    expected = {
        "base_url": f"{ORIGIN}/openai/v1",
        "env_http_headers": {"x-docket-token": "DOCKET_BOUNDARY_TOKEN"},
    }
    assert planned.env_set["DOCKET_BOUNDARY_TOKEN"] == "tok"
    assert "OPENAI_PROJECT" not in planned.env_set
    assert not any("tok" in word and "x-docket-token" not in word for word in planned.argv)
    assert config["model_providers"] == {"gw": expected}
    assert planned.upstreams == {"openai": "https://gw.example.com/x/v1"}


@pytest.mark.parametrize(
    "argv",
    [
        ("codex", "-p", "work", "exec", "hi"),
        ("codex", "exec", "--profile", "work", "hi"),
        ("codex", "exec", "--profile=work", "hi"),
        ("codex", "exec", "-pwork", "hi"),
    ],
)
def test_a_profile_is_read_over_the_configuration(argv):
    inputs = {CONFIG: b'model_provider = "other"', "/h/.codex/work.config.toml": GATEWAY, AUTH: KEY}
    assert CodexRecipe().wanted_files(request(*argv)) == (CONFIG, AUTH, "/h/.codex/work.config.toml")
    assert plan(*argv, inputs=inputs).upstreams == {"openai": "https://gw.example.com/x/v1"}


def test_the_persons_own_overrides_stand_before_the_runs():
    argv = (
        "codex",
        "-c",
        "model=x",
        "exec",
        "-c",
        'model_provider="zz"',
        "-c",
        'model_providers.zz={base_url="http://z"}',
        "hi",
    )
    planned = plan(*argv)
    assert planned.argv[: len(argv) - 1] == argv[:-1]
    assert planned.argv[-1] == "hi"
    assert planned.upstreams == {"openai": "http://z"}
    assert overrides(planned)["model_providers"]["zz"]["base_url"] == f"{ORIGIN}/openai"


@pytest.mark.parametrize(
    ("argv", "upstreams"),
    [
        (("codex", "-c", 'openai_base_url="https://corp/v1"'), {"openai": "https://corp/v1"}),
        (("codex", "-copenai_base_url=https://corp/v1"), {"openai": "https://corp/v1"}),
        (("codex", "--config=openai_base_url='https://corp/v1'"), {"openai": "https://corp/v1"}),
        (("codex", "-c", "nothing"), {}),
        (("codex", "-c", "openai_base_url=[[[["), None),
        (("codex", "-c", "openai_base_url=" + "[" * 100000), None),
        (("codex", "--", "-c", 'openai_base_url="https://corp/v1"'), {}),
    ],
)
def test_an_address_on_the_command_line(argv, upstreams):
    if upstreams is None:
        assert "openai_base_url" in refusal(*argv)
    else:
        assert plan(*argv).upstreams == upstreams


def test_an_address_in_the_configuration_is_codexs_alone():
    planned = plan(inputs={CONFIG: b'openai_base_url = "https://corp/v1"', AUTH: KEY})
    assert planned.upstreams == {"openai": "https://corp/v1"}
    assert "OPENAI_BASE_URL" not in planned.env_set


def test_the_environments_own_address_is_not_codexs():
    planned = plan(environ={"OPENAI_BASE_URL": "https://gw/v1"})
    assert planned.upstreams == {}
    assert "OPENAI_BASE_URL" not in planned.env_set
    assert any("OPENAI_BASE_URL" in note for note in planned.notes)


@pytest.mark.parametrize(
    ("argv", "config", "says"),
    [
        (("codex", "--oss"), b"", "a model on this machine"),
        (("codex", "exec", "hi"), b'model_provider = "ollama"', "a model on this machine"),
        (("codex", "exec", "hi"), b'model_provider = "lmstudio"', "a model on this machine"),
        (("codex", "exec", "hi"), b'model_provider = "amazon-bedrock"', "cannot meter"),
        (("codex", "exec", "hi"), b'model_provider = "nowhere"', "'nowhere' has no base_url"),
        (("codex", "exec", "hi"), b'model_provider = "x"\n[model_providers.x]\nname = "y"', "'x' has no base_url"),
        (("codex", "exec", "hi"), b'model_provider = "x"\n[model_providers.x]\nbase_url = 5', "'x' has no base_url"),
        (("codex", "exec", "hi"), b'model_provider = "x"\n[model_providers.x]\nbase_url = ""', "'x' has no base_url"),
        (
            ("codex", "exec", "hi"),
            b'model_provider = "a.b"\n[model_providers."a.b"]\nbase_url = "http://h"',
            "'a.b' has no",
        ),
        (("codex", "exec", "hi"), b'model_provider = "x"\nmodel_providers = 5', "'x' has no base_url"),
        (
            ("codex", "exec", "hi"),
            b'model_provider = "x"\n[model_providers.x]\nbase_url = "http://u:p@h"',
            "base_url must be",
        ),
        (("codex", "exec", "hi"), b'openai_base_url = "nonsense"', "openai_base_url must be"),
    ],
)
def test_what_cannot_be_metered_refuses_the_run(argv, config, says):
    assert says in refusal(*argv, inputs={CONFIG: config, AUTH: KEY})


def test_a_prompt_that_reads_like_an_option_is_a_prompt():
    assert plan("codex", "exec", "--", "--oss").argv[-2:] == ("--", "--oss")


@pytest.mark.parametrize("config", [b"not toml [", b"\xff", b"a = " + b"[" * 100000])
def test_a_configuration_that_cannot_be_read_is_codexs_to_complain_about(config):
    assert plan(inputs={CONFIG: config, AUTH: KEY}).argv == plan().argv


@pytest.mark.parametrize(
    ("argv", "config", "features", "analytics"),
    [
        (("codex",), b"", {"plugins": False, "apps": False}, {"enabled": False}),
        (("codex",), b"[features]\nplugins = true", {"apps": False}, {"enabled": False}),
        (("codex",), b"[plugins.x]\nenabled = true", {"apps": False}, {"enabled": False}),
        (("codex", "--enable", "apps"), b"", {"plugins": False}, {"enabled": False}),
        (("codex", "--disable=plugins"), b"", {"apps": False}, {"enabled": False}),
        (("codex",), b"[analytics]\nenabled = true", {"plugins": False, "apps": False}, None),
    ],
)
def test_what_a_person_uses_stays_on(argv, config, features, analytics):
    found = overrides(plan(*argv, inputs={CONFIG: config, AUTH: KEY}))
    assert found["features"] == features
    assert found.get("analytics") == analytics


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({"HOME": "/h"}, (CONFIG, AUTH)),
        ({"HOME": "/h", "CODEX_HOME": "/c"}, ("/c/config.toml", "/c/auth.json")),
        ({}, ()),
    ],
)
def test_the_files_that_are_looked_at(environ, wanted):
    found = LaunchRequest(argv=("codex",), environ=environ, base_url=BASE, run_dir="/r")
    assert CodexRecipe().wanted_files(found) == wanted
    assert CodexRecipe().plan(found).argv[0] == "codex"


def test_it_is_found_behind_node_and_by_name():
    assert plan("node", "/x/@openai/codex/bin/codex.js", "exec", "hi").argv[:3] == (
        "node",
        "/x/@openai/codex/bin/codex.js",
        "-c",
    )
    assert plan("./wrapper", "x").argv[:2] == ("./wrapper", "-c")
    assert CodexRecipe().recognises(("npx", "@openai/codex"))
    assert not CodexRecipe().recognises(("x",))
