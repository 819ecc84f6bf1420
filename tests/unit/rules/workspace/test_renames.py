"""Renames as they are shown: by the exact content, then by how much of it is the same."""

from __future__ import annotations

import pytest

from docket.formats.digest import Digest, sha256
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.formats.workspace.change_set import ChangeSet, change_set_of
from docket.rules.workspace.renames import MAX_BYTES, MAX_FILES, Rename, Unpaired, renames, similar, unpaired

TEN = b"".join(b"line %d\n" % number for number in range(10))  # 70 bytes, 7 a line


def state(data: bytes) -> EntryState:
    return EntryState(kind="file", mode=0o644, size=len(data), sha256=sha256(data))


def change_set(removed: dict[bytes, bytes], added: dict[bytes, bytes]) -> ChangeSet:
    gone = [FsChange(path=RelPath(p), change=Change.REMOVED, before=state(data)) for p, data in removed.items()]
    new = [FsChange(path=RelPath(p), change=Change.ADDED, after=state(data)) for p, data in added.items()]
    return change_set_of(Digest("aa" * 32), gone + new)


def found(removed: dict[bytes, bytes], added: dict[bytes, bytes]) -> dict[str, tuple[str, int]]:
    changes = change_set(removed, added)
    exact = renames(changes)
    all_renames = exact | similar(
        unpaired(changes, exact), {RelPath(path): data for path, data in (removed | added).items()}
    )
    return {str(path): (str(rename.source), rename.percent) for path, rename in all_renames.items()}


def test_the_exact_content_comes_first_then_the_most_alike() -> None:
    changed = TEN.replace(b"line 3", b"LINE 3")
    half = b"".join(TEN.splitlines(keepends=True)[:5]) + b"x" * 35
    assert found({b"a": TEN, b"b": changed}, {b"c": TEN}) == {"c": ("a", 100)}
    assert found({b"a": TEN}, {b"c": changed}) == {"c": ("a", 90)}
    assert found({b"a": TEN}, {b"c": changed, b"d": half}) == {"c": ("a", 90)}
    # Of 70 bytes 35 stand in each of the other pairs; the likeness of 90 goes first, and each file is in one.
    assert found({b"a": TEN, b"b": half}, {b"c": changed, b"d": TEN[:35] + b"y" * 35}) == {
        "c": ("a", 90),
        "d": ("b", 50),
    }


@pytest.mark.parametrize(
    ("data", "percent"),
    [
        (TEN[:35] + b"x" * 35, 50),
        (TEN[:28] + b"x" * 42, None),
        (TEN[:35], 50),
        (TEN[:28], None),
        (TEN * 2, 50),
        (TEN * 3, None),
    ],
)
def test_half_of_the_larger_content_is_the_least(data: bytes, percent: int | None) -> None:
    assert found({b"a": TEN}, {b"b": data}) == ({} if percent is None else {"b": ("a", percent)})


def test_what_it_costs_is_bounded() -> None:
    large = b"x\n" * (MAX_BYTES // 2)
    assert found({b"a": large}, {b"b": large[:-2] + b"y\n"}) == {"b": ("a", 99)}
    assert found({b"a": large + b"z"}, {b"b": large}) == {}
    many = {b"n%d" % number: TEN + b"%d" % number for number in range(MAX_FILES + 1)}
    assert unpaired(change_set({b"a": TEN}, many), {}) == Unpaired()
    assert len(unpaired(change_set({b"a": TEN}, dict(list(many.items())[1:])), {}).added) == MAX_FILES
    assert found({b"a": b""}, {b"b": b""}) == {}


def test_a_content_that_cannot_be_read_is_in_no_rename() -> None:
    changes = change_set({b"a": TEN}, {b"b": TEN + b"more\n"})
    assert similar(unpaired(changes, {}), {RelPath(b"a"): TEN}) == {}
    assert similar(unpaired(changes, {}), {RelPath(b"a"): TEN, RelPath(b"b"): TEN + b"more\n"}) == {
        RelPath(b"b"): Rename(RelPath(b"a"), 93)
    }
