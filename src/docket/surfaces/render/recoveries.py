"""What a recovery of an interrupted commit found and did, in lines."""

from __future__ import annotations

import os
from collections.abc import Iterator

from docket.engines.apply import Leftover, LeftoverState
from docket.engines.apply_recovery import Direction
from docket.engines.apply_sides import Seen, Side
from docket.engines.transaction.recovering import Recovered
from docket.formats.visible import visible
from docket.formats.workspace.state import Status
from docket.surfaces.render.figures import plural

_ENDS = {Direction.FORWARD: "the whole commit stands in the tree", Direction.BACK: "the tree is as it was before"}
_WOULD = {Direction.FORWARD: "it would go forward", Direction.BACK: "it would go back"}


def recovery_lines(done: Recovered, *, dry_run: bool) -> Iterator[str]:
    """Yield how a recovery ended, or what stands in its way."""
    name, ended = done.state.id, done.ended
    if done.state.successor is not None:
        yield f"{name}: what was chosen stands in the tree; the rest goes on as {done.state.successor}"
    if ended is None and done.state.status is Status.COMMITTED:
        yield from () if done.record is None else (f"{name}: it had landed, and its record stands now",)
        return
    if ended is None:
        yield f"{name}: " + ("; ".join(done.left) or "nothing of the commit had begun; the tree is as it was")
        return
    for seen in ended.seen if dry_run or ended.blocked else ():
        yield f"{seen.side:<8} {seen.path}{_note(seen)}"
    if ended.blocked:
        yield f"{name}: nothing was changed: {plural(len(ended.blocked), 'path')} stand in the way"
        for item in ended.blocked:
            yield f"  {item.path}: {item.detail}"
    elif ended.direction is not None and dry_run:
        yield f"{name}: {_WOULD[ended.direction]}"
    elif ended.direction is not None:
        for item in ended.failed:
            yield f"  {item.path}: {item.detail}"
        yield f"{name}: " + (_ENDS[ended.direction] if done.is_over else "it is not over: try again")
    if ended.left is not None:
        yield f"something is left in {ended.left}"
    for path, at in done.kept:
        yield f"kept  {path} as {at}"


def leftover_line(item: Leftover) -> str:
    """Return what became of something that an apply without a journal of this state folder left."""
    name = visible(item.name)
    if item.state is LeftoverState.INTERRUPTED:
        return f"{name} belongs to a commit whose journal this state folder has not: {item.detail}"
    return f"{name}: {item.state}" + (f" ({item.detail})" if item.detail else "")


def members(done: Recovered) -> dict[str, object]:
    """Return it for programs."""
    ended = done.ended
    return {
        "transaction": done.state.id,
        "status": str(done.state.status),
        "over": done.is_over,
        "direction": None if ended is None or ended.direction is None else str(ended.direction),
        "paths": [
            {**seen.path.members(), "side": str(seen.side), "detail": seen.detail or None}
            for seen in (ended.seen if ended is not None else ())
        ],
        "blocked": [
            {**item.path.members(), "reason": str(item.reason), "detail": item.detail}
            for item in ((*ended.blocked, *ended.failed) if ended is not None else ())
        ],
        "kept": [{**path.members(), "kept_as": str(at)} for path, at in done.kept],
        "record": None if done.record is None else str(done.record),
        **({"left": [visible(os.fsencode(item)) for item in done.left]} if done.left else {}),
    }


def _note(seen: Seen) -> str:
    return f"  ({seen.detail})" if seen.side is Side.FOREIGN and seen.detail else ""
