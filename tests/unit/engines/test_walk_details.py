"""Attributes of a tree's paths: read once, remembered, and asked again when they change."""

from __future__ import annotations

import os
import struct
import time

import pytest

from docket.engines import walk_details
from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.host import attributes
from docket.stores.statcache import StatCache

ACCESS, DEFAULT = b"system.posix_acl_access", b"system.posix_acl_default"
ACL = struct.pack("<I" + "HHI" * 5, 2, 1, 6, 2**32 - 1, 2, 4, 1234, 4, 4, 2**32 - 1, 16, 4, 2**32 - 1, 32, 0, 2**32 - 1)


@pytest.fixture
def tree(tmp_path):
    try:
        os.setxattr(tmp_path, "user.probe", b"x")
        os.setxattr(tmp_path, DEFAULT, ACL)
        os.removexattr(tmp_path, DEFAULT)
    except OSError:
        pytest.skip("the file system keeps no attributes or no ACLs")
    (tmp_path / "folder").mkdir()
    for name in ("plain", "tagged", "large", "listed"):
        (tmp_path / name).write_bytes(name.encode())
    os.symlink("plain", tmp_path / "link")
    os.setxattr(tmp_path / "tagged", "user.t", b"\0\xff")
    os.setxattr(tmp_path / "large", "user.large", b"v" * 3000)
    os.setxattr(tmp_path / "listed", ACCESS, ACL)
    os.setxattr(tmp_path / "folder", DEFAULT, ACL)
    os.setxattr(tmp_path / "folder", "user.t", b"d")
    time.sleep(0.05)
    return tmp_path


def seen(tree, cache):
    world = ObserveWorld(cache=cache, copies=0)
    listing = observe_tree(ObserveRequest(root=os.fsencode(tree), details=True), world)
    return {item.path.raw: item.xattrs for item in listing.details.paths if item.xattrs}


EXPECTED = {
    b"folder": ((DEFAULT, ACL), (b"user.t", b"d")),
    b"large": ((b"user.large", b"v" * 3000),),
    b"listed": ((ACCESS, ACL),),
    b"tagged": ((b"user.t", b"\0\xff"),),
}


def own(found):
    kept = {
        path: tuple(item for item in items if not item[0].startswith(b"security.")) for path, items in found.items()
    }
    return {path: items for path, items in kept.items() if items}


def test_an_unchanged_pass_asks_only_what_is_too_large_to_remember(tree, monkeypatch):
    cache = StatCache(tree.parent / f"{tree.name}-cache")
    assert own(seen(tree, cache)) == EXPECTED
    asked = []

    def at(parent, name):
        asked.append(name)
        return attributes.attributes_at(parent, name)

    monkeypatch.setattr(walk_details, "attributes_at", at)
    assert own(seen(tree, StatCache(tree.parent / f"{tree.name}-cache"))) == EXPECTED
    assert asked == ["large"]


def test_a_change_of_attributes_alone_is_seen(tree):
    cache = StatCache()
    seen(tree, cache)
    os.setxattr(tree / "plain", "user.new", b"1")
    os.removexattr(tree / "tagged", "user.t")
    found = own(seen(tree, cache))
    assert found[b"plain"] == ((b"user.new", b"1"),)
    assert b"tagged" not in found


def test_values_beyond_the_limit_are_told_by_their_size(tree, monkeypatch):
    monkeypatch.setattr(attributes, "MAX_KEPT_BYTES", 2999)
    assert own(seen(tree, StatCache()))[b"large"] == ((b"user.large", 3000),)


def test_a_file_that_is_another_by_now_has_no_attributes(tree):
    root = os.open(tree, os.O_RDONLY)
    try:
        row = (b"large", "large", os.stat(tree / "large"))
        assert walk_details.attributes_known(root, row, b"?") is not None
        os.setxattr(tree / "large", "user.large", b"w")
        os.utime(tree / "large", ns=(0, 0))
        assert walk_details.attributes_known(root, row, b"?") is None
    finally:
        os.close(root)
