"""What an agent's hook says, in docket's own words: one shape for every agent (spec/windows.md, Hooks).

Rules:
1. What an agent's payload is in these words, `rules.agents.hook_shapes` says; what none of them knows is told as
   `UnknownPayload`, never dropped.
2. `joins` says what the id of a tool use is worth: the wire's own (`WIRE`), one that the agent made for its hooks
   (`OWN`), or none at all (`DERIVED`): then the id is made of what was asked for and of when, and is marked so.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TypeAlias

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest, sha256
from docket.formats.windows.key import IN_TREE, MAX_TEXT, WindowKey, key_text

DERIVED_MARK = "derived"
_DERIVED_DIGITS = 16
_MAX_SUMMARY = 200


class Phase(StrEnum):
    """Whether a tool is about to run or has ended."""

    BEFORE = "before"
    AFTER = "after"


class Joins(StrEnum):
    """What the id of a tool use is worth."""

    WIRE = "wire"
    OWN = "own"
    DERIVED = "derived"


class Moments(StrEnum):
    """What an event that is about no tool says of its session."""

    SESSION_BEGIN = "session-begin"
    SESSION_END = "session-end"
    TURN_BEGIN = "turn-begin"
    TURN_END = "turn-end"
    BATCH_END = "batch-end"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEvent:
    """A tool is about to run or has ended; `outcome` is how it ended where it did not succeed.

    `tool_use_id` is empty where the agent gives none. `input_sha256` is the digest of what the tool was asked for,
    `agent_id` the sub-agent whose tool it is, `stamp` when the agent says that the event was, in its own spelling.
    """

    phase: Phase
    provider: str
    session_id: str
    turn_id: str
    tool_use_id: str
    tool_name: str
    folder: str | None = None
    command_summary: str | None = None
    outcome: str | None = None
    input_sha256: Digest | None = None
    agent_id: str | None = None
    stamp: str | None = None
    joins: Joins = Joins.WIRE

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

    @property
    def likeness(self) -> str:
        """How the derived ids of all tool uses begin that are of this tool and were asked for the same."""
        asked = f"{self.tool_name}\0{self.input_sha256 or ''}".encode()
        return f"{DERIVED_MARK}:{sha256(asked)[:_DERIVED_DIGITS]}:"


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherEvent:
    """A hook that is about no tool; `agent_id` where about a sub-agent, `tool_use_ids` where about several tools."""

    name: str
    provider: str
    moment: Moments = Moments.OTHER
    session_id: str = ""
    turn_id: str = ""
    agent_id: str | None = None
    folder: str | None = None
    tool_use_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownPayload:
    """A payload that has not the shape that is known of its agent."""

    detail: str
    folder: str | None = None


HookEvent: TypeAlias = ToolEvent | OtherEvent | UnknownPayload


def text_at(payload: JsonObject, *names: str) -> str:
    """Return the first of these members of a payload that is a text, as it can be recorded; empty where none is.

    A whole number counts as its digits, for some agents count their turns and instants.
    """
    for name in names:
        value = payload.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = repr(value)
        if isinstance(value, str) and value:
            return key_text(value)[:MAX_TEXT]
    return ""


def summary_of(tool_input: JsonValue, *names: str) -> str | None:
    """Return the first line of the first of these members of a tool's input that is a text, cut by characters."""
    if not isinstance(tool_input, dict):
        return None
    for name in names:
        value = tool_input.get(name)
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            value = " ".join(str(word) for word in value)
        if isinstance(value, str) and value.strip():
            return key_text(value.strip().split("\n", 1)[0])[:_MAX_SUMMARY]
    return None


def input_digest(tool_input: JsonValue) -> Digest:
    """Return the SHA-256 of what a tool was asked for, the same whatever order its members came in."""
    text = json.dumps(tool_input, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode("ascii"))
