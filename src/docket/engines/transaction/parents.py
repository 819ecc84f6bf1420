"""The directories above what a commit changes: each is the very one that was there when the base was staged.

Rules (spec/workspace.md, Commit):
1. A directory that somebody put in the place of another is another one, though it holds the same: nothing lands in it.
2. Of a path that already is as it would be nothing is asked.
3. Git removes and makes its folders of objects and refs as it goes: any of these is as good as another.
4. Where the inodes of a base's directories were not taken down, there is nothing to compare.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from docket.engines.apply import ConfinedTree
from docket.formats.dataclass import replace
from docket.formats.relpath import RelPath
from docket.formats.tree.directories import directory_members, inodes_by_member, member_of, packed_inodes
from docket.formats.tree.listing import Listing
from docket.formats.tree.spans import path_of
from docket.host.tree_files import TreeFiles
from docket.rules.workspace.git_paths import is_made_anew_by_git


def replaced_above(paths: Iterable[RelPath], base: Listing, tree: ConfinedTree) -> dict[RelPath, RelPath]:
    """Return those of the paths above which another directory stands, each with the outermost such directory.

    What is to be changed in the others is bound to the directories that were found: `tree` does nothing in another.
    """
    inodes = inodes_by_member(base)
    if not inodes:
        return {}
    known: dict[RelPath, bool] = {}
    found: dict[RelPath, RelPath] = {}
    with TreeFiles(tree.path) as files:
        for path in paths:
            for above in reversed(tuple(path.above())):
                if above not in known:
                    known[above] = _is_another(above, inodes.get(member_of(above)), files, tree)
                if known[above]:
                    found[path] = above
                    break
    return found


def _is_another(path: RelPath, inode: int | None, files: TreeFiles, tree: ConfinedTree) -> bool:
    if inode is None or is_made_anew_by_git(path):
        return False
    standing = files.identity(path)
    if standing is None:  # where it may be made again, the plan makes another
        return False
    tree.holders.expect({path: (tree.identity[0], inode)})
    return standing[1] != inode


def take_inodes(landed: Listing, base: Listing, root: Path) -> None:
    """Take down the inodes of the directories of a base on which something landed; `base` is what it was before."""
    inodes = inodes_by_member(base)
    if not inodes and base.directories:
        return
    with TreeFiles(os.fsencode(root)) as files:
        numbers = [inodes.get(member) or _inode(member, files) for member in directory_members(landed)]
    landed.details = replace(landed.details, directory_inodes=packed_inodes(numbers))


def _inode(member: bytes, files: TreeFiles) -> int:
    """Return the inode of a directory that is new, 0 where it is gone again."""
    identity = files.identity(path_of(b"{" + member + b"}"))
    return 0 if identity is None else identity[1]
