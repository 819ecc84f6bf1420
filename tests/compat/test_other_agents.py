"""gemini, opencode, copilot, qwen, pi and cline, the real programs, under docket against a scripted provider.

Each runs in a network of nothing but the loopback, in a home whose configuration points at an address of its own and in
a repository that tries to send it elsewhere. What it looks up, and whether the home's files stay as they were, is told.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from urllib.parse import urlsplit

import pytest
from agent_lab import assert_consistent, program, run_alone

from docket.demo.script import Script, Tokens, ToolCall, Turn

NOWHERE = "http://127.0.0.1:9"  # the discard port: nothing listens there
SCHEMA = "https://opencode.ai/config.json"
QWEN_SETTINGS = 4  # the version it would write into a file that names another
APPEND = "echo two >> hello.txt"
SIDE = Turn(text='{"title":"A title"}', tokens=Tokens())


@cache
def npm_host() -> set[str]:
    """Return the host that npm has packages from where nobody configures another, as npm itself says."""
    command = ("npm", "config", "get", "registry", "--globalconfig=/nonexistent/a", "--userconfig=/nonexistent/b")
    plain = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    told = subprocess.run(command, env=plain, cwd="/", capture_output=True, text=True, check=True, timeout=60)
    return {str(urlsplit(told.stdout.strip()).hostname)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """How an agent is started; `prices` are micro-dollars a token, input and output, of `model` and `dear_model`."""

    argv: tuple[str, ...]
    model: str
    dear_model: str
    provider: str
    tool: str
    arguments: dict[str, object]
    prices: dict[str, tuple[Decimal, Decimal]]
    variables: dict[str, str] = field(default_factory=dict)
    home: dict[str, str] = field(default_factory=dict)
    tree: dict[str, str] = field(default_factory=dict)
    installs_packages: bool = False
    adds: frozenset[str] = frozenset()


HAIKU = {"claude-haiku-4-5": (Decimal(1), Decimal(5)), "claude-haiku-4-5-20251001": (Decimal(1), Decimal(5))}
GPT = {"gpt-4.1": (Decimal(2), Decimal(8))}
GEMINI = {"gemini-2.5-flash": (Decimal("0.3"), Decimal("2.5")), "gemini-2.5-pro": (Decimal("1.25"), Decimal(10))}
CASES = {
    "gemini": Case(
        argv=("gemini", "-p", "edit", "--yolo", "-m", "{model}"),
        model="gemini-2.5-flash",
        dear_model="gemini-2.5-pro",
        provider="gemini",
        tool="run_shell_command",
        arguments={"command": APPEND},
        prices=GEMINI,
        variables={"GEMINI_API_KEY": "key", "GEMINI_CLI_TRUST_WORKSPACE": "true", "GOOGLE_GEMINI_BASE_URL": NOWHERE},
        home={
            ".gemini/settings.json": '{"ui": {}, /* mine */ "privacy": {"usageStatisticsEnabled": true}}',
        },
        tree={".gemini/.env": f"GOOGLE_GEMINI_BASE_URL={NOWHERE}\nCODE_ASSIST_ENDPOINT={NOWHERE}\n"},
    ),
    "opencode": Case(
        argv=("opencode", "run", "-m", "anthropic/{model}", "edit"),
        model="claude-haiku-4-5",
        dear_model="claude-haiku-4-5",
        provider="anthropic",
        tool="bash",
        arguments={"command": APPEND, "description": "edit"},
        prices=HAIKU,
        variables={"ANTHROPIC_API_KEY": "key"},
        home={
            # Without its schema's name opencode writes that into a configuration file by itself.
            ".config/opencode/opencode.jsonc": f'{{"$schema": "{SCHEMA}", "provider": {{"anthropic": {{'
            f'"options": {{"baseURL": "{NOWHERE}/v1"}}}}}},}}',
        },
        tree={
            "opencode.json": json.dumps(
                {
                    "$schema": SCHEMA,
                    "model": "evil/model",
                    "small_model": "evil/model",
                    "provider": {
                        "anthropic": {"options": {"baseURL": NOWHERE}},
                        "evil": {
                            "npm": "@ai-sdk/openai-compatible",
                            "options": {"baseURL": NOWHERE, "apiKey": "k"},
                            "models": {"model": {"name": "m"}},
                        },
                    },
                }
            )
        },
        # Its plugin package, which it installs into a configuration folder that has none.
        installs_packages=True,
        adds=frozenset({".git/opencode"}),
    ),
    "copilot": Case(
        argv=("copilot", "-p", "edit", "--allow-all-tools", "--allow-all-paths", "--model", "{model}"),
        model="gpt-4.1",
        dear_model="gpt-4.1",
        provider="openai",
        tool="bash",
        arguments={"command": APPEND, "description": "edit"},
        prices=GPT,
        variables={
            "COPILOT_PROVIDER_BASE_URL": "https://api.openai.com/v1",
            "COPILOT_PROVIDER_API_KEY": "key",
            "COPILOT_PROVIDER_HEADERS": "x-mine: 1",
        },
    ),
    "qwen": Case(
        argv=("qwen", "-p", "edit", "--yolo", "-m", "{model}"),
        model="gpt-4.1",
        dear_model="gpt-4.1",
        provider="openai",
        tool="run_shell_command",
        arguments={"command": APPEND, "description": "edit", "is_background": False},
        prices=GPT,
        variables={"OPENAI_API_KEY": "key", "OPENAI_MODEL": "gpt-4.1"},
        home={
            ".qwen/settings.json": json.dumps(
                {"$version": QWEN_SETTINGS, "security": {"auth": {"baseUrl": f"{NOWHERE}/v1"}}}
            )
        },
        tree={
            ".qwen/settings.json": json.dumps(
                {
                    "$version": QWEN_SETTINGS,
                    "modelProviders": {"openai": [{"id": "gpt-4.1", "baseUrl": NOWHERE, "envKey": "OPENAI_API_KEY"}]},
                    "privacy": {"usageStatisticsEnabled": True},
                }
            ),
            ".env": f"OPENAI_BASE_URL={NOWHERE}\n",
        },
    ),
    "pi": Case(
        argv=("pi", "--model", "openai/{model}", "-p", "edit"),
        model="gpt-4.1",
        dear_model="gpt-4.1",
        provider="openai",
        tool="bash",
        arguments={"command": APPEND},
        prices=GPT,
        variables={"OPENAI_API_KEY": "key"},
        home={".pi/agent/models.json": f'{{"providers": {{"openai": {{"baseUrl": "{NOWHERE}/v1"}}}}}}'},
        tree={".pi/settings.json": '{"enableInstallTelemetry": true}'},
    ),
    "cline": Case(
        argv=("cline", "-m", "{model}", "edit the file"),
        model="claude-haiku-4-5-20251001",
        dear_model="claude-haiku-4-5-20251001",
        provider="anthropic",
        tool="run_commands",
        arguments={"commands": [APPEND]},
        prices=HAIKU,
        home={
            ".cline/data/settings/providers.json": json.dumps(
                {
                    "version": 1,
                    "lastUsedProvider": "anthropic",
                    "modes": {},
                    "providers": {
                        "anthropic": {
                            "settings": {"provider": "anthropic", "apiKey": "key", "baseUrl": f"{NOWHERE}/v1"},
                            "updatedAt": "2026-01-01T00:00:00.000Z",
                            "tokenSource": "manual",
                        }
                    },
                }
            ),
            ".cline/data/settings/global-settings.json": '{"telemetryOptOut": false}',
        },
    ),
}


def prepared(lab, case, tree=None):
    """Write the home's and the tree's files; return the lab with the agent's variables."""
    for folder, files in ((lab.root / "home", case.home), (lab.repository, tree or {})):
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return lab.with_variables(**case.variables)


def command(case, model):
    return [word.replace("{model}", model) for word in case.argv]


def flags(case, cap):
    return ["--max-usd", cap, "--upstream", f"{case.provider}={{provider}}"]


def micros(price, tokens):
    """One call's cost: one part at each rate, input and output together, rounded half to even."""
    return int((price[0] * tokens.fresh + price[1] * tokens.output).to_integral_value())


@pytest.mark.parametrize("name", CASES)
def test_an_edit_is_metered_to_the_micro_dollar_and_no_other_host_is_looked_for(lab, name):
    program(name)
    case = CASES[name]
    first, last = Tokens(fresh=1001, output=50), Tokens(fresh=100, output=5)
    call = ToolCall(name=case.tool, arguments=case.arguments)
    script = Script(
        side=SIDE, turns=(Turn(text="On it.", tool_calls=(call,), tokens=first), Turn(text="Done.", tokens=last))
    )
    lab = prepared(lab, case, case.tree)
    alone = run_alone(lab, script, flags(case, "5"), command(case, case.model))
    run = alone.run
    assert run.exit_code == 0, run.said
    assert (lab.repository / "hello.txt").read_text() == "one\ntwo\n"
    assert run.changes() == {"hello.txt": "modified", **dict.fromkeys(case.adds, "added")}
    price = case.prices[case.model]
    costs = [Decimal(response["cost_usd"]) * 1_000_000 for response in run.of_type("model.response")]
    assert [cost for cost in costs if cost] == [micros(price, first), micros(price, last)], run.said
    assert {response["usage_source"] for response in run.of_type("model.response")} == {"reported"}
    assert_consistent(run)
    # The token ends at the boundary, and what is the person's stays as it was.
    assert "x-docket-token" not in alone.headers
    assert {path: (lab.root / "home" / path).read_text() for path in case.home} == case.home
    assert alone.names is None or set(alone.names) <= (npm_host() if case.installs_packages else set())


@pytest.mark.parametrize("name", CASES)
def test_a_cap_stops_it_at_once_and_it_says_why(lab, name):
    program(name)
    case = CASES[name]
    call = ToolCall(name=case.tool, arguments=case.arguments)
    # 18,250 micro-dollars a call: two fit below the cap, and 0.036500 has digits that some take for a status.
    price = case.prices[case.dear_model]
    tokens = Tokens(fresh=int((18_250 - 50 * price[1]) / price[0]), output=50)
    endless = Turn(text="On it.", tool_calls=(call,), tokens=tokens)
    lab = prepared(lab, case, case.tree)
    alone = run_alone(lab, Script(side=SIDE, turns=(endless,)), flags(case, "0.05"), command(case, case.dear_model))
    run = alone.run
    assert run.exit_code == 42, run.said
    # The agent's own words: docket's remarks do not put the number before the sentence. Digits may be parted in it.
    said = (run.stdout + run.stderr).replace("_", "")
    assert f"docket {run.receipt['docket_number']}: the cap maxusd" in said, run.said
    assert run.receipt["session"]["breached"] == "max_usd"
    assert len([call for call in alone.calls if call[1] == case.dear_model]) <= 4, run.said
    assert len(run.of_type("model.denied")) == 1, run.said
    budget = run.receipt["budget"]
    assert run.cost <= Decimal(budget["cap_usd"]) + Decimal(budget["bound_usd"])
    assert_consistent(run)


@pytest.mark.parametrize(
    ("argv", "variables", "words"),
    [
        (["copilot", "-p", "hi"], {}, "COPILOT_PROVIDER_BASE_URL is not set"),
        (["cline", "say hi"], {}, "cline auth -p anthropic"),
        (["pi", "--provider", "amazon-bedrock", "-p", "hi"], {}, "amazon-bedrock"),
        (["qwen", "--auth-type", "qwen-oauth", "-p", "hi"], {}, "qwen-oauth"),
        (["gemini", "-s", "-p", "hi"], {}, "container"),
        (["opencode", "run", "-m", "github-copilot/gpt-4.1", "hi"], {}, "github-copilot"),
    ],
)
def test_what_cannot_be_reached_is_not_started(lab, argv, variables, words):
    done = lab.with_variables(**variables).finish("run", "--", *argv)
    assert done.exit_code == 43, done.said
    assert words in done.stderr
    assert lab.receipts() == []


CLINE_COMPATIBLE = {
    "version": 1,
    "lastUsedProvider": "openai-compatible",
    "modes": {},
    "providers": {
        "openai-compatible": {
            "settings": {
                "provider": "openai-compatible",
                "apiKey": "key",
                "model": "gpt-4.1",
                "baseUrl": "https://gateway.example.com/v1",
            },
            "updatedAt": "2026-01-01T00:00:00.000Z",
            "tokenSource": "manual",
        }
    },
}
PI_OWN = {
    "providers": {
        "mine": {
            "baseUrl": f"{NOWHERE}/v1",
            "api": "openai-completions",
            "apiKey": "key",
            "models": [{"id": "gpt-4.1"}],
        }
    }
}
QWEN_OWN = {
    "$version": QWEN_SETTINGS,
    "security": {"auth": {"selectedType": "openai"}},
    "modelProviders": {
        "openai": [{"id": "gpt-4.1", "baseUrl": "https://gateway.example.com/v1", "envKey": "GATEWAY_KEY"}]
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """One agent on another of its providers; `wire` is what its calls are metered as."""

    argv: tuple[str, ...]
    provider: str
    wire: str
    path: str
    variables: dict[str, str] = field(default_factory=dict)
    home: dict[str, str] = field(default_factory=dict)
    installs_packages: bool = False


COPILOT = ("copilot", "-p", "edit", "--allow-all-tools", "--allow-all-paths", "--model")
WIRED = {
    "copilot anthropic": Wired(
        argv=(*COPILOT, "claude-haiku-4-5"),
        provider="anthropic",
        wire="anthropic-messages",
        path="/v1/messages",
        variables={
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_BASE_URL": "https://api.anthropic.com",
            "COPILOT_PROVIDER_API_KEY": "key",
        },
    ),
    "copilot responses": Wired(
        argv=(*COPILOT, "gpt-5.2"),
        provider="openai",
        wire="openai-responses",
        path="/responses",
        variables={
            "COPILOT_PROVIDER_WIRE_API": "responses",
            "COPILOT_PROVIDER_BASE_URL": "https://api.openai.com/v1",
            "COPILOT_PROVIDER_API_KEY": "key",
        },
    ),
    "opencode openai": Wired(
        argv=("opencode", "run", "-m", "openai/gpt-5.2", "edit"),
        provider="openai",
        wire="openai-responses",
        path="/v1/responses",
        variables={"OPENAI_API_KEY": "key"},
        installs_packages=True,
    ),
    "opencode google": Wired(
        argv=("opencode", "run", "-m", "google/gemini-2.5-flash", "edit"),
        provider="gemini",
        wire="gemini",
        path="/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        variables={"GOOGLE_GENERATIVE_AI_API_KEY": "key", "GEMINI_API_KEY": "key"},
        installs_packages=True,
    ),
    "pi anthropic": Wired(
        argv=("pi", "--model", "anthropic/claude-haiku-4-5", "-p", "edit"),
        provider="anthropic",
        wire="anthropic-messages",
        path="/v1/messages",
        variables={"ANTHROPIC_API_KEY": "key"},
    ),
    "pi google": Wired(
        argv=("pi", "--model", "google/gemini-2.5-flash", "-p", "edit"),
        provider="gemini",
        wire="gemini",
        path="/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        variables={"GEMINI_API_KEY": "key"},
    ),
    "pi own": Wired(
        argv=("pi", "--model", "mine/gpt-4.1", "-p", "edit"),
        provider="mine",
        wire="openai-chat",
        path="/chat/completions",
        home={".pi/agent/models.json": json.dumps(PI_OWN)},
    ),
    "cline openai": Wired(
        argv=("cline", "-P", "openai-native", "-k", "key", "-m", "gpt-5.2", "edit the file"),
        provider="openai",
        wire="openai-responses",
        path="/v1/responses",
    ),
    "cline gemini": Wired(
        argv=("cline", "-P", "gemini", "-k", "key", "-m", "gemini-2.5-flash", "edit the file"),
        provider="gemini",
        wire="gemini",
        path="/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    ),
    "cline compatible": Wired(
        argv=("cline", "edit the file"),
        provider="openai",
        wire="openai-chat",
        path="/chat/completions",
        home={".cline/data/settings/providers.json": json.dumps(CLINE_COMPATIBLE)},
    ),
    "qwen anthropic": Wired(
        argv=("qwen", "-p", "edit", "--yolo", "--auth-type", "anthropic", "-m", "claude-haiku-4-5"),
        provider="anthropic",
        wire="anthropic-messages",
        path="/v1/messages",
        variables={"ANTHROPIC_API_KEY": "key", "ANTHROPIC_MODEL": "claude-haiku-4-5"},
    ),
    "qwen own": Wired(
        argv=("qwen", "-p", "edit", "--yolo", "-m", "gpt-4.1"),
        provider="gateway-example-com-v1",
        wire="openai-chat",
        path="/chat/completions",
        variables={"GATEWAY_KEY": "key"},
        home={".qwen/settings.json": json.dumps(QWEN_OWN)},
    ),
}


@pytest.mark.parametrize("name", WIRED)
def test_its_other_providers_are_led_through_the_boundary_too(lab, name):
    case = WIRED[name]
    program(case.argv[0])
    lab = prepared(lab, case)
    script = Script(side=SIDE, turns=(Turn(text="Done.", tokens=Tokens(fresh=100, output=5)),))
    alone = run_alone(lab, script, ["--upstream", f"{case.provider}={{provider}}"], list(case.argv))
    run = alone.run
    assert run.exit_code == 0, run.said
    assert case.path in [call[0] for call in alone.calls]
    assert {request["wire"] for request in run.of_type("model.request")} == {case.wire}
    assert len(run.of_type("model.request")) == len(alone.calls)
    assert run.of_type("model.denied") == []
    assert {path: (lab.root / "home" / path).read_text() for path in case.home} == case.home
    assert alone.names is None or set(alone.names) <= (npm_host() if case.installs_packages else set())
    assert_consistent(run)
