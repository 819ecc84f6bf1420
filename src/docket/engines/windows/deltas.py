"""The delta of a group whose trees before and after stand, made of their contents.

It is what a hook needs last, and the heaviest part of it: `engines.windows.finish` loads it when there is something to
tell of.
"""

from __future__ import annotations

from docket.engines.windows.world import WindowsWorld
from docket.errors import PartialEvidenceError
from docket.formats.windows.delta import Delta, FileDelta, encode_delta
from docket.formats.windows.names import PartialReason
from docket.formats.windows.records import PendingPartial
from docket.formats.windows.registry import Baseline
from docket.host.git_program import Deadline
from docket.rules.windows.assemble import group_delta, lone_partial, partial_delta
from docket.rules.windows.compare import MAX_FILE_BYTES, Room, compare_file
from docket.rules.windows.grouping import Ended, attempts

MAX_ATTEMPTS = 5


def lone_document(pending: PendingPartial) -> bytes:
    """Return the delta of a window without a group, of which nothing is known."""
    return encode_delta(lone_partial(pending))


def group_document(ended: Ended, world: WindowsWorld, deadline: Deadline) -> tuple[bytes, Delta]:
    """Return the delta of a group, as bytes and as it is; a timeout is raised while the group may be tried again."""
    delta = _made(ended, world, deadline)
    return encode_delta(delta), delta


def _made(ended: Ended, world: WindowsWorld, deadline: Deadline) -> Delta:
    reason, before, after = ended.reason, ended.members[0].baseline, ended.final.tree
    if reason is not None or before is None or after is None:
        return partial_delta(ended, reason or PartialReason.POST_SNAPSHOT_LOST)
    try:
        try:
            return group_delta(ended, _files(before, after, world, deadline))
        except PartialEvidenceError as error:
            if error.reason != PartialReason.ALTERNATE_OBJECT_MISSING:
                raise
            # A repository that is being packed has an object nowhere for an instant.
            return group_delta(ended, _files(before, after, world, deadline))
    except PartialEvidenceError as error:
        if error.reason == PartialReason.TIMEOUT and attempts(ended.group) < MAX_ATTEMPTS:
            raise
        return partial_delta(ended, error.reason)


def _files(before: Baseline, after: str, world: WindowsWorld, deadline: Deadline) -> list[FileDelta]:
    changes = world.tree.changes(before.tree, after, deadline)
    room = Room()
    with world.tree.contents() as load:
        files = []
        for change in changes:
            deadline.seconds_left()
            files.append(compare_file(change, before.hashes, lambda name: load(name, MAX_FILE_BYTES), room))
        return files
