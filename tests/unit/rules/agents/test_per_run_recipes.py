"""gemini, opencode, copilot, qwen, pi and cline: what is refused, and what of the person's and the tree's counts.

Whole plans stand in tests/golden/launch_plans.
"""

from __future__ import annotations

import json

import pytest

from docket.errors import RefusedBeforeStartError
from docket.formats.reason import Reason
from docket.rules.agents.described import described
from docket.rules.agents.interface import LaunchRequest
from docket.rules.agents.registry import RECIPES, recognise

BASE = "http://127.0.0.1:4000/tok"
HERE = "http://127.0.0.1:4000"


def request(*argv, environ=None, inputs=None):
    return LaunchRequest(
        argv=argv, environ={"HOME": "/h", **(environ or {})}, base_url=BASE, run_dir="/run/d", inputs=inputs or {}
    )


def plan(*argv, **more):
    asked = request(*argv, **more)
    return recognise(asked.argv).plan(asked)


def refusal(*argv, **more):
    with pytest.raises(RefusedBeforeStartError) as caught:
        plan(*argv, **more)
    assert caught.value.reason == Reason.AGENT_UNSUPPORTED
    assert caught.value.hint
    assert "tok" not in caught.value.detail
    return caught.value.detail


def document(planned, name):
    (file,) = [file for file in planned.files if file.name.endswith(name)]
    return json.loads(file.data)


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (("/usr/bin/gemini", "-p", "x"), "gemini"),
        (("npx", "@google/gemini-cli@0.61.0"), "gemini"),
        (("node", "/n/@google/gemini-cli/bundle/gemini.js"), "gemini"),
        (("opencode", "run"), "opencode"),
        (("bunx", "opencode-ai"), "opencode"),
        (("copilot",), "copilot"),
        (("node", "/n/node_modules/@github/copilot/npm-loader.js"), "copilot"),
        (("qwen",), "qwen"),
        (("npx", "-y", "@qwen-code/qwen-code"), "qwen"),
        (("pi",), "pi"),
        (("node", "/n/@mariozechner/pi-coding-agent/dist/cli.js"), "pi"),
        (("cline", "x"), "cline"),
        (("npx", "cline@3.0.65"), "cline"),
        (("clinic",), "generic"),
        (("pip",), "generic"),
    ],
)
def test_who_is_recognised(argv, name):
    assert recognise(argv).name == name


def test_every_recipe_can_be_described_and_puts_no_token_into_what_is_shown():
    for recipe in RECIPES:
        does = described(recipe)
        assert recipe.facts.title
        assert bool(recipe.facts.program) == bool(recipe.facts.tried) == bool(recipe.facts.packages)
        assert not any("TOKEN" in word for word in does.arguments)
        assert does.refusal_status in (400, 404)
        with_hooks = {"claude-code", "codex", "gemini", "opencode", "copilot", "qwen", "pi"}
        assert does.has_hooks is (recipe.name in with_hooks)


@pytest.mark.parametrize("home", [{"HOME": ""}, {"HOME": "", "GEMINI_CLI_HOME": ""}])
def test_gemini_without_a_home(home):
    planned = plan("gemini", environ=home)
    assert planned.links == ()
    assert recognise(("gemini",)).wanted_files(request("gemini", environ=home)) == (".gemini/.env", ".env")
    assert planned.env_set["GEMINI_CLI_HOME"] == "/run/d/gemini-home"


@pytest.mark.parametrize(
    ("environ", "inputs", "way"),
    [
        ({}, {}, "gemini-api-key"),
        ({"GEMINI_API_KEY": "k"}, {}, "gemini-api-key"),
        ({"GOOGLE_GENAI_USE_GCA": "true"}, {}, "oauth-personal"),
        ({"GOOGLE_GENAI_USE_GCA": "false", "GOOGLE_GENAI_USE_VERTEXAI": "true"}, {}, "vertex-ai"),
        ({"CLOUD_SHELL": "true"}, {}, "compute-default-credentials"),
        ({}, {"/h/.gemini/.env": b"GOOGLE_GENAI_USE_VERTEXAI=true"}, "vertex-ai"),
        ({}, {"/h/.gemini/settings.json": b'{"selectedAuthType": "oauth-personal"}'}, "oauth-personal"),
        ({"GEMINI_API_KEY": "k"}, {"/h/.gemini/settings.json": b'{"security": {"auth": {"selectedType": "x"}}}'}, "x"),
        ({"GEMINI_CLI_HOME": "/g"}, {"/g/.gemini/settings.json": b'{"selectedAuthType": "y"}'}, "y"),
    ],
)
def test_the_way_gemini_logs_in_stays_the_persons(environ, inputs, way):
    settings = document(plan("gemini", environ=environ, inputs=inputs), "settings.json")
    assert settings["security"]["auth"]["selectedType"] == way
    assert settings["privacy"]["usageStatisticsEnabled"] is False


def test_an_address_of_geminis_env_file_becomes_the_upstream_and_the_environment_beats_it():
    inputs = {"/h/.gemini/.env": b"GOOGLE_GEMINI_BASE_URL=https://a\nCODE_ASSIST_ENDPOINT=https://c"}
    planned = plan("gemini", inputs=inputs, environ={"CODE_ASSIST_ENDPOINT": "https://d"})
    assert planned.upstreams == {"gemini": "https://a", "code-assist": "https://d"}
    assert planned.env_set["GOOGLE_GEMINI_BASE_URL"] == f"{BASE}/gemini"


@pytest.mark.parametrize("name", ["gemini", "qwen"])
@pytest.mark.parametrize(
    ("argv", "environ", "settings"),
    [
        (("-s", "-p", "x"), {}, b""),
        (("--sandbox",), {}, b""),
        ((), {"GEMINI_SANDBOX": "docker", "QWEN_SANDBOX": "1"}, b""),
        ((), {}, b'{"tools": {"sandbox": true}}'),
        ((), {}, b'{"tools": {"sandbox": "podman"}}'),
    ],
)
def test_a_container_is_refused(name, argv, environ, settings):
    assert "container" in refusal(name, *argv, environ=environ, inputs={f"/h/.{name}/settings.json": settings})


@pytest.mark.parametrize("name", ["gemini", "qwen"])
def test_words_behind_the_options_ask_for_no_container(name):
    inputs = {f"/h/.{name}/settings.json": b'{"tools": {"sandbox": false}}'}
    assert plan(name, "--", "-s", inputs=inputs).argv == (name, "--", "-s")


@pytest.mark.parametrize(
    ("argv", "environ", "inputs", "words"),
    [
        (("opencode", "attach", "http://h"), {}, {}, "attach"),
        (("opencode", "run", "--attach", "http://h", "x"), {}, {}, "attach"),
        (("opencode", "run", "-m", "amazon-bedrock/m"), {}, {}, "'amazon-bedrock'"),
        (("opencode", "run", "--model=x/m"), {}, {}, "'x'"),
        (("opencode",), {}, {"/h/.config/opencode/opencode.json": b'{"model": "x/m"}'}, "'x'"),
        (("opencode",), {"OPENCODE_CONFIG_CONTENT": "["}, {}, "OPENCODE_CONFIG_CONTENT"),
        (("opencode",), {}, {"/etc/opencode/opencode.json": b'{"provider": {"a": {"options": {"baseURL": "x"}}}}'},
         "/etc/opencode/opencode.json"),
        (("copilot",), {}, {}, "COPILOT_PROVIDER_BASE_URL is not set"),
        (("copilot",), {"COPILOT_PROVIDER_BASE_URL": "http://h", "COPILOT_PROVIDER_TYPE": "azure"}, {}, "'azure'"),
        (("copilot",), {"COPILOT_PROVIDER_BASE_URL": "http://h", "COPILOT_PROVIDER_TRANSPORT": "websockets"}, {},
         "COPILOT_PROVIDER_TRANSPORT"),
        (("copilot",), {"COPILOT_PROVIDER_BASE_URL": "h"}, {}, "COPILOT_PROVIDER_BASE_URL"),
        (("qwen", "--auth-type", "qwen-oauth"), {}, {}, "'qwen-oauth'"),
        (("qwen",), {"QWEN_DEFAULT_AUTH_TYPE": "gemini"}, {}, "'gemini'"),
        (("qwen",), {}, {"/h/.qwen/settings.json": b'{"security": {"auth": {"selectedType": "vertex-ai"}}}'},
         "'vertex-ai'"),
        (("pi", "--provider", "amazon-bedrock"), {}, {}, "'amazon-bedrock'"),
        (("pi", "--model", "google-vertex/m"), {}, {}, "'google-vertex'"),
        (("pi",), {}, {".pi/settings.json": b'{"defaultProvider": "github-copilot"}'}, "'github-copilot'"),
        (("pi", "--provider", "xai"), {},
         {"/h/.pi/agent/models.json": b'{"providers": {"x": {"baseUrl": "a", "models": [{"baseUrl": "b"}]}}}'}, "x"),
        (("cline", "x"), {}, {}, "'cline'"),
        (("cline", "-P", "vertex", "x"), {}, {}, "'vertex'"),
        (("cline", "-P", "openai", "x"), {}, {}, "'openai-compatible'"),
        (("cline", "--data-dir", "d", "x"), {}, {}, "--data-dir"),
        (("cline", "x"), {"CLINE_SANDBOX": "1"}, {}, "--data-dir"),
        (("cline", "-z", "x"), {}, {}, "hub"),
        (("cline", "schedule"), {}, {}, "hub"),
    ],
)  # fmt: skip
def test_what_leads_around_the_boundary_is_refused(argv, environ, inputs, words):
    assert words in refusal(*argv, environ=environ, inputs=inputs)


def content(planned):
    return json.loads(planned.env_set["OPENCODE_CONFIG_CONTENT"])


def test_opencode_reads_the_persons_folders_and_leaves_only_metered_providers():
    asked = request("opencode", environ={"XDG_CONFIG_HOME": "/x", "OPENCODE_CONFIG_DIR": "/d/", "OPENCODE_CONFIG": "c"})
    wanted = recognise(asked.argv).wanted_files(asked)
    assert {"/x/opencode/opencode.jsonc", "/d/opencode.json", "c", "opencode.json"} <= set(wanted)
    assert recognise(("opencode",)).wanted_files(request("opencode", environ={"HOME": ""}))[0] == "opencode.json"
    planned = plan("opencode")
    assert content(planned)["enabled_providers"] == sorted(
        content(planned)["provider"], key=list(content(planned)["provider"]).index
    )
    assert "github-copilot" not in content(planned)["enabled_providers"]
    assert content(planned)["share"] == "disabled"
    assert planned.env_set["OPENCODE_DISABLE_AUTOUPDATE"] == "1"


def test_what_an_outer_run_configured_for_opencode_is_called_with_its_token():
    outer = {"provider": {"anthropic": {"options": {"baseURL": "http://127.0.0.1:1/anthropic/v1",
                                                    "headers": {"x-docket-token": "outer", "x-mine": "1"}}}},
             "share": "auto"}  # fmt: skip
    planned = plan("opencode", environ={"OPENCODE_CONFIG_CONTENT": json.dumps(outer)})
    assert planned.upstreams["anthropic"] == "http://127.0.0.1:1/outer/anthropic/v1"
    options = content(planned)["provider"]["anthropic"]["options"]
    assert options == {"baseURL": f"{HERE}/anthropic", "headers": {"x-docket-token": "tok", "x-mine": "1"}}
    assert content(planned)["share"] == "auto"


def test_a_provider_that_is_given_no_address_says_nothing():
    nothing = b'{"provider": {"anthropic": {"options": {"apiKey": "k"}}}}'
    planned = plan("opencode", inputs={"/etc/opencode/opencode.json": nothing, "opencode.json": nothing})
    assert planned.notes == ()
    assert planned.upstreams == {}


def test_an_address_of_opencodes_provider_itself_counts_too():
    inputs = {"/h/.config/opencode/config.json": b'{"provider": {"a": {"api": "https://a/v1"}, "b": {"x": 1}}}'}
    planned = plan("opencode", inputs=inputs)
    assert planned.upstreams == {"a": "https://a/v1"}
    assert "b" not in content(planned)["enabled_providers"]


def test_copilots_headers_replace_those_of_an_outer_run():
    environ = {
        "COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:1/openai",
        "COPILOT_PROVIDER_HEADERS": "X-Docket-Token: outer\nx-mine: a: b\n\nnothing",
        "COPILOT_AUTO_UPDATE": "true",
    }
    planned = plan("copilot", environ=environ)
    assert planned.upstreams == {"local": "http://127.0.0.1:1/outer/openai"}
    assert planned.env_set["COPILOT_PROVIDER_HEADERS"] == "x-mine: a: b\nx-docket-token: tok"
    assert planned.env_set["COPILOT_PROVIDER_BASE_URL"] == f"{HERE}/local"
    assert "COPILOT_AUTO_UPDATE" not in planned.env_set
    assert planned.env_set["COPILOT_OFFLINE"] == "true"


@pytest.mark.parametrize(
    ("argv", "environ", "inputs", "upstreams"),
    [
        ((), {"OPENAI_BASE_URL": "https://a/v1"}, {}, {"openai": "https://a/v1"}),
        ((), {}, {"/h/.qwen/.env": b"OPENAI_BASE_URL=https://b/v1"}, {"openai": "https://b/v1"}),
        ((), {}, {"/h/.qwen/settings.json": b'{"env": {"OPENAI_BASE_URL": "https://c/v1", "X": 1}}'}, {"openai": "https://c/v1"}),
        ((), {}, {"/h/.qwen/settings.json": b'{"security": {"auth": {"baseUrl": "https://d/v1"}}}'}, {"openai": "https://d/v1"}),
        (("--openai-base-url=https://e/v1",), {"OPENAI_BASE_URL": "https://a/v1"}, {}, {"openai": "https://e/v1"}),
        (("--auth-type", "anthropic"), {}, {"/h/.qwen/settings.json": b'{"security": {"auth": {"baseUrl": "https://f"}}}'},
         {"anthropic": "https://f"}),
        ((), {"HOME": ""}, {}, {}),
        ((), {"QWEN_HOME": "/q"}, {"/q/.env": b"OPENAI_BASE_URL=https://g/v1"}, {"openai": "https://g/v1"}),
    ],
)  # fmt: skip
def test_an_address_the_person_configured_for_qwen_becomes_the_upstream(argv, environ, inputs, upstreams):
    planned = plan("qwen", *argv, environ=environ, inputs=inputs)
    assert planned.upstreams == upstreams
    assert not any("--openai-base-url" in word for word in planned.argv)
    auth = document(planned, "settings.json")["security"]["auth"]
    assert ("baseUrl" in auth) == (auth["selectedType"] == "openai")


def test_no_two_addresses_of_qwens_models_share_a_name():
    models = {
        "openai": [{"id": "a", "baseUrl": "https://one/v1"}, {"id": "b", "baseUrl": "https://two/v1"}, "odd"],
        "anthropic": [{"id": "c", "baseUrl": "https://api.anthropic.com"}, {"id": "d"}],
        "odd": {"not": "a list"},
    }
    inputs = {"/h/.qwen/settings.json": json.dumps({"modelProviders": models}).encode()}
    planned = plan("qwen", inputs=inputs)
    found = document(planned, "settings.json")["modelProviders"]
    assert [model["baseUrl"] for model in found["openai"][:2]] == [f"{BASE}/one-v1", f"{BASE}/two-v1"]
    assert found["openai"][2] == "odd"
    assert [model["baseUrl"] for model in found["anthropic"]] == [f"{BASE}/anthropic"] * 2
    assert found["odd"] == found["gemini"] == []
    assert planned.upstreams == {"one-v1": "https://one/v1", "two-v1": "https://two/v1"}


def test_the_machines_settings_of_qwen_stay_below_the_runs():
    asked = {"QWEN_CODE_SYSTEM_SETTINGS_PATH": "/m.json"}
    planned = plan("qwen", environ=asked, inputs={"/m.json": b'{"a": 1, "privacy": {"usageStatisticsEnabled": true}}'})
    settings = document(planned, "settings.json")
    assert (settings["a"], settings["privacy"]["usageStatisticsEnabled"]) == (1, False)
    assert planned.env_set["QWEN_CODE_SYSTEM_SETTINGS_PATH"] == "/run/d/qwen-settings.json"


def test_what_pi_knows_of_a_provider_beside_its_address_is_handed_on():
    own = {"baseUrl": "https://gw/v1", "apiKey": "GW_KEY", "authHeader": True, "models": [{"id": "m"}, {}, 1]}
    inputs = {"/h/.pi/agent/models.json": json.dumps({"providers": {"gw": own, "xai": {"models": {}}}}).encode()}
    planned = plan("pi", "--provider", "gw", inputs=inputs)
    (file,) = planned.files
    (line,) = [line for line in file.data.decode().splitlines() if '("gw"' in line]
    settings = json.loads(line.partition(", ")[2].removesuffix(");"))
    assert settings == {
        "apiKey": "GW_KEY",
        "authHeader": True,
        "baseUrl": f"{HERE}/gw",
        "headers": {"x-docket-token": "tok"},
    }
    assert planned.upstreams == {"gw": "https://gw/v1"}


def test_a_service_of_pis_that_docket_has_no_place_for_gets_one_when_it_is_chosen():
    chosen = plan("pi", "--model", "zai/glm-4.6")
    assert chosen.upstreams == {"zai": "https://api.z.ai/api/coding/paas/v4"}
    assert plan("pi", "--model", "glm-4.6").upstreams == {}
    assert "PI_TELEMETRY" not in plan("pi", environ={"PI_OFFLINE": "1"}).env_set
    (file,) = plan("pi", environ={"HOME": ""}).files
    assert b'"anthropic", {"baseUrl": "http://127.0.0.1:4000/anthropic", ' in file.data
    assert recognise(("pi",)).wanted_files(request("pi", environ={"HOME": ""})) == (".pi/settings.json",)
    own = {"PI_CODING_AGENT_DIR": "/p"}
    settings = {"/p/settings.json": b'{"defaultProvider": "xai"}'}
    assert plan("pi", environ=own, inputs=settings).upstreams == {}


@pytest.mark.parametrize(
    ("argv", "environ", "path"),
    [
        ((), {}, "/h/.cline/data/settings/providers.json"),
        (("--config", "/c"), {}, "/c/data/settings/providers.json"),
        ((), {"CLINE_DIR": "/e"}, "/e/data/settings/providers.json"),
        ((), {"CLINE_DATA_DIR": "/d"}, "/d/settings/providers.json"),
        ((), {"CLINE_PROVIDER_SETTINGS_PATH": "/p.json"}, "/p.json"),
    ],
)
def test_where_clines_providers_stand(argv, environ, path):
    chosen = {"lastUsedProvider": "mine", "providers": {"mine": {"settings": {"baseUrl": "http://localhost:1/v1"}}}}
    planned = plan("cline", *argv, "fix it", environ=environ, inputs={path: json.dumps(chosen).encode()})
    assert planned.upstreams == {"mine": "http://localhost:1/v1"}
    entry = document(planned, "providers.json")["providers"]["mine"]
    assert entry["settings"]["baseUrl"] == f"{HERE}/mine"
    assert entry["settings"]["headers"] == {"x-docket-token": "tok"}
    assert document(planned, "global-settings.json") == {"telemetryOptOut": True, "autoUpdateEnabled": False}
    assert planned.env_set["CLINE_SESSION_BACKEND_MODE"] == "local"
