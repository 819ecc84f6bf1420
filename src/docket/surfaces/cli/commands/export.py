"""`docket export`: what docket recorded, in formats of others."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import click

from docket.engines.windows.blame import BlameWorld, FileBlame, blame_file
from docket.errors import DocketError, UnavailableError, UsageError
from docket.formats.reason import Reason
from docket.host.git_place import GitPlace, checked_out
from docket.stores.windows.git_sights import GitSights
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.blaming import Located, blame_world, locate
from docket.surfaces.cli.commands.export_heads import tlog_proof, trailer
from docket.surfaces.cli.commands.export_intoto import intoto
from docket.surfaces.cli.commands.export_otlp import otlp
from docket.surfaces.cli.commands.export_sarif import sarif
from docket.surfaces.cli.commands.export_usage import usage
from docket.surfaces.export.agent_trace import Told, trace_record


@click.group()
def export() -> None:
    """Export what is recorded in formats of others.

    \b
    Examples:
      docket export agent-trace src/app.py > trace.json
      docket export intoto --out run.intoto.json
      docket export otlp --out trace.json
      docket export usage --all --format csv --out usage.csv
    """


export.add_command(intoto)
export.add_command(sarif)
export.add_command(otlp)
export.add_command(usage)
export.add_command(tlog_proof)
export.add_command(trailer)


@export.command("agent-trace", short_help="Export whose lines a file has, as Agent Trace.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the project's evidence stands.")
def agent_trace(files: tuple[Path, ...], docket_dir: Path | None) -> int:
    """Print whose the lines of FILES are as an Agent Trace record (agent-trace.dev, version 0.1.0).

    Attributed are lines of recorded tool calls and no others. The git commit is named where the files stand in it as
    they are: commit first.

    \b
    Examples:
      docket export agent-trace src/app.py > trace.json
      git ls-files -z | xargs -0 docket export agent-trace
    """
    located = [locate(file, docket_dir) for file in files]
    place = located[0].place
    if any(each.place.windows != place.windows for each in located):
        raise UsageError(Reason.USAGE, "the files are of several trees, and a record is of one")
    with blame_world(place) as world:
        if not world.history.episodes and not world.history.staged:
            detail = "no tool call of this tree is recorded"
            raise UnavailableError(Reason.NOT_FOUND, detail, hint="docket hooks install records them from now on")
        blames = [blame_file(path, world) for path in dict.fromkeys(each.path for each in located if _is_told(each))]
        newest = max((*world.history.episodes, *world.history.staged), key=lambda episode: episode.completed)
        told = Told(
            blames=blames,
            recorded_at=newest.delta.window.completed_at,
            calls=cache(world.calls),
            revision=_revision(place.git, world, blames),
        )
        console.result(console.as_json(trace_record(told)))
    return exits.OK


def _is_told(located: Located) -> bool:
    if "path" in located.path.members():
        return True
    console.warn(console.plain(f"{located.path} is no UTF-8, and is left out: a trace cannot name it"))
    return False


def _revision(git: GitPlace | None, world: BlameWorld, blames: list[FileBlame]) -> str | None:
    """Return the commit that is checked out, where all files stand in it as they are."""
    sights = world.sights
    if git is None or not isinstance(sights, GitSights):
        return None
    try:
        commit = checked_out(git)
    except DocketError:
        return None
    if commit is None or any(sights.committed(commit, blame.path) != blame.content for blame in blames):
        console.say("no revision is named: not every file stands in the commit that is checked out as it is")
        return None
    return commit
