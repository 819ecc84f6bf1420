"""The fold over tool windows: the receipt member `windows` (spec/receipt.md, Tool windows).

Rules:
1. The member stands where the ledger tells of a window or of a lost hook, and nowhere else.
2. Windows stand in the order in which the ledger first names them, each with what stood before its tool, how the tool
   ended, and its delta. One that has no delta was never closed: the record ends before.
3. A delta is proven: `seq` is the leaf's index, `ledger.events` the tree's size, `merkle_path` the audit path between
   `event_hash` and `ledger.merkle_root`.
4. What changed is counted once for windows that share a delta.
5. `asked_by` is the call whose reply asked for the tool, joined by the id on the wire, with the share of its cost that
   is this tool's (`rules.windows.cost`): derived, and in no total.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.digest import Digest
from docket.formats.ledger.asserted_events import ToolCall, ToolResult
from docket.formats.ledger.payload_codec import to_members
from docket.formats.ledger.window_events import HookLost, ToolDelta, WindowBegun
from docket.formats.merkle import MerkleTree
from docket.formats.windows.names import Scope, Status
from docket.rules.receipt.calls import counted
from docket.rules.windows.cost import AskedBy, AskedTools

WINDOWS_NOTE = (
    "Which tool was used, and when, is the agent's word. What stood before and after is docket's own observation, and "
    "each delta's digest is proven to ledger.merkle_root. Windows that overlapped share one delta."
)
_KEY = ("repository", "provider", "session_id", "turn_id", "mode")


@dataclass(slots=True)
class _Window:
    """One window as far as the ledger has told of it."""

    name: str
    id: str | None
    begun: WindowBegun | None = None
    begun_seq: int | None = None
    result: ToolResult | None = None
    result_seq: int | None = None
    delta: ToolDelta | None = None
    delta_seq: int = 0
    delta_hash: str = ""

    def to_json(self, window_id: str, asked: AskedTools) -> dict[str, JsonValue]:
        begun = None if self.begun is None else to_members(self.begun)
        key = {} if begun is None else {name: begun[name] for name in _KEY}
        by = None if self.id is None else asked.by_id.get(self.id)
        return {
            "window_id": window_id,
            "id": self.id,
            "name": self.name,
            **key,
            "asked_by": None if by is None else _call(by),
            "before": None if begun is None else {"seq": self.begun_seq, **_without(begun, "window_id", *_KEY)},
            "after": None if self.result is None else {"seq": self.result_seq, "ok": self.result.ok},
            "delta": None if self.delta is None else self._delta(self.delta),
        }

    def _delta(self, delta: ToolDelta) -> dict[str, JsonValue]:
        return {
            "seq": self.delta_seq,
            **_without(to_members(delta), "window_id", "id", "name"),
            "event_hash": self.delta_hash,
        }


@dataclass(slots=True)
class WindowsFold:
    """The windows seen so far, by their ids, and the hooks of which none came."""

    windows: dict[str, _Window] = field(default_factory=dict)
    lost: Counter[str] = field(default_factory=Counter)
    asked: AskedTools = field(default_factory=AskedTools)

    def call(self, payload: ToolCall, seq: int) -> None:
        """Take a tool use."""
        if payload.window is not None:
            window = self._named(payload.window.window_id, payload.name, payload.id)
            window.begun, window.begun_seq = payload.window, seq

    def result(self, payload: ToolResult, seq: int) -> None:
        """Take a tool's end."""
        if payload.window_id is not None:
            window = self._named(payload.window_id, payload.name, payload.id)
            window.result, window.result_seq = payload, seq

    def delta(self, payload: ToolDelta, seq: int, event_hash: Digest) -> None:
        """Take a window that is over."""
        window = self._named(payload.window_id, payload.name, payload.id)
        window.delta, window.delta_seq, window.delta_hash = payload, seq, event_hash

    def hook_lost(self, payload: HookLost) -> None:
        """Take hooks of which no window came."""
        self.lost[payload.kind] += payload.count

    def member(self) -> dict[str, JsonValue] | None:
        """Return the receipt member without its paths, None where there is nothing to tell."""
        if not self.windows and not self.lost:
            return None
        deltas = [window.delta for window in self.windows.values() if window.delta is not None]
        complete = [delta for delta in deltas if delta.status is Status.COMPLETE]
        return {
            "count": len(self.windows),
            "complete": len(complete),
            "partial": len(deltas) - len(complete),
            "open": len(self.windows) - len(deltas),
            "groups": len({delta.group_id for delta in deltas if delta.scope is Scope.CONCURRENT_GROUP}),
            "files": sum({delta.delta_sha256: delta.files for delta in complete}.values()),
            "partial_by_reason": counted(Counter(str(delta.reason) for delta in deltas if delta.reason is not None)),
            "hooks_lost": counted(self.lost),
            "tools": [window.to_json(window_id, self.asked) for window_id, window in self.windows.items()],
            "note": WINDOWS_NOTE,
        }

    def _named(self, window_id: str, name: str, tool_use_id: str | None) -> _Window:
        return self.windows.setdefault(window_id, _Window(name, tool_use_id))


def _call(by: AskedBy) -> dict[str, JsonValue]:
    return {"call": by.call, "seq": by.seq, "tools": by.tools, "share_usd": str(by.share_usd), "derived": True}


def with_proofs(member: JsonObject, tree: MerkleTree) -> dict[str, JsonValue]:
    """Return the member `windows` with the path of each delta's event."""
    items = member["tools"]
    return dict(member) | {"tools": [_proven(item, tree) for item in items if isinstance(item, Mapping)]}  # type: ignore[union-attr] # the fold's own list


def _proven(window: JsonObject, tree: MerkleTree) -> JsonValue:
    delta = window["delta"]
    if not isinstance(delta, Mapping):
        return dict(window)
    seq = delta["seq"]
    steps = tree.path(seq) if isinstance(seq, int) else ()
    path: list[JsonValue] = [{"side": str(step.side), "hash": step.hash} for step in steps]
    return dict(window) | {"delta": {**delta, "merkle_path": path}}


def _without(members: Mapping[str, JsonValue], *names: str) -> dict[str, JsonValue]:
    return {name: value for name, value in members.items() if name not in names}
