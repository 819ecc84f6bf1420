"""Telling a person, or a program, what a restore would do and what it did."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from docket.engines.foresee import compare_contents
from docket.engines.restore import Proposal, Restored, check_idle
from docket.engines.restore_documents import INSIST, worth
from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.run.verdict import Word
from docket.formats.tree.steps import WriteFile
from docket.stores.layout import Layout
from docket.surfaces.cli import console, exits
from docket.surfaces.render import figures
from docket.surfaces.render import restore_plan as render
from docket.surfaces.render.content_diff import diff_of
from docket.surfaces.render.shell_words import shell_line

_COLOURS = {"refused": "red", "failed": "red", "skipped": "red", "not-covered": "yellow", "keep": "cyan"}
_WORTH_COLOURS = {Word.VERIFIED: "green", Word.CONSISTENT: "green", Word.INCOMPLETE: "yellow"}
_WIDTH = 12
_MAX_REMARK = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreArguments:
    """The command line of `docket restore`, as typed."""

    receipt: str | None
    redo: Path | None
    apply: bool
    plan: str | None
    paths: tuple[str, ...]
    globs: tuple[str, ...]
    root: Path | None
    force: bool
    insists: bool
    diff: bool
    as_json: bool
    ledger: Path | None
    snapshot: Path | None
    docket_dir: Path | None

    def command(self, docket_number: str, *more: str) -> str:
        """Return the command line that means the same run, tree and paths, with `more` added."""
        return shell_line(("docket", "restore", *self._which(docket_number), *more))

    def _which(self, docket_number: str) -> Iterator[str]:
        if self.redo is not None:
            yield from ("--redo", str(self.redo))
        else:
            yield self.receipt or docket_number
        for name, values in (("--path", self.paths), ("--glob", self.globs)):
            for value in values:
                yield from (name, value)
        places = {"--root": self.root, "--ledger": self.ledger, "--snapshot": self.snapshot}
        for name, place in (*places.items(), ("--docket-dir", self.docket_dir)):
            if place is not None:
                yield from (name, str(place))
        yield from ["--force"] * self.force
        yield from [INSIST] * self.insists


def head(asked: RestoreArguments, proposal: Proposal) -> None:
    """Say which run and tree are meant and what the record is worth; the diff too, where something is to be done."""
    if asked.as_json:
        return
    root = console.plain(os.fsdecode(proposal.root))
    console.result(f"{console.plain(proposal.origin.title)}  {root}")
    verdict = proposal.origin.verdict
    if verdict is None:
        console.result(f"{'record':<{_WIDTH}} of a restore: its form was checked, and no key vouches for who wrote it")
    else:
        word = click.style(f"{'record':<{_WIDTH}}", fg=_WORTH_COLOURS.get(verdict.word, "red"))
        console.result(f"{word} {console.plain(worth(verdict))}")
    for remark in proposal.remarks:
        console.warn(console.plain(remark))
    if asked.diff and (asked.apply or asked.plan is not None):
        show_diff(proposal)


def show(asked: RestoreArguments, proposal: Proposal, layout: Layout) -> int:
    """Show the plan and return the exit code; `layout` is the project's whose tree it is."""
    counts = render.proposed_counts(proposal)
    code = _code(counts, proposal)
    if asked.as_json:
        command = asked.command(proposal.origin.docket_number, "--plan", proposal.shown_sha256)
        console.result(console.as_json({**render.proposed_members(proposal), "command": command}))
        return code
    head(asked, proposal)
    print_lines(render.proposed_lines(proposal))
    unreadable = show_diff(proposal) if asked.diff else 0
    console.result(f"plan {proposal.shown_sha256}")
    console.result(f"{render.sentence(counts, done=False)}; nothing was changed")
    _tell_rest(counts, proposal, done=False)
    try:
        check_idle(layout)
    except UnavailableError as error:
        console.warn(console.plain(error.detail))
    if unreadable:
        code = exits.FAILED
        console.warn(f"{figures.plural(unreadable, 'content')} cannot be read: that part of the plan would fail")
    elif not asked.diff and asked.redo is None and _writes(proposal):
        console.say("kept contents are there; only reading them tells whether they are whole: docket snapshots verify")
    if counts["refused"] > counts["failed"] and not asked.force:
        console.say("what is refused stays as it is; --force restores over it and keeps what it displaces")
    if counts["restored"]:
        command = asked.command(proposal.origin.docket_number, "--plan", proposal.shown_sha256)
        console.say(f"to do exactly this, or nothing: {console.plain(command)}")
    return code


def tell(asked: RestoreArguments, proposal: Proposal, restored: Restored) -> int:
    """Say what was done and return the exit code."""
    counts = render.done_counts(restored)
    for leftover in restored.leftovers:
        console.warn(console.plain(leftover[:_MAX_REMARK]))
    code = _code(counts, proposal)
    if restored.problem is not None:
        code = exits.UNAVAILABLE
        console.warn(console.plain(f"{restored.problem}; what was displaced is kept in {restored.record_path.parent}"))
    is_redoable = restored.problem is None and bool(counts["restored"])
    redo = shell_line(_redo(asked, proposal, restored))
    if asked.as_json:
        members = {**render.done_members(proposal, restored), "redo": redo if is_redoable else None}
        console.result(console.as_json(members))
        return code
    print_lines(render.done_lines(proposal, restored))
    console.result(render.sentence(counts, done=True))
    if restored.problem is None:
        console.result(console.plain(f"record {restored.record_path}"))
    _tell_rest(counts, proposal, done=True)
    if is_redoable:
        console.say(f"to put back what stood there before: {console.plain(redo)}")
    return code


def _code(counts: Counter[str], proposal: Proposal) -> int:
    """Return the exit code: what git keeps of itself, and what was not selected, is left by intent."""
    is_whole = not counts["refused"] and not counts["not_covered"] and proposal.changes_known
    return exits.OK if is_whole else exits.FAILED


def _tell_rest(counts: Counter[str], proposal: Proposal, *, done: bool) -> None:
    """Say what a restore does not bring back, and what of it a person must look at."""
    for warning in render.warnings(proposal):
        console.warn(console.plain(warning))
    if not proposal.changes_known:
        console.warn(
            "the record has a gap, so it may not hold all that the run changed: what is missing in it is NOT back; "
            f"docket snapshots show {proposal.origin.session_id} --diff compares the tree with the snapshot"
        )
    sentence = render.not_back(counts, done=done)
    if sentence is not None:
        console.result(sentence)


def _redo(asked: RestoreArguments, proposal: Proposal, restored: Restored) -> Iterator[str]:
    yield from ("docket", "restore", "--redo", str(restored.record_path))
    if asked.root is not None:
        yield from ("--root", os.fsdecode(proposal.root))
    if asked.docket_dir is not None:
        yield from ("--docket-dir", str(asked.docket_dir))
    yield "--apply"


def print_lines(lines: Iterable[render.Line]) -> None:
    """Print a line for each path."""
    for line in lines:
        shown = click.style(f"{line.word:<{_WIDTH}}", fg=_COLOURS.get(line.word))
        detail = f"  ({console.plain(line.detail)})" if line.detail else ""
        console.result(f"{shown} {console.plain(line.path)}{detail}")


def _writes(proposal: Proposal) -> bool:
    return any(isinstance(found.step, WriteFile) and found.outcome is None for found in proposal.foreseen.values())


def show_diff(proposal: Proposal) -> int:
    """Print the contents as a diff and return how many of those that would come cannot be read."""
    unreadable = 0
    for compared in compare_contents(proposal.plan, proposal.root, proposal.contents):
        unreadable += compared.problem is not None
        for line in diff_of(compared):
            console.result("\t".join(console.plain(part) for part in line.split("\t")))
    return unreadable
