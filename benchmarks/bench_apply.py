"""Rows 10 and 11: a plan carried out, against the programs a person would use for the same.

Row 10 (restore): 10,000 changed files put back durably by `engines.apply`, against `git checkout -- .` of the same
files and against `cp -a` of the tree followed by `sync -f`; neither peer looks at what it overwrites, and git makes
nothing durable; no goal is set. Row 11 (copy): a tree made in an empty directory that need not last, against `cp -a`.

The tree is that of rows 8 and 9; DOCKET_BENCH_APPLY_FILES says of how many files. Sides run alternately, medians.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench_tree import GIT, ROUNDS, make_tree
from docket.engines.apply import apply, open_tree
from docket.formats.ledger.tree_events import EntryState
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.plan import ABSENT, Holds, MakeDirectory, Step, StepStatus, WriteFile, plan_of
from docket.stores.content import ContentStream

NUMBERS = (10, 11)
FILES = 10_000
CHANGE = b"changed"
Side = tuple[Callable[[], None], Callable[[], None]]


class Copies:
    """The contents of a tree that nobody changes."""

    def __init__(self) -> None:
        self.places: dict[Address, bytes] = {}

    def has(self, address: Address) -> bool:
        return address in self.places

    def open(self, address: Address) -> ContentStream:
        descriptor = os.open(self.places[address], os.O_RDONLY)
        return ContentStream(address, lambda size: os.read(descriptor, size), lambda: os.close(descriptor))


def rows() -> list[dict[str, object]]:
    files = int(os.environ.get("DOCKET_BENCH_APPLY_FILES", FILES))
    with tempfile.TemporaryDirectory(prefix="docket-bench-apply-") as folder:
        before = os.umask(0o022)
        try:
            lab = Lab(Path(folder), files)
            return [
                lab.compared(10, f"{files} files restored durably, against git checkout", lab.restore, lab.checkout),
                lab.compared(10, f"{files} files restored, against cp -a and sync", lab.restore, lab.copied),
                lab.compared(11, f"{files} files staged, against cp -a", lab.stage, lab.copy, 1.0),
            ]
        finally:
            os.umask(before)


class Lab:
    def __init__(self, folder: Path, files: int) -> None:
        self.tree, self.good, self.new = folder / "tree", folder / "good", folder / "new"
        self.paths = make_tree(self.tree, files)
        for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "bench")):
            subprocess.run([*GIT, *command], cwd=self.tree, check=True)
        shutil.copytree(self.tree, self.good, ignore=shutil.ignore_patterns(".git"))
        self.contents = Copies()
        self.writes = [self.write(path) for path in self.paths]

    def write(self, path: bytes) -> WriteFile:
        inside = os.path.relpath(path, os.fsencode(self.tree))
        kept = os.path.join(os.fsencode(self.good), inside)
        data = Path(os.fsdecode(kept)).read_bytes()
        changed = Address.of(data + CHANGE)
        self.contents.places[Address.of(data)] = kept
        state = EntryState(kind="file", mode=0o644, size=changed.size, sha256=changed.sha256)
        return WriteFile(
            path=RelPath(inside), precondition=Holds(state), content=Address.of(data), mode=0o644, mtime_ns=10**18
        )

    def damage(self) -> None:
        for path in self.paths:
            with open(path, "ab") as file:
                file.write(CHANGE)

    def restore(self) -> Side:
        return lambda: self.carry_out(self.tree, self.writes, durable=True), self.renewed

    def checkout(self) -> Side:
        command = [*GIT, "checkout", "--quiet", "--", "."]
        return lambda: void(subprocess.run(command, cwd=self.tree, check=True)), self.renewed

    def copied(self) -> Side:
        def work() -> None:
            subprocess.run(["cp", "-a", f"{self.good}/.", self.tree], check=True)
            subprocess.run(["sync", "-f", self.tree], check=True)

        return work, self.renewed

    def renewed(self) -> None:
        """Every file is changed, once."""
        subprocess.run([*GIT, "checkout", "--quiet", "--", "."], cwd=self.tree, check=True)
        self.damage()

    def stage(self) -> Side:
        folders = {above for step in self.writes for above in step.path.above()}
        steps: list[Step] = [MakeDirectory(path=path, precondition=ABSENT, mode=0o755) for path in folders]
        steps += [
            WriteFile(path=step.path, precondition=ABSENT, content=step.content, mode=0o644, mtime_ns=10**18)
            for step in self.writes
        ]

        def work() -> None:
            self.new.mkdir()
            self.carry_out(self.new, steps, durable=False)

        return work, lambda: shutil.rmtree(self.new, ignore_errors=True)

    def copy(self) -> Side:
        command = ["cp", "-a", self.good, self.new]
        return lambda: void(subprocess.run(command, check=True)), lambda: shutil.rmtree(self.new, ignore_errors=True)

    def carry_out(self, root: Path, steps: list[Step] | list[WriteFile], *, durable: bool) -> None:
        with open_tree(os.fsencode(root), durable=durable) as tree:
            outcomes = apply(plan_of(steps, tree.identity), self.contents, tree)
        assert all(item.status is StepStatus.APPLIED for item in outcomes)

    def compared(
        self, row: int, what: str, ours: Callable[[], Side], peer: Callable[[], Side], goal: float | None = None
    ) -> dict[str, object]:
        sides, took = (ours(), peer()), ([], [])
        for round_number in range(ROUNDS + 1):
            for (work, undo), times in zip(sides, took, strict=True):
                undo()
                os.sync()  # neither side pays for what the other left unwritten
                start = time.perf_counter()
                work()
                if round_number:  # the first of each only warms up
                    times.append(time.perf_counter() - start)
        mine, other = statistics.median(took[0]), statistics.median(took[1])
        for _, undo in sides:
            undo()
        return {
            "row": row,
            "what": what,
            "ours": f"{mine * 1000:.0f} ms",
            "peer": f"{other * 1000:.0f} ms",
            "ratio": round(mine / other, 2),
            "goal": None if goal is None else f"<= {goal}",
            "holds": None if goal is None else mine / other <= goal,
        }


def void(_: object) -> None:
    """Make nothing of a result."""
