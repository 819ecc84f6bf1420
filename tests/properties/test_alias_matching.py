"""Aliases match what the names matched, are told apart as the names were, and have nothing of a hidden name."""

from __future__ import annotations

from fnmatch import fnmatchcase

from hypothesis import given, settings
from hypothesis import strategies as st

from docket.rules.redaction.aliases import Aliases, Form

KEPT = frozenset(("main", "claude", "claude-x"))
PARTS = frozenset(("main", "claude", "sub:", "-x"))
LETTERS = st.sampled_from("acmeACME-:*?[]!%+0")
NAMES = st.one_of(st.sampled_from(sorted(KEPT)), st.text(LETTERS, min_size=1, max_size=8)).map(
    lambda text: text.replace("*", "%").replace("?", "+").replace("[", "0")
)
PATTERNS = st.one_of(
    st.sampled_from(("*", "claude*", "sub:*", "*-x", "*claude*", "main")),
    st.text(LETTERS, min_size=1, max_size=6),
)


def matches(pattern: str, name: str) -> bool:
    return fnmatchcase(name.lower(), pattern.lower())


@settings(max_examples=150)
@given(names=st.sets(NAMES, max_size=6), patterns=st.sets(PATTERNS, max_size=5))
def test_what_matched_matches_and_what_differed_differs(names: set[str], patterns: set[str]) -> None:
    form = Form(word="agent", kept=KEPT.__contains__, kept_part=PARTS.__contains__, head="sub:")
    aliases = Aliases(form, names, patterns)
    new = {name: aliases.name(name) for name in names}
    assert len(set(new.values())) == len(names)
    for name, alias in new.items():
        assert not set("*?[") & set(alias)
        stem = alias.partition("~")[0]
        assert stem == name if name in KEPT else stem.removeprefix("sub:").lower().startswith("agent-")
        for pattern in patterns:
            assert matches(aliases.pattern(pattern), alias) == matches(pattern, name), (pattern, name, alias)
