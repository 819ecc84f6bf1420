"""Contents that git has of a tree: found by path and digest in the commit and the index, by real repositories."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.host.git_place import checked_out, find_git_place
from docket.stores.workspace.git_ancestors import GitAncestors

COMMITTED, STAGED = b"committed\n", b"in the index\n"
NAME = RelPath(b"d/a file")


def git(folder: Path, *words: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    done = subprocess.run(["git", *words], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def committed(folder: Path, *options: str) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", *options)
    (folder / "d").mkdir()
    (folder / "d" / "a file").write_bytes(COMMITTED)
    git(folder, "add", "d")
    git(folder, "commit", "-q", "-m", "one")
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return committed(Path(os.path.realpath(tmp_path)) / "tree")


def read(root: Path, content: bytes, path: RelPath = NAME) -> bytes:
    with GitAncestors(root) as found:
        return found.read(path, Address.of(content))


def missing(root: Path, content: bytes, path: RelPath = NAME) -> bool:
    with pytest.raises(UnavailableError) as caught:
        read(root, content, path)
    return caught.value.reason == Reason.CONTENT_MISSING


def test_what_the_commit_and_the_index_have_is_read(tree: Path) -> None:
    (tree / "d" / "a file").write_bytes(STAGED)
    git(tree, "add", "d")
    (tree / "d" / "a file").write_bytes(b"neither\n")
    with GitAncestors(tree) as found:
        assert found.read(NAME, Address.of(COMMITTED)) == COMMITTED
        assert found.read(NAME, Address.of(STAGED)) == STAGED
        assert found.read(NAME, Address.of(COMMITTED)) == COMMITTED
    assert missing(tree, b"neither\n")
    assert missing(tree, b"other size")
    assert missing(tree, COMMITTED, RelPath(b"d/another"))
    assert missing(tree, COMMITTED, RelPath(b"d"))
    assert missing(tree, COMMITTED, RelPath(b"d/a\nfile"))


def packed(tree: Path) -> Path:
    git(tree, "gc", "-q")
    git(tree, "pack-refs", "--all")
    return tree


def detached(tree: Path) -> Path:
    git(tree, "checkout", "-q", "--detach")
    return tree


def linked(tree: Path) -> Path:
    git(tree, "worktree", "add", "-q", str(tree.parent / "linked"))
    return tree.parent / "linked"


def separate(tree: Path) -> Path:
    return committed(tree.parent / "apart", "--separate-git-dir", str(tree.parent / "apart.git"))


@pytest.mark.parametrize("change", [packed, detached, linked, separate])
def test_every_way_in_which_a_repository_stands_is_followed(change: Callable[[Path], Path], tree: Path) -> None:
    assert read(change(tree), COMMITTED) == COMMITTED


def test_a_directory_in_a_repository_is_found_by_its_path_in_it(tree: Path) -> None:
    assert read(tree / "d", COMMITTED, RelPath(b"a file")) == COMMITTED


def test_names_of_objects_by_the_longer_digest_are_read(tmp_path: Path) -> None:
    tree = committed(Path(os.path.realpath(tmp_path)) / "long", "--object-format=sha256")
    assert read(tree, COMMITTED) == COMMITTED


def test_without_a_commit_the_index_is_read(tmp_path: Path) -> None:
    tree = Path(os.path.realpath(tmp_path))
    git(tree, "init", "-q")
    (tree / "f").write_bytes(STAGED)
    git(tree, "add", "f")
    assert read(tree, STAGED, RelPath(b"f")) == STAGED


def write(place: str, text: str) -> Callable[[Path], object]:
    return lambda tree: (tree / place).write_text(text)


def as_file(text: str) -> Callable[[Path], object]:
    def change(tree: Path) -> None:
        (tree / ".git").rename(tree / "moved")
        (tree / ".git").write_text(text)

    return change


@pytest.mark.parametrize(
    "change",
    [
        as_file("gitdir: nowhere\n"),
        as_file("something else\n"),
        write(".git/HEAD", ""),
        write(".git/HEAD", "ref: refs/heads/../../../outside\n"),
        write(".git/HEAD", "ref: HEAD\n"),
        write(".git/HEAD", "ref: refs/heads/none\n"),
        write(".git/HEAD", "ab" * 20 + "\n"),
    ],
)
def test_what_is_not_understood_has_nothing(change: Callable[[Path], object], tree: Path) -> None:
    change(tree)
    (tree / ".git" / "index").unlink() if (tree / ".git").is_dir() else None
    assert missing(tree, COMMITTED)


def test_a_ref_that_leads_to_itself_has_no_commit(tree: Path) -> None:
    (tree / ".git/refs/heads/round").write_text("ref: refs/heads/round\n")
    (tree / ".git/HEAD").write_text("ref: refs/heads/round\n")
    place = find_git_place(tree)
    assert place is not None
    with pytest.raises(UnavailableError, match="circle"):
        checked_out(place)
    (tree / ".git/index").unlink()
    assert missing(tree, COMMITTED)


def test_a_tree_without_a_repository_has_nothing(tmp_path: Path) -> None:
    assert missing(Path(os.path.realpath(tmp_path)), COMMITTED)


def test_nothing_that_a_repository_names_is_executed(tree: Path, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    (tree / ".git" / "config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch {mark}\n\tsshCommand = touch {mark}\n"
        f'[filter "x"]\n\tsmudge = touch {mark}\n[extensions]\n\tpartialClone = origin\n'
        f'[remote "origin"]\n\turl = ext::touch {mark}\n\tpromisor = true\n'
    )
    (tree / ".gitattributes").write_text("* filter=x\n")
    assert read(tree, COMMITTED) == COMMITTED
    assert missing(tree, b"something else")
    assert not mark.exists()


@pytest.mark.timeout(20)
def test_a_fifo_where_git_has_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert find_git_place(tmp_path) is None
    assert missing(tmp_path, COMMITTED)
    (tmp_path / ".git").unlink()
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git/HEAD")
    assert find_git_place(tmp_path) is None
    assert missing(tmp_path, COMMITTED)
