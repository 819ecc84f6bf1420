"""What a cache remembers of a file's attributes, and what it does not."""

from __future__ import annotations

import pytest

from docket.formats.tree.attributes import ASK, is_kept, recalled, remembered


@pytest.mark.parametrize(
    ("attributes", "packed"),
    [
        ((), b""),
        (((b"security.selinux", None),), b"\x10security.selinux\xff"),
        (((b"user.a", b""), (b"user.b", b"xy")), b"\x06user.a\x00\x06user.b\x02xy"),
        (((b"user.a", b"x" * 247),), b"\x06user.a\xf7" + b"x" * 247),
    ],
)
def test_few_attributes_are_remembered(attributes, packed):
    assert remembered(attributes) == packed
    assert recalled(packed) == attributes


@pytest.mark.parametrize(
    "attributes",
    [
        ((b"user.a", 20_000),),
        ((b"user.a", b"x" * 248),),
        ((b"user.a", b"x" * 255),),
        ((b"n" * 255, None),),
    ],
)
def test_others_are_asked_again(attributes):
    assert remembered(attributes) == ASK
    assert recalled(ASK) is None


@pytest.mark.parametrize("packed", [b"\x06user.a", b"\x06use", b"\x06user.a\x02x"])
def test_what_was_cut_is_asked_again(packed):
    assert recalled(packed) is None


def test_which_values_are_kept():
    names = (b"user.x", b"system.posix_acl_access", b"system.posix_acl_default", b"security.ima", b"trusted.x", b"*")
    assert [is_kept(name) for name in names] == [True, True, True, False, False, False]
