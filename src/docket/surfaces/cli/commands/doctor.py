"""`docket doctor`: what this machine and this project offer, and what a person can do about what is missing."""

from __future__ import annotations

from pathlib import Path

import click

from docket.surfaces.cli import console, exits
from docket.surfaces.cli.diagnosis import Finding, Level, diagnose
from docket.surfaces.cli.project import current_folder

_MARKS = {Level.OK: ("ok", "green"), Level.NOTE: ("note", "yellow"), Level.PROBLEM: ("problem", "red")}


@click.command()
@click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the project's evidence stands.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(docket_dir: Path | None, *, as_json: bool) -> int:
    """Check this machine and this project.

    Nothing is changed. Exit code 0 if a run can start here, 1 if not.

    \b
    Example:
      docket doctor
    """
    findings = diagnose(current_folder(), docket_dir)
    failed = any(item.level is Level.PROBLEM for item in findings)
    if as_json:
        members = [{"name": f.name, "level": str(f.level), "detail": f.detail, "hint": f.hint} for f in findings]
        console.result(console.as_json({"ok": not failed, "findings": members}))
    else:
        for item in findings:
            _show(item)
    return exits.FAILED if failed else exits.OK


def _show(item: Finding) -> None:
    word, colour = _MARKS[item.level]
    console.result(f"{click.style(f'{word:<8}', fg=colour)} {item.name:<14} {console.plain(item.detail)}")
    if item.hint:
        console.result(f"{'':<24}{console.plain(item.hint)}")
