"""Where a line of a file comes from: the classes of evidence, and what each claim is made of (spec/windows.md, Blame).

Rules:
1. A line is of one recorded tool call, of several that ran at once (all are named, none is picked), of a change that is
   proven to lie outside every recorded call, or unknown with the reason. There is no fifth.
2. *Outside* says who it was not. It is not said to have been a person.
"""

from __future__ import annotations

from enum import StrEnum

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.relpath import RelPath
from docket.formats.windows.key import WindowKey


class Origin(StrEnum):
    """The class of evidence for a line."""

    TOOL = "tool"
    GROUP = "group"
    OUTSIDE = "outside"
    UNKNOWN = "unknown"


class Unknown(StrEnum):
    """Why nothing is claimed of a line."""

    NOTHING_RECORDED = "nothing_recorded"
    BEFORE_RECORD = "before_record"
    TOOL_UNSEEN = "tool_unseen"
    NOT_COMPARED = "not_compared"
    CONTENT_GONE = "content_gone"
    TREE_GONE = "tree_gone"
    UNREAD = "unread"
    UNWATCHED = "unwatched"
    STAGED = "staged"
    CONTRADICTION = "contradiction"


WHY: dict[Unknown, str] = {
    Unknown.NOTHING_RECORDED: "no tool call of this tree is recorded",
    Unknown.BEFORE_RECORD: "it stood there before the first tool call that is recorded of it",
    Unknown.TOOL_UNSEEN: "a tool ran meanwhile of which nothing whole is recorded",
    Unknown.NOT_COMPARED: "a tool call changed the file, and which of its lines is not recorded",
    Unknown.CONTENT_GONE: "what the file held before is not kept any more",
    Unknown.TREE_GONE: "what stood in the tree meanwhile is not kept any more",
    Unknown.UNREAD: "the file was not read when the tree was looked at",
    Unknown.UNWATCHED: "the file is, or was, ignored: looks at the tree leave it out",
    Unknown.STAGED: "the stage of a run lies in between, and no recorded content joins the two sides of it",
    Unknown.CONTRADICTION: "what is recorded of the file contradicts itself",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A tool call that is, or may be, where a line comes from; `recorded` unless its own window tells nothing whole."""

    key: WindowKey
    tool_name: str
    recorded: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOrigin:
    """What is known of one line.

    `path` and `line` (from 1) are where it stood when it came in, or as far back as it could be followed.
    `since` and `until` are when: the span of the tool calls, or the instants between which nothing was recorded.
    `delta_sha256` is the evidence of a tool or group. `came_back`: the file was changed outside of tool calls and held
    again, as a whole, what it had held before.
    """

    origin: Origin
    path: RelPath
    line: int
    callers: tuple[Caller, ...] = ()
    delta_sha256: Digest | None = None
    since: str | None = None
    until: str | None = None
    reason: Unknown | None = None
    came_back: bool = False
