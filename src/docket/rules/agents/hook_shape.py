"""How the payloads of an agent's hooks are read: by a table of names, one for each agent.

Rules:
1. An event's name is the payload's own where it has one, else the one the hook was set up for.
2. Of a member that agents or their versions name differently, the first name that is there counts.
3. A tool's event needs a session, and a tool's id where the agent is known to give one. Whatever else is missing is
   left open; a member of another type than expected counts as missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass, field
from docket.rules.windows.tool_event import (
    HookEvent,
    Joins,
    Moments,
    OtherEvent,
    Phase,
    ToolEvent,
    UnknownPayload,
    input_digest,
    summary_of,
    text_at,
)

SUCCEEDED = ""
_CALLS = "tool_calls"
_SUMMARIES = ("command", "cmd", "script", "file_path", "filePath", "path", "absolute_path", "pattern", "url", "query")


def _as_the_event(_event: str, _payload: JsonObject, outcome: str) -> str:
    return outcome


def _worth(_tool_use_id: str) -> Joins:
    return Joins.WIRE


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the members of a payload are called, the likeliest first."""

    event: tuple[str, ...] = ("hook_event_name",)
    session: tuple[str, ...] = ("session_id",)
    turn: tuple[str, ...] = ("turn_id", "prompt_id")
    tool_use: tuple[str, ...] = ("tool_use_id",)
    tool: tuple[str, ...] = ("tool_name",)
    asked: tuple[str, ...] = ("tool_input",)
    folder: tuple[str, ...] = ("cwd",)
    agent: tuple[str, ...] = ("agent_id",)
    stamp: tuple[str, ...] = ("timestamp",)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookShape:
    """The hooks of one agent.

    `tried` are the versions it was tried on, none where it is read from documentation alone. `before` are the events
    of a tool about to run, `after` those of one that has ended with the outcome, `moments` those about no tool.
    `hooked` are those that docket sets up.
    `outcome` may correct an outcome by the payload; `worth` says what a tool use's id is worth, `wire_id` what it is
    on the wire. `in_a_run` is how the agent is given hooks for one run.
    """

    provider: str
    tried: tuple[str, ...]
    before: tuple[str, ...]
    after: Mapping[str, str]
    hooked: tuple[str, ...]
    moments: Mapping[str, Moments] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    outcome: Callable[[str, JsonObject, str], str] = _as_the_event
    worth: Callable[[str], Joins] = _worth
    wire_id: Callable[[str], str] = str
    has_tool_use_id: bool = True
    in_a_run: str = "not started by docket"

    def read(self, event: str, payload: JsonObject) -> HookEvent:
        """Return what a payload of that event says."""
        name = text_at(payload, *self.names.event) or event
        if name in self.before or name in self.after:
            return self._tool(name, payload)
        moment = self.moments.get(name)
        if moment is None:
            return UnknownPayload(detail=f"no event of {self.provider} is called {name}", folder=self._folder(payload))
        return OtherEvent(
            name=name,
            provider=self.provider,
            moment=moment,
            session_id=text_at(payload, *self.names.session),
            turn_id=text_at(payload, *self.names.turn),
            agent_id=text_at(payload, *self.names.agent) or None,
            folder=self._folder(payload),
            tool_use_ids=self._batch(payload),
        )

    def _batch(self, payload: JsonObject) -> tuple[str, ...]:
        calls = payload.get(_CALLS)
        listed = calls if isinstance(calls, list | tuple) else ()
        each = (text_at(call, *self.names.tool_use) for call in listed if isinstance(call, Mapping))
        return tuple(self.wire_id(one) for one in each if one)

    def _tool(self, name: str, payload: JsonObject) -> HookEvent:
        names = self.names
        tool_use_id = self.wire_id(text_at(payload, *names.tool_use))
        session_id = text_at(payload, *names.session)
        if not session_id or (self.has_tool_use_id and not tool_use_id):
            missing = names.session if not session_id else names.tool_use
            return UnknownPayload(detail=f"a {name} without {missing[0]}", folder=self._folder(payload))
        asked = _asked(next((payload[name] for name in names.asked if name in payload), None))
        outcome = self.after.get(name, SUCCEEDED)
        return ToolEvent(
            phase=Phase.BEFORE if name in self.before else Phase.AFTER,
            provider=self.provider,
            session_id=session_id,
            turn_id=text_at(payload, *names.turn),
            tool_use_id=tool_use_id,
            tool_name=text_at(payload, *names.tool) or "unknown",
            folder=self._folder(payload),
            command_summary=summary_of(asked, *_SUMMARIES) or summary_of(payload, *_SUMMARIES),
            outcome=self.outcome(name, payload, outcome) or None,
            input_sha256=input_digest(asked),
            agent_id=text_at(payload, *names.agent) or None,
            stamp=text_at(payload, *names.stamp) or None,
            joins=self.worth(tool_use_id) if tool_use_id else Joins.DERIVED,
        )

    def _folder(self, payload: JsonObject) -> str | None:
        return text_at(payload, *self.names.folder) or None


def _asked(value: JsonValue) -> JsonValue:
    """Return what a tool was asked for; some versions write the object as a text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            read: JsonValue = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return read
    return value
