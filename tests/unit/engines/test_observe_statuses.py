"""Passes that read statuses: what of a file is told, and what is read for it."""

import hashlib
import os

import pytest

from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import FileEntry
from docket.formats.tree.status_listing import HEADER, status_listing
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
    request = ObserveRequest(root=os.fsencode(root), statuses=True, **more)
    listing = observe_tree(request, world or ObserveWorld(copies=0))
    return listing, status_listing(HEADER + listing.statuses).entries()


def digest(data):
    return hashlib.sha256(data).hexdigest()


@pytest.mark.usefixtures("an_hour_later")
def test_a_file_that_has_settled_is_not_read(made):
    (made / "g").chmod(0)
    listing, (inner, file) = seen(made, unread=True)
    stat = (made / "g").lstat()
    assert (file.path.raw, file.sha256, inner.sha256) == (b"g", None, None)
    assert (file.status.size, file.status.mode) == (2, 0)
    told = (file.status.inode, file.status.mtime_ns, file.status.ctime_ns)
    assert told == (stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns)
    assert (listing.files, listing.directories, listing.symlinks, listing.bytes_watched) == (2, 1, 1, 3)
    assert {entry.sha256 for entry in listing.entries if isinstance(entry, FileEntry)} == {"0" * 64}


def test_a_file_that_may_yet_change_unseen_is_read(made):
    listing, statuses = seen(made, unread=True)
    assert statuses == ()
    assert listing.record(RelPath(b"g")).sha256 == digest(b"gg")


@pytest.mark.usefixtures("an_hour_later")
def test_where_the_file_system_tells_no_time_every_file_is_read(made, monkeypatch):
    monkeypatch.setattr(host_tree, "file_system_clock_ns", lambda root: None)
    listing, statuses = seen(made, unread=True)
    assert statuses == ()
    assert listing.record(RelPath(b"g")).sha256 == digest(b"gg")


@pytest.mark.usefixtures("an_hour_later")
def test_a_file_whose_digest_is_known_is_told_by_it(made):
    world = ObserveWorld(cache=StatCache(), copies=0)
    observe_tree(ObserveRequest(root=os.fsencode(made)), world)
    (made / "g").write_bytes(b"new")
    listing, (unread,) = seen(made, world, unread=True)
    assert unread.path.raw == b"g"
    assert listing.record(RelPath(b"d/f")).sha256 == digest(b"f")


@pytest.mark.usefixtures("an_hour_later")
def test_with_digests_every_file_has_both(made):
    listing, (inner, file) = seen(made)
    assert (inner.sha256, file.sha256) == (digest(b"f"), digest(b"gg"))
    assert listing.record(RelPath(b"g")).sha256 == digest(b"gg")


@pytest.mark.usefixtures("an_hour_later")
def test_what_a_file_was_made_with_is_believed_only_while_its_status_vouches_for_it(made):
    told = {b"d/f": (bytes(31) + b"\1", 1), b"g": (bytes(31) + b"\2", 3)}
    cache = StatCache()
    world = ObserveWorld(cache=cache, copies=0)
    listing = observe_tree(ObserveRequest(root=os.fsencode(made), made=told), world)
    assert listing.record(RelPath(b"d/f")).sha256 == "0" * 63 + "1"
    assert listing.record(RelPath(b"g")).sha256 == digest(b"gg")
    (made / "d/f").write_bytes(b"F")
    assert observe_tree(ObserveRequest(root=os.fsencode(made)), world).record(RelPath(b"d/f")).sha256 == digest(b"F")


def test_a_file_made_just_now_is_read_whatever_is_told_of_it(made):
    request = ObserveRequest(root=os.fsencode(made), made={b"g": (bytes(32), 2)})
    assert observe_tree(request, ObserveWorld(copies=0)).record(RelPath(b"g")).sha256 == digest(b"gg")


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
