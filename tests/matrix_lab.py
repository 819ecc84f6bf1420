"""One transaction over a small tree: what stands at a path, what a stage makes of it, and what a person does meanwhile.

A trial is told by plain calls. `a` is written anew and `z` removed in every stage, so that a commit always has a step
before and one behind those of the path in question, `d/p`.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from docket.engines.apply_recovery import Asked
from docket.engines.observe import ObserveWorld, observe_tree
from docket.engines.transaction import committing
from docket.engines.transaction.backends.copy import CopyBackend
from docket.engines.transaction.backends.overlay import OverlayBackend
from docket.engines.transaction.closing import ClosedTransaction, close_transaction, drop_stage
from docket.engines.transaction.committing import (
    CommitOutcome,
    CommitRefused,
    CommitRequest,
    Committed,
    commit_transaction,
)
from docket.engines.transaction.opening import open_transaction
from docket.engines.transaction.recovering import recover_transaction
from docket.engines.transaction.world import OpenRequest, OpenTransaction, TransactionWorld
from docket.formats.process_identity import ProcessIdentity
from docket.formats.workspace.state import Status, SurfaceRules
from docket.host import tree as host_tree
from docket.host.clock import SystemClock
from docket.host.confined import ConfinedTree
from docket.host.ids import SystemIds
from docket.stores.workspace.transactions import Transactions
from tree_lab import CountedCalls, plain, whole

MINE = b"mine"
OLD_NS = 1_500_000_000_123_456_789
DEAD = ProcessIdentity(pid=2**22 + 1, started="1", boot_id="another")
MARK = "user.overlay.opaque"
HOUR_NS = 3_600_000_000_000
BEFORE_COMMIT, BEFORE_CLOSING = -1, -2
"""When a person comes who does not come in the midst of a commit."""
Tree = dict[bytes, tuple]


def put_file(path: Path, text: bytes, mode: int = 0o644) -> None:
    path.write_bytes(text)
    path.chmod(mode)


def put_full(path: Path, text: bytes) -> None:
    path.mkdir()
    put_file(path / "in", text)
    put_file(path / "same", b"same")


def put_device(path: Path) -> None:
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(0, 0))


def put_marked(path: Path) -> None:
    put_full(path, b"old")
    os.setxattr(path, MARK, b"y")


def nothing(_path: Path) -> None:
    """Leave it as it is."""


def cleared(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def anew(path: Path, make: Callable[[Path], None]) -> None:
    cleared(path)
    make(path)


BASES: dict[str, Callable[[Path], None]] = {
    "absent": nothing,
    "file": lambda path: put_file(path, b"old"),
    "directory": Path.mkdir,
    "full": lambda path: put_full(path, b"old"),
    "link": lambda path: path.symlink_to("a"),
    "whiteout": put_device,
    "opaque": put_marked,
}
STAGES: dict[str, Callable[[Path], None]] = {
    "untouched": nothing,
    "file": lambda path: anew(path, lambda at: put_file(at, b"new", 0o600)),
    "directory": lambda path: anew(path, lambda at: at.mkdir(mode=0o750)),
    "full": lambda path: (path / "in").write_bytes(b"newer") if path.is_dir() else anew(path, full_of_new),
    "link": lambda path: anew(path, lambda at: at.symlink_to("z")),
    "whiteout": cleared,
    "opaque": lambda path: anew(path, lambda at: (at.mkdir(), put_file(at / "fresh", b"new"))),
}


def full_of_new(path: Path) -> None:
    put_full(path, b"new")


def saved(path: Path, text: bytes = MINE) -> None:
    """Save as editors do: a new file beside it, renamed over it."""
    beside = path.with_name(".save")
    beside.write_bytes(text)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    beside.replace(path)


def in_place(path: Path) -> None:
    if path.is_file() and not path.is_symlink():
        with path.open("ab") as file:
            file.write(MINE)


def moved_and_copied(parent: Path) -> None:
    aside = parent.with_name("moved")
    parent.rename(aside)
    shutil.copytree(aside, parent, symlinks=True, ignore=special)
    put_file(parent / "mine", MINE)


def special(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if stat.S_ISCHR(os.lstat(f"{folder}/{name}").st_mode)]


def moved_and_linked(parent: Path) -> None:
    aside = parent.with_name("moved")
    parent.rename(aside)
    parent.symlink_to("moved")


def in_directory(path: Path, name: str) -> None:
    if path.is_dir() and not path.is_symlink():
        (path / name).write_bytes(MINE)


DRIFTS: dict[str, Callable[[Path], None]] = {
    "none": nothing,
    "saved": saved,
    "in place": in_place,
    "gone": cleared,
    "directory": lambda path: anew(path, Path.mkdir),
    "full": lambda path: anew(path, lambda at: put_full(at, MINE)),
    "link": lambda path: anew(path, lambda at: at.symlink_to(os.fsdecode(MINE))),
    "mode": lambda path: path.chmod(0o711) if path.exists() and not path.is_symlink() else None,
    "child": lambda path: in_directory(path, "mine"),
    "child anew": lambda path: in_directory(path, "in"),
    "beside": lambda path: put_file(path.with_name("beside"), MINE),
    "parent copied": lambda path: moved_and_copied(path.parent),
    "parent linked": lambda path: moved_and_linked(path.parent),
    "parent gone": lambda path: path.parent.rename(path.parent.with_name("moved")),
}
OF_PARENT = ("parent copied", "parent linked", "parent gone")
LEAVES_MINE = ("saved", "full", "link", "beside", "parent copied")
BACKENDS = {"copy": CopyBackend, "overlay": OverlayBackend}


def told(root: Path) -> Tree:
    """What stands in a tree, docket's own left aside."""
    return {path: state for path, state in plain(whole(root)).items() if not path.startswith(b".docket")}


def kept_texts(root: Path) -> list[bytes]:
    """Every content and link target anywhere below `root`."""
    of_kind = {"file": 2, "symlink": 1}
    return [state[of_kind[state[0]]] for state in whole(root).values() if state[0] in of_kind]


@dataclass
class Trial:
    """A closed transaction; `before`, `after` are what its base held and is to hold."""

    place: Path
    base: Path
    world: TransactionWorld
    closed: ClosedTransaction
    before: Tree
    after: Tree
    drifted: Tree = field(default_factory=dict)
    calls: int = 0
    inodes: dict[bytes, int] = field(default_factory=dict)
    inodes_then: dict[bytes, int] = field(default_factory=dict)

    @property
    def staged(self) -> Tree:
        """What was staged of the base: no special file."""
        return {path: state for path, state in self.before.items() if state[0] != "special"}

    @property
    def changed(self) -> list[bytes]:
        """The paths of the change set, found by comparing the two sides."""
        paths = {*self.before, *self.after}
        return sorted(path for path in paths if self.before.get(path) != self.after.get(path))

    def drift(self, name: str) -> bool:
        """Let the person do it now; say whether anything changed by it."""
        was = told(self.base)
        DRIFTS[name](self.base / "d/p")
        self.drifted = told(self.base)
        self.inodes_then = inodes_of(self.base, self.before)
        return self.drifted != was

    def commit(self, at: int, name: str) -> CommitOutcome:
        """Commit; the person comes before the call of that number that changes something, or before it all."""
        done: list[bool] = []

        def rule(number: int, _name: str) -> None:
            if number == at and not done:
                done.append(True)
                self.drift(name)

        calls = CountedCalls(rule)
        if at == BEFORE_COMMIT:
            self.drift(name)
        with mock.patch.object(committing, "open_tree", lambda root: ConfinedTree(root, calls=calls)):
            outcome = commit_transaction(CommitRequest(closed=self.closed), self.world)
        self.calls = len(calls.log)
        return outcome

    def status(self) -> Status:
        return self.world.transactions.load(self.closed.state.id).status

    def leftovers(self) -> list[str]:
        return [name for name in os.listdir(self.base) if name.startswith(".docket-apply-")]

    def recover(self, **asked):
        return recover_transaction(self.closed.state.id, Asked(**asked), self.world)

    def close(self) -> None:
        with suppress(OSError):
            drop_stage(self.closed.opened, self.world)
        shutil.rmtree(self.place)


def world_at(place: Path, backend: str) -> TransactionWorld:
    around = ObserveWorld(copies=0)
    return TransactionWorld(
        observe=lambda request: observe_tree(request, around),
        clock=SystemClock(),
        ids=SystemIds(),
        transactions=Transactions(place / "state/workspace-tx"),
        backends=(BACKENDS[backend](),),
        owner=lambda: DEAD,
    )


def trial(place: Path, backend: str, base_kind: str, stage_kind: str, early: str | None = None) -> Trial:
    """Make a base, stage it, let the stage be changed and close it; where `early`, the person comes before the closing.

    A base that an overlay stages has settled, so that nothing of it is read.
    """
    base = place / "base"
    (base / "d").mkdir(parents=True)
    put_file(base / "d/a", b"old a")
    put_file(base / "d/z", b"old z")
    BASES[base_kind](base / "d/p")
    world = world_at(place, backend)
    before = told(base)
    with an_hour_later() if backend == "overlay" else nullcontext():
        opened = open_transaction(OpenRequest(base=base, rules=SurfaceRules()), world)
    assert isinstance(opened, OpenTransaction), opened
    assert (opened.state.statuses_sha256 is not None) is (backend == "overlay")
    stage = opened.stage.root
    put_file(stage / "d/a", b"new a")
    (stage / "d/z").unlink()
    STAGES[stage_kind](stage / "d/p")
    after = told(stage)
    assert told(base) == before
    inodes = inodes_of(base, before)
    if early is not None:
        DRIFTS[early](base / "d/p")
    drifted, inodes_then = {} if early is None else told(base), inodes_of(base, before)
    closed = close_transaction(opened, world)
    if base_kind == "whiteout" and b"d/p" not in after:  # it was never staged
        after[b"d/p"] = before[b"d/p"]
    return Trial(place, base, world, closed, before, after, drifted, inodes=inodes, inodes_then=inodes_then)


@contextmanager
def an_hour_later() -> Iterator[None]:
    """Let every file have been written long ago, as the file system's clock tells it."""
    clock = host_tree.file_system_clock_ns
    with mock.patch.object(host_tree, "file_system_clock_ns", lambda root: (clock(root) or 0) + HOUR_NS):
        yield


def inodes_of(base: Path, paths: Iterable[bytes]) -> dict[bytes, int]:
    """The inode of what stands at each path, 0 for nothing."""
    found = dict.fromkeys(paths, 0)
    for path in found:
        with suppress(OSError):
            found[path] = os.lstat(os.fsencode(base) + b"/" + path).st_ino
    return found


__all__ = ["CommitRefused", "Committed", "Trial", "trial"]
