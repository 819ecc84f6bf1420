"""What an agent's settings hold so that it tells docket of its tools; each agent has a form of its own.

Rules:
1. A run's hooks and those that a person installs are made here, from the same words.
2. A hook runs `docket hook AGENT EVENT`, which in a run finds its way to the run by itself; where an agent can post an
   event, its hooks in a run do that instead.
3. An agent waits for a hook TIMEOUT_SECONDS at most; docket itself ends sooner.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping

from docket.formats.dataclass import dataclass
from docket.formats.digest import sha256
from docket.rules.agents.hook_javascript import OPENCODE_PLUGIN, PI_EXTENSION
from docket.rules.agents.hook_shape import HookShape
from docket.rules.agents.interface import LaunchRequest

TIMEOUT_SECONDS = 5
NAME = "docket"
SWITCHED_OFF = "hooks are switched off in {}, so what each tool call changed cannot be shown"
HOOK_WORD = "hook"
# Where codex says that hooks given by -c come from, and what it calls an event in a hook's key.
CODEX_SOURCE = "/<session-flags>/config.toml"

Entry = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookWords:
    """How docket is called for a hook: the words before `hook AGENT EVENT`, and where a run's hooks are posted."""

    command: tuple[str, ...]
    url: str | None = None

    def line(self, agent: str, event: str) -> str:
        """Return the command line, as a shell takes it."""
        return shlex.join((*self.command, HOOK_WORD, agent, event))


def words_of(request: LaunchRequest) -> HookWords | None:
    """Return how a run's hooks call docket, None where the agent is to be given none."""
    return HookWords(command=request.hook_command, url=request.hooks_url) if request.hook_command else None


def is_docket_line(line: object, agent: str) -> bool:
    """Whether a command line is one that docket wrote for an agent."""
    if not isinstance(line, str):
        return False
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    named = len(words) > 3 and words[-3:-1] == [HOOK_WORD, agent]
    return named and words[-4].replace("\\", "/").rsplit("/", 1)[-1] in ("docket", "docket.exe")


def claude_groups(shape: HookShape, words: HookWords) -> dict[str, list[Entry]]:
    """Return the hooks of Claude Code's settings: posted in a run, else by a command."""

    def entry(event: str) -> Entry:
        if words.url is not None:
            return {"type": "http", "url": f"{words.url}/{shape.provider}/{event}", "timeout": TIMEOUT_SECONDS}
        return {"type": "command", "command": words.line(shape.provider, event), "timeout": TIMEOUT_SECONDS}

    return {event: [_matching(shape, event, entry(event))] for event in shape.hooked}


def millisecond_groups(shape: HookShape, words: HookWords) -> dict[str, list[Entry]]:
    """Return the hooks of the settings of the Gemini CLI and Qwen Code."""

    def entry(event: str) -> Entry:
        line, timeout = words.line(shape.provider, event), TIMEOUT_SECONDS * 1000
        return {"name": NAME, "type": "command", "command": line, "timeout": timeout}

    return {event: [_matching(shape, event, entry(event))] for event in shape.hooked}


def codex_groups(shape: HookShape, words: HookWords) -> dict[str, list[Entry]]:
    """Return the hooks of codex's configuration; without a matcher they are for every tool."""
    return {event: [{"hooks": [_codex_entry(shape, words, event)]}] for event in shape.hooked}


def flat_entries(shape: HookShape, words: HookWords) -> dict[str, list[Entry]]:
    """Return the hooks of Cursor."""
    return {
        event: [{"command": words.line(shape.provider, event), "timeout": TIMEOUT_SECONDS}] for event in shape.hooked
    }


def copilot_entries(shape: HookShape, words: HookWords) -> dict[str, list[Entry]]:
    """Return the hooks of the Copilot CLI."""
    return {
        event: [{"type": "command", "bash": words.line(shape.provider, event), "timeoutSec": TIMEOUT_SECONDS}]
        for event in shape.hooked
    }


def codex_overrides(shape: HookShape, words: HookWords) -> tuple[str, ...]:
    """Return the `-c` settings that give codex hooks for one run, and its trust in these and no others."""
    groups = codex_groups(shape, words)
    settings = [f"hooks.{event}={_toml(entries)}" for event, entries in groups.items()]
    state = {
        f"{CODEX_SOURCE}:{codex_label(event)}:0:0": {"trusted_hash": codex_hash(event, entries[0])}
        for event, entries in groups.items()
    }
    return (*settings, f"hooks.state={_toml(state)}")


def codex_label(event: str) -> str:
    """Return what codex calls an event in a hook's key: PreToolUse is pre_tool_use."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("_")


def codex_hash(event: str, group: Entry) -> str:
    """Return what codex calls a hook by when it asks whether the person trusts it: a digest of what it is."""
    told = {"event_name": codex_label(event), **group}
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(text.encode())}"


def plugin_text(agent: str, words: HookWords) -> bytes:
    """Return opencode's plugin or pi's extension."""
    return _SCRIPTS[agent].replace("COMMAND_WORDS", json.dumps([*words.command, HOOK_WORD, agent])).encode()


def merged_hooks(own: object, added: Mapping[str, list[Entry]]) -> dict[str, object]:
    """Return the hooks of a settings file with docket's behind them; what is no object of lists is left out of it."""
    hooks: dict[str, object] = dict(own) if isinstance(own, Mapping) else {}
    for event, entries in added.items():
        before = hooks.get(event)
        hooks[event] = [*(before if isinstance(before, list) else ()), *entries]
    return hooks


_SCRIPTS: Mapping[str, str] = {"opencode": OPENCODE_PLUGIN, "pi": PI_EXTENSION}
GROUPS: Mapping[str, Callable[[HookShape, HookWords], dict[str, list[Entry]]]] = {
    "claude": claude_groups,
    "codex": codex_groups,
    "gemini": millisecond_groups,
    "qwen": millisecond_groups,
    "copilot": copilot_entries,
    "cursor": flat_entries,
}


def _matching(shape: HookShape, event: str, entry: Entry) -> Entry:
    about_a_tool = event in shape.before or event in shape.after
    return {"matcher": "*", "hooks": [entry]} if about_a_tool else {"hooks": [entry]}


def _codex_entry(shape: HookShape, words: HookWords, event: str) -> Entry:
    line = words.line(shape.provider, event)
    return {"type": "command", "command": line, "timeout": TIMEOUT_SECONDS, "async": False}


def _toml(value: object) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(name)}={_toml(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_toml(member) for member in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
