"""Restores of scanned trees: groups of names, sparse files, attributes, times, and what a snapshot does not hold.

Each cell is a run's change of a real tree in each state that a person may have left it in: as the run left it, as it
was before, edited, removed, retyped, added to, or with another mode. What is right is told by hand.
"""

from __future__ import annotations

import errno
import os
import shutil
import struct
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from docket.engines.observe import ObserveRequest
from docket.engines.restore import (
    Origin,
    RedoRequest,
    Restored,
    RestoreWorld,
    Sources,
    Target,
    carry_out,
    proposal_of,
    propose_redo,
)
from docket.engines.snapshot import SnapshotTaken
from docket.formats.tree.manifest import SnapshotLimits
from docket.formats.tree.surface import Surface
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.rules.tree.diff import diff
from docket.rules.tree.restore import Verb, intentions
from docket.rules.tree.watch import watched_surface
from docket.stores.snapshots import open_snapshot
from snapshot_lab import LIMITS, SnapshotLab
from tree_lab import plain, whole

WORLD = RestoreWorld(clock=SystemClock(), ids=SystemIds())
SESSION = "0123456789ab"
Act = Callable[[Path], object]


class Run:
    """A tree before a run, with its snapshot; `ends` is the run's last pass, and `restore` undoes it."""

    def __init__(self, root: Path, surface: Surface | None = None, limits: SnapshotLimits = LIMITS) -> None:
        self.lab = SnapshotLab(root)
        self.tree = self.lab.tree
        self._surface = surface or Surface()
        self._limits = limits

    def begins(self) -> None:
        taken = self.lab.take(SESSION, self._limits, surface=self._surface)
        assert isinstance(taken, SnapshotTaken)
        self._before = taken.listing

    def ends(self) -> None:
        asked = ObserveRequest(root=os.fsencode(self.tree), surface=self._surface, progress=None)
        self._changes = [item.payload() for item in diff(self._before, self.lab.observe(asked))]

    def restore(self, *, force: bool = False) -> Restored:
        with ExitStack() as stack:
            snapshot = open_snapshot(self.lab.state / "snapshots" / SESSION)
            stack.callback(snapshot.close)
            sources = Sources(
                origin=Origin(
                    session_id=SESSION,
                    docket_number="DKT-20260131-00C0DE",
                    manifest_sha256=snapshot.manifest_sha256,
                ),
                intentions=intentions(snapshot.manifest, self._changes, force=force),
                contents=snapshot.contents,
            )
            target = Target(root=os.fsencode(self.tree), identity=None, layout=self.lab.layout, force=force)
            return carry_out(proposal_of(sources, target), WORLD)

    def redo(self, restored: Restored) -> None:
        with ExitStack() as stack:
            request = RedoRequest(record_path=restored.record_path, layout=self.lab.layout, root=os.fsencode(self.tree))
            carry_out(propose_redo(request, WORLD, stack), WORLD)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def statuses(restored: Restored) -> dict[str, str]:
    return {str(item.path): str(item.status or item.verb) for item in restored.record.paths}


def groups(tree: Path) -> list[list[str]]:
    """The names in the tree, those of one file together."""
    found: dict[int, list[str]] = {}
    for path in sorted(tree.iterdir()):
        if path.is_file() and not path.is_symlink():
            found.setdefault(path.stat().st_ino, []).append(path.name)
    return sorted(found.values())


def written(data: bytes, name: str = "x") -> Act:
    return lambda tree: (tree / name).write_bytes(data)


def removed(*names: str) -> Act:
    return lambda tree: [(tree / name).unlink() for name in names]


def replaced(name: str) -> Act:
    def act(tree: Path) -> None:
        (tree / name).unlink()
        (tree / name).write_bytes(b"another file")

    return act


def both(*acts: Act) -> Act:
    return lambda tree: [act(tree) for act in acts]


def mode(value: int, name: str = "x") -> Act:
    return lambda tree: (tree / name).chmod(value)


def nothing(_tree: Path) -> None:
    """Leave it as it is."""


GROUP_CHANGES = {
    "content": written(b"the run's"),
    "one name gone": removed("y"),
    "all names gone": removed("x", "y", "z"),
    "one name another file": replaced("y"),
    "two names other files": both(replaced("x"), replaced("z")),
    "mode": mode(0o600),
    "mode, and a name gone": both(mode(0o600), removed("y")),
    "mode, and a name another file": both(mode(0o600), replaced("z")),
    "content, and a name gone": both(written(b"the run's"), removed("z")),
    "a name a link": both(removed("y"), lambda tree: (tree / "y").symlink_to("x")),
    "a name a directory": both(removed("y"), lambda tree: (tree / "y").mkdir()),
}


@pytest.mark.parametrize("change", GROUP_CHANGES, ids=lambda name: name.replace(" ", "-"))
def test_names_of_one_file_are_that_again_whatever_the_run_did_to_them(run: Run, change: str) -> None:
    (run.tree / "x").write_bytes(b"before")
    (run.tree / "x").chmod(0o644)
    for name in ("y", "z"):
        os.link(run.tree / "x", run.tree / name)
    run.begins()
    before = plain(whole(run.tree))
    GROUP_CHANGES[change](run.tree)
    run.ends()
    restored = run.restore()
    assert plain(whole(run.tree)) == before, statuses(restored)
    assert groups(run.tree) == [["x", "y", "z"]], statuses(restored)
    assert set(statuses(run.restore()).values()) <= {"already", "keep"}, "a second restore has nothing to do"


@pytest.mark.parametrize("change", GROUP_CHANGES, ids=lambda name: name.replace(" ", "-"))
@pytest.mark.parametrize(
    "since",
    [written(b"a person's"), both(removed("x"), written(b"a person's")), both(mode(0o640), written(b"mine"))],
    ids=["edited", "another-file", "edited-and-mode"],
)
def test_what_a_person_wrote_to_a_name_is_not_lost_nor_given_to_another(run: Run, change: str, since: Act) -> None:
    (run.tree / "x").write_bytes(b"before")
    (run.tree / "x").chmod(0o644)
    for name in ("y", "z"):
        os.link(run.tree / "x", run.tree / name)
    run.begins()
    GROUP_CHANGES[change](run.tree)
    run.ends()
    if not (run.tree / "x").exists():
        (run.tree / "x").write_bytes(b"")
    since(run.tree)
    mine = (run.tree / "x").read_bytes()
    was = {path.name: path.read_bytes() for path in run.tree.iterdir() if path.is_file()}
    restored = run.restore()
    assert (run.tree / "x").read_bytes() == mine, statuses(restored)
    for path in run.tree.iterdir():
        if path.is_file():
            assert path.read_bytes() in (b"before", was.get(path.name)), (path.name, statuses(restored))


def sparse(tree: Path) -> None:
    with (tree / "x").open("wb") as file:
        file.truncate(1 << 20)
        file.seek(1 << 19)
        file.write(b"in the middle")


@pytest.mark.parametrize("act", [written(b"the run's"), removed("x"), replaced("x")], ids=["content", "gone", "other"])
def test_a_file_with_holes_has_them_again(run: Run, act: Act) -> None:
    sparse(run.tree)
    taken = (run.tree / "x").stat()
    if taken.st_blocks * 512 >= taken.st_size:
        pytest.skip("this file system keeps no holes")
    data = (run.tree / "x").read_bytes()
    run.begins()
    act(run.tree)
    run.ends()
    run.restore()
    status = (run.tree / "x").stat()
    assert (run.tree / "x").read_bytes() == data
    assert status.st_blocks * 512 < status.st_size
    assert status.st_mtime_ns == taken.st_mtime_ns


@pytest.mark.parametrize("act", [written(b"the run's"), removed("x"), replaced("x")], ids=["content", "gone", "other"])
def test_attributes_of_a_file_that_is_written_come_back(run: Run, act: Act) -> None:
    (run.tree / "x").write_bytes(b"before")
    try:
        os.setxattr(run.tree / "x", "user.note", b"kept \xff")
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.EPERM):
            raise
        pytest.skip("this file system keeps no attributes")
    run.begins()
    act(run.tree)
    run.ends()
    run.restore()
    assert (run.tree / "x").read_bytes() == b"before"
    assert os.getxattr(run.tree / "x", "user.note") == b"kept \xff"


def acl(*bits: int) -> bytes:
    """The kernel's bytes of an ACL of owner, a named user, owning group, mask and others (linux/posix_acl_xattr.h)."""
    entries = zip((1, 2, 4, 16, 32), bits, (-1, 1234, -1, -1, -1), strict=True)
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)


ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"


def attributes(path: Path) -> dict[str, bytes]:
    """What a user may give a path beside its mode."""
    return {name: os.getxattr(path, name) for name in os.listxattr(path) if name.startswith(("user.", "system.posix"))}


def given(path: Path, **values: bytes) -> None:
    """Give a path an access ACL, a default one, and a note; skip where the file system keeps none."""
    for name, value in values.items():
        try:
            os.setxattr(path, {"access": ACCESS, "default": DEFAULT}.get(name, "user.note"), value)
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.EPERM):
                raise
            pytest.skip("this file system keeps no ACLs")


def no_acl(tree: Path) -> None:
    os.removexattr(tree / "x", ACCESS)


def other_acl(tree: Path) -> None:
    os.setxattr(tree / "x", ACCESS, acl(6, 7, 0, 7, 0))


@pytest.mark.parametrize(
    "act",
    [
        written(b"the run's"),
        removed("x"),
        replaced("x"),
        mode(0o600),
        both(no_acl, mode(0o644)),
        other_acl,
        both(other_acl, written(b"the run's")),
    ],
    ids=["content", "gone", "other", "mode", "acl-removed", "acl-changed", "all-changed"],
)
@pytest.mark.parametrize("force", [False, True])
def test_an_acl_of_a_file_comes_back_with_what_the_run_changed(run: Run, act: Act, force: bool) -> None:
    (run.tree / "x").write_bytes(b"before")
    given(run.tree / "x", access=acl(6, 6, 4, 6, 4), note=b"kept")
    had = attributes(run.tree / "x")
    run.begins()
    act(run.tree)
    run.ends()
    assert statuses(run.restore(force=force)) == {"x": "applied"}
    assert (run.tree / "x").read_bytes() == b"before"
    assert (run.tree / "x").stat().st_mode & 0o777 == 0o664
    assert attributes(run.tree / "x") == had


def test_a_mode_that_comes_back_takes_nothing_that_a_person_added_since(run: Run) -> None:
    (run.tree / "x").write_bytes(b"before")
    (run.tree / "y").write_bytes(b"before")
    given(run.tree / "x", access=acl(6, 6, 4, 6, 4))
    run.begins()
    mode(0o600)(run.tree)
    mode(0o664, "y")(run.tree)
    run.ends()
    given(run.tree / "x", note=b"a person's")
    given(run.tree / "y", access=acl(6, 6, 4, 6, 4), note=b"a person's")
    assert set(statuses(run.restore()).values()) == {"applied"}
    assert attributes(run.tree / "x") == {ACCESS: acl(6, 6, 4, 6, 4), "user.note": b"a person's"}
    assert attributes(run.tree / "y") == {ACCESS: acl(6, 6, 4, 4, 4), "user.note": b"a person's"}


@pytest.mark.parametrize("since", ["edited", "mode"])
def test_an_acl_is_not_forced_on_what_a_person_changed_since(run: Run, since: str) -> None:
    (run.tree / "x").write_bytes(b"before")
    given(run.tree / "x", access=acl(6, 6, 4, 6, 4))
    run.begins()
    both(no_acl, mode(0o600))(run.tree)
    run.ends()
    (written(b"mine") if since == "edited" else mode(0o640))(run.tree)
    there = (run.tree / "x").stat()
    assert statuses(run.restore()) == {"x": "refused"}
    assert ((run.tree / "x").stat().st_mode, attributes(run.tree / "x")) == (there.st_mode, {})


def refilled(tree: Path) -> None:
    shutil.rmtree(tree / "x")
    (tree / "x").write_bytes(b"the run's")


@pytest.mark.parametrize(
    "act", [lambda tree: shutil.rmtree(tree / "x"), refilled, mode(0o700)], ids=["gone", "file", "mode"]
)
def test_acls_and_attributes_of_a_directory_come_back(run: Run, act: Act) -> None:
    (run.tree / "x").mkdir()
    given(run.tree / "x", access=acl(7, 7, 5, 7, 0), default=acl(7, 6, 5, 7, 0), note=b"kept")
    had, bits = attributes(run.tree / "x"), (run.tree / "x").stat().st_mode
    (run.tree / "x/inner").write_bytes(b"inner")
    inner = attributes(run.tree / "x/inner")
    assert ACCESS in inner, "what a default ACL gave"
    run.begins()
    act(run.tree)
    run.ends()
    assert set(statuses(run.restore()).values()) == {"applied"}
    assert ((run.tree / "x").stat().st_mode, attributes(run.tree / "x")) == (bits, had)
    assert ((run.tree / "x/inner").read_bytes(), attributes(run.tree / "x/inner")) == (b"inner", inner)


def test_times_alone_are_no_change_and_nothing_is_done_about_them(run: Run) -> None:
    (run.tree / "x").write_bytes(b"before")
    (run.tree / "d").mkdir()
    run.begins()
    for name in ("x", "d"):
        os.utime(run.tree / name, ns=(1, 1))
    run.ends()
    assert statuses(run.restore()) == {}
    assert (run.tree / "x").stat().st_mtime_ns == (run.tree / "d").stat().st_mtime_ns == 1


def test_times_of_directories_that_are_made_again_come_back(run: Run) -> None:
    (run.tree / "d/e").mkdir(parents=True)
    (run.tree / "d/e/f").write_bytes(b"before")
    for number, name in enumerate(("d/e/f", "d/e", "d"), 1):
        os.utime(run.tree / name, ns=(10**18 * number // 7, 10**18 * number // 7))
    times = {name: (run.tree / name).stat().st_mtime_ns for name in ("d", "d/e", "d/e/f")}
    run.begins()
    shutil.rmtree(run.tree / "d")
    run.ends()
    run.restore()
    assert {name: (run.tree / name).stat().st_mtime_ns for name in times} == times


DIRECTORY_STATES = {
    "as the run left it": (nothing, "applied"),
    "added inside": (written(b"mine", "n/mine"), "refused"),
    "a directory added inside": (lambda tree: (tree / "n/mine").mkdir(), "refused"),
    "another mode": (mode(0o700, "n"), "refused"),
    "removed": (lambda tree: shutil.rmtree(tree / "n"), "already"),
    "retyped": (both(lambda tree: shutil.rmtree(tree / "n"), written(b"mine", "n")), "refused"),
    "a link": (
        both(lambda tree: shutil.rmtree(tree / "n"), lambda tree: (tree / "n").symlink_to("elsewhere")),
        "refused",
    ),
}


@pytest.mark.parametrize("state", DIRECTORY_STATES, ids=lambda name: name.replace(" ", "-"))
@pytest.mark.parametrize("inner", ["empty", "a file"], ids=["empty", "full"])
def test_a_directory_that_the_run_made_goes_only_with_all_that_is_in_it(run: Run, state: str, inner: str) -> None:
    run.begins()
    (run.tree / "n").mkdir(mode=0o755)
    if inner != "empty":
        (run.tree / "n/f").write_bytes(b"the run's")
    run.ends()
    act, status = DIRECTORY_STATES[state]
    act(run.tree)
    standing = plain(whole(run.tree))
    restored = run.restore()
    left = plain(whole(run.tree))
    assert statuses(restored)["n"] == status, statuses(restored)
    if status == "refused":
        assert {path: told for path, told in standing.items() if path != b"n/f"} == {
            path: told for path, told in left.items() if path != b"n/f"
        }, "what is a person's stays"
    else:
        assert left == {}


def surface(ignore: tuple[str, ...]) -> Surface:
    return watched_surface(watch=(".",), ignore=ignore, evidence=())


@pytest.mark.parametrize("act", ["edit", "remove", "make"])
def test_what_the_rules_of_the_snapshot_left_out_is_never_touched(tmp_path: Path, act: str) -> None:
    run = Run(tmp_path, surface(("hidden/", "*.log")))
    (run.tree / "hidden").mkdir()
    for name in ("hidden/f", "a.log", "x"):
        (run.tree / name).write_bytes(b"before")
    run.begins()
    if act == "edit":
        for name in ("hidden/f", "a.log"):
            (run.tree / name).write_bytes(b"the run's")
    elif act == "remove":
        (run.tree / "hidden/f").unlink()
        (run.tree / "a.log").unlink()
    else:
        for name in ("hidden/new", "new.log"):
            (run.tree / name).write_bytes(b"the run's")
    (run.tree / "x").write_bytes(b"the run's")
    run.ends()
    standing = plain(whole(run.tree))
    for force in (False, True):
        restored = run.restore(force=force)
        assert set(statuses(restored)) == {"x"}
        assert plain(whole(run.tree)) == {**standing, b"x": ("file", 0o644, b"before")}


def test_a_gitignore_that_the_run_wrote_hides_nothing_from_a_restore(run: Run) -> None:
    for name in ("ignored", "x"):
        (run.tree / name).write_bytes(b"before")
    (run.tree / ".gitignore").write_bytes(b"ignored\n")
    run.begins()
    before = plain(whole(run.tree))
    (run.tree / ".gitignore").write_bytes(b"*\n")
    for name in ("ignored", "x", "made"):
        (run.tree / name).write_bytes(b"the run's")
    run.ends()
    (run.tree / "mine").write_bytes(b"a person's, and hidden too")
    run.restore()
    assert plain(whole(run.tree)) == {**before, b"mine": ("file", 0o644, b"a person's, and hidden too")}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("act", [written(b"the run's"), removed("x"), replaced("x")], ids=["content", "gone", "other"])
def test_a_file_over_the_size_cap_is_not_covered_and_stays_as_it_is(tmp_path: Path, act: Act, force: bool) -> None:
    run = Run(tmp_path, limits=SnapshotLimits(max_bytes=10**6, max_file_bytes=10, max_entries=100))
    (run.tree / "x").write_bytes(b"larger than the cap")
    run.begins()
    act(run.tree)
    run.ends()
    standing = whole(run.tree)
    (item,) = run.restore(force=force).record.paths
    assert (item.verb, item.status) == (Verb.NOT_COVERED, None)
    assert whole(run.tree) == standing


def test_the_mode_of_a_file_over_the_size_cap_comes_back(tmp_path: Path) -> None:
    run = Run(tmp_path, limits=SnapshotLimits(max_bytes=10**6, max_file_bytes=10, max_entries=100))
    (run.tree / "x").write_bytes(b"larger than the cap")
    (run.tree / "x").chmod(0o640)
    run.begins()
    (run.tree / "x").chmod(0o777)
    run.ends()
    assert statuses(run.restore()) == {"x": "applied"}
    assert plain(whole(run.tree)) == {b"x": ("file", 0o640, b"larger than the cap")}


def test_a_forced_restore_of_a_group_of_names_can_be_put_back(run: Run) -> None:
    (run.tree / "x").write_bytes(b"before")
    os.link(run.tree / "x", run.tree / "y")
    run.begins()
    (run.tree / "x").write_bytes(b"the run's")
    run.ends()
    (run.tree / "y").unlink()
    (run.tree / "y").write_bytes(b"mine")
    standing = plain(whole(run.tree))
    restored = run.restore(force=True)
    assert groups(run.tree) == [["x", "y"]]
    run.redo(restored)
    assert plain(whole(run.tree)) == standing
