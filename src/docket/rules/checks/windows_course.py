"""The course of tool windows in docket's own ledger (spec/receipt.md, Checks: `tool-windows`).

Rules:
1. A window's id is made of its key, whose tool use is the event's own. It begins once, ends once and has one delta,
   and all three name one tool.
2. A window has the tree before its tool or the reason why none is known; it is of the stage in a run that works on one,
   and of the tree in any other.
3. A delta stands behind what names its window, and before the pass after. It is complete or has a reason; a complete
   one names the trees of both sides, the first of them one that stood there when a window of its group began. How a
   window began may be told after its end: whoever waited too long for the look went on without it.
4. Windows of a group have one delta, and are not more than it counts.
"""

from __future__ import annotations

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.asserted_events import ToolCall, ToolResult
from docket.formats.ledger.event import Event
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.tree_events import FsSnapshot, Phase
from docket.formats.ledger.window_events import HookLost, ToolDelta, WindowBegun
from docket.formats.ledger.workspace_events import WorkspaceOpened
from docket.formats.windows.key import IN_STAGE, IN_TREE, WindowKey
from docket.formats.windows.names import Scope, Status

_Named = tuple[str, str | None]


@dataclass(slots=True)
class _Seen:
    """What the ledger has told of one window."""

    named: _Named
    begun: WindowBegun | None = None
    has_ended: bool = False
    has_delta: bool = False


@dataclass(slots=True)
class WindowsCourse:
    """What a ledger has told of its windows so far."""

    mode: str = IN_TREE
    has_pass_after: bool = False
    windows: dict[str, _Seen] = field(default_factory=dict)
    groups: dict[str, list[ToolDelta]] = field(default_factory=dict)
    trees: dict[str, list[str]] = field(default_factory=dict)

    def take(self, _event: Event, payload: Payload | None) -> str | None:
        """Return what is wrong with the next event, or None."""
        match payload:
            case WorkspaceOpened():
                self.mode = IN_STAGE
            case FsSnapshot(phase=Phase.AFTER):
                self.has_pass_after = True
            case ToolCall(window=WindowBegun() as begun):
                return self._begun(payload, begun)
            case ToolResult(window_id=str(window_id)):
                return self._ended(payload, window_id)
            case ToolDelta():
                return self._delta(payload)
            case HookLost() if payload.count < 1:
                return "it counts no hook"
        return None

    def _begun(self, call: ToolCall, begun: WindowBegun) -> str | None:
        if not _is_of_key(call, begun):
            return "its window_id is not made of its key"
        if begun.mode != self.mode:
            return f"its window is of the {begun.mode}, the run works on the {self.mode}"
        if (begun.tree is None) is (begun.reason is None) or (begun.tree is None) is not (begun.hashes is None):
            return "its window has a tree with what names it, or a reason why there is none"
        seen = self.windows.setdefault(begun.window_id, _Seen((call.name, call.id)))
        if seen.begun is not None:
            return "its window has begun before"
        seen.begun = begun
        if begun.group_id is not None and begun.tree is not None:
            self.trees.setdefault(begun.group_id, []).append(begun.tree)
        return _other_tool(seen, (call.name, call.id))

    def _ended(self, result: ToolResult, window_id: str) -> str | None:
        seen = self.windows.setdefault(window_id, _Seen((result.name, result.id)))
        if seen.has_ended:
            return "its window has ended before"
        seen.has_ended = True
        return _other_tool(seen, (result.name, result.id))

    def _delta(self, delta: ToolDelta) -> str | None:
        seen = self.windows.get(delta.window_id)
        if seen is None:
            return "it is about a window that nothing names"
        if seen.has_delta:
            return "its window has a delta already"
        if self.has_pass_after:
            return "it stands behind the pass after"
        seen.has_delta = True
        return _other_tool(seen, (delta.name, delta.id)) or _told(delta) or self._of_group(delta, seen)

    def _of_group(self, delta: ToolDelta, seen: _Seen) -> str | None:
        begun = seen.begun
        if delta.group_id is None:
            return None if delta.status is Status.PARTIAL and delta.members == 1 else "it is of no group"
        if begun is not None and begun.group_id != delta.group_id:
            return "it is of another group than its window"
        others = self.groups.setdefault(delta.group_id, [])
        others.append(delta)
        if len(others) > delta.members or _shared(others[0]) != _shared(delta):
            return "it differs from those of its group, or is one too many"
        trees = self.trees.get(delta.group_id, [])
        if delta.tree_before is not None and delta.members == len(trees) and delta.tree_before not in trees:
            return "tree_before is none that stood before a tool of its group"
        return None


def _is_of_key(call: ToolCall, begun: WindowBegun) -> bool:
    try:
        key = WindowKey(
            repository=begun.repository,
            provider=begun.provider,
            session_id=begun.session_id,
            turn_id=begun.turn_id,
            tool_use_id=call.id or "",
            mode=begun.mode,
        )
    except InvalidDocumentError:
        return False
    return key.window_id == begun.window_id


def _other_tool(seen: _Seen, named: _Named) -> str | None:
    return None if seen.named == named else "it names another tool than its window"


def _told(delta: ToolDelta) -> str | None:
    complete = delta.status is Status.COMPLETE
    if complete is not (delta.reason is None):
        return "a reason stands where nothing is told, and only there"
    if (delta.tree_before is None) is not (delta.tree_after is None) or (complete and delta.tree_before is None):
        return "both trees are named, or none; a complete delta names them"
    if not complete and delta.files:
        return "it counts files of which nothing is told"
    if delta.members < 1 or (delta.scope is Scope.TOOL) is not (delta.members == 1):
        return "its scope is not that of so many windows"
    return None


def _shared(delta: ToolDelta) -> tuple[object, ...]:
    return (
        delta.delta_sha256, delta.scope, delta.status, delta.reason, delta.members, delta.files, delta.tree_before,
        delta.tree_after,
    )  # fmt: skip
