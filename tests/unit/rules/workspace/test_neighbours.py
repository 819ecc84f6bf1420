"""Which other transaction landed on a path, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.process_identity import ProcessIdentity
from docket.formats.relpath import RelPath
from docket.formats.run.policy import WorkspaceSettle
from docket.formats.workspace.change_set import ChangeSet, change_set_of
from docket.formats.workspace.scope import BackendName, View
from docket.formats.workspace.state import Base, Status, SurfaceRules, TransactionState
from docket.rules.workspace.neighbours import LandedPaths, landed_since, may_land

OURS = TransactionState(
    id="00112233aabb",
    status=Status.CLOSED,
    base=Base.of(b"/work/tree", (1, 2)),
    surface=SurfaceRules(),
    backend=BackendName.COPY,
    view=View.STAGE,
    settle=WorkspaceSettle.AUTO,
    manifest_sha256=Digest("ab" * 32),
    owner=ProcessIdentity(pid=1, started="", boot_id=""),
    opened_at="2026-10-01T12:00:00.000Z",
    changed_at="2026-10-01T12:00:00.000Z",
)


def other(name: str, **changes: object) -> TransactionState:
    state = replace(OURS, id=name * 12, status=Status.COMMITTED, changed_at="2026-10-01T12:30:00.000Z")
    return replace(state, **changes)  # type: ignore[arg-type]


def test_those_that_landed_on_the_same_directory_since_are_told_the_last_first() -> None:
    others = (
        OURS,
        other("1"),
        other("2", changed_at="2026-10-01T12:45:00.000Z"),
        other("3", changed_at="2026-10-01T11:59:59.999Z"),
        other("4", status=Status.REFUSED),
        other("5", base=Base.of(b"/work/tree", (1, 3))),
        other("6", base=Base.of(b"/work/moved", (1, 2)), changed_at="2026-10-01T12:00:00.000Z"),
    )
    assert [state.id[0] for state in landed_since(OURS, others)] == ["2", "1", "6"]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ((), False),
        ((OURS,), False),
        ((other("1"),), False),
        ((other("1", status=Status.OPEN),), True),
        ((other("1", status=Status.DISCARDED),), True),
        ((other("1", status=Status.OPEN, base=Base.of(b"/work/tree", (1, 3))),), False),
    ],
)
def test_another_may_land_that_is_of_the_same_directory_and_has_not(
    others: tuple[TransactionState, ...], *, expected: bool
) -> None:
    assert may_land((1, 2), OURS.id, others) is expected


def adding(*paths: bytes) -> ChangeSet:
    state = EntryState(kind="directory", mode=0o755)
    changes = (FsChange(path=RelPath(path), change=Change.ADDED, after=state) for path in paths)
    return change_set_of(Digest("ab" * 32), changes)


LANDED = (("first", adding(b"d", b"e/f")), ("second", adding(b"d/x", b"ef")))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (b"d", "first"),
        (b"d/x", "second"),
        (b"d/y", "first"),
        (b"e", "first"),
        (b"ef", "second"),
        (b"ef/g", "second"),
        (b"d/x/y", "first"),  # both hold something above it
        (b"g", None),
    ],
)
def test_who_changed_a_path_is_told_by_the_path_before_what_lies_around_it(path: bytes, expected: str | None) -> None:
    assert LandedPaths.of(LANDED).who_changed(RelPath(path)) == expected
