"""Extended attributes in documents: their order, their namespace, their spelling."""

from __future__ import annotations

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.tree.steps import Xattr
from docket.formats.tree.xattrs import check_xattrs, read_xattrs, xattr_members

TWO = (Xattr(b"user.a", b"\xff"), Xattr(b"user.b", b""))
WRITTEN = [{"name": "dXNlci5h", "value": "/w=="}, {"name": "dXNlci5i", "value": ""}]


def test_they_are_read_as_they_are_written():
    assert xattr_members(TWO) == WRITTEN
    assert read_xattrs(Reader({"xattrs": WRITTEN}, "a file")) == TWO
    assert read_xattrs(Reader({"xattrs": []}, "a file")) == ()


@pytest.mark.parametrize("found", [(TWO[1], TWO[0]), (TWO[0], TWO[0])])
def test_order_counts(found):
    with pytest.raises(InvalidDocumentError) as caught:
        check_xattrs(found, "a/b")
    assert (caught.value.reason, "a/b" in caught.value.detail) == (Reason.NOT_CANONICAL, True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"security.capability", b""),
        (b"trusted.a", b""),
        (b"user.", b""),
        (b"user.a\0", b""),
        (b"user." + b"a" * 251, b""),
        (b"user.a", bytes(65_537)),
    ],
)
def test_none_but_users_own_that_a_file_can_have(name, value):
    with pytest.raises(InvalidDocumentError) as caught:
        check_xattrs([Xattr(name, value)], "a")
    assert caught.value.reason == Reason.WRONG_VALUE


@pytest.mark.parametrize(
    ("member", "reason"),
    [("*", Reason.WRONG_VALUE), ("/x==", Reason.NOT_CANONICAL), ("\u00e9", Reason.WRONG_VALUE), (1, Reason.WRONG_TYPE)],
)
def test_base64_has_one_spelling(member, reason):
    with pytest.raises(InvalidDocumentError) as caught:
        Reader({"a": member}, "it").base64("a")
    assert caught.value.reason == reason
