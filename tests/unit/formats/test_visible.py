"""Text that is not Unicode: shown, and kept to the byte."""

from __future__ import annotations

import pytest

from docket.formats.visible import Base64Fault, base64_bytes, raw_of, shown_and_coded, text_members, visible


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"plain", "plain"),
        ("é".encode(), "é"),
        (b"a\xffb", "a\\xffb"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
        (b"", ""),
    ],
)
def test_foreign_bytes_are_shown(raw, shown):
    assert visible(raw) == shown


def test_the_exact_bytes_stand_beside_what_is_not_unicode():
    assert text_members("cwd", "/tmp/é".encode()) == {"cwd": "/tmp/é"}
    # base64 of 61 ff 62, worked by hand: 011000 011111 111101 100010
    assert text_members("cwd", b"a\xffb") == {"cwd": "a\\xffb", "cwd_b64": "Yf9i"}


def test_text_and_bytes_come_as_a_pair_too():
    assert shown_and_coded("é".encode()) == ("é", None)
    assert shown_and_coded(b"a\xffb") == ("a\\xffb", "Yf9i")


@pytest.mark.parametrize("raw", [b"plain", "caf\u00e9".encode(), b"caf\xe9", b"", b"\xff\xfe"])
def test_the_bytes_come_back_from_the_members(raw):
    assert raw_of("path", text_members("path", raw)) == raw


@pytest.mark.parametrize("members", [{}, {"path": 7}, {"path_b64": "n\u00f6"}, {"path": "\ud800"}, {"path": None}])
def test_members_that_hold_no_text_give_no_bytes(members):
    assert raw_of("path", members) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", b""),
        ("Yf9i", b"a\xffb"),  # worked by hand above
        ("Zg==", b"f"),  # RFC 4648, section 10
        ("Zm9v", b"foo"),
        ("Zh==", Base64Fault.RESPELLED),  # the last bits of one byte are not zero
        ("Zg=", Base64Fault.UNREADABLE),
        ("Zg", Base64Fault.UNREADABLE),
        ("Zm9v\n", Base64Fault.UNREADABLE),
        ("Zm 9v", Base64Fault.UNREADABLE),
        ("Z-_v", Base64Fault.UNREADABLE),
        ("\u00e9", Base64Fault.UNREADABLE),
        ("\ud800", Base64Fault.UNREADABLE),
    ],
)
def test_base64_has_one_spelling(text, found):
    assert base64_bytes(text) == found
    assert isinstance(base64_bytes(text), Base64Fault) is isinstance(found, Base64Fault)
