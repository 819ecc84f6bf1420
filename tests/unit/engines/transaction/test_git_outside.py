"""A FIFO where git has a file is no repository, and is not waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from docket.engines.transaction.git_outside import read_only_places
from docket.formats.tree.listing import listing_of

pytestmark = pytest.mark.timeout(20)


def test_a_fifo_above_the_tree_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "above/tree").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / "above/.git")
    assert read_only_places(tmp_path / "above/tree", listing_of(()), ()) == (os.fsencode(tmp_path / ".git"),)


def test_a_fifo_in_a_repository_names_no_other(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git/commondir")
    assert read_only_places(tmp_path / "tree", listing_of(()), ()) == (os.fsencode(tmp_path / ".git"),)
