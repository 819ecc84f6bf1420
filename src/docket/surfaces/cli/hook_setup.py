"""Permanent hooks: what would become of an agent's file, and what is done to it.

Rules:
1. Each change is planned from what was read, and written only if the file is still that.
2. One agent's file that cannot be dealt with leaves the others' as they are to be.
"""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from docket.errors import DocketError, InvalidDocumentError, UsageError
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.host.settings_file import SettingsFile, read_settings, write_settings
from docket.rules.agents.hook_files import (
    FILES,
    HookFile,
    hook_file,
    installed_events,
    installed_text,
    uninstalled_text,
    wanted_events,
)
from docket.rules.agents.hook_settings import HookWords
from docket.rules.agents.registry import RECIPES
from docket.surfaces.cli.project import current_folder
from docket.surfaces.cli.wiring import HOOK_COMMAND


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose files: the person's, or the project's at `project`."""

    project: Path | None = None

    @property
    def name(self) -> str:
        """The scope in a word."""
        return "user" if self.project is None else "project"

    def place(self, file: HookFile) -> tuple[Path, Path]:
        """Return the root that a file must lie in, and the file; UsageError where no home is known."""
        if self.project is not None:
            return self.project, self.project / file.project
        named = os.environ.get(file.variable) if file.variable else None
        if named:
            return Path(named), Path(named) / file.below_variable
        home = os.environ.get("HOME")
        if not home:
            raise UsageError(Reason.USAGE, "HOME is not set, so nobody knows where your files are")
        return Path(home), Path(home) / file.user


@dataclass(frozen=True, slots=True, kw_only=True)
class HookState:
    """An agent's file: the events that docket hears of by it, of those it would, or why it cannot be told."""

    file: HookFile
    scope: Scope
    path: Path
    events: tuple[str, ...] = ()
    problem: DocketError | None = None
    before: str | None = None
    after: str | None = None

    @property
    def is_changed(self) -> bool:
        """Whether something is to be written."""
        return self.problem is None and self.before != self.after

    @property
    def word(self) -> str:
        """The state in a word."""
        if self.problem is not None:
            return "unreadable"
        if not self.events:
            return "absent"
        return "installed" if set(self.events) >= set(wanted_events(self.file)) else "partly"

    def members(self) -> dict[str, JsonValue]:
        """Return the state as JSON."""
        return {
            "agent": self.file.agent,
            "scope": self.scope.name,
            "path": str(self.path),
            "state": self.word,
            "events": list(self.events),
            "changed": self.is_changed,
            **({"remark": self.file.remark} if self.file.remark else {}),
            **({} if self.problem is None else {"reason": str(self.problem.reason), "detail": self.problem.detail}),
        }

    def diff(self) -> list[str]:
        """Return what is to be changed, as a unified diff."""
        before, after = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        names = (str(self.path) if self.before is not None else os.devnull,
                 str(self.path) if self.after is not None else os.devnull)  # fmt: skip
        return [line.rstrip("\n") for line in difflib.unified_diff(before, after, *names)]


def chosen(agents: tuple[str, ...], scope: Scope, *, only_installed: bool) -> tuple[HookFile, ...]:
    """Return the files of the agents named, or of all: of those that are on this machine, if need be."""
    if agents:
        return tuple(hook_file(agent) for agent in dict.fromkeys(agents))
    if not only_installed:
        return tuple(FILES.values())
    found = tuple(file for file in FILES.values() if _is_here(file, scope))
    if not found:
        raise UsageError(Reason.USAGE, "no agent with hooks is installed", hint=f"name one: {', '.join(FILES)}")
    return found


def look(file: HookFile, scope: Scope, change: Callable[[HookFile, str | None], str | None] | None = None) -> HookState:
    """Return what stands in an agent's file, and what `change` would make of it."""
    root, path = scope.place(file)
    try:
        found = read_settings(root, path)
        before = _text(found)
        after = before if change is None else change(file, before)
        events = () if before is None else installed_events(file, before)
    except DocketError as error:
        return HookState(file=file, scope=scope, path=path, problem=error)
    return HookState(file=file, scope=scope, path=path, events=events, before=before, after=after)


def write(state: HookState) -> HookState:
    """Do what was planned; return the state afterwards."""
    root, path = state.scope.place(state.file)
    try:
        found = read_settings(root, path)
        if _text(found) == state.before:
            write_settings(root, found, None if state.after is None else state.after.encode())
    except DocketError as error:
        return HookState(file=state.file, scope=state.scope, path=path, problem=error)
    return look(state.file, state.scope)


def install(scope: Scope) -> Callable[[HookFile, str | None], str | None]:
    """Return what puts docket's hooks into a file."""
    words = HookWords(command=_command(scope))
    return lambda file, text: installed_text(file, text, words)


def uninstall(file: HookFile, text: str | None) -> str | None:
    """Take docket's hooks out of a file."""
    return None if text is None else uninstalled_text(file, text)


def scope_of(*, project: bool) -> Scope:
    """Return the scope: the current folder's project, or the person."""
    return Scope(project=current_folder()) if project else Scope()


def _text(found: SettingsFile) -> str | None:
    if found.data is None:
        return None
    try:
        return found.data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = found.data.count(b"\n", 0, error.start) + 1
        raise InvalidDocumentError(Reason.NOT_UTF8, f"line {line}: it is not UTF-8") from error


def _command(scope: Scope) -> tuple[str, ...]:
    """Return the words that start docket: by its name for a project, which others have too, else by its place."""
    program = shutil.which("docket")
    if scope.project is not None and program is not None:
        return ("docket",)
    here = Path(sys.argv[0])
    if here.name == "docket" and os.access(here, os.X_OK):
        return (str(here.absolute()),)
    return HOOK_COMMAND


def _is_here(file: HookFile, scope: Scope) -> bool:
    """Whether an agent is on this machine: its program, or its folder where it has none that docket starts."""
    programs = {recipe.name.partition("-")[0]: recipe.facts.program for recipe in RECIPES}
    program = programs.get(file.agent)
    if program:
        return shutil.which(program) is not None
    root, path = scope.place(file)
    return (root / path.relative_to(root).parts[0]).is_dir()
