from __future__ import annotations

import pytest

from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.surface import Surface, is_object_store


class Named:
    """Means every path with one name."""

    patterns = ("x",)

    def matches(self, path, *, is_directory):
        return b"x" in path.parts

    def matches_own(self, raw, *, is_directory):
        return raw.rpartition(b"/")[2] == b"x"


@pytest.mark.parametrize(
    "path",
    [
        b".git/objects",
        b"vendor/lib/.git/objects",
        b"mirror.git/objects",
        b".git/modules/lib/objects",
        b".git/modules/lib/modules/inner/objects",
        b".git/modules/deep/name/objects",
        b".git/lfs/objects",
        b".git/annex/objects",
        b".hg/store/data",
        b".jj/repo/store",
        b".svn/pristine",
        b".bzr/repository",
        b"a/_darcs/pristine.hashed",
    ],
)
def test_object_stores_are_known_by_their_place(path):
    assert is_object_store(path)
    assert Surface().left_out(path, is_directory=True).reason is Reason.OBJECT_STORE
    assert Surface().left_out(path, is_directory=False) is None


@pytest.mark.parametrize(
    "path",
    [
        b"objects",
        b"src/objects",
        b".git/modules/objects",
        b".git/refs/objects",
        b".gitx/objects",
        b"data",
        b"store/data",
        b".hg/data",
        b".git",
        b".git/refs",
        b".git/hooks",
        b".git/logs",
        b"pristine",
        b"lfs/objects",
    ],
)
def test_other_places_are_watched(path):
    assert not is_object_store(path)
    assert Surface().left_out(path, is_directory=True) is None


def test_evidence_is_left_out_where_it_stands_and_nowhere_else():
    surface = Surface(evidence=(RelPath(b".docket"), RelPath(b"a/b/out"), RelPath(b"a/b/log")))
    assert surface.left_out(b".docket", is_directory=True).reason is Reason.EXCLUDED
    assert surface.left_out(b"a/b/log", is_directory=False).reason is Reason.EXCLUDED
    assert surface.left_out(b"a/.docket", is_directory=True) is None
    assert surface.left_out(b"out", is_directory=True) is None
    assert surface.evidence_names(b"a/b/") == {b"out", b"log"}
    assert surface.evidence_names(b"a/") == frozenset()
    assert not surface.has_patterns


def test_ignored_paths_are_excluded():
    surface = Surface(ignored=Named())
    assert surface.has_patterns
    assert surface.left_out(b"a/x", is_directory=False).reason is Reason.EXCLUDED
    assert surface.left_out(b"x/a", is_directory=False) is None, "what is above is the walk's business"
    assert Surface(watched=Named()).has_patterns
    assert Surface(watched=Named()).left_out(b"x", is_directory=False) is None
