"""ACLs in plans: whole ones only, of files and directories, and never at odds with the mode beside them."""

from __future__ import annotations

import struct

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.plan import ABSENT, Address, MakeDirectory, SetMode, WriteFile, Xattr, decode_plan, plan_of
from docket.formats.tree.xattrs import acl_mode, named_acl, named_xattrs

ROOT = (1, 2)
ACCESS, DEFAULT = b"system.posix_acl_access", b"system.posix_acl_default"
OWNER, USER, GROUP_OWNER, GROUP, MASK, OTHER = 1, 2, 4, 8, 16, 32


def acl(*entries):
    """The kernel's bytes (linux/posix_acl_xattr.h): version 2, then tag, permissions and id of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, bits, 7) for tag, bits in entries)


MINIMAL = ((OWNER, 6), (GROUP_OWNER, 4), (OTHER, 0))
NAMED = ((OWNER, 7), (USER, 6), (GROUP_OWNER, 1), (GROUP, 5), (MASK, 5), (OTHER, 4))


@pytest.mark.parametrize(
    ("entries", "mode"),
    [
        (MINIMAL, 0o640),
        (NAMED, 0o754),
        (((OWNER, 6), (GROUP_OWNER, 7), (MASK, 2), (OTHER, 0)), 0o620),
        (MINIMAL[:2], None),
        ((*MINIMAL, (OWNER, 6)), None),
        ((*MINIMAL, (USER, 6)), None),
        ((*NAMED, (MASK, 5)), None),
        ((*MINIMAL, (64, 0)), None),
    ],
)
def test_the_mode_that_an_acl_says(entries, mode):
    assert acl_mode(acl(*entries)) == mode


def step_of(kind, mode, *xattrs):
    path = RelPath(b"a")
    found = tuple(Xattr(name, value) for name, value in xattrs)
    if kind == "directory":
        return MakeDirectory(path=path, precondition=ABSENT, mode=mode, xattrs=found)
    return WriteFile(path=path, precondition=ABSENT, content=Address.of(b""), mode=mode, xattrs=found)


@pytest.mark.parametrize(
    ("kind", "mode", "xattrs"),
    [
        ("file", 0o754, [(ACCESS, acl(*NAMED)), (b"user.a", b"\0")]),
        ("directory", 0o2754, [(ACCESS, acl(*NAMED)), (DEFAULT, acl(*MINIMAL)), (b"user.a", b"")]),
        ("directory", 0o700, []),
    ],
)
def test_what_a_plan_tells_comes_back(kind, mode, xattrs):
    plan = plan_of([step_of(kind, mode, *xattrs)], ROOT)
    assert b'"xattrs":[' in plan.document
    assert decode_plan(plan.document) == plan


def test_a_directory_whose_attributes_are_left_says_nothing_of_them():
    plan = plan_of([MakeDirectory(path=RelPath(b"a"), precondition=ABSENT, mode=0o755)], ROOT)
    line = plan.document.split(b"\n")[1]
    assert line == b'{"mode":493,"path":"a","precondition":"absent","step":"directory"}'


@pytest.mark.parametrize(
    ("kind", "mode", "xattrs"),
    [
        ("file", 0o755, [(ACCESS, acl(*NAMED))]),
        ("directory", 0o755, [(ACCESS, acl(*NAMED))]),
        ("file", 0o754, [(DEFAULT, acl(*NAMED))]),
        ("directory", 0o754, [(DEFAULT, acl(*MINIMAL[:2]))]),
        ("directory", 0o754, [(DEFAULT, b"")]),
        ("file", 0o640, [(ACCESS, acl(*MINIMAL)[:-1])]),
        ("file", 0o640, [(ACCESS, b"\1" + acl(*MINIMAL)[1:])]),
        ("directory", 0o755, [(b"security.selinux", b"")]),
        ("directory", 0o755, [(b"trusted.overlay.opaque", b"y")]),
        ("file", 0o644, [(b"system.other", b"")]),
    ],
)
def test_what_no_plan_gives(kind, mode, xattrs):
    with pytest.raises(InvalidDocumentError) as caught:
        plan_of([step_of(kind, mode, *xattrs)], ROOT)
    assert caught.value.reason == Reason.WRONG_VALUE


def test_a_mode_has_an_acl_beside_it_or_says_nothing_of_one():
    step = SetMode(path=RelPath(b"a"), precondition=ABSENT, mode=0o640, acl=acl(*MINIMAL))
    plan = plan_of([step], ROOT)
    assert plan.document.split(b"\n")[1].startswith(b'{"acl":"AgAAAAEABgAHAAAABAAEAAcAAAAgAAAABwAAAA==","mode":416,')
    assert decode_plan(plan.document) == plan
    assert b'"acl"' not in plan_of([SetMode(path=RelPath(b"a"), precondition=ABSENT, mode=0o640)], ROOT).document


@pytest.mark.parametrize(
    ("mode", "value"), [(0o644, acl(*MINIMAL)), (0o640, b""), (0o640, acl(*MINIMAL)[:-1])], ids=["other", "none", "cut"]
)
def test_a_mode_with_an_acl_that_is_none_or_says_another_is_refused(mode, value):
    with pytest.raises(InvalidDocumentError) as caught:
        plan_of([SetMode(path=RelPath(b"a"), precondition=ABSENT, mode=mode, acl=value)], ROOT)
    assert caught.value.reason == Reason.WRONG_VALUE


def test_what_a_step_names_of_what_a_path_had():
    own = ((b"user.b", b"2"), (b"user.a", b"1"), (b"user.big", 20_000), (b"security.x", None), (b"trusted.y", b"z"))
    had = ((DEFAULT, acl(*MINIMAL)), (ACCESS, acl(*NAMED)), *own)
    plain = (Xattr(b"user.a", b"1"), Xattr(b"user.b", b"2"))
    access, default = Xattr(ACCESS, acl(*NAMED)), Xattr(DEFAULT, acl(*MINIMAL))
    assert named_xattrs("file", 0o4754, had) == (access, *plain)
    assert named_xattrs("directory", 0o754, had) == (access, default, *plain)
    assert named_xattrs("directory", 0o755, had) == (default, *plain)
    assert named_xattrs("symlink", 0o777, had) is None
    assert named_xattrs("file", 0o640, ((ACCESS, acl(*MINIMAL[:2])), (DEFAULT, acl(*MINIMAL)))) is None
    assert named_acl(named_xattrs("file", 0o754, had)) == acl(*NAMED)
    assert named_acl(plain) is named_acl(None) is None
