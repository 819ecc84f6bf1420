"""Where each agent's permanent hooks stand, and what its file is to hold.

Rules:
1. A file of settings is shared with the person and with others: only docket's entries in it are docket's. A file that
   docket makes for itself alone, a plugin say, is written and removed as a whole, and only if it is docket's.
2. The person's files lie below their home or below the folder that the agent's own variable names; a project's below
   the project.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.errors import InvalidDocumentError, UsageError
from docket.formats.dataclass import dataclass, field
from docket.formats.nearest import nearest
from docket.formats.reason import Reason
from docket.rules.agents.hook_settings import GROUPS, HookWords, plugin_text
from docket.rules.agents.hook_shape import HookShape
from docket.rules.agents.hook_shapes import SHAPES
from docket.rules.agents.hook_text import found_hooks, fresh_text, is_fresh, with_hooks, without_hooks

_MARK = "// Written by docket:"
_TRUST = "codex runs them once you have trusted them: it asks at its next start, or use /hooks in it"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFile:
    """Where an agent's hooks stand: `user` below the home or below `variable`'s folder, `project` below a project.

    `base` is what a file of its own begins with, `is_own` whether the whole file is docket's, `remark` what the person
    has to know or do.
    """

    agent: str
    user: str
    project: str
    variable: str = ""
    below_variable: str = ""
    base: Mapping[str, object] = field(default_factory=dict)
    is_own: bool = False
    remark: str = ""


FILES: Mapping[str, HookFile] = {
    file.agent: file
    for file in (
        HookFile(
            agent="claude",
            user=".claude/settings.json",
            project=".claude/settings.local.json",
            variable="CLAUDE_CONFIG_DIR",
            below_variable="settings.json",
        ),
        HookFile(
            agent="codex",
            user=".codex/hooks.json",
            project=".codex/hooks.json",
            variable="CODEX_HOME",
            below_variable="hooks.json",
            remark=_TRUST,
        ),
        HookFile(
            agent="gemini",
            user=".gemini/settings.json",
            project=".gemini/settings.json",
            variable="GEMINI_CLI_HOME",
            below_variable=".gemini/settings.json",
        ),
        HookFile(
            agent="qwen",
            user=".qwen/settings.json",
            project=".qwen/settings.json",
            variable="QWEN_HOME",
            below_variable="settings.json",
        ),
        HookFile(
            agent="copilot",
            user=".copilot/hooks/docket.json",
            project=".github/hooks/docket.json",
            variable="COPILOT_HOME",
            below_variable="hooks/docket.json",
            base={"version": 1},
        ),
        HookFile(
            agent="opencode",
            user=".config/opencode/plugins/docket.js",
            project=".opencode/plugins/docket.js",
            variable="OPENCODE_CONFIG_DIR",
            below_variable="plugins/docket.js",
            is_own=True,
        ),
        HookFile(
            agent="pi",
            user=".pi/agent/extensions/docket.js",
            project=".pi/extensions/docket.js",
            variable="PI_CODING_AGENT_DIR",
            below_variable="extensions/docket.js",
            is_own=True,
        ),
        HookFile(agent="cursor", user=".cursor/hooks.json", project=".cursor/hooks.json", base={"version": 1}),
    )
}
_SHAPES: Mapping[str, HookShape] = {shape.provider: shape for shape in SHAPES}


def hook_file(agent: str) -> HookFile:
    """Return where an agent's hooks stand; UsageError for one that has no place for them."""
    found = FILES.get(agent)
    if found is not None:
        return found
    if agent == "kiro":
        raise UsageError(
            Reason.USAGE,
            "Kiro's hooks stand in the file of an agent of yours, which docket does not choose",
            hint="put hooks that run docket hook kiro EVENT into ~/.kiro/agents/NAME.json",
        )
    near = nearest(agent, tuple(FILES))
    meant = f"; did you mean {near[0]}?" if near else ""
    raise UsageError(
        Reason.USAGE, f"docket knows no hooks of an agent called {agent!r}{meant}", hint=f"known: {', '.join(FILES)}"
    )


def installed_text(file: HookFile, text: str | None, words: HookWords) -> str:
    """Return what the file holds with docket's hooks; `text` is what it holds now, None where there is none.

    InvalidDocumentError where it can hold none, or is somebody else's.
    """
    if file.is_own:
        if text is not None and not text.startswith(_MARK):
            raise InvalidDocumentError(Reason.NOT_OURS, "it was not written by docket")
        return plugin_text(file.agent, words).decode()
    wanted = GROUPS[file.agent](_SHAPES[file.agent], words)
    return fresh_text(file.base, wanted) if text is None else with_hooks(text, file.agent, wanted)


def uninstalled_text(file: HookFile, text: str) -> str | None:
    """Return what the file holds without docket's hooks, None where nothing but docket's stood in it."""
    if file.is_own:
        return None if text.startswith(_MARK) else text
    return None if is_fresh(text, file.agent, file.base) else without_hooks(text, file.agent)


def installed_events(file: HookFile, text: str) -> tuple[str, ...]:
    """Return the events that docket hears of by a file; InvalidDocumentError where it cannot be read."""
    if file.is_own:
        return _SHAPES[file.agent].hooked if text.startswith(_MARK) else ()
    return tuple(found_hooks(text, file.agent))


def wanted_events(file: HookFile) -> tuple[str, ...]:
    """Return the events that docket would hear of."""
    return _SHAPES[file.agent].hooked
