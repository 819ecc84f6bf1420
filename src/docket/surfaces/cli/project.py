"""Where a person's folders are: the project's, with its documents, and their own configuration."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError, RefusedBeforeStartError, UnavailableError, UsageError
from docket.formats.canonical import first_member
from docket.formats.reason import Reason
from docket.host.regular_file import regular_file_chunks
from docket.rules.tree.watch import root_refusal
from docket.stores.layout import RUNS, Layout, resolve_layout
from docket.stores.receipts import find_receipt
from docket.stores.unfinished import newest_lacks_receipt, unfinished
from docket.surfaces.cli import console

_RECEIPTS = "docket/receipt/"
_BEGINNING_BYTES = 4096
_ELSEWHERE = "docket runs --all lists those of every project"
_LISTED = f"docket runs lists those of this folder, {_ELSEWHERE}"


def layout_at(root: Path, docket_dir: Path | None) -> Layout:
    """Return the folders of the project at `root`."""
    return resolve_layout(root, docket_dir=docket_dir, environment=os.environ)


def locate_receipt(ref: str | None, docket_dir: Path | None) -> Path:
    """Return the receipt a person means: a path, a docket number, or the project's newest."""
    try:
        return find_receipt(layout_at(current_folder(), docket_dir), ref)
    except UnavailableError as error:
        hint = runs_above(docket_dir) or (_LISTED if ref is not None else f"{error.hint}, {_ELSEWHERE}")
        raise UnavailableError(error.reason, error.detail, hint=hint) from error


def receipt_asked_for(ref: str | None, docket_dir: Path | None) -> Path:
    """Return the receipt as `locate_receipt` does; where the newest is meant, say if a newer run has none."""
    if ref == "":
        raise UsageError(Reason.NOT_FOUND, "no receipt is named: a variable that is empty?")
    if ref is None:
        warn_of_newest(layout_at(current_folder(), docket_dir))
    return locate_receipt(ref, docket_dir)


def ledger_named(path: Path | None) -> Path | None:
    """Return the ledger that a person named, if any; UsageError where there is none, or it is a receipt."""
    if path is None:
        return None
    file_named("--ledger", path, "ledger")
    if str(first_member(_beginning(path), "format")).startswith(_RECEIPTS):
        hint = "the ledger is runs/SESSION.jsonl, the receipt is named without an option"
        raise UsageError(Reason.WRONG_TYPE, f"--ledger: {path} is a receipt", hint=hint)
    return path


def _beginning(path: Path) -> bytes:
    with suppress(DocketError):  # what cannot be read is told by who reads it
        return next(regular_file_chunks(path), b"")[:_BEGINNING_BYTES]
    return b""


def file_named(option: str, path: Path, what: str) -> None:
    """Raise UsageError where what a person named as the file of an option, a `what`, is none."""
    if not os.path.lexists(path):
        raise UsageError(Reason.NOT_FOUND, f"{path}: there is no such {what}")
    if not os.path.isfile(path):  # noqa: PTH113 - Path's own raises where it may not look
        raise UsageError(Reason.NOT_A_FILE, f"{option}: {path} is not a regular file")


def fault_of(path: str, error: DocketError) -> str:
    """Return what is wrong with a file, by its name; what could not be read names it already."""
    return error.detail if error.detail.startswith(path) else f"{path}: {error.detail}"


def path_said(text: str) -> Path:
    """Return the path that a person wrote, `~` being a home; UnavailableError where whose it is to be has none."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise UnavailableError(Reason.NOT_FOUND, f"{text} is below a home that there is not") from error


def runs_above(docket_dir: Path | None) -> str | None:
    """Return where to go, for a person in a folder of a project: the nearest folder above that runs were made in.

    None where there is none, where this folder has runs of its own, or where the person named where evidence stands.
    """
    here = current_folder()
    if docket_dir is not None or _has_runs(here):
        return None
    above = next((folder for folder in here.parents if _has_runs(folder)), None)
    return None if above is None else console.plain(f"runs were made in a folder above: cd {shlex.quote(str(above))}")


def _has_runs(folder: Path) -> bool:
    with suppress(DocketError, OSError):
        layout = layout_at(folder, None)
        return any((place / RUNS).is_dir() for place in (layout.state, layout.docket_dir))
    return False


def warn_of_unfinished(layout: Layout) -> None:
    """Say in one line how many killed runs of this project have no receipt yet; nothing is parsed."""
    with suppress(DocketError):  # a folder that cannot be looked into is told by whoever needs it
        left = len(unfinished(layout))
        if left:
            who = "1 earlier run was" if left == 1 else f"{left} earlier runs were"
            _warn(layout, f"{who} killed and left no receipt")


def warn_of_newest(layout: Layout) -> None:
    """Say that a run newer than the newest receipt has none, or how many there are."""
    with suppress(DocketError):
        if unfinished(layout):
            warn_of_unfinished(layout)
        elif newest_lacks_receipt(layout):
            _warn(layout, "the newest run has no receipt")


def _warn(layout: Layout, what: str) -> None:
    place = "" if layout.is_split else f" --docket-dir {shlex.quote(str(layout.docket_dir))}"
    here = "" if os.path.realpath(".") == str(layout.tree_root) else f" in {layout.tree_root}"
    console.warn(console.plain(f"{what}: run docket recover{place}{here}"))


def current_folder() -> Path:
    """Return the folder docket was called in; UsageError if it has been deleted."""
    try:
        return Path.cwd()
    except OSError as error:
        detail = f"the current folder cannot be used: {error.strerror}"
        raise UsageError(Reason.NOT_FOUND, detail, hint="change into a folder that exists") from error


def run_folder(asked: Path | None, named_by: str = "--cwd") -> Path:
    """Return the folder of a run, its links resolved, the current one for None; `named_by` is how a person names it.

    UsageError where it cannot be used; RefusedBeforeStartError for one that nobody means: /, a home, a system folder.
    """
    try:
        folder = current_folder() if asked is None else asked.resolve(strict=True)
    except OSError as error:
        raise UsageError(Reason.NOT_FOUND, f"the folder {asked} cannot be used: {error.strerror}") from error
    except RuntimeError as error:  # pathlib's word for links that lead in a circle
        raise UsageError(Reason.NOT_FOUND, f"the folder {asked} cannot be used: its links lead in a circle") from error
    if not os.path.isdir(folder):  # noqa: PTH112 - Path's own raises where it may not look
        raise UsageError(Reason.NOT_A_DIRECTORY, f"{folder} is not a folder")
    home = os.environ.get("HOME")
    if root_refusal(str(folder), os.path.realpath(home) if home else None) is not None:
        raise RefusedBeforeStartError(
            Reason.BASE_REFUSED,
            f"docket does not run in {folder}: a pass over it is never what was meant",
            hint=f"change into a project, or name one with {named_by}",
        )
    return folder


def config_folder() -> Path | None:
    """Return the folder of the person's own configuration, None where nobody knows it."""
    import platformdirs  # noqa: PLC0415 - only some commands need it

    try:
        folder = Path(platformdirs.user_config_dir("docket", appauthor=False))
    except RuntimeError:  # neither HOME nor an account of this user's
        return None
    return folder if folder.is_absolute() else None
