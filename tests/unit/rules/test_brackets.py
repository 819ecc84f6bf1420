"""Bracket expressions, against the examples of git's own wildmatch tests and gitignore(5)."""

from __future__ import annotations

import re

import pytest

from docket.rules.brackets import BracketError, byte_class, cut_brackets


def members(bracket):
    kept, (expression,) = cut_brackets(bracket, b"\0")
    assert kept == b"\0"
    pattern = re.compile(expression, re.DOTALL)
    return bytes(code for code in range(256) if pattern.fullmatch(bytes([code])))


@pytest.mark.parametrize(
    ("bracket", "expected"),
    [
        (b"[ab]", b"ab"),
        (b"[a-c]", b"abc"),
        (b"[c-a]", b"c"),
        (b"[]a]", b"]a"),
        (b"[]-a]", b"]^_`a"),
        (b"[a-]", b"-a"),
        (b"[-a]", b"-a"),
        (b"[a-c-e]", b"-abce"),
        (b"[\\]]", b"]"),
        (b"[\\a-\\c]", b"abc"),
        (b"[[]", b"["),
        (b"[[:digit:]]", b"0123456789"),
        (b"[[:digit:]-x]", b"-0123456789x"),
        (b"[[:xdigit:]]", b"0123456789ABCDEFabcdef"),
        (b"[[:space:]]", b"\t\n\x0b\x0c\r "),
        (b"[[:blank:]_]", b"\t _"),
        (b"[+-0]", b"+,-.0"),
        (b"[\xc3\xa9]", b"\xa9\xc3"),
    ],
)
def test_what_a_bracket_stands_for(bracket, expected):
    assert sorted(members(bracket)) == sorted(expected)


def test_a_bracket_that_is_not_a_class_after_all_holds_its_letters():
    assert cut_brackets(b"[[:a]x", b"\0")[0] == b"\0x"
    assert members(b"[[:a]") == b":[a"
    assert members(b"[[:]") == b":["


@pytest.mark.parametrize("bracket", [b"[!a]", b"[^a]", b"[!-~a]"])
def test_a_negated_bracket_holds_all_but_its_members_and_the_slash(bracket):
    meant = members(bracket)
    assert b"/" not in meant
    assert b"a"[0] not in meant
    assert len(meant) == (254 if b"~" not in bracket else 252)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        (b"alnum", 62),
        (b"alpha", 52),
        (b"cntrl", 33),
        (b"graph", 93),
        (b"lower", 26),
        (b"print", 94),
        (b"punct", 31),
        (b"upper", 26),
    ],
)
def test_the_posix_classes_are_those_of_ascii_less_the_slash(name, size):
    assert len(members(b"[[:" + name + b":]]")) == size


def test_the_rest_of_a_pattern_is_left_as_it_is():
    assert cut_brackets(b"a\\[b[cd]e\\\\[f]", b"\0") == (b"a\\[b\0e\\\\\0", [byte_class(b"cd"), byte_class(b"f")])
    assert cut_brackets(b"plain*\\", b"\0") == (b"plain*\\", [])


@pytest.mark.parametrize(
    "bracket", [b"[", b"[a", b"[]", b"[!", b"[!]", b"[a-", b"[\\", b"[[:alpha:]", b"[[:no:]]", b"[/]"]
)
def test_what_can_match_nothing_is_an_error(bracket):
    with pytest.raises(BracketError):
        cut_brackets(bracket, b"\0")
