"""The hooks of the agents that have some: what their events and their payloads' members are called.

What is known of each (measured on the versions named, else from the agent's documentation):
- Claude Code: `tool_use_id` is the wire's; PostToolUseFailure comes instead of PostToolUse; a tool denied by another
  hook or by the person has no event of its own after the first, but is among the tools of PostToolBatch.
- Codex: in code mode a tool use's id is `exec-…` and stands nowhere on the wire; a tool that failed ends as any other.
- Gemini CLI, Copilot CLI, Kiro CLI: no id of the tool use; Gemini and Kiro name no turn either.
- Qwen Code: the shape of Claude Code's hooks; it makes the ids itself.
- opencode and pi have hooks in their own process: what stands here is what docket's plugin and extension send.
- Cursor and Kiro: from documentation alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.formats.canonical import JsonObject
from docket.formats.windows.names import DENIED, FAILED, INTERRUPTED
from docket.rules.agents.hook_shape import SUCCEEDED, HookShape, Names
from docket.rules.windows.tool_event import Joins, Moments

_CLAUDE_MOMENTS: Mapping[str, Moments] = {
    "SessionStart": Moments.SESSION_BEGIN,
    "SessionEnd": Moments.SESSION_END,
    "UserPromptSubmit": Moments.TURN_BEGIN,
    "Stop": Moments.TURN_END,
    "StopFailure": Moments.TURN_END,
    "SubagentStart": Moments.OTHER,
    "SubagentStop": Moments.TURN_END,
    "Notification": Moments.OTHER,
    "PermissionRequest": Moments.OTHER,
    "PostToolBatch": Moments.BATCH_END,
    "PreCompact": Moments.OTHER,
    "PostCompact": Moments.OTHER,
}


def _claude_outcome(_event: str, payload: JsonObject, outcome: str) -> str:
    return INTERRUPTED if outcome == FAILED and payload.get("is_interrupt") is True else outcome


def _codex_worth(tool_use_id: str) -> Joins:
    return Joins.OWN if tool_use_id.startswith("exec-") else Joins.WIRE


def _own(_tool_use_id: str) -> Joins:
    return Joins.OWN


def _gemini_outcome(_event: str, payload: JsonObject, outcome: str) -> str:
    response = payload.get("tool_response")
    return FAILED if isinstance(response, dict) and response.get("error") else outcome


def _copilot_outcome(_event: str, payload: JsonObject, outcome: str) -> str:
    result = payload.get("toolResult")
    kind = result.get("resultType") if isinstance(result, dict) else None
    return {"failure": FAILED, "denied": DENIED, "rejected": DENIED}.get(str(kind), outcome)


def _cursor_outcome(_event: str, payload: JsonObject, outcome: str) -> str:
    if outcome == FAILED and payload.get("failure_type") == "permission_denied":
        return DENIED
    return _claude_outcome(_event, payload, outcome)


def _before_the_bar(tool_use_id: str) -> str:
    """Return the id of a call of which pi has put the id of its item behind a bar."""
    return tool_use_id.partition("|")[0] or tool_use_id


def _said_outcome(_event: str, payload: JsonObject, outcome: str) -> str:
    return FAILED if payload.get("is_error") is True else outcome


CLAUDE = HookShape(
    provider="claude",
    tried=("2.1.197",),
    before=("PreToolUse",),
    after={"PostToolUse": SUCCEEDED, "PostToolUseFailure": FAILED, "PermissionDenied": DENIED},
    hooked=(
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PermissionDenied",
        "PostToolBatch",
        "UserPromptSubmit",
        "Stop",
        "SubagentStop",
        "SessionEnd",
    ),
    moments=_CLAUDE_MOMENTS,
    outcome=_claude_outcome,
    in_a_run="posted, by the settings file of the run",
)
CODEX = HookShape(
    provider="codex",
    tried=("0.171.0",),
    before=("PreToolUse",),
    after={"PostToolUse": SUCCEEDED},
    hooked=("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop"),
    moments={**_CLAUDE_MOMENTS, "Interrupt": Moments.TURN_END},
    worth=_codex_worth,
    in_a_run="commands given by -c, which alone are trusted",
)
GEMINI = HookShape(
    provider="gemini",
    tried=("0.61.0",),
    before=("BeforeTool",),
    after={"AfterTool": SUCCEEDED},
    hooked=("BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "SessionEnd"),
    moments={
        "SessionStart": Moments.SESSION_BEGIN,
        "SessionEnd": Moments.SESSION_END,
        "BeforeAgent": Moments.TURN_BEGIN,
        "AfterAgent": Moments.TURN_END,
        "BeforeModel": Moments.OTHER,
        "AfterModel": Moments.OTHER,
        "BeforeToolSelection": Moments.OTHER,
        "Notification": Moments.OTHER,
        "PreCompress": Moments.OTHER,
    },
    outcome=_gemini_outcome,
    has_tool_use_id=False,
    in_a_run="commands in the settings of the run's home",
)
QWEN = HookShape(
    provider="qwen",
    tried=("0.15.10",),
    before=("PreToolUse",),
    after={"PostToolUse": SUCCEEDED, "PostToolUseFailure": FAILED},
    hooked=("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SessionEnd"),
    moments=_CLAUDE_MOMENTS,
    outcome=_claude_outcome,
    worth=_own,
    in_a_run="commands in the settings file of the run",
)
COPILOT = HookShape(
    provider="copilot",
    tried=("1.0.102",),
    before=("preToolUse",),
    after={"postToolUse": SUCCEEDED, "postToolUseFailure": FAILED},
    hooked=("preToolUse", "postToolUse", "postToolUseFailure", "userPromptSubmitted", "agentStop", "sessionEnd"),
    moments={
        "sessionStart": Moments.SESSION_BEGIN,
        "sessionEnd": Moments.SESSION_END,
        "userPromptSubmitted": Moments.TURN_BEGIN,
        "agentStop": Moments.TURN_END,
        "subagentStart": Moments.OTHER,
        "subagentStop": Moments.OTHER,
        "errorOccurred": Moments.OTHER,
        "preCompact": Moments.OTHER,
    },
    names=Names(
        session=("sessionId", "session_id"),
        turn=("turnId",),
        tool_use=("toolCallId", "toolUseId"),
        tool=("toolName", "tool_name"),
        asked=("toolArgs", "tool_input"),
        agent=("agentId",),
    ),
    outcome=_copilot_outcome,
    has_tool_use_id=False,
    in_a_run="commands of a plugin of the run, by --plugin-dir",
)
OPENCODE = HookShape(
    provider="opencode",
    tried=("1.18.33",),
    before=("tool.execute.before",),
    after={"tool.execute.after": SUCCEEDED, "tool.execute.failed": FAILED},
    hooked=("tool.execute.before", "tool.execute.after", "tool.execute.failed", "session.idle"),
    moments={"session.idle": Moments.TURN_END, "session.deleted": Moments.SESSION_END},
    in_a_run="a plugin of the run, in OPENCODE_CONFIG_CONTENT",
)
PI = HookShape(
    provider="pi",
    tried=("0.73.1",),
    before=("tool_call",),
    after={"tool_result": SUCCEEDED},
    hooked=("tool_call", "tool_result", "agent_end", "session_shutdown"),
    moments={"agent_end": Moments.TURN_END, "session_shutdown": Moments.SESSION_END},
    outcome=_said_outcome,
    wire_id=_before_the_bar,
    in_a_run="an extension of the run, by -e",
)
CURSOR = HookShape(
    provider="cursor",
    tried=(),
    before=("preToolUse",),
    after={"postToolUse": SUCCEEDED, "postToolUseFailure": FAILED},
    hooked=("preToolUse", "postToolUse", "postToolUseFailure", "beforeSubmitPrompt", "stop", "sessionEnd"),
    moments={
        "sessionStart": Moments.SESSION_BEGIN,
        "sessionEnd": Moments.SESSION_END,
        "beforeSubmitPrompt": Moments.TURN_BEGIN,
        "stop": Moments.TURN_END,
        "subagentStart": Moments.OTHER,
        "subagentStop": Moments.OTHER,
        "beforeShellExecution": Moments.OTHER,
        "afterShellExecution": Moments.OTHER,
        "beforeMCPExecution": Moments.OTHER,
        "afterMCPExecution": Moments.OTHER,
        "beforeReadFile": Moments.OTHER,
        "afterFileEdit": Moments.OTHER,
        "preCompact": Moments.OTHER,
        "afterAgentResponse": Moments.OTHER,
        "afterAgentThought": Moments.OTHER,
    },
    names=Names(session=("conversation_id", "session_id"), turn=("generation_id",)),
    outcome=_cursor_outcome,
    worth=_own,
)
KIRO = HookShape(
    provider="kiro",
    tried=(),
    before=("preToolUse",),
    after={"postToolUse": SUCCEEDED},
    hooked=("preToolUse", "postToolUse", "userPromptSubmit", "stop"),
    moments={
        "agentSpawn": Moments.SESSION_BEGIN,
        "userPromptSubmit": Moments.TURN_BEGIN,
        "stop": Moments.TURN_END,
    },
    outcome=_gemini_outcome,
    has_tool_use_id=False,
)
SHAPES = (CLAUDE, CODEX, GEMINI, OPENCODE, QWEN, COPILOT, PI, CURSOR, KIRO)
