"""Small trees for the writer: what stands where told by plain calls, and calls that count and fail."""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - loaded late by some, when the test is nobody and may not read it
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docket.engines.apply import apply, open_tree
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import EntryState
from docket.formats.relpath import RelPath
from docket.formats.tree.plan import Holds, plan_of
from docket.host.confined import ConfinedTree
from docket.host.tree_calls import TreeCalls
from docket.stores.content import ContentReader


def p(raw: bytes | str) -> RelPath:
    return RelPath(raw.encode() if isinstance(raw, str) else raw)


def file_state(data: bytes, mode: int = 0o644) -> EntryState:
    return EntryState(kind="file", mode=mode, size=len(data), sha256=Digest(hashlib.sha256(data).hexdigest()))


def holds_file(data: bytes, mode: int = 0o644) -> Holds:
    return Holds(file_state(data, mode))


def holds_directory(mode: int = 0o755) -> Holds:
    return Holds(EntryState(kind="directory", mode=mode))


def holds_link(target: str) -> Holds:
    return Holds(EntryState(kind="symlink", mode=0o777, target=target))


def root_of(path: Path | bytes) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def plan_for(path: Path | bytes, *steps):
    return plan_of(steps, root_of(path))


def applied(path: Path, contents: ContentReader, *steps, options=None, calls=None, durable=True):
    """Apply the steps to the tree at `path`; outcomes by path."""
    tree = open_tree(os.fsencode(path)) if calls is None else ConfinedTree(os.fsencode(path), calls=calls)
    tree.durable = durable
    with tree:
        return {item.path.raw: item for item in apply(plan_for(path, *steps), contents, tree, options)}


def write(path: Path | bytes, data: bytes, mode: int = 0o644) -> None:
    with open(path, "wb") as out:
        out.write(data)
    os.chmod(path, mode)


def told(path: bytes) -> tuple:
    """What stands at a path: kind, mode, content or target, inode, mtime."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ("absent",)
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return ("symlink", os.readlink(path), status.st_ino)
    if stat.S_ISREG(status.st_mode):
        with open(path, "rb") as found:
            return ("file", mode, found.read(), status.st_ino, status.st_mtime_ns)
    if stat.S_ISDIR(status.st_mode):
        return ("directory", mode, status.st_ino)
    return ("special", stat.S_IFMT(status.st_mode), mode, status.st_ino)


def whole(root: Path | bytes) -> dict[bytes, tuple]:
    """Everything below `root`, by path."""
    found = {}
    top = os.fsencode(root)
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = folder + b"/" + name
            found[path[len(top) + 1 :]] = told(path)
    return found


def plain(states: dict[bytes, tuple]) -> dict[bytes, tuple]:
    """The same without inodes and times."""
    shorter = {"file": 3, "directory": 2, "symlink": 2, "special": 3}
    return {path: state[: shorter[state[0]]] for path, state in states.items()}


class Died(BaseException):
    """The process is gone."""


class CountedCalls(TreeCalls):
    """Calls that are counted; `rule(number, name)` may raise before one is made.

    A sync of the whole file system is not made: it would wait for what all the others wrote, and tell nothing here.
    """

    NAMES = tuple(name for name in vars(TreeCalls) if not name.startswith("_"))

    def __init__(self, rule=lambda number, name: None) -> None:
        self.rule = rule
        self.log: list[str] = []


def _counted(name):
    def call(self, *arguments):
        self.rule(len(self.log), name)
        self.log.append(name)
        if name == "sync_file_system":
            return None
        return getattr(TreeCalls, name)(self, *arguments)

    return call


for _name in CountedCalls.NAMES:
    setattr(CountedCalls, _name, _counted(_name))


def dies_at(count: int):
    """Nothing happens any more after `count` calls."""

    def rule(number, _name):
        if number >= count:
            raise Died

    return rule


def fails_at(count: int, code: int):
    """One call fails."""

    done = []

    def rule(number, _name):
        if number == count and not done:
            done.append(True)
            raise OSError(code, os.strerror(code))

    return rule


def as_nobody(work):
    """Run `work` in a forked copy that is no root; its assertion errors are told."""
    read, told = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            work()
            status = 0
        except BaseException:
            os.write(told, traceback.format_exc().encode()[-4000:])
        finally:
            os._exit(status)
    os.close(told)
    with open(read, "rb") as found:
        text = found.read().decode()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, text


@contextmanager
def tree_of_nobody() -> Iterator[Path]:
    """A tree that belongs to an ordinary user and can be reached by it, which what pytest gives cannot."""
    place = Path(tempfile.mkdtemp(prefix="docket-test-"))
    place.chmod(0o755)
    made = place / "theirs"
    made.mkdir()
    if os.geteuid() == 0:
        os.chown(made, 65534, 65534)
    yield made
    subprocess.run(["chmod", "-R", "u+rwx", str(place)], check=True)
    shutil.rmtree(place)
