"""The first pattern that matches, against a walk over all of them; and what reading and comparing them counts."""

from __future__ import annotations

import fnmatch

from hypothesis import given
from hypothesis import strategies as st

from docket.formats.effort import GLOB_STEPS, Effort
from docket.formats.run.pattern_index import PatternIndex

TEXTS = st.text(alphabet="ab*?[]!-^\\\n\u0130", max_size=5)
PLACES = st.lists(st.tuples(TEXTS, st.integers(0, 3)), max_size=8)


def index_of(places, effort=None):
    index = PatternIndex(effort)
    for number, (pattern, rank) in enumerate(places):
        index.add(pattern, (False, rank, 0, ""), number)
    return index


@given(PLACES, st.lists(TEXTS, max_size=6))
def test_it_finds_what_a_walk_finds(places, names):
    index = index_of(places)
    for name in names:
        matching = [at for at, (pattern, _) in enumerate(places) if fnmatch.fnmatchcase(name, pattern)]
        first = min((places[at][1] for at in matching), default=None)
        # Of equal ranks of one kind the first counts; of two kinds it does not matter: no two families have one rank.
        found = index.first(name)
        assert (found is None) is (first is None)
        assert found is None or (found in matching and places[found][1] == first)


def test_of_equal_ranks_the_first_counts():
    for pattern, name in (("ab", "ab"), ("a?", "ab"), ("a*", "ab"), ("*b", "ab"), ("[a]b", "ab")):
        assert index_of([(pattern, 1), (pattern, 1), (pattern, 0), (pattern, 0)]).first(name) == 2


def test_what_is_counted_does_not_hang_on_how_it_is_found():
    # A pattern's weight is its characters and 16, a place of `?` is 32 times, a name's weight is its own.
    index = index_of([("abcd*", 0), ("*ab", 1), ("abc", 2), ("a?c", 3), ("?bc", 4)])
    assert index.steps("abc") == (3 + 16) * (2 * 32 + (5 + 16) + (3 + 16))
    assert index.steps("ab") == (2 + 16) * ((5 + 16) + (3 + 16))


def test_no_glob_is_read_once_the_effort_is_spent():
    effort = Effort(left=2 * GLOB_STEPS - 1)
    index = index_of([("a*", 0), ("b*", 1), ("*c", 2), ("d", 3)], effort)
    assert [index.first(name) for name in ("ax", "bx", "xc", "d")] == [0, None, None, 3]
    assert effort.is_spent
    assert effort.left == -GLOB_STEPS - 1
