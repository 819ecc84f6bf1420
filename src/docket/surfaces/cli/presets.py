"""The policy files that `docket init` writes: one commented text from the key table, with a start per agent.

Rules:
1. Every key stands in the text with its sentence; only what the preset sets is switched on, the rest is commented out
   with its default or an example.
2. What is switched on only tightens, so that the file works as a policy in the tree as it is.
3. Every text is read by docket's own parser before it is handed out.
"""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Mapping

from docket.errors import UsageError
from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.formats.run.policy import NAME_KEY, SECTIONS, Key, Section
from docket.formats.run.policy_toml import parse_policy
from docket.rules.agents.registry import ALIASES, did_you_mean
from docket.rules.policy.order import TREE_POLICY

DEFAULT_PRESET = "generic"
_WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A start for one agent: `agent` is its own command line, `remarks` what a person should know about it."""

    name: str
    title: str
    agent: str
    remarks: tuple[str, ...] = ()
    examples: Mapping[str, str] = field(default_factory=dict)

    def command(self, policy: str) -> str:
        """Return how to run the agent by the policy file `policy`, as one could type it."""
        return f"docket run --policy {shlex.quote(policy)} -- {self.agent}"


_LIST_PRICES = (
    "With {} login, dollars are list prices and not what you pay: "
    'budget.mode = "quota" counts tokens and calls instead, and max_usd has to go.'
)
_CLAUDE_MODELS = {"models.allow": '["claude-*"]', "models.deny": '["*opus*"]'}
_OPENAI_MODELS = {"models.allow": '["gpt-*"]', "models.deny": '["*-pro"]'}

PRESETS: tuple[Preset, ...] = (
    Preset(
        name="claude-code",
        title="Claude Code",
        agent='claude -p "fix the failing test"',
        remarks=(
            "docket hands claude a settings file of the run. Your own stays untouched; an address in it is kept.",
            _LIST_PRICES.format("a subscription"),
        ),
        examples=_CLAUDE_MODELS,
    ),
    Preset(
        name="codex",
        title="Codex",
        agent='codex exec "add a changelog entry"',
        remarks=(
            "docket hands codex an address by -c. Your config.toml stays untouched; an address in it is kept.",
            _LIST_PRICES.format("a ChatGPT"),
        ),
        examples=_OPENAI_MODELS,
    ),
    Preset(
        name="gemini",
        title="Gemini CLI",
        agent='gemini -p "fix the failing test"',
        remarks=(
            "gemini gets a home of the run that links to your ~/.gemini. What it makes anew in it goes with the run.",
            _LIST_PRICES.format("a Google"),
        ),
        examples={"models.allow": '["gemini-*"]', "models.deny": '["*-pro*"]'},
    ),
    Preset(
        name="opencode",
        title="opencode",
        agent='opencode run -m anthropic/claude-haiku-4-5 "fix the failing test"',
        remarks=("Only providers that docket meters are left enabled; an address in your configuration is kept.",),
        examples={"models.allow": '["gpt-*", "claude-*"]', "models.deny": '["*opus*"]'},
    ),
    Preset(
        name="copilot",
        title="GitHub Copilot CLI with a provider of your own",
        agent='copilot -p "fix the failing test" --allow-all-tools',
        remarks=("It needs COPILOT_PROVIDER_BASE_URL: GitHub's own models cannot be led through docket.",),
        examples=_OPENAI_MODELS,
    ),
    Preset(
        name="aider",
        title="aider",
        agent='aider --model openai/gpt-4o --message "rename Foo to Bar" foo.py',
        remarks=(
            "aider ends with exit code 0 on every error of a provider; the receipt says what really ended the run.",
            "An address in a .env file or .aider.conf.yml of the project is not followed; name it with --upstream.",
        ),
        examples={"models.allow": '["gpt-*", "claude-*"]', "models.deny": '["*opus*"]'},
    ),
    Preset(
        name="mini-swe-agent",
        title="mini-swe-agent",
        agent='mini -m openai/gpt-4o -t "fix the failing test" -y --exit-immediately',
        remarks=("Models reached through its openrouter, portkey or requesty classes do not pass through docket.",),
        examples={"models.allow": '["gpt-*", "claude-*"]', "models.deny": '["*opus*"]'},
    ),
    Preset(
        name="qwen",
        title="Qwen Code",
        agent='qwen -p "fix the failing test"',
        remarks=("The login with Qwen OAuth cannot be led through docket; a key can.",),
        examples={"models.allow": '["qwen*", "gpt-*"]', "models.deny": '["*max*"]'},
    ),
    Preset(
        name="pi",
        title="pi",
        agent='pi --model openai/gpt-5.4 -p "fix the failing test"',
        remarks=("pi gets an extension of the run; a provider whose address docket does not know is refused.",),
        examples={"models.allow": '["gpt-*", "claude-*"]', "models.deny": '["*opus*"]'},
    ),
    Preset(
        name="cline",
        title="Cline CLI",
        agent='cline -P anthropic -m claude-haiku-4-5 "fix the failing test"',
        remarks=("cline works without its hub, which would outlive the run; its own account cannot be metered.",),
        examples=_CLAUDE_MODELS,
    ),
    Preset(
        name="generic",
        title="any program",
        agent="./my-agent",
        remarks=(
            "The program is reached by variables such as OPENAI_BASE_URL; one that reads none of them is not metered.",
        ),
    ),
)

# What a commented key shows where its default says too little.
_EXAMPLES: Mapping[str, str] = {
    "budget.pools": '["team"]',
    "caps.per_model": '{ "*opus*" = 2.00 }',
    "caps.per_agent": '{ "sub:*" = { max_usd = 0.50, max_model_calls = 40 } }',
    "budget.pass_endpoints": '["openai/v1/moderations"]',
    "caps.max_tokens": "2000000",
    "caps.max_model_calls": "200",
    "caps.max_wall_seconds": "1800",
    "models.allow": '["claude-*", "gpt-*"]',
    "models.deny": '["*opus*"]',
    "egress.allow": '["downloads.example.com", ".example.org"]',
    "files.ignore": '["node_modules/", "*.log"]',
    "files.deny_write": '[".env", "secrets/"]',
    "resilience.max_calls_per_minute": "60",
    "resilience.max_calls_per_second": "2",
    "resilience.max_events": "100000",
    "workspace.exclude": '["node_modules/"]',
    "workspace.protect": '[".github/"]',
}


def preset(name: str) -> Preset:
    """Return a preset; UsageError names the nearest one."""
    wanted = ALIASES.get(name, name)
    for entry in PRESETS:
        if entry.name == wanted:
            return entry
    known = tuple(entry.name for entry in PRESETS)
    detail = f"no preset is called {name!r}{did_you_mean(name, known)}"
    raise UsageError(Reason.USAGE, detail, hint=f"presets: {', '.join(known)}")


def policy_text(start: Preset, *, name: str, max_usd: Usd) -> str:
    """Return the commented TOML text of a preset; InvalidDocumentError if the name cannot be one."""
    NAME_KEY.kind.check(name)
    active = {"caps.max_usd": str(max_usd)}
    lines = [*_opening(start), "[policy]", *_comment(NAME_KEY.summary), f"name = {_toml(name)}", ""]
    for section in SECTIONS:
        lines += [*_section(section, active, {**_EXAMPLES, **start.examples}), ""]
    lines += [
        *_comment("Where a provider's calls go instead of its own address. Not followed in a policy of the tree."),
        "[upstreams]",
        '# openai = "https://gateway.example.com/v1"',
        "",
    ]
    text = "\n".join(lines)
    parse_policy(text.encode("utf-8"), start.name)
    return text


def _opening(start: Preset) -> list[str]:
    lines = _comment(f"docket policy for {start.title}. Run it with:")
    lines += [f"#   {start.command(TREE_POLICY)}", "#"]
    lines += _comment(
        "As docket.toml in a project this file may only tighten what you allow yourself; named with --policy it is "
        "the policy. Flags have the last word. A key that is not known is an error, never ignored."
    )
    for remark in start.remarks:
        lines += ["#", *_comment(remark)]
    return [*lines, ""]


def _section(section: type[Section], active: Mapping[str, str], examples: Mapping[str, str]) -> list[str]:
    lines = [*_comment(section.PURPOSE), f"[{section.NAME}]"]
    for key in section.table():
        lines += _comment(key.summary)
        if key.path in active:
            lines.append(f"{key.name} = {active[key.path]}")
        else:
            lines.append(f"# {key.name} = {examples.get(key.path) or shown_default(key)}")
    return lines


def shown_default(key: Key) -> str:
    """Return a key's default as TOML; the number 0 where a ceiling is absent by default."""
    value = key.kind.to_json(key.default)
    if isinstance(value, str) and not isinstance(key.default, str):
        return value
    return "0" if value is None else _toml(value)


def _toml(value: object) -> str:
    # JSON's texts, numbers, booleans and arrays of texts are TOML's.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, _WIDTH)]
