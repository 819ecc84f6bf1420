"""Trees with windows: a real git repository or a plain folder, and the engine over them with a clock of the test's."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from docket.engines.windows.begin import begin
from docket.engines.windows.complete import complete
from docket.engines.windows.folder_tree import open_folder_tree
from docket.engines.windows.world import BeginRequest, CompleteRequest, Outcome, WindowsWorld
from docket.formats.windows.delta import Delta
from docket.formats.windows.key import WindowKey
from docket.host.clock import SystemClock
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.git_place import find_git_place
from docket.host.git_program import Deadline
from docket.stores.layout import Layout
from docket.stores.windows.evidence import Evidence
from docket.stores.windows.git_tree import open_git_tree
from docket.stores.windows.looked import LookLimits, TreeStore
from docket.stores.windows.registry_file import RegistryFile

CONFIG = "[user]\n\tname = p\n\temail = p@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"
SECONDS = 60.0


@dataclass
class WindowsLab:
    """A tree at `tree` whose windows are kept in `windows`."""

    root: Path
    store: TreeStore
    world: WindowsWorld

    @property
    def tree(self) -> Path:
        """The agent's folder."""
        return self.root / "tree"

    @property
    def windows(self) -> Path:
        """Where windows are kept."""
        return self.root / "windows"

    def git(self, *arguments: str, check: bool = True) -> str:
        """What git says, run as the person would."""
        return git(self.root, *arguments, check=check)

    def key(self, use: str, **other: str) -> WindowKey:
        """The key of a tool use."""
        members = {"provider": "claude", "session_id": "s", "turn_id": "t", **other}
        return WindowKey(repository=self.store.repository, tool_use_id=use, **members)

    def pre(self, use: str, **other: str) -> Outcome:
        """A tool is about to run."""
        return begin(BeginRequest(key=self.key(use, **other), tool_name="Bash"), self.world)

    def post(self, use: str, **other: str) -> Outcome:
        """A tool has ended."""
        key = self.key(use, **other)
        return complete(CompleteRequest(key=key, tool_name="Bash", event_id=f"{use}.post"), self.world)

    def delta(self, outcome: Outcome) -> Delta:
        """The delta of a window that was closed."""
        assert outcome.closed is not None, outcome
        return self.world.evidence.delta(outcome.closed.delta_sha256)

    def tool(self, use: str, *commands: str) -> Delta:
        """The delta of a tool that runs these shell commands in the tree."""
        self.pre(use)
        for command in commands:
            subprocess.run(["sh", "-ec", command], cwd=self.tree, env=environment(self.root), check=True,
                           capture_output=True)  # fmt: skip
        return self.delta(self.post(use))


def environment(root: Path) -> dict[str, str]:
    """What programs of the person's are run with."""
    return {"PATH": os.environ["PATH"], "HOME": str(root / "home"), "LC_ALL": "C", "GIT_EDITOR": "true"}


def git(root: Path, *arguments: str, check: bool = True) -> str:
    """What git says of the tree."""
    done = subprocess.run(
        ["git", *arguments], cwd=root / "tree", env=environment(root), capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def world_of(windows: Path, store: TreeStore, disk: Disk = SYSTEM_DISK) -> WindowsWorld:
    """The engine's ports over a store."""
    return WindowsWorld(
        registry=RegistryFile(windows, disk=disk),
        evidence=Evidence(windows, disk=disk),
        tree=store,
        clock=SystemClock(),
        budget_seconds=SECONDS,
    )


def git_lab(root: Path, *, files: dict[str, str] | None = None, limits: LookLimits | None = None) -> WindowsLab:
    """A repository with one commit of `files`, in a home of its own."""
    (root / "tree").mkdir(parents=True)
    (root / "home").mkdir()
    (root / "home/.gitconfig").write_text(CONFIG)
    git(root, "init", "-q")
    for name, text in (files or {"a": "1\n2\n3\n", "d/b": "x\n", "gone": "g\n", ".gitignore": "*.log\n"}).items():
        write(root / "tree" / name, text)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "one")
    return reopened(root, limits)


def reopened(root: Path, limits: LookLimits | None = None, disk: Disk = SYSTEM_DISK) -> WindowsLab:
    """The lab over the repository that stands there."""
    place = find_git_place(root / "tree")
    assert place is not None
    (root / "windows").mkdir(exist_ok=True)
    store = open_git_tree(root / "windows", place, limits, disk=disk)
    return WindowsLab(root=root, store=store, world=world_of(root / "windows", store, disk))


def folder_lab(root: Path, *, files: dict[str, str] | None = None, limits: LookLimits | None = None) -> WindowsLab:
    """A plain folder with these files."""
    (root / "tree").mkdir(parents=True)
    (root / "home").mkdir()
    (root / "windows").mkdir()
    for name, text in (files or {"a": "1\n2\n3\n", "d/b": "x\n", "gone": "g\n"}).items():
        write(root / "tree" / name, text)
    return reopened_folder(root, limits)


def reopened_folder(root: Path, limits: LookLimits | None = None, disk: Disk = SYSTEM_DISK) -> WindowsLab:
    """The lab over the folder that stands there."""
    layout = Layout(tree_root=root / "tree", state=root, docket_dir=root, evidence=())
    store = open_folder_tree(root / "windows", layout, limits, disk=disk)
    return WindowsLab(root=root, store=store, world=world_of(root / "windows", store, disk))


def write(path: Path, text: str | bytes) -> None:
    """Make a file with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def deadline() -> Deadline:
    """Time enough."""
    return Deadline.within(SECONDS)


def told(delta: Delta) -> dict[str, tuple[str, list[str], list[str]]]:
    """A delta in short: path to (operation, lines gone, lines come)."""
    assert delta.reason is None, delta.reason
    return {
        str(file.path): (
            file.operation.value,
            [line.decode() for hunk in file.hunks for line in hunk.old_lines],
            [line.decode() for hunk in file.hunks for line in hunk.new_lines],
        )
        for file in delta.files
    }
