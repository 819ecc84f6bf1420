"""Whether the directories above what a commit changes are the very ones that were staged."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from docket.engines.apply import ConfinedTree, open_tree
from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.engines.transaction.parents import replaced_above, take_inodes
from docket.formats.relpath import RelPath
from docket.formats.tree.directories import inodes_by_member, member_of
from docket.formats.tree.listing import Listing
from docket.formats.tree.surface import Surface
from docket.host.reaching import Reached

FILES = ("top", "d/f", "d/e/f", "other/f", ".git/objects/ab/f", ".git/refs/heads/f")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    for name in FILES:
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(name)
    return made


@pytest.fixture
def tree(root: Path) -> Iterator[ConfinedTree]:
    with open_tree(os.fsencode(root)) as opened:
        yield opened


def seen(root: Path, *, details: bool = True) -> Listing:
    request = ObserveRequest(root=os.fsencode(root), surface=Surface(), details=details)
    return observe_tree(request, ObserveWorld(copies=0))


def copied(folder: Path) -> None:
    """Put another directory that holds the same in a directory's place."""
    aside = folder.with_name("aside")
    folder.rename(aside)
    shutil.copytree(aside, folder)
    shutil.rmtree(aside)


def p(text: str) -> RelPath:
    return RelPath.parse(text.encode())


def found(base: Listing, tree: ConfinedTree) -> dict[str, str]:
    return {str(path): str(above) for path, above in replaced_above(map(p, FILES), base, tree).items()}


def test_nothing_was_replaced(root: Path, tree: ConfinedTree) -> None:
    assert found(seen(root), tree) == {}


def test_another_directory_is_told_for_all_that_is_below_it(root: Path, tree: ConfinedTree) -> None:
    base = seen(root)
    copied(root / "d")
    assert found(base, tree) == {"d/f": "d", "d/e/f": "d"}
    base = seen(root)
    copied(root / "d/e")
    assert found(base, tree) == {"d/e/f": "d/e"}


def test_a_link_to_the_same_directory_is_another_thing(root: Path, tree: ConfinedTree) -> None:
    base = seen(root)
    (root / "other").rename(root / "moved")
    (root / "other").symlink_to("moved")
    assert found(base, tree) == {"other/f": "other"}


def test_one_that_is_gone_is_the_plans_to_see(root: Path, tree: ConfinedTree) -> None:
    base = seen(root)
    shutil.rmtree(root / "d")
    assert found(base, tree) == {}


def test_git_makes_its_folders_anew(root: Path, tree: ConfinedTree) -> None:
    base = seen(root)
    for name in (".git/objects/ab", ".git/refs/heads"):
        copied(root / name)
    assert found(base, tree) == {}
    copied(root / ".git")
    assert set(found(base, tree).values()) == {".git"}


def test_without_inodes_there_is_nothing_to_compare(root: Path, tree: ConfinedTree) -> None:
    base = seen(root, details=False)
    copied(root / "d")
    assert found(base, tree) == {}


def test_what_was_found_binds_what_is_done_later(root: Path, tree: ConfinedTree) -> None:
    assert found(seen(root), tree) == {}
    copied(root / "d")
    status = (root / "d").stat()
    other = Reached(-1, b"f", (status.st_dev, status.st_ino))
    assert tree.holders.refused(p("d/f"), other) is not None


def test_what_landed_has_the_inodes_of_what_stands_there(root: Path) -> None:
    base = seen(root)
    was = {name: (root / name).stat().st_ino for name in ("d", "d/e", "other")}
    (root / "new/deep").mkdir(parents=True)
    copied(root / "other")
    landed = seen(root)
    landed.details = seen(root, details=False).details
    shutil.rmtree(root / "new/deep")
    take_inodes(landed, base, root)
    numbers = inodes_by_member(landed)
    assert {name: numbers[member_of(p(name))] for name in was} == was  # as they were staged
    assert numbers[member_of(p("new"))] == (root / "new").stat().st_ino
    assert numbers[member_of(p("new/deep"))] == 0


def test_nothing_is_taken_down_where_the_base_has_none(root: Path) -> None:
    base, landed = seen(root, details=False), seen(root, details=False)
    take_inodes(landed, base, root)
    assert inodes_by_member(landed) == {}
