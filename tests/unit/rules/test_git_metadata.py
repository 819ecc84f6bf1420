"""What is git's own, told from names: `.git` anywhere, repositories of any name, and what a selection names."""

from __future__ import annotations

import pytest

from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import symlink_state
from docket.rules.tree.git_metadata import GitMetadata, owner_of


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
        (b"s/.hg/store/undo", b"s/.hg"),
        (b".jj", b".jj"),
        (b"a/.svn/wc.db", b"a/.svn"),
        (b"_darcs/x", b"_darcs"),
        (b".hgignore", None),
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


def left(raw: bytes, mode: int | None = 0o755, *, before: bool = False) -> FsChange:
    """The run left a file of this mode at the path; None for nothing."""
    state = None if mode is None else EntryState(kind="file", mode=mode, size=1, sha256=None)
    was = EntryState(kind="file", mode=0o600) if before else None
    return FsChange(path=RelPath(raw), change=Change.ADDED, before=was, after=state)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (left(b".git/hooks/pre-push"), "the run added a program that git will execute: .git/hooks/pre-push"),
        (left(b".git/hooks/x", before=True), "the run changed a program that git will execute: .git/hooks/x"),
        (left(b".git/modules/m/hooks/x"), "the run added a program that git will execute: .git/modules/m/hooks/x"),
        (left(b"s/x.git/hooks/x"), "the run added a program that git will execute: s/x.git/hooks/x"),
        (left(b".git/hooks/x", 0o644), None),
        (left(b".git/hooks/x", None), None),
        (left(b".git/hooks/x.sample"), None),
        (left(b".git/hooks"), None),
        (left(b".git/refs/heads/hooks/x"), None),
        (left(b".git/refs/heads/config", 0o644), None),
        (left(b".git/index", 0o644), None),
        (left(b"hooks/x"), None),
        (left(b"config"), None),
        (left(b".git/config", 0o644), "the run added what can name programs that git will execute: .git/config"),
        (left(b".hg/hgrc", 0o644), "the run added what can name programs that Mercurial will execute: .hg/hgrc"),
    ],
)
def test_what_makes_version_control_execute_a_program(change: FsChange, said: str | None) -> None:
    assert BARE.program_at(change) == said


def test_a_link_counts_as_what_it_may_lead_to() -> None:
    def link(raw: bytes) -> FsChange:
        return FsChange(path=RelPath(raw), change=Change.ADDED, before=None, after=symlink_state(b"/tmp/evil"))

    said = "the run added a program that git will execute: .git/hooks/x"
    assert BARE.program_at(link(b".git/hooks/x")) == said
    said = "the run added a link to a folder whose programs git will execute: .git/hooks"
    assert BARE.program_at(link(b".git/hooks")) == said
    assert BARE.program_at(link(b".git/config")) is not None
    assert BARE.program_at(link(b".git/elsewhere")) is None


def test_whose_a_folder_is() -> None:
    assert (owner_of(b"a/.svn"), owner_of(b"_darcs"), owner_of(b"s/x.git"), owner_of(b"")) == (
        "Subversion's", "Darcs'", "git's", "git's",
    )  # fmt: skip
