"""Whatever stands at a path, whatever a stage makes of it, and whatever a person does there at whichever moment: the
whole change set lands or none of it does, and nothing of the person's is lost.

By default some cells of the matrix, each other one under `slow`.
"""

from __future__ import annotations

import itertools
import os

import pytest

from docket.formats.workspace.state import Status
from matrix_lab import (
    BACKENDS,
    BASES,
    BEFORE_CLOSING,
    BEFORE_COMMIT,
    DRIFTS,
    LEAVES_MINE,
    MINE,
    OF_PARENT,
    STAGES,
    Committed,
    Trial,
    kept_texts,
    told,
)
from matrix_lab import trial as made
from stage_lab import can_stage

P = b"d/p"
CELLS = list(itertools.product(BASES, STAGES, DRIFTS))
FEW, STRIDE = 23, 5
FORCED = [(("file", "full", "full"), 37), (("opaque", "opaque", "gone"), 27)]
"""Cells of commits that are interrupted, and in which what a person made or took away is a whole directory."""
HIDDEN = [("full", "full", "saved"), ("directory", "full", "saved")]
"""Cells in which a person takes the directory away from below what the agent wrote in it."""


def is_of(path: bytes, drift: str) -> bool:
    """Whether a path is one that the person's doing is about."""
    if drift in OF_PARENT:
        return path == b"d" or path.startswith((b"d/", b"moved"))
    return path == P or path.startswith((P + b"/", b"d/.save", b"d/beside"))


def collides(it: Trial, now: dict[bytes, tuple], drift: str) -> bool:
    """Whether a commit must be refused on a base that holds `now`, by the rules alone."""
    changed = it.changed
    if drift in OF_PARENT:
        return True
    due = [path for path in changed if now.get(path) != it.after.get(path)]
    if any(now.get(path) != it.staged.get(path) for path in due):
        return True
    if any(is_another(it, now, above) for path in due for above in it.staged if path.startswith(above + b"/")):
        return True
    strangers = [path for path in now if path not in changed and path.startswith(P + b"/")]
    stays = it.after.get(P, ("absent",))[0] == "directory"
    return bool(strangers) and not stays and it.before.get(P) != it.after.get(P)


def is_another(it: Trial, now: dict[bytes, tuple], path: bytes) -> bool:
    """Whether a directory that was staged is gone or another one: what took its place may have got its inode."""
    if it.staged[path][0] != "directory":
        return False
    return now.get(path, ("absent",))[0] != "directory" or it.inodes_then[path] != it.inodes[path]


def check_before(it: Trial, drift: str, at: int) -> None:
    """The person was there before the commit: it lands beside what they did, or not at all."""
    outcome = it.commit(at, drift)
    now = it.drifted
    special = any(state[0] == "special" for path, state in now.items() if path in it.changed)
    if special or collides(it, now, drift):
        assert not isinstance(outcome, Committed), outcome
        assert told(it.base) == now
        assert it.status() is Status.REFUSED
        assert outcome.paths
    else:
        assert isinstance(outcome, Committed), outcome
        landed = {path: it.after.get(path) for path in it.changed}
        assert told(it.base) == {path: state for path, state in {**now, **landed}.items() if state is not None}
        assert it.status() is Status.COMMITTED
    assert it.leftovers() == []


def check_meanwhile(it: Trial, drift: str, at: int) -> None:
    """The person was there in the middle of it."""
    outcome = it.commit(at, drift)
    status, now = it.status(), told(it.base)
    others = [path for path in it.changed if not is_of(path, drift)]
    if drift in LEAVES_MINE and it.drifted:
        assert any(MINE in text for text in kept_texts(it.place)), (outcome, now)
    if status is Status.COMMITTING:
        assert any(
            "docket tx recover" in text for text in (getattr(outcome, "detail", ""), *getattr(outcome, "remarks", ()))
        )
        check_recovery(it, drift)
        return
    assert status is (Status.COMMITTED if isinstance(outcome, Committed) else Status.REFUSED)
    assert it.leftovers() == []
    side = it.after if isinstance(outcome, Committed) else it.before
    assert {path: now.get(path) for path in others} == {path: side.get(path) for path in others}, outcome
    if drift == "parent gone" or not it.drifted:
        return
    if drift in OF_PARENT:
        check_parent(it, now, side)
        return
    for path in it.changed:
        assert now.get(path) in (side.get(path), it.drifted.get(path)), (path, outcome)


def check_parent(it: Trial, now: dict[bytes, tuple], side: dict[bytes, tuple]) -> None:
    """The directory that was moved away is on one side, and nothing was put into what took its place."""
    for path in it.changed:
        assert now.get(b"moved" + path[1:]) == side.get(path), path
    for path in {*now, *it.drifted}:
        if path == b"d" or path.startswith(b"d/"):
            assert now.get(path) == it.drifted.get(path), path


def check_recovery(it: Trial, drift: str) -> None:
    """What the commit could not put back is ended by a recovery, and what was saved is in the tree or kept."""
    done = it.recover()
    if not done.is_over:
        assert done.ended is not None and done.ended.blocked  # noqa: PT018
        done = it.recover(force=True)
    assert done.is_over, done
    assert it.status() in (Status.COMMITTED, Status.REFUSED)
    assert it.leftovers() == []
    if drift in LEAVES_MINE:
        assert any(MINE in text for text in kept_texts(it.place))


def moments(it: Trial) -> int:
    """How many calls that change something the commit of such a stage has."""
    assert isinstance(it.commit(BEFORE_COMMIT, "none"), Committed)
    return it.calls


def check(tmp_path, backend: str, cell: tuple[str, str, str], at: int) -> int:
    it = made(tmp_path / f"{at}", backend, cell[0], cell[1], cell[2] if at == BEFORE_CLOSING else None)
    try:
        if at < 0:
            check_before(it, cell[2], at)
        else:
            check_meanwhile(it, cell[2], at)
    except AssertionError as error:
        raise AssertionError(f"{backend} {cell} at {at}: {error}") from error
    finally:
        it.close()
    return it.calls


@pytest.fixture(params=BACKENDS)
def backend(request, tmp_path):
    can_stage(request.param, tmp_path)
    if os.geteuid() != 0:
        pytest.skip("a whiteout is made by root alone")
    return request.param


def test_some_of_the_matrix(backend, tmp_path):
    first = tuple(BACKENDS).index(backend)
    for number, cell in enumerate(CELLS[first * 11 :: 2 * FEW]):
        check(tmp_path, backend, cell, BEFORE_COMMIT if number % 2 else 3 + 7 * number % 40)


@pytest.mark.parametrize(("cell", "at"), FORCED)
def test_what_is_forced_is_over(tmp_path, cell, at):
    can_stage("copy", tmp_path)
    if os.geteuid() != 0:
        pytest.skip("a whiteout is made by root alone")
    check(tmp_path, "copy", cell, at)


def test_some_of_the_matrix_before_the_closing(tmp_path):
    can_stage("overlay", tmp_path)
    if os.geteuid() != 0:
        pytest.skip("a whiteout is made by root alone")
    for cell in (*CELLS[5 :: 2 * FEW], *HIDDEN):
        check(tmp_path, "overlay", cell, BEFORE_CLOSING)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("base", BASES)
def test_the_matrix(backend, base, tmp_path):
    for number, cell in enumerate(cell for cell in CELLS if cell[0] == base):
        calls = check(tmp_path, backend, cell, BEFORE_COMMIT)
        if backend == "overlay":
            check(tmp_path, backend, cell, BEFORE_CLOSING)
        for at in range(number % STRIDE, max(calls, 44), STRIDE):
            check(tmp_path, backend, cell, at)
