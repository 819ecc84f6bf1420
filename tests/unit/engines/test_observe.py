"""Passes over real trees; what they must find is said by find, sha256sum, git and the standard library."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from pathlib import Path

import pytest

from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.errors import UnavailableError
from docket.formats.ledger.tree_events import Change
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import DirectoryEntry, FileEntry, Kind, SymlinkEntry, decode_listing
from docket.formats.tree.surface import Surface
from docket.rules.tree.diff import diff
from docket.rules.tree.watch import watched_surface
from docket.stores.statcache import StatCache

QUIET_GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


def observe(root, *, cache=None, copies=0, share_after_files=4096, **more):
    world = ObserveWorld(
        cache=StatCache() if cache is None else cache, copies=copies, share_after_files=share_after_files
    )
    return observe_tree(ObserveRequest(root=os.fsencode(root), **more), world)


def surface(*watch, ignore=(), evidence=()):
    return watched_surface(watch=watch, ignore=ignore, evidence=[RelPath(path) for path in evidence])


def build(root: Path) -> None:
    (root / "src/deep/er").mkdir(parents=True)
    (root / "empty").mkdir(mode=0o750)
    (root / "src/a.py").write_bytes(b"print()\n")
    (root / "src/deep/er/big.bin").write_bytes(bytes(range(256)) * 5000)
    (root / "src-2").write_bytes(b"")
    (root / "run.sh").write_bytes(b"#!/bin/sh\n")
    (root / "run.sh").chmod(0o4755)
    (root / "naïve \"quoted\" 'name'\\n").write_bytes(b"1")
    (root / "link").symlink_to("src/a.py")
    (root / "broken").symlink_to(os.fsdecode(b"nowhere/\xff"))


def found_by_find(root: Path) -> dict[bytes, tuple[bytes, int, int, bytes]]:
    """{path: (type letter, permission bits, size, link target)} as GNU find prints them."""
    answer = subprocess.run(
        ["find", ".", "-mindepth", "1", "-printf", r"%P\0%y\0%m\0%s\0%l\0"], cwd=root, capture_output=True, check=True
    )
    parts = answer.stdout.split(b"\0")[:-1]
    return {
        path: (letter, int(mode, 8), int(size), target)
        for path, letter, mode, size, target in zip(*[iter(parts)] * 5, strict=True)
    }


def digests_by_sha256sum(root: Path) -> dict[bytes, str]:
    script = "find . -type f -printf '%P\\0' | xargs -0 -r sha256sum -z --"
    answer = subprocess.run(["sh", "-c", script], cwd=root, capture_output=True, check=True)
    return {line[66:]: line[:64].decode() for line in answer.stdout.split(b"\0")[:-1]}


def assert_is_what_is_there(listing, root: Path) -> None:
    found, digests = found_by_find(root), digests_by_sha256sum(root)
    assert {entry.path.raw for entry in listing.entries} == set(found)
    for entry in listing.entries:
        letter, mode, size, target = found[entry.path.raw]
        match entry:
            case FileEntry():
                assert (letter, mode, size) == (b"f", entry.mode, entry.size)
                assert entry.sha256 == digests[entry.path.raw]
                assert entry.mtime_ns == os.lstat(os.path.join(os.fsencode(root), entry.path.raw)).st_mtime_ns
            case DirectoryEntry():
                assert (letter, mode) == (b"d", entry.mode)
            case SymlinkEntry():
                assert (letter, target) == (b"l", entry.target)
    assert listing.bytes_watched == sum(size for letter, _, size, _ in found.values() if letter == b"f")


def test_a_pass_finds_what_find_and_sha256sum_find(tmp_path):
    build(tmp_path)
    listing = observe(tmp_path)
    assert listing.omissions == ()
    assert_is_what_is_there(listing, tmp_path)
    assert listing.root == (tmp_path.stat().st_dev, tmp_path.stat().st_ino)
    assert decode_listing(listing.document) == listing, "the walk writes the canonical form"


def test_an_empty_tree(tmp_path):
    listing = observe(tmp_path)
    assert listing.records == ()
    assert listing.tree_sha256 == hashlib.sha256(b'{"format":"docket/tree/v1"}\n').hexdigest()


@pytest.mark.parametrize("copies", [1, 3])
def test_a_shared_pass_gives_the_same_bytes(tmp_path, copies):
    build(tmp_path)
    for number in range(300):
        folder = tmp_path / f"part{number % 7}/unit{number % 90}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file{number}").write_bytes(b"%d" % number * number)
    os.mkfifo(tmp_path / "part3/unit3/pipe")
    alone = observe(tmp_path)
    cache, heard = StatCache(), []
    shared = observe(
        tmp_path, cache=cache, copies=copies, share_after_files=10, progress=lambda *totals: heard.append(totals)
    )
    assert shared.document == alone.document
    assert (shared.counts, shared.mtimes, shared.omissions) == (alone.counts, alone.mtimes, alone.omissions)
    assert heard[-1] == (alone.files, alone.bytes_watched)
    assert heard == sorted(heard)


def test_progress_tells_files_and_bytes(tmp_path):
    build(tmp_path)
    heard = []
    listing = observe(tmp_path, progress=lambda *totals: heard.append(totals))
    assert heard[-1] == (listing.files, listing.bytes_watched)


def test_a_pass_may_be_stopped_by_its_progress(tmp_path):
    build(tmp_path)
    before = set(os.listdir("/proc/self/fd"))

    def stop(_files, _bytes):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        observe(tmp_path, progress=stop)
    assert set(os.listdir("/proc/self/fd")) == before


def test_no_descriptor_stays_open(tmp_path):
    build(tmp_path)
    before = set(os.listdir("/proc/self/fd"))
    observe(tmp_path, copies=2, share_after_files=0)
    assert set(os.listdir("/proc/self/fd")) == before


def test_the_difference_of_two_passes_is_what_git_status_says(tmp_path):
    git = {**os.environ, **QUIET_GIT}

    def run(*command):
        done = subprocess.run(["git", *command], cwd=tmp_path, env=git, capture_output=True, check=True)
        return done.stdout

    run("init", "--quiet")
    names = ["keep", "edit", "mode", "drop", "deep/edit", "deep/drop", "to-link", "tab\tname", "new\nline", "ünïcode"]
    names.append(os.fsdecode(b"raw\xff"))
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(os.fsencode(name))
    (tmp_path / "link").symlink_to("keep")
    run("add", "--all")
    run("-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "--quiet", "--message", "one")
    before = observe(tmp_path)

    for name in ("edit", "deep/edit", "tab\tname", "new\nline", os.fsdecode(b"raw\xff")):
        (tmp_path / name).write_bytes(b"edited")
    (tmp_path / "mode").chmod(0o755)
    (tmp_path / "drop").unlink()
    (tmp_path / "deep/drop").unlink()
    (tmp_path / "to-link").unlink()
    (tmp_path / "to-link").symlink_to("keep")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("edit")
    (tmp_path / "added").write_bytes(b"")
    (tmp_path / "deep/added").write_bytes(b"")
    os.utime(tmp_path / "keep")
    after = observe(tmp_path)

    words = {b" M": Change.MODIFIED, b" D": Change.REMOVED, b" T": Change.RETYPED, b"??": Change.ADDED}
    status = run("--no-optional-locks", "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
    expected = {line[3:]: words[line[:2]] for line in status.split(b"\0")[:-1]}
    found = {item.path.raw: item.change for item in diff(before, after) if not item.path.raw.startswith(b".git/")}
    assert found == expected
    assert len(expected) == 12


def test_object_stores_and_evidence_are_named_and_git_metadata_is_watched(tmp_path):
    subprocess.run(["git", "init", "--quiet", tmp_path], env={**os.environ, **QUIET_GIT}, check=True)
    (tmp_path / ".docket/receipts").mkdir(parents=True)
    (tmp_path / ".docket/receipts/x").write_bytes(b"x")
    listing = observe(tmp_path, surface=surface(".", evidence=[b".docket"]))
    assert [(item.path.raw, item.reason, item.kind) for item in listing.omissions] == [
        (b".docket", Reason.EXCLUDED, Kind.DIRECTORY),
        (b".git/objects", Reason.OBJECT_STORE, Kind.DIRECTORY),
    ]
    watched = {entry.path.raw for entry in listing.entries}
    assert {b".git/HEAD", b".git/config", b".git/refs", b".git/hooks"} <= watched
    assert not any(path.startswith((b".docket", b".git/objects")) for path in watched)


def test_ignored_paths_are_named_and_not_entered(tmp_path):
    build(tmp_path)
    listing = observe(tmp_path, surface=surface(".", ignore=["deep/", "*.py", "!run.py"]))
    assert [(item.path.raw, item.reason) for item in listing.omissions] == [
        (b"src/a.py", Reason.EXCLUDED),
        (b"src/deep", Reason.EXCLUDED),
    ]
    assert listing.record(RelPath(b"src/deep/er")) is None


def test_roots_are_walked_and_nothing_else(tmp_path):
    build(tmp_path)
    made = surface("src/deep", "run.sh", "nowhere", "nowhere/else", "link/x", "broken", "src-2/x")
    listing = observe(tmp_path, surface=made)
    assert [record.path.raw for record in listing.records] == [
        b"broken", b"link", b"run.sh", b"src/deep", b"src/deep/er", b"src/deep/er/big.bin", b"src-2",
    ]  # fmt: skip
    assert decode_listing(listing.document) == listing


def test_patterns_are_watched_wherever_they_match(tmp_path):
    build(tmp_path)
    (tmp_path / "src/deep/b.py").write_bytes(b"b")
    (tmp_path / "src/er").mkdir()
    (tmp_path / "src/er/any").write_bytes(b"c")
    listing = observe(tmp_path, surface=surface("**/*.py", "**/er"))
    assert [record.path.raw for record in listing.records] == [
        b"src/a.py", b"src/deep/b.py", b"src/deep/er", b"src/deep/er/big.bin", b"src/er", b"src/er/any",
    ]  # fmt: skip


def test_a_root_that_cannot_be_observed_says_why(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for name, reason in (("file", Reason.NOT_A_DIRECTORY), ("nowhere", Reason.NOT_FOUND)):
        with pytest.raises(UnavailableError) as caught:
            observe(tmp_path / name)
        assert caught.value.reason == reason


def test_a_root_is_reached_through_links(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/x").write_bytes(b"x")
    (tmp_path / "alias").symlink_to("real")
    assert observe(tmp_path / "alias") == observe(tmp_path / "real")


def test_a_root_that_is_another_directory_is_refused_where_it_matters(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    identity = observe(tmp_path / "one").root
    assert observe(tmp_path / "one", root_identity=identity).root == identity
    (tmp_path / "one").rename(tmp_path / "old")
    (tmp_path / "two").rename(tmp_path / "one")
    assert observe(tmp_path / "one").root != identity
    with pytest.raises(UnavailableError) as caught:
        observe(tmp_path / "one", root_identity=identity)
    assert caught.value.reason == Reason.ROOT_REPLACED


class CountingCache:
    """A StatCache that tells how many keys were asked for and how many were known."""

    def __init__(self):
        self._cache = StatCache()
        self.asked = self.known = 0

    @property
    def lookup(self):
        def counted(key):
            digest = self._cache.lookup(key)
            self.asked += 1
            self.known += digest is not None
            return digest

        return counted

    def keep(self, met, fresh, marked):
        self._cache.keep(met, fresh, marked)

    def taken(self):
        counts, self.asked, self.known = (self.asked, self.known), 0, 0
        return counts


def settle():
    time.sleep(0.05)


def test_an_unchanged_file_is_not_read_again(tmp_path):
    build(tmp_path)
    settle()
    cache = CountingCache()
    first = observe(tmp_path, cache=cache)
    assert cache.taken() == (first.files, 0)
    assert observe(tmp_path, cache=cache) == first
    assert cache.taken() == (first.files, first.files)
    assert observe(tmp_path, cache=cache, reread=True) == first
    assert cache.taken() == (0, 0)
    assert observe(tmp_path, cache=cache) == first
    assert cache.taken() == (first.files, first.files)


def test_an_edit_of_the_same_size_with_its_mtime_put_back_is_seen(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"one")
    settle()
    cache = StatCache()
    before, status = observe(tmp_path, cache=cache), path.stat()
    path.write_bytes(b"two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    after = observe(tmp_path, cache=cache)
    assert after.record(RelPath(b"x")).sha256 == hashlib.sha256(b"two").hexdigest()
    assert [item.change for item in diff(before, after)] == [Change.MODIFIED]


def test_a_file_changed_just_before_the_pass_is_read_again(tmp_path):
    cache = StatCache()
    path = tmp_path / "x"
    for number in range(40):
        path.write_bytes(b"%03d" % number)
        observe(tmp_path, cache=cache)
        # The clock's grain is coarser than this: the ctime may well stay as it was.
        path.write_bytes(b"%03d" % (number + 500))
        os.utime(path, ns=(0, 0))
        listing = observe(tmp_path, cache=cache)
        assert listing.record(RelPath(b"x")).sha256 == hashlib.sha256(b"%03d" % (number + 500)).hexdigest()


def test_the_cache_survives_the_process(tmp_path):
    (tmp_path / "tree").mkdir()
    build(tmp_path / "tree")
    settle()
    first = observe(tmp_path / "tree", cache=StatCache(tmp_path / "state/statcache"))
    assert StatCache(tmp_path / "state/statcache").files == first.files
    assert observe(tmp_path / "tree", cache=StatCache(tmp_path / "state/statcache")) == first


def test_surface_default_is_the_whole_tree(tmp_path):
    build(tmp_path)
    assert observe(tmp_path, surface=Surface()) == observe(tmp_path, surface=surface("."))
