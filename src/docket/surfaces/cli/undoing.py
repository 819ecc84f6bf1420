"""What `docket undo` prints: the plan with its conflicts, or what was done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click

from docket.engines.restore import Restored, check_idle
from docket.engines.windows.undo import UndoProposal
from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.restoring import print_lines, show_diff
from docket.surfaces.render import restore_plan, undo_plan
from docket.surfaces.render.merging import conflict_lines
from docket.surfaces.render.shell_words import shell_line


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoArguments:
    """The command line of `docket undo`, as typed."""

    tool_use: str | None
    hunks: tuple[int, ...]
    paths: tuple[str, ...]
    group: bool
    apply: bool
    plan: str | None
    diff: bool
    redo: Path | None
    as_json: bool
    docket_dir: Path | None

    @property
    def changes(self) -> bool:
        """Whether the tree is to be changed."""
        return self.apply or self.plan is not None

    def command(self, window_id: str, *more: str) -> str:
        """Return the command line that means the same, with `more` added; the window is named by its own id."""
        return shell_line(("docket", "undo", window_id, *self._which(), *more))

    def redo_command(self, record: Path) -> str:
        """Return the command line that puts back what was done."""
        return shell_line(("docket", "undo", "--redo", str(record), *self._place(), "--apply"))

    def _which(self) -> Iterator[str]:
        for number in self.hunks:
            yield from ("--hunk", str(number))
        for path in self.paths:
            yield from ("--path", path)
        yield from ["--group"] * self.group
        yield from self._place()

    def _place(self) -> Iterator[str]:
        if self.docket_dir is not None:
            yield from ("--docket-dir", str(self.docket_dir))


def show(asked: UndoArguments, found: UndoProposal, running: tuple[str, ...]) -> int:
    """Show the plan and return the exit code; `running` are the tools that run in the tree now."""
    proposal = found.proposal
    is_worth_doing = not found.refused and bool(len(proposal.plan))
    command = asked.command(found.record.key.window_id, "--plan", proposal.shown_sha256) if is_worth_doing else None
    if asked.as_json:
        members = undo_plan.proposed_members(found)
        console.result(console.as_json({**members, "running": list(running), "command": command}))
        return _code(found)
    _plan(asked, found)
    unreadable = show_diff(proposal) if asked.diff and not found.refused else 0
    console.result(f"plan {proposal.shown_sha256}")
    counts = restore_plan.proposed_counts(proposal)
    console.result(f"{undo_plan.sentence(counts, done=False)}; nothing was changed")
    try:
        check_idle(proposal.layout)
    except UnavailableError as error:
        console.warn(console.plain(error.detail))
    _warn_of(running)
    if command is not None:
        console.say(f"to do exactly this, or nothing: {console.plain(command)}")
    return exits.FAILED if unreadable else _code(found)


def refuse(asked: UndoArguments, found: UndoProposal) -> int:
    """Show why nothing is done, and return the exit code."""
    if asked.as_json:
        console.result(console.as_json(undo_plan.proposed_members(found)))
        return exits.FAILED
    _plan(asked, found)
    counts = restore_plan.proposed_counts(found.proposal)
    console.result(f"{undo_plan.sentence(counts, done=False)}; nothing was changed")
    return exits.FAILED


def tell(asked: UndoArguments, found: UndoProposal, restored: Restored, running: tuple[str, ...]) -> int:
    """Say what was done and return the exit code."""
    proposal, counts = found.proposal, restore_plan.done_counts(restored)
    for leftover in restored.leftovers:
        console.warn(console.plain(leftover))
    code = exits.FAILED if counts["refused"] else exits.OK
    if restored.problem is not None:
        code = exits.UNAVAILABLE
        console.warn(console.plain(f"{restored.problem}; what was displaced is kept in {restored.record_path.parent}"))
    is_redoable = restored.problem is None and bool(counts["restored"])
    redo = asked.redo_command(restored.record_path) if is_redoable else None
    if asked.as_json:
        console.result(console.as_json({**undo_plan.done_members(found, restored), "redo": redo}))
        return code
    _head(found)
    print_lines(restore_plan.done_lines(proposal, restored))
    console.result(undo_plan.sentence(counts, done=True))
    if restored.problem is None:
        console.result(console.plain(f"record {restored.record_path}"))
    if counts["restored"]:
        _warn_of(running)
    if redo is not None:
        console.say(f"to put back what stood there before: {console.plain(redo)}")
    return code


def _plan(asked: UndoArguments, found: UndoProposal) -> None:
    _head(found)
    for remark in found.proposal.remarks:
        console.warn(console.plain(remark))
    print_lines(restore_plan.proposed_lines(found.proposal))
    for path, text in found.conflicts.items():
        for line in conflict_lines(path, text):
            console.result("\t".join(console.plain(part) for part in line.split("\t")))
    if found.refused and not asked.paths and len(found.delta.files) > found.refused:
        console.say(
            "with one path in conflict nothing is undone; --path names those that are to be undone all the same"
        )


def _head(found: UndoProposal) -> None:
    root = console.plain(os.fsdecode(found.proposal.root))
    for title in undo_plan.titles(found):
        console.result(f"{click.style(console.plain(title), bold=True)}  {root}")


def _warn_of(running: tuple[str, ...]) -> None:
    for tool in running:
        console.warn(console.plain(f"{tool} runs in this tree now: what is changed meanwhile is recorded as its doing"))


def _code(found: UndoProposal) -> int:
    return exits.FAILED if found.refused else exits.OK
