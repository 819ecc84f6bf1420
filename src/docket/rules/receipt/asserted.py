"""The fold over what the agent says of itself: tools, calls past the boundary, remarks (spec/receipt.md, Members).

Rules:
1. Nothing here adds to a total, a cap or a usage row; each figure stands in a member that says whose word it is.
2. A remark of the agent's is never counted under docket's own codes.
"""

from __future__ import annotations

from collections import Counter

from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.asserted_events import AssertedCall, ToolCall, ToolResult
from docket.formats.ledger.session_events import Note
from docket.rules.receipt.calls import counted


@dataclass(slots=True)
class AssertedFold:
    """Counts of what was asserted; `tools` holds how often each tool was used, whoever said so.

    `by_agent`: the agent said any of it.
    """

    tools: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    calls: int = 0
    by_agent: bool = False
    tokens: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)

    def tool_call(self, payload: ToolCall) -> None:
        """Take a tool use."""
        self.tools[payload.name] += 1
        self.by_agent |= payload.reported_by is not None

    def tool_result(self, payload: ToolResult) -> None:
        """Take a tool's outcome."""
        self.failures += not payload.ok
        self.by_agent |= payload.reported_by is not None

    def call(self, payload: AssertedCall) -> None:
        """Take a call that the agent says it made."""
        self.calls += 1
        self.by_agent = True
        for name in _TOKENS:
            self.tokens[name] += getattr(payload, name)

    def note(self, payload: Note) -> None:
        """Take a remark of the agent's."""
        self.notes[payload.code] += 1
        self.by_agent = True

    def tools_member(self) -> dict[str, JsonValue]:
        """Return the receipt member `tools`."""
        return {"calls": self.tools.total(), "names": sorted(self.tools), "failures": self.failures}

    def member(self) -> dict[str, JsonValue] | None:
        """Return the receipt member `asserted`, None where the agent asserted neither a call nor a remark."""
        if not self.calls and not self.notes:
            return None
        return {"calls": self.calls, **{name: self.tokens[name] for name in _TOKENS}, "notes": counted(self.notes)}


_TOKENS = ("input_tokens", "cached_input_tokens", "output_tokens")
