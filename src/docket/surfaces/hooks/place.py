"""Which tree a folder belongs to, and where its windows are kept."""

from __future__ import annotations

import os
from pathlib import Path

from docket.formats.dataclass import dataclass
from docket.host.git_place import GitPlace, find_git_place
from docket.stores.layout import Layout, resolve_layout

WINDOWS = "windows"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsPlace:
    """The tree that windows are of, with the folder that they are kept in; `git` where it is a worktree."""

    layout: Layout
    git: GitPlace | None

    @property
    def windows(self) -> Path:
        """The folder of the windows."""
        return self.layout.state / WINDOWS


def windows_place(start: Path, docket_dir: Path | None = None) -> WindowsPlace:
    """Return the place of the windows of a folder: those of the worktree that it is in, or its own."""
    git = find_git_place(start)
    root = start if git is None else git.worktree
    return WindowsPlace(layout=resolve_layout(root, docket_dir=docket_dir, environment=os.environ), git=git)
