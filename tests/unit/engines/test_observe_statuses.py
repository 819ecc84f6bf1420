"""Passes that read statuses: what of a file is told, and what is read for it."""

import hashlib
import os

import pytest

from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import DirectoryEntry, SymlinkEntry
from docket.formats.tree.status_listing import StatusEntry, status_listing
from docket.formats.tree.surface import Surface
from docket.host import tree as host_tree
from docket.stores.statcache import StatCache

LATER_NS = 3_600_000_000_000


@pytest.fixture
def made(tmp_path):
    root = tmp_path / "tree"
    (root / "d").mkdir(parents=True)
    (root / "d/f").write_bytes(b"f")
    (root / "g").write_bytes(b"gg")
    (root / "l").symlink_to("g")
    return root


@pytest.fixture
def an_hour_later(monkeypatch):
    clock = host_tree.file_system_clock_ns
    monkeypatch.setattr(host_tree, "file_system_clock_ns", lambda root: clock(root) + LATER_NS)


def seen(root, world=None, **more):
    listing = observe_tree(
        ObserveRequest(root=os.fsencode(root), statuses=True, **more), world or ObserveWorld(copies=0)
    )
    return listing, status_listing(listing.document)


def records(status):
    return status.part([RelPath(b"d"), RelPath(b"g"), RelPath(b"l")])


@pytest.mark.usefixtures("an_hour_later")
def test_a_file_that_has_settled_is_not_read(made):
    (made / "g").chmod(0)
    listing, status = seen(made, unread=True)
    directory, inner, file, link = records(status)
    assert isinstance(directory, DirectoryEntry)
    assert isinstance(link, SymlinkEntry)
    stat = (made / "g").lstat()
    assert isinstance(file, StatusEntry)
    assert (file.status.inode, file.status.mtime_ns, file.status.ctime_ns) == (
        stat.st_ino,
        stat.st_mtime_ns,
        stat.st_ctime_ns,
    )
    assert (file.mode, file.size, file.sha256, inner.sha256) == (0, 2, None, None)
    assert (listing.files, listing.directories, listing.symlinks, listing.bytes_watched) == (2, 1, 1, 3)
    assert not listing.omissions


def test_a_file_that_may_yet_change_unseen_is_read(made):
    _, status = seen(made, unread=True)
    assert records(status)[2].sha256 == hashlib.sha256(b"gg").hexdigest()


@pytest.mark.usefixtures("an_hour_later")
def test_where_the_file_system_tells_no_time_every_file_is_read(made, monkeypatch):
    monkeypatch.setattr(host_tree, "file_system_clock_ns", lambda root: None)
    assert records(seen(made, unread=True)[1])[2].sha256 == hashlib.sha256(b"gg").hexdigest()


@pytest.mark.usefixtures("an_hour_later")
def test_with_digests_every_file_has_both(made):
    _, inner, file, _ = records(seen(made)[1])
    assert (inner.sha256, file.sha256) == (hashlib.sha256(b"f").hexdigest(), hashlib.sha256(b"gg").hexdigest())
    assert file.status is not None


@pytest.mark.usefixtures("an_hour_later")
def test_what_is_known_of_a_tree_survives_passes_that_do_not_look_everywhere(made, tmp_path):
    cache = StatCache()
    world = ObserveWorld(cache=cache, copies=0)
    observe_tree(ObserveRequest(root=os.fsencode(made)), world)
    assert cache.files == 2
    seen(made, world, unread=True)
    seen(made, world, surface=Surface(roots=(RelPath(b"g"),)))
    other = tmp_path / "other"
    other.mkdir()
    (other / "x").write_bytes(b"x")
    observe_tree(ObserveRequest(root=os.fsencode(other), of_another=True), world)
    assert cache.files == 3
    observe_tree(ObserveRequest(root=os.fsencode(made)), world)
    assert cache.files == 2
