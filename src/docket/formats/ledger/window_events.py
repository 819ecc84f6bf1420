"""The payloads of tool windows in a run: what stood before a tool, what it changed, hooks that told nothing.

Rules (spec/ledger.md, Vocabulary):
1. Who used which tool, and when, is the agent's own word and stands in `tool.call` and `tool.result`. What is here is
   docket's: no agent can assert it.
2. A window is named by its id, which is made of its key (spec/windows.md, Identity).
"""

from __future__ import annotations

from typing import ClassVar

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.payload_codec import Payload
from docket.formats.windows.names import Hashes, Scope, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowBegun:
    """The window of a tool use as it was opened: `tree` stood before the tool, or `reason` says why none is known.

    `repository` to `mode` are the window's key beside the tool use's id; `hashes` says what kind of name `tree` is,
    `head` the commit that was checked out.
    """

    window_id: str
    repository: str
    provider: str
    session_id: str
    turn_id: str
    mode: str
    group_id: str | None = None
    tree: str | None = None
    hashes: Hashes | None = None
    head: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDelta(Payload):
    """A window is over: `delta_sha256` names the delta that says what changed in it, or that nothing can be told.

    `id` is the tool use's. Windows that overlapped have one delta and one `group_id`, and `members` counts them, those
    of other runs too. `files` counts the paths of the delta; the trees are named where both stood.
    """

    TYPE: ClassVar[str] = "x-docket.tool-delta"
    window_id: str
    id: str
    name: str
    delta_sha256: Digest
    scope: Scope
    status: Status
    members: int
    files: int
    group_id: str | None = None
    reason: str | None = None
    tree_before: str | None = None
    tree_after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookLost(Payload):
    """Hooks of which no window came, `count` of them since the last such event; `kind` says why."""

    TYPE: ClassVar[str] = "x-docket.hook-lost"
    kind: str
    count: int
