"""What is git's own, told from names: `.git` anywhere, repositories of any name, and what a selection names."""

from __future__ import annotations

import pytest

from docket.formats.relpath import RelPath
from docket.rules.tree.git_metadata import GitMetadata


def paths(*raws: bytes) -> list[RelPath]:
    return [RelPath(raw) for raw in raws]


BARE = GitMetadata(paths(b"a", b"s/x.git/HEAD", b"s/x.git/objects", b"s/x.git/refs", b"half/HEAD", b"half/refs"))


@pytest.mark.parametrize(
    ("raw", "folder"),
    [
        (b"a", None),
        (b".git", b".git"),
        (b".git/HEAD", b".git"),
        (b"sub/.git", b"sub/.git"),
        (b"sub/.git/modules/.git/x", b"sub/.git"),
        (b".gitignore", None),
        (b".github/x", None),
        (b"x.git", None),
        (b"s", None),
        (b"s/x.git", b"s/x.git"),
        (b"s/x.git/deep/er", b"s/x.git"),
        (b"s/x.gitt", None),
        (b"half/HEAD", None),
    ],
)
def test_what_is_gits_own(raw: bytes, folder: bytes | None) -> None:
    assert BARE.folder_of(RelPath(raw)) == folder


def test_a_tree_that_is_a_repository_is_gits_own_as_a_whole() -> None:
    whole = GitMetadata(paths(b"HEAD", b"objects", b"refs/heads/main", b"refs"))
    assert whole.folder_of(RelPath(b"config")) == b""
    assert whole.is_named(RelPath(b"config"), paths(b"config"), ())
    assert not whole.is_named(RelPath(b"config"), (), ["*"])


@pytest.mark.parametrize(
    ("raw", "named", "patterns", "selected"),
    [
        (b".git/HEAD", [b".git"], [], True),
        (b".git/HEAD", [b".git/HEAD"], [], True),
        (b".git", [b".git/HEAD"], [], True),
        (b".git/index", [b".git/HEAD"], [], False),
        (b"sub/.git/HEAD", [b"sub"], [], False),
        (b"sub/.git/HEAD", [b"sub", b".git"], [], False),
        (b"s/x.git/HEAD", [b"s"], [], False),
        (b"s/x.git/HEAD", [b"s/x.git"], [], True),
        (b"s/x.git/HEAD", [], ["x.git"], True),
        (b"s/x.git/HEAD", [], [".git"], False),
        (b".git/HEAD", [], [".git/*"], True),
        (b".git/HEAD", [], ["*", ".gitignore"], False),
        (b".git/HEAD", [], ["**/*git"], False),
    ],
)
def test_it_is_selected_by_name_alone(raw: bytes, named: list[bytes], patterns: list[str], selected: bool) -> None:
    assert BARE.is_named(RelPath(raw), paths(*named), patterns) is selected
