"""Which paths a list of patterns means, by the rules of `.gitignore`.

Rules (spec/tree.md, Patterns):
1. The last pattern that matches decides; `!` takes back. A path is meant if it, or a directory above it, is; below
   a directory that is meant nothing can be taken back.
2. Patterns and names are bytes: `?` and a bracket stand for one byte, nothing is decoded, case counts.
3. A pattern that could never match (blank, a comment, `/`, an open bracket) is refused: in a list of what must not
   change it would be a protection that is not there.
4. Whatever the pattern, a name takes time in proportion to its length and the pattern's: a list may come from a
   repository that nobody trusts.

Patterns become regular expressions through pathspec. Three things are settled before and after it, because git
decides them otherwise: what a bracket stands for (`rules.brackets`), which blanks at the end count, and names with
line ends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.rules.brackets import BracketError, byte_class, cut_brackets

_PLACEHOLDER = b"\0"
_ANY_DIRECTORY = re.compile(rb"\(\?P<\w+>/\)")
# What pathspec writes for `**` at the beginning and in the middle, and for what stands between two of them.
_DEEP = re.compile(rb"(\(\?:\.\+/\)\?|\(\?:/\.\+\)\?/)")
_DEEP_LAZILY = {b"(?:.+/)?": b"(?:.+?/)??", b"(?:/.+)?/": b"(?:/.+?)??/"}
_STAR = b"[^/]*"
_ATOM = re.compile(rb"\[\^/\][*+]?|\\.|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Line:
    """One pattern: its expression, whether it takes back, and whether it means every directory there is."""

    expression: re.Pattern[bytes]
    takes_back: bool
    every_directory: bool

    def means(self, name: bytes, *, is_directory: bool) -> bool:
        """Whether the path itself is meant; an expression's only group matches the slash after a directory."""
        direct = self.expression.search(name)
        if direct is not None and direct.lastindex is None:
            return True
        if not is_directory:
            return False
        if self.every_directory:
            return True
        found = self.expression.search(name + b"/")
        return found is not None and found.lastindex is not None and found.end(1) == len(name) + 1


@dataclass(frozen=True, slots=True)
class Selector:
    """The paths that `patterns` mean."""

    patterns: tuple[str, ...]
    _lines: tuple[_Line, ...] = field(repr=False)

    def matches(self, path: RelPath, *, is_directory: bool) -> bool:
        """Whether the path or a directory above it is meant; `is_directory` is about the path itself."""
        if not self._lines:
            return False
        raw = path.raw
        at = raw.find(b"/")
        while at >= 0:
            if self.matches_own(raw[:at], is_directory=True):
                return True
            at = raw.find(b"/", at + 1)
        return self.matches_own(raw, is_directory=is_directory)

    def matches_own(self, raw: bytes, *, is_directory: bool) -> bool:
        """Whether the path itself is meant, directories above it left aside."""
        for line in reversed(self._lines):
            if line.means(raw, is_directory=is_directory):
                return not line.takes_back
        return False


def compile_patterns(patterns: Sequence[str]) -> Selector:
    """Return the selector of `patterns`; InvalidDocumentError(POLICY_INVALID) names the one that cannot be meant."""
    return Selector(tuple(patterns), tuple(_compiled(pattern) for pattern in patterns))


def _compiled(pattern: str) -> _Line:
    from pathspec.patterns.gitignore.spec import (  # noqa: PLC0415 - the default policy has no patterns to load it for
        GitIgnoreSpecPattern,
    )

    raw = _without_blanks(pattern.encode("utf-8", "surrogateescape"))
    if raw.endswith(b"/**/"):
        raw += b"*/"  # git means the directories below; pathspec would mean the one above
    try:
        text, classes = cut_brackets(_checked(raw), _PLACEHOLDER)
        text, classes = _with_last_blank_kept(text, classes)
        expression, include = GitIgnoreSpecPattern.pattern_to_regex(text)
    except (BracketError, ValueError) as error:
        raise _refused(pattern, str(error)) from error
    if expression is None:
        raise _refused(pattern, "it is blank or a comment (write \\# for a name that begins with #)")
    pieces = _without_retries(expression.replace(b"|$)", b"|\\Z)")).split(_PLACEHOLDER)
    woven = b"".join(piece + part for piece, part in zip(pieces, [*classes, b""], strict=True))
    every = _ANY_DIRECTORY.fullmatch(expression) is not None
    return _Line(re.compile(woven, re.DOTALL), takes_back=not include, every_directory=every)


def _without_retries(expression: bytes) -> bytes:
    """Return an equal expression in which only the last `**`, and the last `*` of a part, are ever tried again.

    What stands behind an earlier one is taken where it first fits and kept: the next `**` or `*` takes what is left.
    """
    head, *rest = _DEEP.split(expression)
    gaps, bodies = rest[::2], [_with_stars_kept(body) for body in rest[1::2]]
    kept = [b"(?>%b%b(?=/))" % (_DEEP_LAZILY[gap], body) for gap, body in zip(gaps[:-1], bodies[:-1], strict=True)]
    return b"".join((_with_stars_kept(head), *kept, *gaps[-1:], *bodies[-1:]))


def _with_stars_kept(body: bytes) -> bytes:
    out, star, fixed = b"", b"", b""
    for match in _ATOM.finditer(body):
        atom = match.group()
        if atom == _STAR and star and fixed:
            out, fixed = out + b"(?>[^/]*?" + fixed + b")", b""
        elif atom == _STAR:
            out, star, fixed = out + fixed, _STAR, b""
        elif atom == b"/":
            out, star, fixed = out + star + fixed + atom, b"", b""
        else:
            fixed += atom
    return out + star + fixed


def _checked(raw: bytes) -> bytes:
    body = raw.removeprefix(b"!")
    if body.strip(b"/") == b"":
        raise ValueError("it names nothing")
    if b"//" in body:
        raise ValueError("two slashes in a row match nothing")
    if _PLACEHOLDER in body or b"\n" in body:
        raise ValueError("a pattern holds no NUL and no line end")
    return raw


def _without_blanks(raw: bytes) -> bytes:
    """Drop the blanks at the end that no backslash keeps."""
    end = len(raw.rstrip(b" "))
    escapes = len(raw[:end]) - len(raw[:end].rstrip(b"\\"))
    return raw[: end + 1] if escapes % 2 and end < len(raw) else raw[:end]


def _with_last_blank_kept(text: bytes, classes: list[bytes]) -> tuple[bytes, list[bytes]]:
    """Put a placeholder for a last byte that pathspec, reading bytes as Latin-1 text, would take for a blank."""
    if not text or not text[-1:].decode("latin-1").isspace():
        return text, classes
    head = text[:-1]
    escapes = len(head) - len(head.rstrip(b"\\"))
    kept = head[:-1] if escapes % 2 else head
    return kept + _PLACEHOLDER, [*classes, byte_class({text[-1]})]


def _refused(pattern: str, why: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.POLICY_INVALID, f"the pattern {pattern!r} is refused: {why}")
