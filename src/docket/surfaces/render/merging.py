"""What stands in the way of a commit because somebody else changed it too: where both versions are, and the conflicts.

Rules:
1. Where both are is told by whole paths; which commands show them, as commands that work.
2. A conflict is shown by its text, both sides and what was staged between markers, as `git merge-file` writes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from docket.engines.transaction.committing import CommitRefused, RefusedPath
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.visible import visible
from docket.formats.workspace.commit_record import MergedPath

MAX_SHOWN = 25
_OF_BOTH_SIDES = frozenset(
    (Reason.BASE_DRIFT, Reason.MERGE_CONFLICT, Reason.NOT_MERGEABLE, Reason.CONTENT_MISSING, Reason.PROGRAM_MISSING)
)


def refusal_lines(paths: Iterable[RefusedPath]) -> Iterator[str]:
    """Yield a line for each path in the way, with the transaction that landed there where one did."""
    for item in paths:
        by = "" if item.transaction is None else f" (transaction {item.transaction} landed there)"
        yield f"{item.reason}  {item.path}: {item.detail}{by}"


def where_lines(refused: CommitRefused, stage: str) -> Iterator[str]:
    """Yield where both versions of the paths are, and how to look at them; `stage` is the stage's place."""
    if refused.reason not in _OF_BOTH_SIDES or not refused.paths:
        return
    state = refused.state
    for item in refused.paths[:MAX_SHOWN]:
        yield f"in the tree   {visible(state.base.path + b'/' + item.path.raw)}"
        yield f"in the stage  {visible(os.fsencode(stage) + b'/' + item.path.raw)}"
    if len(refused.paths) > MAX_SHOWN:
        yield f"and so on for {len(refused.paths) - MAX_SHOWN} more"
    yield f"docket tx diff -p {state.id} shows what the transaction changes"
    for name in dict.fromkeys(item.transaction for item in refused.paths if item.transaction is not None):
        yield f"docket tx show {name} shows what transaction {name} changed"
    if refused.reason is Reason.BASE_DRIFT:
        yield f"docket tx commit --merge {state.id} merges texts that both changed"
    elif refused.reason is Reason.MERGE_CONFLICT:
        yield f"docket tx show {state.id} shows the conflicts"


def merged_lines(merged: Iterable[MergedPath]) -> Iterator[str]:
    """Yield the paths of which both sides' changes landed."""
    for item in merged:
        yield f"merged  {item.path}"


def conflict_lines(path: RelPath, text: bytes) -> Iterator[str]:
    """Yield the text of a conflict; bytes that are no UTF-8 as they came, for the console to make visible."""
    yield f"conflict  {path}"
    lines = text.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for line in lines:
        yield line.decode("utf-8", "surrogateescape")
