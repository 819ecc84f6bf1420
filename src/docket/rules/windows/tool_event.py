"""What an agent's hook says, in docket's own words: one shape for every agent (spec/windows.md, Hooks).

An agent's payloads are read in `rules.agents.<agent>_hooks`; what none of them knows is told as `UnknownPayload`, never
dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.windows.key import IN_TREE, MAX_TEXT, WindowKey, key_text
from docket.formats.windows.records import MAX_SUMMARY


class Phase(StrEnum):
    """Whether a tool is about to run or has ended."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEvent:
    """A tool is about to run or has ended; `outcome` is how it ended where it did not succeed."""

    phase: Phase
    provider: str
    session_id: str
    turn_id: str
    tool_use_id: str
    tool_name: str
    folder: str | None = None
    command_summary: str | None = None
    outcome: str | None = None

    def key(self, repository: str, mode: str = IN_TREE) -> WindowKey:
        """Return the key of the tool's window in a tree."""
        return WindowKey(
            repository=repository,
            provider=self.provider,
            session_id=self.session_id,
            turn_id=self.turn_id,
            tool_use_id=self.tool_use_id,
            mode=mode,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherEvent:
    """A hook that is about no tool."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownPayload:
    """A payload that has not the shape that is known of its agent."""

    detail: str


HookEvent: TypeAlias = ToolEvent | OtherEvent | UnknownPayload


def text_at(payload: JsonObject, name: str) -> str:
    """Return a text member of a payload so that it can be recorded, empty where there is none."""
    value = payload.get(name)
    return key_text(value)[:MAX_TEXT] if isinstance(value, str) else ""


def summary_of(tool_input: JsonValue, *names: str) -> str | None:
    """Return the first line of the first of these members of a tool's input that is a text, cut by characters."""
    if not isinstance(tool_input, dict):
        return None
    for name in names:
        value = tool_input.get(name)
        if isinstance(value, str) and value.strip():
            return key_text(value.strip().split("\n", 1)[0])[:MAX_SUMMARY]
    return None
