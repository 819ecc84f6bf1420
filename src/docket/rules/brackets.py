"""Bracket expressions of `.gitignore` patterns, byte by byte as git's wildmatch reads them.

Rules: `[!...]` and `[^...]` negate; a `]` right after the opening is a member; `a-z` is a range; a backslash takes
the next byte as it is; `[:alpha:]` and its like are the POSIX classes in ASCII. A bracket never stands for a slash.

What cannot match is an error and not an expression that matches nothing: an open bracket, a class that does not
exist, a slash inside.
"""

from __future__ import annotations

from collections.abc import Iterable

_SLASH = ord("/")
_LOWER, _UPPER = frozenset(range(0x61, 0x7B)), frozenset(range(0x41, 0x5B))
_DIGIT, _GRAPH = frozenset(range(0x30, 0x3A)), frozenset(range(0x21, 0x7F))
_ALNUM = _LOWER | _UPPER | _DIGIT
_CLASSES: dict[bytes, frozenset[int]] = {
    b"alnum": _ALNUM,
    b"alpha": _LOWER | _UPPER,
    b"blank": frozenset(b" \t"),
    b"cntrl": frozenset(range(0x20)) | {0x7F},
    b"digit": _DIGIT,
    b"graph": _GRAPH,
    b"lower": _LOWER,
    b"print": _GRAPH | {0x20},
    b"punct": _GRAPH - _ALNUM,
    b"space": frozenset(b" \t\n\v\f\r"),
    b"upper": _UPPER,
    b"xdigit": _DIGIT | frozenset(b"abcdefABCDEF"),
}


class BracketError(ValueError):
    """A bracket expression that can match nothing."""


def cut_brackets(pattern: bytes, placeholder: bytes) -> tuple[bytes, list[bytes]]:
    """Return the pattern with `placeholder` for each bracket, and the brackets as regular expressions in order."""
    kept, classes, at = bytearray(), [], 0
    while at < len(pattern):
        here = pattern[at : at + 1]
        if here == b"\\":
            kept += pattern[at : at + 2]
            at += 2
        elif here == b"[":
            members, at = _members(pattern, at + 1)
            classes.append(byte_class(members))
            kept += placeholder
        else:
            kept += here
            at += 1
    return bytes(kept), classes


def byte_class(members: Iterable[int]) -> bytes:
    """Return the regular expression that matches one byte of `members`, the slash never."""
    codes = sorted(set(members) - {_SLASH})
    return b"[" + b"".join(b"\\x%02x" % code for code in codes) + b"]" if codes else b"(?!)"


def _members(pattern: bytes, at: int) -> tuple[frozenset[int], int]:
    """Read members from `at`, behind the opening; return them and where the pattern goes on."""
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    members: set[int] = set()
    low: int | None = None
    first = True
    while first or pattern[at : at + 1] != b"]":
        first = False
        if pattern[at : at + 1] == b"-" and low is not None and pattern[at + 1 : at + 2] not in (b"", b"]"):
            high, at = _byte(pattern, at + 1)
            members.update(range(low, high + 1))
            low = None
            continue
        named = _named_class(pattern, at)
        if named is not None:
            members |= _CLASSES[named]
            at += len(named) + 4
            low = None
            continue
        low, at = _byte(pattern, at)
        members.add(low)
    return frozenset(set(range(256)) - members if negated else members), at + 1


def _byte(pattern: bytes, at: int) -> tuple[int, int]:
    if pattern[at : at + 1] == b"\\":
        at += 1
    if at >= len(pattern):
        raise BracketError("a bracket is not closed")
    if pattern[at] == _SLASH:
        raise BracketError("a bracket holds a slash")
    return pattern[at], at + 1


def _named_class(pattern: bytes, at: int) -> bytes | None:
    if pattern[at : at + 2] != b"[:":
        return None
    end = pattern.find(b"]", at + 2)
    if end < 0:
        raise BracketError("a bracket is not closed")
    if end == at + 2 or pattern[end - 1 : end] != b":" or end - 1 < at + 2:
        return None
    name = pattern[at + 2 : end - 1]
    if name not in _CLASSES:
        raise BracketError(f"there is no class [:{name.decode('utf-8', 'backslashreplace')}:]")
    return name
