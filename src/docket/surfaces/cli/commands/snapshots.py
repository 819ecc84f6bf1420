"""`docket snapshots`: what contents of trees are kept, whether they still restore, and removing them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from docket.engines.prune import PruneRequest, PruneWorld, candidates, prune_restores, prune_snapshots
from docket.errors import DocketError, UsageError
from docket.formats.reason import Reason
from docket.formats.tree.address import Address
from docket.rules.tree.pruning import KeepRule, held_bytes, only_here_bytes
from docket.stores.layout import Layout
from docket.stores.snapshots import (
    MANIFEST,
    SnapshotFolder,
    SnapshotState,
    open_snapshot,
    snapshot_folders,
    snapshot_path,
)
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.commands.snapshot_contents import extract_one, show
from docket.surfaces.cli.completing import snapshots_like
from docket.surfaces.cli.progress import PathProgress
from docket.surfaces.cli.project import current_folder, layout_at, runs_above
from docket.surfaces.render.figures import plural

_STATE_WIDTH = 12
_DAMAGED_SHOWN = 20


def _docket_dir(function: click.decorators.FC) -> click.decorators.FC:
    return click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the project's evidence stands.")(
        function
    )


def _as_json(function: click.decorators.FC) -> click.decorators.FC:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


@click.group()
def snapshots() -> None:
    """Show, check and remove the contents that runs with --snapshot kept.

    \b
    Examples:
      docket snapshots list
      docket snapshots verify
      docket snapshots prune --keep-last 5 --dry-run
    """


@snapshots.command("list")
@_as_json
@_docket_dir
def list_snapshots(*, as_json: bool, docket_dir: Path | None) -> int:
    """List this project's snapshots, the newest last.

    Bytes that snapshots share are counted in each; the sum counts them once.

    \b
    Examples:
      docket snapshots list
      docket snapshots list --json | jq '.snapshots[].session_id'
    """
    found = snapshot_folders(_layout(docket_dir))
    weighed = candidates(found)
    total = held_bytes(weighed)
    sizes = [held_bytes([one]) for one in weighed]
    if as_json:
        members = [
            _members(item, size) | {"only_here_bytes": only}
            for item, size, only in zip(found, sizes, only_here_bytes(weighed), strict=True)
        ]
        console.result(console.as_json({"snapshots": members, "bytes": total}))
        return exits.OK
    for item, size in zip(found, sizes, strict=True):
        console.result(f"{item.session_id}  {item.state:<{_STATE_WIDTH}} {_written(item)}  {size:>15,} bytes")
    if found:
        console.result(f"{plural(len(found), 'snapshot')}, {total:,} bytes in all")
    else:
        _tell_of_none(docket_dir)
    return exits.OK


@snapshots.command(short_help="Read what is kept: do snapshots still restore?")
@click.argument("session", required=False, shell_complete=snapshots_like)
@_as_json
@_docket_dir
def verify(session: str | None, *, as_json: bool, docket_dir: Path | None) -> int:
    """Read every content that is kept and say whether each snapshot still restores.

    SESSION is a run's session id; without it, every snapshot of this project is checked. Exit code 1 if something is
    damaged or missing, or if SESSION has no complete snapshot.

    \b
    Examples:
      docket snapshots verify
      docket snapshots verify 0123456789ab --json
    """
    found = _named(_layout(docket_dir), session)
    intact, progress = set[Address](), PathProgress()
    checked = [item for item in found if session is not None or item.state is SnapshotState.COMPLETE]
    told = [_check(item, intact, progress) for item in checked]
    if session is None:  # what somebody else pruned meanwhile is not damaged
        told = [one for item, one in zip(checked, told, strict=True) if one["restores"] or _is_there(item)]
    progress.end()
    if as_json:
        console.result(console.as_json({"snapshots": told}))
    else:
        for one in told:
            _tell_check(one)
        if not told:
            _tell_of_none(docket_dir)
    return exits.OK if all(one["restores"] for one in told) else exits.FAILED


@snapshots.command(short_help="Remove snapshots, and what is left of broken ones.")
@click.option("--keep-last", type=click.IntRange(min=0), metavar="N", help="Keep the newest N and no other.")
@click.option("--keep-days", type=click.IntRange(min=0), metavar="N", help="Keep none that is older than N days.")
@click.option("--max-bytes", type=click.IntRange(min=0), metavar="N", help="Remove the oldest until N bytes suffice.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@_as_json
@_docket_dir
def prune(*, dry_run: bool, as_json: bool, docket_dir: Path | None, **kept: int | None) -> int:
    """Remove snapshots, and what snapshots that were cut short left behind.

    Without an option only what was cut short goes. A snapshot that is being taken stays. What snapshots share stays
    with those that are left. With --keep-days, what restores displaced longer ago goes too.

    \b
    Examples:
      docket snapshots prune --keep-last 5
      docket snapshots prune --keep-days 30 --max-bytes 5000000000 --dry-run
    """
    request = PruneRequest(layout=_layout(docket_dir), rule=KeepRule(**kept), now_ns=time.time_ns(), dry_run=dry_run)
    done, restores = prune_snapshots(request, PruneWorld()), prune_restores(request, PruneWorld())
    kept_by_rule = any(limit is not None for limit in kept.values())
    problems, freed_bytes = [*done.problems, *restores.problems], done.freed_bytes + restores.freed_bytes
    if as_json:
        members = {
            "dry_run": dry_run, "removed": done.removed, "removed_restores": restores.removed,
            "freed_bytes": freed_bytes, "postponed": done.postponed, "problems": problems,
        }  # fmt: skip
        console.result(console.as_json(members))
    else:
        for name in done.removed:
            console.result(f"{'would remove' if dry_run else 'removed'} {name}")
        for name in restores.removed:
            console.result(f"{'would remove' if dry_run else 'removed'} what the restore {name} displaced")
        for problem in problems:
            console.warn(console.plain(problem))
        if done.postponed:
            console.warn("a snapshot is being taken or read: what nothing names any more goes with a later prune")
        freed = "would be freed" if dry_run else "freed"
        console.result(f"{plural(len(done.removed), 'snapshot')}, {plural(freed_bytes, 'byte')} {freed}")
        if not kept_by_rule:
            console.say("whole snapshots go only with --keep-last, --keep-days or --max-bytes")
    return exits.UNAVAILABLE if problems else exits.OK


snapshots.add_command(show)
snapshots.add_command(extract_one)


def _tell_of_none(docket_dir: Path | None) -> None:
    console.result("no snapshot is kept here")
    console.say(runs_above(docket_dir) or "docket run --snapshot keeps one")


def _layout(docket_dir: Path | None) -> Layout:
    return layout_at(current_folder(), docket_dir)


def _named(layout: Layout, session: str | None) -> tuple[SnapshotFolder, ...]:
    found = snapshot_folders(layout)
    if session is None:
        return found
    named = tuple(item for item in found if item.session_id == session)
    if not named:
        where = snapshot_path(layout, session)
        raise UsageError(Reason.NOT_FOUND, f"{where} is not there", hint="docket snapshots list names what is")
    return named


def _members(item: SnapshotFolder, size: int) -> dict[str, object]:
    return {
        "session_id": item.session_id,
        "state": str(item.state),
        "written_at": None if item.written_ns is None else _written(item),
        "bytes": size,
        "path": str(item.path),
    }


def _written(item: SnapshotFolder) -> str:
    if item.written_ns is None:
        return f"{'-':<20}"
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(item.written_ns // 1_000_000_000))


def _check(item: SnapshotFolder, intact: set[Address], progress: PathProgress) -> dict[str, object]:
    told: dict[str, object] = {"session_id": item.session_id, "state": str(item.state), "restores": False}
    if item.state is not SnapshotState.COMPLETE:
        return told | {"reason": str(Reason.NOT_FOUND), "detail": "it has no manifest: it is no snapshot"}
    try:
        snapshot = open_snapshot(item.path)
    except DocketError as error:
        return told | {"reason": error.reason, "detail": error.detail}
    try:
        total, damaged = len(snapshot.manifest.addresses()), []
        for number, (address, is_lost) in enumerate(snapshot.damaged(intact), start=1):
            progress(f"verifying {item.session_id}:", number, total)
            if is_lost:
                damaged.append(address.sha256)
        lost = frozenset(damaged)
        files = [str(entry.path) for entry in snapshot.manifest.files if entry.content.sha256 in lost]
    finally:
        snapshot.close()
    figures = {
        "files": len(snapshot.manifest.files),
        "contents": total,
        "damaged": damaged,
        "damaged_paths": files,
    }
    return told | {"restores": not damaged} | figures


def _is_there(item: SnapshotFolder) -> bool:
    return os.path.lexists(item.path / MANIFEST)


def _tell_check(one: dict[str, object]) -> None:
    word = "restores" if one["restores"] else "DAMAGED"
    detail = one.get("detail") or _read(one)
    console.result(f"{one['session_id']}  {word:<{_STATE_WIDTH}} {console.plain(str(detail))}")
    paths = one.get("damaged_paths")
    names = paths if isinstance(paths, list) else []
    for path in names[:_DAMAGED_SHOWN]:
        console.result(f"  does not restore: {console.plain(path)}")
    if len(names) > _DAMAGED_SHOWN:
        console.result(f"  and {len(names) - _DAMAGED_SHOWN:,} more: --json names all of them")


def _read(one: dict[str, object]) -> str:
    files, contents, damaged = (one[name] for name in ("files", "contents", "damaged"))
    if not damaged or not isinstance(damaged, list):
        return f"{files:,} files, {contents:,} contents read"
    return f"{files:,} files, {len(damaged):,} of {contents:,} contents damaged or missing"
