"""The directories of an apply: each is the same throughout, and the last ones are held wherever they go."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.host import holders as module
from docket.host.holders import Holders
from docket.host.reaching import Reached


@pytest.fixture
def holders() -> Iterator[Holders]:
    made = Holders()
    yield made
    made.close()


def p(text: str) -> RelPath:
    return RelPath.parse(text.encode())


def reached(folder: Path, name: str = "f") -> Reached:
    """What a path in a folder is reached as."""
    status = folder.stat()
    return Reached(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), name.encode(), (status.st_dev, status.st_ino))


def hold(holders: Holders, folder: Path, path: str) -> None:
    """As before something is done at a path."""
    with reached(folder) as at:
        assert holders.refused(p(path), at) is None
        holders.hold(at)


def folders(root: Path, count: int) -> list[Path]:
    made = [root / f"d{number}" for number in range(count)]
    for folder in made:
        folder.mkdir()
    return made


def leads_to(holders: Holders, path: str) -> tuple[int, int] | None:
    """Device and inode of the directory that is held for a path, by its descriptor."""
    held = holders.held(p(path))
    if held is None:
        return None
    with held:
        assert held.name == p(path).parts[-1]
        status = os.fstat(held.descriptor)
        return status.st_dev, status.st_ino


def identity(folder: Path) -> tuple[int, int]:
    return folder.stat().st_dev, folder.stat().st_ino


def test_the_first_directory_that_is_found_is_the_one(holders: Holders, tmp_path: Path) -> None:
    one, other = folders(tmp_path, 2)
    with reached(one) as first, reached(other) as second:
        assert holders.refused(p("d/f"), first) is None
        assert holders.refused(p("d/g"), first) is None
        refused = holders.refused(p("d/f"), second)
        assert refused is not None
        assert refused.reason is Reason.MOVED_WHILE_WRITTEN
        assert holders.refused(p("e/f"), second) is None
        assert holders.refused(p("top"), second) is None  # the root by itself
        assert holders.refused(p("top-too"), first) is not None


def test_a_directory_may_be_known_from_before(holders: Holders, tmp_path: Path) -> None:
    one, other = folders(tmp_path, 2)
    holders.expect({p("d"): identity(one), None: identity(other)})
    with reached(one) as first, reached(other) as second:
        assert holders.refused(p("d/f"), second) is not None
        assert holders.refused(p("d/f"), first) is None
        assert holders.refused(p("f"), first) is not None
        holders.forget(p("d"))
        assert holders.refused(p("d/f"), second) is None
        holders.forget(p("never/seen"))


def test_what_is_held_is_followed_wherever_it_goes(holders: Holders, tmp_path: Path) -> None:
    (folder,) = folders(tmp_path, 1)
    hold(holders, folder, "d/f")
    was = identity(folder)
    folder.rename(tmp_path / "moved")
    folder.mkdir()
    assert leads_to(holders, "d/g") == was == identity(tmp_path / "moved")
    assert leads_to(holders, "elsewhere/f") is None


def test_what_was_looked_at_and_not_worked_in_is_not_held(holders: Holders, tmp_path: Path) -> None:
    (folder,) = folders(tmp_path, 1)
    with reached(folder) as at:
        assert holders.refused(p("d/f"), at) is None
    assert leads_to(holders, "d/f") is None


def test_the_last_ones_used_are_held(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "MAX_HELD", 2)
    holders = Holders()
    made = folders(tmp_path, 3)
    hold(holders, made[0], "d0/f")
    hold(holders, made[1], "d1/f")
    hold(holders, made[0], "d0/g")
    hold(holders, made[2], "d2/f")
    assert leads_to(holders, "d0/f") == identity(made[0])
    assert leads_to(holders, "d1/f") is None
    assert leads_to(holders, "d2/f") == identity(made[2])
    holders.close()


def test_few_are_held_where_few_files_may_be_open(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, hard))  # a quarter of them is for this
    try:
        holders = Holders()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    made = folders(tmp_path, 12)
    for number, folder in enumerate(made):
        hold(holders, folder, f"d{number}/f")
    assert [leads_to(holders, f"d{number}/f") is not None for number in range(12)] == [False] * 2 + [True] * 10
    holders.close()


def test_nothing_stays_open(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    holders = Holders()
    for number, folder in enumerate(folders(tmp_path, 5)):
        hold(holders, folder, f"d{number}/f")
    assert len(os.listdir("/proc/self/fd")) == len(before) + 5
    holders.close()
    holders.close()
    assert set(os.listdir("/proc/self/fd")) == before
