"""Contents made of others by hunks: along the fewest steps, both ways, and never under a name that is not theirs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import pytest

from docket.engines.windows import derived_contents
from docket.engines.windows.derived_contents import DerivedContents
from docket.formats.relpath import RelPath
from docket.formats.windows.changes import Side, TreeChange
from docket.formats.windows.delta import Delta, FileDelta, Span
from docket.formats.windows.names import REGULAR_MODE, Hashes, Scope, Status
from docket.rules.windows.compare import Room, compare_file
from docket.rules.windows.naming import content_name

HASHES = Hashes.SHA1
TEXTS = [b"", b"1\n", b"1\n2\n", b"1\n2\n3", b"0\n1\n2\n3"]


def name(content: bytes) -> str:
    return content_name(content, HASHES)


def file(before: bytes | None, after: bytes | None) -> FileDelta:
    sides = [Side() if data is None else Side(mode=REGULAR_MODE, name=name(data)) for data in (before, after)]
    kept = {name(data): data for data in (before, after) if data is not None}
    change = TreeChange(path=RelPath(b"a"), before=sides[0], after=sides[1])
    return compare_file(change, HASHES, kept.__getitem__, Room())


def delta(*files: FileDelta, hashes: Hashes = HASHES) -> Delta:
    return Delta(scope=Scope.TOOL, status=Status.COMPLETE, window=Span(started_at="", completed_at="", duration_ms=0),
                 actors=(), tool_uses=(), files=files, hashes=hashes)  # fmt: skip


CHAIN = [delta(file(before, after)) for before, after in pairwise(TEXTS)]


def derived(deltas: Iterable[Delta], stored: dict[str, bytes] | None = None) -> DerivedContents:
    return DerivedContents(lambda: deltas, HASHES, (stored or {}).get)


@pytest.mark.parametrize("wanted", TEXTS)
@pytest.mark.parametrize("there", TEXTS)
def test_every_content_leads_to_every_other(wanted: bytes, there: bytes) -> None:
    assert derived(CHAIN).get(name(wanted), {name(there): there}) == wanted
    assert derived(CHAIN, {name(there): there}).get(name(wanted), {}) == wanted


def test_what_was_made_or_removed_needs_no_other_content() -> None:
    assert derived([delta(file(None, b"made\n"))]).get(name(b"made\n"), {}) == b"made\n"
    assert derived([delta(file(b"gone", None))]).get(name(b"gone"), {}) == b"gone"


def test_nothing_leads_there() -> None:
    assert derived(CHAIN).get(name(TEXTS[2]), {}) is None
    assert derived([]).get(name(TEXTS[2]), {name(b"1\n"): b"1\n"}) is None
    assert derived([delta(file(b"a\0", b"b\0"))]).get(name(b"a\0"), {name(b"b\0"): b"b\0"}) is None
    other = [replace(item, hashes=Hashes.SHA256) for item in CHAIN]
    assert derived(other).get(name(TEXTS[2]), {name(TEXTS[1]): TEXTS[1]}) is None


def test_a_step_that_gives_another_content_is_not_believed() -> None:
    false = replace(file(b"1\n", b"2\n"), before_hash=name(b"evil\n"))
    assert derived([delta(false)]).get(name(b"evil\n"), {name(b"2\n"): b"2\n"}) is None
    assert derived([delta(false)]).get(name(b"evil\n"), {name(b"2\n"): b"3\n"}) is None


def test_it_goes_no_farther_than_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name(TEXTS[4]): TEXTS[4]}
    monkeypatch.setattr(derived_contents, "MAX_STEPS", 2)
    assert derived(CHAIN).get(name(TEXTS[0]), known) is None
    monkeypatch.setattr(derived_contents, "MAX_STEPS", 1000)
    monkeypatch.setattr(derived_contents, "MAX_DELTAS", 3)
    assert derived(CHAIN).get(name(TEXTS[0]), known) is None
