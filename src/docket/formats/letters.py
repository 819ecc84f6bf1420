"""Texts by the Unicode of one version, whichever the interpreter knows: 14.0 (spec/course.md, Patterns).

A record is read for years, and by programs of other versions. Characters that came later stand for themselves: they are
neither lower-cased nor do they make another one the end of a word, and they are letters as good as any to be printed.
"""

from __future__ import annotations

import re
from functools import cache

_LATE = (
    "0897 0ECE 1ACF-1ADD 1AE0-1AEB 1C89-1C8A A7CB-A7CF A7D2 A7D4 A7DA-A7DC A7F1 10D4E 10D50-10D65 10D69-10D6D "
    "10D6F-10D85 10EC5 10EFA-10EFF 11241 113BB-113C0 113CE 113D0 113D2 113E1-113E2 11B60 11B62-11B64 11B66 11DD9 "
    "11F00-11F01 11F36-11F3A 11F40 11F42 11F5A 13439-13440 13447-13455 1611E-16129 1612D-1612F 16D40-16D42 16D6B-16D6C "
    "16EA0-16EB8 16EBB-16ED3 16FF2-16FF3 1DF25-1DF2A 1E030-1E06D 1E08F 1E4EB-1E4EF 1E5EE-1E5EF 1E6E3 1E6E6 1E6EE-1E6EF "
    "1E6F5 1E6FF"
)
"""What has, since then, become a letter with case or something that is passed over beside one."""
_UNPRINTABLE = (
    "00-20 7F-A0 AD 600-605 61C 6DD 70F 890-891 8E2 1680 180E 2000-200F 2028-202F 205F-2064 2066-206F 3000 D800-F8FF "
    "FEFF FFF9-FFFB 110BD 110CD 13430-13438 1BCA0-1BCA3 1D173-1D17A E0001 E0020-E007F F0000-FFFFD 100000-10FFFD"
)
"""The categories Cc, Cf, Cs, Co and Z."""


def lowered(text: str) -> str:
    """Return the text in lower case, by Unicode's full mapping."""
    if text.isascii():
        return text.lower()
    return "".join(part if at % 2 else part.lower() for at, part in enumerate(_any_of(_LATE).split(text)))


def is_printable(text: str) -> bool:
    """Whether no character is a blank, a control, a mark of format, or of private use."""
    return _any_of(_UNPRINTABLE).search(text) is None


@cache
def _any_of(ranges: str) -> re.Pattern[str]:
    ends = (item.partition("-") for item in ranges.split())
    spans = (f"{chr(int(first, 16))}-{chr(int(last or first, 16))}" for first, _, last in ends)
    return re.compile(f"([{''.join(spans)}]+)")
