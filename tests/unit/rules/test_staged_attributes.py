"""Attributes and ACLs of a staged tree: a stage has the base's, a commit lands the stage's, by one mapping."""

from __future__ import annotations

import struct

from docket.formats.digest import sha256
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.formats.tree.details import Detail, Details
from docket.formats.tree.listing import DirectoryEntry, FileEntry, SymlinkEntry, listing_of
from docket.formats.tree.steps import SetMode, Xattr
from docket.formats.workspace.change_set import change_set_of
from docket.rules.workspace.commit_plan import landing
from docket.rules.workspace.stage_plan import not_kept, stage_parts

ACCESS, DEFAULT = b"system.posix_acl_access", b"system.posix_acl_default"
ACL = struct.pack("<IHHIHHIHHI", 2, 1, 6, 2**32 - 1, 4, 4, 2**32 - 1, 32, 0, 2**32 - 1)
OLD, NEW = sha256(b"old"), sha256(b"new")


def tree():
    listing = listing_of([
        DirectoryEntry(path=RelPath(b"d"), mode=0o640),
        FileEntry(path=RelPath(b"f"), size=3, mode=0o640, mtime_ns=1, sha256=NEW),
        FileEntry(path=RelPath(b"g"), size=3, mode=0o600, mtime_ns=1, sha256=NEW),
        SymlinkEntry(path=RelPath(b"l"), target=b"f"),
    ])  # fmt: skip
    listing.details = Details(
        paths=(
            Detail(path=RelPath(b"d"), kind="directory", xattrs=((ACCESS, ACL), (DEFAULT, ACL), (b"user.t", b"x"))),
            Detail(path=RelPath(b"f"), kind="file", xattrs=((b"security.x", None), (ACCESS, ACL), (b"user.t", b"y"))),
            Detail(path=RelPath(b"l"), kind="symlink", xattrs=((b"user.t", b"z"),), owner=5),
        ),
        directory_mtimes=struct.pack("<q", 2),
        symlink_mtimes=struct.pack("<q", 3),
    )
    return listing


def test_a_stage_has_the_attributes_of_its_base():
    parts = stage_parts(tree())
    steps = {step.path.raw: step for step in parts.steps}
    assert steps[b"d"].xattrs == (Xattr(ACCESS, ACL), Xattr(DEFAULT, ACL), Xattr(b"user.t", b"x"))
    assert steps[b"f"].xattrs == (Xattr(ACCESS, ACL), Xattr(b"user.t", b"y"))
    assert sorted(steps) == [b"d", b"f", b"l"]  # g has nothing beside its content, mode and time
    assert [(item.path.raw, item.what) for item in not_kept(tree())] == [
        (b"f", "security.x"), (b"l", "user.t"), (b"l", "owner 5"),
    ]  # fmt: skip


def test_a_commit_lands_the_attributes_of_the_stage():
    def state(digest, mode):
        return EntryState(kind="file", mode=mode, size=3, sha256=digest)

    changes = [
        FsChange(path=RelPath(b"d"), change=Change.ADDED, before=None, after=EntryState(kind="directory", mode=0o640)),
        FsChange(path=RelPath(b"f"), change=Change.MODIFIED, before=state(OLD, 0o640), after=state(NEW, 0o640)),
        FsChange(path=RelPath(b"g"), change=Change.MODIFIED, before=state(OLD, 0o600), after=state(NEW, 0o600)),
    ]
    directory, file, other = landing(change_set_of(sha256(b""), changes), tree()).steps
    assert directory.xattrs == (Xattr(ACCESS, ACL), Xattr(DEFAULT, ACL), Xattr(b"user.t", b"x"))
    assert file.xattrs == (Xattr(ACCESS, ACL), Xattr(b"user.t", b"y"))
    assert other.xattrs is None


def test_a_mode_lands_with_the_acl_that_made_it():
    before, after = (EntryState(kind="file", mode=mode, size=3, sha256=NEW) for mode in (0o600, 0o640))
    change = FsChange(path=RelPath(b"f"), change=Change.MODIFIED, before=before, after=after)
    (step,) = landing(change_set_of(sha256(b""), [change]), tree()).steps
    assert isinstance(step, SetMode)
    assert (step.mode, step.acl) == (0o640, ACL)
