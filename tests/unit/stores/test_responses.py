"""The folder of kept responses: what is kept, what is not and why, and who sees it."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, fail
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK
from docket.stores.layout import Layout, prepare_state
from docket.stores.responses import (
    KeptResponse,
    NotKept,
    ResponseFolder,
    ResponseLimits,
    named_responses,
    publish_responses,
)
from golden_ledgers import kept as golden
from golden_ledgers import samples

SESSION = "0123456789ab"
LIMITS = ResponseLimits(total_max_bytes=100, min_free_bytes=0)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / "tree").mkdir()
    made = Layout(
        tree_root=tmp_path / "tree", state=tmp_path / "state", docket_dir=tmp_path / "tree/.docket", evidence=()
    )
    prepare_state(made)
    return made


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def test_a_body_stands_under_its_digest_for_its_owner_alone(layout: Layout) -> None:
    folder = ResponseFolder(layout, SESSION, LIMITS)
    kept = folder.keep(b"hello")
    assert isinstance(kept, KeptResponse)
    path = layout.state / kept.path
    assert kept.path == f"responses/{SESSION}/{sha256(b'hello')}.bin"
    assert (kept.sha256, kept.size_bytes, path.read_bytes()) == (sha256(b"hello"), 5, b"hello")
    assert [stat.S_IMODE(item.stat().st_mode) for item in (path, path.parent, path.parent.parent)] == [
        0o600, 0o700, 0o700,
    ]  # fmt: skip
    assert kept.sync is not None
    kept.sync()
    again = folder.keep(b"hello")
    assert (again.path, again.sync) == (kept.path, None)
    folder.close()
    folder.close()
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_nothing_is_made_where_nothing_is_kept(layout: Layout) -> None:
    ResponseFolder(layout, SESSION, LIMITS).close()
    assert not (layout.state / "responses").exists()
    publish_responses(layout, SESSION)


def test_the_total_is_bounded_and_equal_bodies_count_once(layout: Layout) -> None:
    folder = ResponseFolder(layout, SESSION, LIMITS)
    first, second, same, third = (folder.keep(body) for body in (b"a" * 60, b"b" * 60, b"a" * 60, b"c" * 40))
    folder.close()
    assert isinstance(first, KeptResponse)
    assert isinstance(same, KeptResponse)
    assert isinstance(third, KeptResponse)
    assert isinstance(second, NotKept)
    assert second.reason is Reason.TOO_LARGE


def test_the_record_keeps_its_room(layout: Layout) -> None:
    limits = ResponseLimits(total_max_bytes=100, min_free_bytes=50)
    folder = ResponseFolder(layout, SESSION, limits, free=lambda _: 59)
    assert isinstance(folder.keep(b"x" * 9), KeptResponse)
    refused = folder.keep(b"y" * 10)
    folder.close()
    assert isinstance(refused, NotKept)
    assert refused.reason is Reason.NO_SPACE


def test_how_much_is_free_may_not_be_known(layout: Layout) -> None:
    def unknown(_path: Path) -> int:
        raise OSError(38, "not here")

    folder = ResponseFolder(layout, SESSION, LIMITS, free=unknown)
    assert isinstance(folder.keep(b"x"), KeptResponse)
    folder.close()


@pytest.mark.parametrize("operation", ["append", "preallocate", "create", "claim"])
def test_a_disk_that_refuses_leaves_nothing_and_the_next_body_is_kept(layout: Layout, operation: str) -> None:
    disk = FaultyDisk(SYSTEM_DISK, fail(Reason.NO_SPACE, operation, times=1))
    folder = ResponseFolder(layout, SESSION, LIMITS, disk=disk)
    refused, kept = folder.keep(b"one"), folder.keep(b"one")
    folder.close()
    assert isinstance(refused, NotKept)
    assert refused.reason is Reason.NO_SPACE
    assert isinstance(kept, KeptResponse)
    assert [item.name for item in (layout.state / "responses" / SESSION).iterdir()] == [f"{sha256(b'one')}.bin"]


def test_a_body_that_does_not_become_durable_is_counted(layout: Layout) -> None:
    disk = FaultyDisk(SYSTEM_DISK, fail(Reason.IO_ERROR, "sync", ".tmp"))
    folder = ResponseFolder(layout, SESSION, LIMITS, disk=disk)
    kept = folder.keep(b"one")
    assert isinstance(kept, KeptResponse)
    assert kept.sync is not None
    kept.sync()
    folder.close()
    assert folder.lost == 1


def test_what_stands_in_its_place_is_moved_aside(layout: Layout) -> None:
    there = layout.state / "responses" / SESSION
    there.mkdir(parents=True)
    (there / f"{sha256(b'one')}.bin").write_bytes(b"somebody's")
    folder = ResponseFolder(layout, SESSION, LIMITS)
    assert isinstance(folder.keep(b"one"), KeptResponse)
    folder.close()
    assert sorted(item.read_bytes() for item in there.iterdir()) == [b"one", b"somebody's"]


def test_a_link_in_the_folders_place_is_not_followed(layout: Layout, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (layout.state / "responses").symlink_to(elsewhere)
    refused = ResponseFolder(layout, SESSION, LIMITS).keep(b"one")
    assert isinstance(refused, NotKept)
    assert refused.reason is Reason.IS_A_SYMLINK
    assert list(elsewhere.iterdir()) == []


def test_what_a_ledger_names_is_its_own_sessions_digests(layout: Layout) -> None:
    layout.ledger_path(SESSION).write_bytes(samples.cached().data())
    assert named_responses(layout, SESSION) == {
        golden.path_of(body).rpartition("/")[2] for body in (golden.WHOLE, golden.BEGINNING)
    }
    layout.ledger_path("other").write_bytes(samples.cached().data())
    assert named_responses(layout, "other") == frozenset()


def test_named_bodies_reach_the_folder_a_person_looks_into(layout: Layout) -> None:
    layout.ledger_path(SESSION).write_bytes(samples.cached().data())
    golden.write_bodies(layout.state)
    (layout.state / golden.path_of(b"never recorded")).write_bytes(b"never recorded")
    visible = layout.docket_dir / "responses" / SESSION
    visible.mkdir(parents=True)
    (visible / ".left.0000000000000000.tmp").write_bytes(b"left by a kill")
    for _ in range(2):
        publish_responses(layout, SESSION)
        assert sorted(item.read_bytes() for item in visible.iterdir()) == sorted([golden.WHOLE, golden.BEGINNING])
    assert len(list((layout.state / "responses" / SESSION).iterdir())) == 2


def test_a_run_that_kept_nothing_has_no_folder_of_its_own(layout: Layout) -> None:
    (layout.state / "responses").mkdir()
    publish_responses(layout, SESSION)
    assert not (layout.docket_dir / "responses").exists()
