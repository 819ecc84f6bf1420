"""What stood in trees and stands there now, looked up for a blame: git's trees, a folder's listings, and the fake."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import windows_lab
from blame_lab import MemoryRecord
from docket.formats.relpath import RelPath
from docket.formats.windows.changes import Side
from docket.formats.windows.names import EXECUTABLE_MODE, REGULAR_MODE, SYMLINK_MODE, Hashes
from docket.host.disk import SYSTEM_DISK
from docket.host.git_batch import GitBatch
from docket.host.git_place import find_git_place, object_format
from docket.rules.windows.blame import Sights
from docket.rules.windows.naming import content_name
from docket.stores.pool import open_pool
from docket.stores.windows.folder_sights import FolderSights
from docket.stores.windows.git_sights import GitSights
from docket.stores.windows.git_store import open_git_store

CONTENTS = {"a": b"1\n", "d/b": b"1\n", "d/e/c": b"\0\xff"}
IGNORES = {".gitignore": "*.log\n"}
KINDS = ("git", "sha256", "folder", "memory")
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@dataclass
class Seen:
    """A tree of CONTENTS, looked at, and the port over it."""

    sights: Sights
    tree: str
    hashes: Hashes
    root: Path | None

    def put(self, name: str, content: bytes) -> None:
        if self.root is None:
            assert isinstance(self.sights, MemoryRecord)
            self.sights.tree[name] = content
        else:
            windows_lab.write(self.root / name, content)


@contextmanager
def opened(kind: str, root: Path) -> Iterator[Seen]:
    if kind == "memory":
        record = MemoryRecord(tree=dict(CONTENTS))
        yield Seen(record, record.look(), Hashes.CONTENT_SHA256, None)
        return
    with ExitStack() as held:
        lab = (
            windows_lab.folder_lab(root, files={"x": ""})
            if kind == "folder"
            else windows_lab.git_lab(root, files=IGNORES)
        )
        if kind == "sha256":
            shutil.rmtree(lab.tree / ".git")
            lab.git("init", "-q", "--object-format=sha256")
            shutil.rmtree(lab.windows)
            lab = windows_lab.reopened(root)
        for name, content in CONTENTS.items():
            windows_lab.write(lab.tree / name, content)
        tree = lab.store.look(windows_lab.deadline()).baseline.tree
        if kind == "folder":
            pool = open_pool(held.enter_context(SYSTEM_DISK.folder(lab.windows / "pool")), wait_seconds=1.0)
            assert pool is not None
            held.enter_context(pool)
            sights: Sights = FolderSights(windows=lab.windows, root=lab.tree, pool=pool, trees=(tree,), own=(b"own/",))
        else:
            place = find_git_place(lab.tree)
            assert place is not None
            store = open_git_store(lab.windows, place, object_format(place))
            batch = GitBatch(store.folder / "objects", is_sha256=store.hashes is Hashes.SHA256)
            sights = GitSights(store=store, batch=held.enter_context(batch), own=(b"own/",))
        yield Seen(sights, tree, lab.store.hashes, lab.tree)


@pytest.fixture(params=KINDS)
def seen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Seen]:
    if request.param in ("git", "sha256") and shutil.which("git") is None:
        pytest.skip("needs git")
    with opened(request.param, tmp_path) as found:
        yield found


def path(name: str) -> RelPath:
    return RelPath.parse(name.encode())


def test_sides_of_a_tree_and_of_the_present(seen):
    for name, content in CONTENTS.items():
        side = Side(mode=REGULAR_MODE, name=content_name(content, seen.hashes))
        assert seen.sights.side(seen.tree, path(name)) == side
        assert seen.sights.present(path(name)) == side
    for name in ("gone", "d", "d/e", "a/b", "d/gone", "gone/b"):
        assert seen.sights.side(seen.tree, path(name)) == Side()
        assert seen.sights.present(path(name)) == Side()
    seen.put("a", b"2\n")
    assert seen.sights.present(path("a")).name == content_name(b"2\n", seen.hashes)
    assert seen.sights.side(seen.tree, path("a")).name == content_name(b"1\n", seen.hashes)


def test_a_tree_that_is_not_kept_is_unknown_and_not_empty(seen):
    for tree in ("0" * seen.hashes.digits, "nonsense", "f" * seen.hashes.digits):
        assert seen.sights.side(tree, path("a")) is None
        assert seen.sights.side(tree, path("d/b")) is None
        assert seen.sights.twins(tree, content_name(b"1\n", seen.hashes)) is None


def test_twins_and_contents(seen):
    name = content_name(b"1\n", seen.hashes)
    assert set(seen.sights.twins(seen.tree, name) or ()) == {path("a"), path("d/b")}
    assert seen.sights.twins(seen.tree, content_name(b"other", seen.hashes)) == ()
    for content in CONTENTS.values():
        assert seen.sights.content(content_name(content, seen.hashes)) == content
    assert seen.sights.content(content_name(b"other", seen.hashes)) is None
    assert seen.sights.content("nonsense") is None


def test_what_is_watched(seen):
    assert seen.sights.is_watched(path("a"))
    if seen.root is not None:
        assert not seen.sights.is_watched(path("own/x"))


@needs_git
def test_git_ignores_by_the_tree_and_by_patterns_outside_of_it(tmp_path):
    with opened("git", tmp_path) as seen:
        before = seen.sights.rules
        seen.put("x.log", b"")
        seen.put("d/.gitignore", b"b\n")
        assert not seen.sights.is_watched(path("x.log"))
        assert not seen.sights.is_watched(path("d/b"))
        assert seen.sights.ignore_files(path("d/e/c")) == (
            path(".gitignore"), path("d/e/.gitignore"), path("d/.gitignore"),
        )  # fmt: skip
        assert seen.root is not None
        windows_lab.git(tmp_path, "add", "-f", "d/b")
        assert seen.sights.is_watched(path("d/b"))
        assert seen.sights.rules == before
        seen.put(".git/info/exclude", b"a\n")
        assert not seen.sights.is_watched(path("a"))
        assert seen.sights.rules != before
        seen.put(".gitignore", b"e/\n")
        assert not seen.sights.is_watched(path("d/e/c"))
        seen.put(".gitignore", b"")
        assert seen.sights.is_watched(path("d/e/c"))
        shutil.rmtree(tmp_path / "windows/work")  # where git would be asked
        assert not seen.sights.is_watched(path("d/e/c"))


@needs_git
def test_what_the_commit_that_is_checked_out_holds(tmp_path):
    with opened("git", tmp_path) as seen:
        assert seen.sights.committed_now(path(".gitignore")) == b"*.log\n"
        assert seen.sights.committed_now(path("a")) is None
        windows_lab.git(tmp_path, "checkout", "-q", "--orphan", "none")
        assert seen.sights.committed_now(path(".gitignore")) is None
    with opened("folder", tmp_path / "folder") as seen:
        assert seen.sights.committed_now(path("a")) is None


@needs_git
def test_a_part_of_a_tree_that_is_gone_is_unknown(tmp_path):
    with opened("git", tmp_path) as seen:
        objects = tmp_path / "windows/git/objects"
        lines = subprocess.run(["git", "ls-tree", "-d", seen.tree], cwd=tmp_path / "windows/git", check=True,
                               capture_output=True, text=True).stdout  # fmt: skip
        folder = next(line.split()[2] for line in lines.splitlines() if line.endswith("\td"))
        (objects / folder[:2] / folder[2:]).unlink()
        assert seen.sights.side(seen.tree, path("d/b")) is None
        assert seen.sights.side(seen.tree, path("a")) == Side(mode=REGULAR_MODE, name=content_name(b"1\n", seen.hashes))
        assert seen.sights.twins(seen.tree, content_name(b"1\n", seen.hashes)) is None


@pytest.mark.parametrize("kind", ["git", "folder"])
def test_links_modes_and_what_cannot_be_read(tmp_path, kind):
    if kind == "git" and shutil.which("git") is None:
        pytest.skip("needs git")
    with opened(kind, tmp_path) as seen:
        assert seen.root is not None
        (seen.root / "link").symlink_to("a")
        (seen.root / "a").chmod(0o755)
        (seen.root / "loop").symlink_to("loop")
        (seen.root / "into").symlink_to("d")
        link = Side(mode=SYMLINK_MODE, name=content_name(b"a", seen.hashes))
        assert seen.sights.present(path("link")) == link
        assert seen.sights.present(path("a")).mode == EXECUTABLE_MODE
        assert seen.sights.present(path("into/b")) == Side()
        lab = windows_lab.reopened(tmp_path) if kind == "git" else windows_lab.reopened_folder(tmp_path)
        tree = lab.store.look(windows_lab.deadline()).baseline.tree
        assert seen.sights.side(tree, path("link")) == link
        assert seen.sights.side(tree, path("a")).mode == EXECUTABLE_MODE
        assert seen.sights.side(tree, path("into/b")) == Side()
