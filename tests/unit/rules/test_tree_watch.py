from __future__ import annotations

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.rules.tree.watch import root_refusal, watched_surface


def surface(*watch, ignore=()):
    return watched_surface(watch=watch, ignore=ignore, evidence=(RelPath(b".docket"),))


@pytest.mark.parametrize("watch", [(), (".",), ("./",), ("src", ".")])
def test_the_whole_tree(watch):
    made = surface(*watch)
    assert (made.roots, made.watched, made.ignored) == ((), None, None)
    assert made.watch == (watch or (".",))
    assert made.left_out(b".docket", is_directory=True).reason is Reason.EXCLUDED


def test_roots_are_literal_and_the_outermost_count():
    made = surface("src/", "./docs/a", "src/inner", "app/[slug]", "src", "srcs")
    assert [root.raw for root in made.roots] == [b"app/[slug]", b"docs/a", b"src", b"srcs"]
    assert made.watched is None
    assert made.watch == ("src/", "./docs/a", "src/inner", "app/[slug]", "src", "srcs")


def test_a_star_makes_patterns_of_all():
    made = surface("src/**/*.py", "docs", "?at")
    assert made.roots == ()
    for path in (b"docs", b"src/a/b.py", b"src/b.py", b"cat"):
        assert made.watched.matches(RelPath(path), is_directory=False), path
    for path in (b"a/docs", b"src/b.txt", b"x/src/b.py", b"a/cat"):
        assert not made.watched.matches(RelPath(path), is_directory=False), path
    assert made.watched.matches(RelPath(b"docs/any"), is_directory=False)


def test_anywhere_is_said_with_two_stars():
    made = surface("**/*.py", "[x]")
    assert made.watched.matches(RelPath(b"a/b.py"), is_directory=False)
    assert made.watched.matches(RelPath(b"[x]"), is_directory=False), "a bracket in a path is a bracket"


def test_ignored_patterns_are_compiled():
    assert surface(ignore=("*.log",)).left_out(b"a/x.log", is_directory=False).reason is Reason.EXCLUDED


@pytest.mark.parametrize("item", ["/etc", "../up", "a/../b", "a//b", "a/./b"])
def test_an_item_outside_the_tree_is_refused(item):
    with pytest.raises(InvalidDocumentError) as caught:
        surface(item)
    assert caught.value.reason == Reason.POLICY_INVALID
    assert "files.watch" in caught.value.detail


def test_a_pattern_that_cannot_match_is_refused():
    with pytest.raises(InvalidDocumentError):
        surface(ignore=("# nothing",))


@pytest.mark.parametrize(
    ("root", "home", "refused"),
    [
        ("/", "/home/ann", True),
        ("/home/ann", "/home/ann", True),
        ("/home/ann", "/home/ann/", True),
        ("/home/ann/work", "/home/ann", False),
        ("/home", "/home/ann", False),
        ("/home/ann", None, False),
        ("/", None, True),
        ("/srv", "/", False),
    ],
)
def test_the_root_and_the_home_directory_are_refused(root, home, refused):
    assert root_refusal(root, home) is (Reason.BASE_REFUSED if refused else None)
