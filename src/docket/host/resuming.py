"""Taking up what an apply that died left in its staging directory, so that it can be finished or put back.

Rules:
1. Only the very directory that the journal names, by name, device and inode, unlocked and this user's.
2. Where names cannot be exchanged, a replacement is several calls (host.placing): one that was cut short is brought to
   the nearer end first, and nothing is lost by it.
3. A directory that was opened to its owner, and still is, counts as opened by whoever goes on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.steps import Step
from docket.formats.visible import visible
from docket.formats.workspace.journal import StagingIdentity
from docket.host.reaching import Refusal, Ways
from docket.host.staging import OPENED_PREFIX, Staging
from docket.host.tree import identity_of
from docket.host.tree_calls import TreeCalls, open_name

_STAGED = re.compile(rb"((0|[1-9][0-9]{0,9})\.(?:0|[1-9][0-9]{0,19}))(\.aside)?")
_NOTE = re.compile(rb"([0-7]{1,4}) (.*)", re.DOTALL)


def reopen(root: int, named: StagingIdentity, calls: TreeCalls, *, durable: bool) -> Staging | Refusal:
    """Open and lock the staging directory that a journal names. May raise OSError."""
    name = os.fsencode(named.name)
    try:
        found = os.stat(name, dir_fd=root, follow_symlinks=False)
    except FileNotFoundError:
        return Refusal(Reason.NOT_FOUND, f"{visible(name)}, which the journal names, is gone")
    staging = Staging.open(root, name, calls, durable=durable)
    if staging is None:
        return Refusal(Reason.IN_USE, f"{visible(name)} is used by another process, or is not docket's")
    if identity_of(os.fstat(staging.descriptor)) != (named.device, named.inode) != identity_of(found):
        staging.close()
        return Refusal(Reason.ROOT_REPLACED, f"{visible(name)} is not the directory that the journal names")
    return staging


def even_out(staging: Staging, ways: Ways, calls: TreeCalls, steps: Sequence[Step]) -> None:
    """Bring replacements that were cut short between their calls to one end or the other. May raise OSError."""
    paths = dict(enumerate(step.path for step in steps))
    names = set(staging.names())
    for name in sorted(names):
        found = _STAGED.fullmatch(name)
        if found is None or int(found[2]) not in paths:
            continue
        aside = (staging.descriptor, name)
        if found[3] and found[1] not in names:  # the new one is in place: what it displaced gets its name
            calls.rename(aside, (staging.descriptor, found[1]))
            continue
        reached = ways.reach(paths[int(found[2])])
        if isinstance(reached, Refusal):
            continue
        with reached:
            _returned(aside, reached.place, calls, is_aside=bool(found[3]))


def _returned(aside: tuple[int, bytes], place: tuple[int, bytes], calls: TreeCalls, *, is_aside: bool) -> None:
    """Let a thing with a name here and one at its path have that one alone; bring back what was taken aside."""
    try:
        now = os.stat(place[1], dir_fd=place[0], follow_symlinks=False)
    except FileNotFoundError:
        if is_aside:  # there is no call here that does it only where the name is free
            calls.rename(aside, place)
        return
    if now.st_ino == os.stat(aside[1], dir_fd=aside[0], follow_symlinks=False).st_ino:
        calls.unlink(*aside)


def adopt(staging: Staging, ways: Ways) -> dict[RelPath, bytes]:
    """Take over directories that were opened up; return the notes of the others. May raise OSError."""
    left: dict[RelPath, bytes] = {}
    for name in staging.names():
        if not name.startswith(OPENED_PREFIX):
            continue
        note = _NOTE.fullmatch(staging.read(name))
        if note is None:  # it was being written: nothing was opened by it
            staging.drop(name)
            continue
        path, mode = RelPath(note[2]), int(note[1], 8) & 0o7777
        if _adopted(ways, staging, path, (mode, name)):
            continue
        if path in left:  # whoever went on before noted it again
            staging.drop(name)
        else:
            left[path] = name
    return left


def _adopted(ways: Ways, staging: Staging, path: RelPath, note: tuple[int, bytes]) -> bool:
    if not path.raw:
        return ways.adopt(staging.root, *note)
    reached = ways.reach(path)
    if isinstance(reached, Refusal):
        return False
    with reached:
        try:
            descriptor = open_name(*reached.place)
        except OSError:
            return False
        try:
            return ways.adopt(descriptor, *note)
        finally:
            os.close(descriptor)
