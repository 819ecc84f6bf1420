"""Bases, agents and censuses for the tests of stages; nothing here uses the scanner under test."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.engines.transaction.backends.copy import CopyBackend
from docket.engines.transaction.backends.interface import Backend, Refused, Stage, StageRequest
from docket.engines.transaction.backends.overlay import OverlayBackend
from docket.engines.transaction.backends.reflink import ReflinkBackend
from docket.formats.relpath import RelPath
from docket.formats.tree.surface import Surface
from docket.host.process import AgentExit, SpawnRequest, spawn

OLD_NS = 1_500_000_000_123_456_789
IMAGE_BYTES = 400 * 1024 * 1024


@dataclass(frozen=True)
class Seen:
    """What stands at a path: `body` is a file's content digest or a link's target, `names` its link count."""

    kind: str
    mode: int
    body: bytes
    mtime_ns: int
    names: int


def census(root: Path) -> dict[bytes, Seen]:
    """Return everything below `root` by relative path, read with nothing of docket's."""
    found: dict[bytes, Seen] = {}
    raw = os.fsencode(root)
    for folder, folders, files in os.walk(raw):
        for name in folders + files:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, raw)] = _seen(path)
    return found


def _seen(path: bytes) -> Seen:
    status = os.lstat(path)
    kind, body = "other", b""
    if stat.S_ISREG(status.st_mode):
        kind, body = "file", hashlib.sha256(Path(os.fsdecode(path)).read_bytes()).digest()
    elif stat.S_ISLNK(status.st_mode):
        kind, body = "link", os.readlink(path)
    elif stat.S_ISDIR(status.st_mode):
        kind = "directory"
    elif stat.S_ISFIFO(status.st_mode):
        kind = "fifo"
    names = status.st_nlink if kind == "file" else 1
    return Seen(kind, stat.S_IMODE(status.st_mode), body, status.st_mtime_ns, names)


def lives(root: Path) -> dict[bytes, tuple[int, ...]]:
    """Return what an untouched tree keeps beside its content: inode, size, times of change, owner, by path."""
    raw, found = os.fsencode(root), {}
    for folder, folders, files in os.walk(raw):
        for path in [folder, *(os.path.join(folder, name) for name in folders + files)]:
            status = os.lstat(path)
            found[path] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_uid)
    return found


def same_content(one: Seen | None, other: Seen | None) -> bool:
    """Whether two things are the same but for their times and how many names they have."""
    if one is None or other is None:
        return one is other
    return (one.kind, one.mode, one.body) == (other.kind, other.mode, other.body)


def make_base(root: Path) -> None:
    """Make a base that has one of everything an agent may meet."""
    (root / "dir/sub/deeper").mkdir(parents=True)
    for name, text in (("a.txt", "alpha\n"), ("dir/a", "a\n"), ("dir/b", "b\n"), ("dir/sub/c", "c\n"), ("h1", "h\n")):
        (root / name).write_text(text)
    (root / "dir/sub/deeper/d").write_bytes(bytes(range(256)) * 40)
    os.link(root / "h1", root / "h2")
    os.link(root / "h1", root / "dir/h3")
    (root / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (root / "run.sh").chmod(0o755)
    (root / "secret").write_text("s\n")
    (root / "secret").chmod(0o600)
    (root / "empty").mkdir()
    (root / "private").mkdir(mode=0o700)
    (root / "ro.txt").write_text("read only\n")
    (root / "rodir").mkdir()
    (root / "rodir/kept").write_text("kept\n")
    (root / "link").symlink_to("a.txt")
    (root / "outside").symlink_to("/etc/hostname")
    (root / "absolute").symlink_to(root / "a.txt")
    (root / "into").symlink_to("dir/sub")
    (root / "dangling").symlink_to("nowhere")
    with open(root / "sparse", "wb") as file:
        file.seek(1 << 20)
        file.write(b"end")
    Path(os.fsdecode(os.fsencode(root) + b"/bytes\xff\xfe\n")).write_text("odd\n")
    (root / "-dash *?").write_text("glob\n")
    (root / ("n" * 250)).write_text("long\n")
    os.setxattr(root / "run.sh", "user.note", b"kept")
    for folder, folders, files in os.walk(root, topdown=False):
        for name in files + folders:
            os.utime(os.path.join(folder, name), ns=(OLD_NS, OLD_NS), follow_symlinks=False)
    (root / "ro.txt").chmod(0o444)
    (root / "rodir").chmod(0o555)


@dataclass
class Bench:
    """A base, a state folder and a backend that can stage it."""

    backend: Backend
    base: Path
    state: Path

    def request(self, **more) -> StageRequest:
        listing = observe_tree(
            ObserveRequest(root=os.fsencode(self.base), surface=more.get("surface", Surface()), details=True),
            ObserveWorld(copies=0),
        )
        status = self.base.stat()
        given = {"surface": Surface(), "masked": (), "shared": ()}
        return StageRequest(
            base=self.base,
            base_identity=(status.st_dev, status.st_ino),
            folder=self.state,
            listing=listing,
            **{**given, **more},
        )

    def stage(self, **more) -> Stage:
        return self.backend.materialise(self.request(**more))

    def run(self, stage: Stage, *argv: str, **environment: str) -> AgentExit:
        cwd = self.base if stage.mount is not None else stage.root
        request = SpawnRequest(
            argv=argv, cwd=cwd, env={**os.environ, "BASE": str(self.base), **environment}, mount=stage.mount
        )
        with spawn(request) as agent:
            ended = agent.wait(120)
        assert ended is not None
        return ended

    def script(self, stage: Stage, text: str) -> None:
        """Run a piece of Python as the agent."""
        ended = self.run(stage, sys.executable, "-I", "-S", "-c", PRELUDE + text)
        assert ended.exit_code == 0, ended


PRELUDE = """
import errno, os, shutil, stat, sys
def write(path, text, mode="w"):
    with open(path, mode) as file:
        file.write(text)
"""


def run_on_model(model: Path, text: str) -> None:
    """Run the same piece of Python where no stage is."""
    environment = {**os.environ, "BASE": str(model)}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PRELUDE + text], cwd=model, env=environment, check=False, timeout=120
    )
    assert done.returncode == 0


def make_model(base: Path, model: Path) -> None:
    """Copy the base for the model: as `cp -a` does, with what leads into the base leading into the copy."""
    subprocess.run(["cp", "-a", base, model], check=True)
    times = (model / "absolute").lstat()
    (model / "absolute").unlink()
    (model / "absolute").symlink_to(model / "a.txt")
    os.utime(model / "absolute", ns=(times.st_atime_ns, times.st_mtime_ns), follow_symlinks=False)


def formatted(folder: Path, kind: str) -> Path:
    """Mount a new file system of that kind below `folder`; skips where that cannot be done here."""
    maker = shutil.which(f"mkfs.{kind}")
    if maker is None or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip(f"needs root and mkfs.{kind}")
    image, place = folder / f"{kind}.image", folder / kind
    with open(image, "wb") as file:
        file.truncate(IMAGE_BYTES)
    place.mkdir()
    made = subprocess.run([maker, "-q", image], capture_output=True, check=False)
    if made.returncode == 0:
        made = subprocess.run(["mount", "-o", "loop", image, place], capture_output=True, check=False)
    if made.returncode != 0:
        image.unlink()
        pytest.skip(f"no {kind} can be mounted here: {made.stderr.decode(errors='replace').strip()}")
    return place


def unmounted(place: Path) -> None:
    subprocess.run(["umount", place], check=True)
    place.with_suffix(".image").unlink()


def bench_of(backend: Backend, folder: Path) -> Bench:
    """Return a bench below `folder`; skips with the backend's own reason where it cannot stage there."""
    base, state = folder / "base", folder / "state"
    base.mkdir()
    state.mkdir(mode=0o700)
    make_base(base)
    found = backend.probe(base, state)
    assert os.listdir(state) == []
    if isinstance(found, Refused):
        pytest.skip(f"{backend.name}: {found.detail}")
    return Bench(backend, base, state)


BACKENDS = {"copy": CopyBackend, "reflink": ReflinkBackend, "overlay": OverlayBackend}


def can_stage(name: str, folder: Path) -> None:
    """Skip with the backend's own reason where it cannot stage below `folder`."""
    base, state = folder / "probed", folder / "probing"
    base.mkdir()
    state.mkdir(mode=0o700)
    found = BACKENDS[name]().probe(base, state)
    if isinstance(found, Refused):
        pytest.skip(f"{name}: {found.detail}")


def is_covered(path: bytes, named: list[bytes]) -> bool:
    """Whether a path, or a directory above it, is among the named."""
    return any(path == name or path.startswith(name + b"/") for name in named)


def rel(text: bytes) -> RelPath:
    return RelPath.parse(text)


def mounts_mentioning(path: Path) -> list[str]:
    """Return the lines of the mount tables of every process that name the path."""
    found = []
    for table in Path("/proc").glob("[0-9]*/mountinfo"):
        with suppress(OSError):  # a process that ended, or another user's
            found += [line for line in table.read_text(errors="replace").splitlines() if str(path) in line]
    return found
