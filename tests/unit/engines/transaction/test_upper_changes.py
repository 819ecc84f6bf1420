"""When what an upper directory of an overlay holds goes unseen: told by two plain directories, it and the view."""

from __future__ import annotations

import os

import pytest

from docket.engines.transaction.backends.upper_changes import is_hidden
from tree_lab import p


@pytest.fixture
def sides(tmp_path):
    for side in ("upper", "shown"):
        (tmp_path / side / "d/deeper").mkdir(parents=True)
    (tmp_path / "upper/d/deeper/in").write_text("new")
    (tmp_path / "shown/d/deeper/in").write_text("new")
    return tmp_path / "upper", tmp_path / "shown"


def hidden(sides, path: str = "d") -> bool:
    upper, shown = sides
    return is_hidden(p(path), os.fsencode(upper), os.fsencode(shown))


def test_what_is_shown_is_not_hidden(sides):
    (sides[1] / "d/of-the-base").write_text("old")
    assert not hidden(sides)


@pytest.mark.parametrize("path", ["d", "d/deeper"])
def test_a_directory_that_lists_nothing_of_what_was_written(sides, path):
    (sides[1] / "d/deeper/in").unlink()
    assert hidden(sides, path)


def test_a_directory_that_is_not_there_at_all(sides):
    (sides[1] / "d/deeper/in").unlink()
    (sides[1] / "d/deeper").rmdir()
    (sides[1] / "d/other").write_text("old")
    assert hidden(sides)


def test_an_empty_directory_and_a_file_hide_nothing(sides):
    (sides[0] / "d/deeper/in").unlink()
    assert not hidden(sides, "d/deeper")
    (sides[0] / "d/file").write_text("new")
    assert not hidden(sides, "d/file")


@pytest.mark.skipif(os.geteuid() != 0, reason="a whiteout is made by root alone")
def test_whiteouts_alone_are_nothing_to_be_shown(sides):
    (sides[0] / "d/deeper/in").unlink()
    os.mknod(sides[0] / "d/deeper/gone", 0o600 | 0o020000, os.makedev(0, 0))
    (sides[1] / "d/deeper/in").unlink()
    assert not hidden(sides)
