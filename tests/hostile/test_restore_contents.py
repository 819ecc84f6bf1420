"""Stores whose contents were tampered with, and trees whose links are swapped, under restores by a real process."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from git_lab import standing
from run_lab import RunLab, build

LARGE = b"large" * 400_000
NAMES = [*(f"d/{number}" for number in range(40)), "large"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> RunLab:
    """A run that changed many small files, one large one, and removed a folder."""
    made = build(tmp_path_factory.mktemp("contents"))
    (made.root / "outside").mkdir()
    (made.root / "outside/0").write_text("theirs\n")
    (made.tree / "d").mkdir()
    for name in NAMES:
        (made.tree / name).write_bytes(LARGE if name == "large" else f"{name}\n".encode())
    done = made.run("--snapshot", "-q", "--", "sh", "-ec", "for f in d/*; do echo agent > $f; done; echo agent > large")
    assert done.exit_code == 0, done.said
    return made


def as_left(lab: RunLab) -> None:
    """Make the files what the run left; the tree stays the folder it was."""
    for name in NAMES:
        (lab.tree / name).write_bytes(b"agent\n")


@contextmanager
def kept(place: Path) -> Iterator[None]:
    """Put a folder back as it was, whatever has become of it."""
    aside = place.parent / f"{place.name}.kept"
    shutil.copytree(place, aside, symlinks=True)
    try:
        yield
    finally:
        shutil.rmtree(place)
        aside.rename(place)


def files_of(lab: RunLab) -> list[Path]:
    """Every file of the store that holds contents, the largest first."""
    (contents,) = lab.state.glob("*/snapshots/contents")
    found = [path for path in contents.rglob("*") if path.is_file() and path.stat().st_size]
    return sorted(found, key=lambda path: -path.stat().st_size)


def spoil(path: Path, how: str, outside: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    if how == "fifo":
        os.mkfifo(path)
    elif how == "link":
        (outside / "copy").write_bytes(data)
        path.symlink_to(outside / "copy")
    elif how == "device":
        path.symlink_to("/dev/zero")
    elif how == "folder":
        path.mkdir()
    elif how == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif how == "longer":
        path.write_bytes(data + b"more" * 1000)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "another":
        path.write_bytes(bytes(len(data)))
    elif how == "hole":
        with open(path, "wb") as out:
            out.write(data)
            out.truncate(2**42)


HOW = ("fifo", "link", "device", "folder", "truncated", "longer", "empty", "another", "hole", "missing")


@pytest.mark.parametrize("how", HOW)
def test_contents_that_are_something_else_restore_nothing_wrong(lab: RunLab, how: str, tmp_path: Path) -> None:
    """What is restored is what was there; what is not to be had is named, and the path is as the run left it."""
    lengths = {"longer", "hole"}
    as_left(lab)
    with kept(next(iter(lab.state.glob("*/snapshots")))):
        for path in files_of(lab):
            spoil(path, how, tmp_path)
        before = standing(lab.root / "outside")
        done = lab.docket("restore", "--apply")
        assert "internal error" not in done.stderr, done.said
        assert done.exit_code in ((0, 1) if how in lengths else (1,)), done.said
        for name in NAMES:
            right = hashlib.sha256(LARGE if name == "large" else f"{name}\n".encode()).hexdigest()
            found = hashlib.sha256((lab.tree / name).read_bytes()).hexdigest()
            if found != right:
                assert (lab.tree / name).read_bytes() == b"agent\n"
                assert f"failed       {name}  (" in done.stdout, done.said
        assert standing(lab.root / "outside") == before
        verified = lab.docket("snapshots", "verify")
        assert verified.exit_code == done.exit_code or how in lengths, verified.said


def test_any_byte_of_a_store_may_be_wrong(lab: RunLab) -> None:
    """Bytes are changed here and there in every file: no content of another digest is ever written."""
    chance = random.Random(4)
    for _ in range(4):
        as_left(lab)
        with kept(next(iter(lab.state.glob("*/snapshots")))):
            for path in files_of(lab):
                data = bytearray(path.read_bytes())
                for _ in range(chance.choice((1, 20))):
                    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
                path.write_bytes(data)
            done = lab.docket("restore", "--apply")
            assert "internal error" not in done.stderr, done.said
            assert done.exit_code in (0, 1), done.said
            for name in NAMES:
                found = (lab.tree / name).read_bytes()
                right = LARGE if name == "large" else f"{name}\n".encode()
                assert found in (right, b"agent\n"), name
                assert done.exit_code == 1 or found == right


def test_links_that_are_swapped_while_a_process_restores(lab: RunLab) -> None:
    outside = lab.root / "outside"
    untouched = standing(outside)
    parent, aside = lab.tree / "d", lab.root / "aside"
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            parent.rename(aside)
            parent.symlink_to(outside)
            parent.unlink()
            aside.rename(parent)

    seen: set[int] = set()
    as_left(lab)
    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(5):
            done = lab.docket("restore", "--apply", "--force")
            seen.add(done.exit_code)
            assert "internal error" not in done.stderr, done.said
    finally:
        stop.set()
        thread.join()
    assert seen <= {0, 1}
    assert standing(outside) == untouched
    assert not [name for name in os.listdir(lab.root) if name.startswith(".docket")]
    final = lab.docket("restore", "--apply")
    assert final.exit_code == 0, final.said
    assert {name: (lab.tree / name).read_bytes() for name in NAMES if name != "large"} == {
        name: f"{name}\n".encode() for name in NAMES if name != "large"
    }
    assert [path.name for path in lab.tree.iterdir() if path.name.startswith(".docket-apply")] == []
