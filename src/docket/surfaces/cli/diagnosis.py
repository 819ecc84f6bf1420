"""The questions `docket doctor` asks of the machine and the project; each answers with one finding."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from docket.errors import DocketError
from docket.formats.dataclass import dataclass
from docket.formats.ledger.lines import TornTail
from docket.host.isolation import detect
from docket.host.locks import is_held
from docket.rules.agents.registry import RECIPES
from docket.stores.layout import Layout
from docket.stores.ledger_reader import read_ledger
from docket.stores.unfinished import has_receipt, lock_path, read_head, traces, unfinished
from docket.surfaces.cli.project import layout_at

LOW_SPACE_BYTES = 64 * 1024 * 1024
LEDGERS_LOOKED_AT = 50
RECOVER_HINT = "docket recover writes each receipt that its ledger still gives, and removes what killed runs left"


class Level(StrEnum):
    """How much a finding matters: a problem keeps a run from starting, a note does not."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer; `hint` says what the person can do."""

    name: str
    level: Level
    detail: str
    hint: str | None = None


def diagnose(root: Path, docket_dir: Path | None) -> tuple[Finding, ...]:
    """Return the findings, the machine's first."""
    findings = [question() for question in (_python, _system, _git, _prices, _signing)]
    findings += _agents()
    findings += _project(root, docket_dir)
    return tuple(findings)


def _python() -> Finding:
    return Finding("python", Level.OK, f"{platform.python_version()} at {sys.executable}")


def _system() -> Finding:
    found = detect()
    refusal = found.refusal()
    if refusal is not None:
        return Finding("system", Level.PROBLEM, refusal.detail, "run docket on Linux")
    return Finding("system", Level.OK, f"{platform.system()} {platform.release()}: {', '.join(found.names())}")


def _git() -> Finding:
    path = shutil.which("git")
    if path is None:
        return Finding("git", Level.NOTE, "not found", "docket runs without it; most agents want it")
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("git", Level.NOTE, f"{path} does not answer: {error}")
    return Finding("git", Level.OK, f"{done.stdout.strip() or done.stderr.strip()} at {path}")


def _prices() -> Finding:
    from docket.surfaces.cli.pricebook import book_in_force  # noqa: PLC0415 - parsed only here and in a run

    try:
        book = book_in_force(None)
    except DocketError as error:
        return Finding("prices", Level.PROBLEM, error.detail, error.hint or "install docket again")
    origin = "" if book.imported is None else f", imported from {book.imported.get('source')}"
    return Finding("prices", Level.OK, f"as of {book.as_of}{origin}")


def _signing() -> Finding:
    from docket.rules.proof.ed25519 import MISSING_LIBRARY, Signer  # noqa: PLC0415 - loads the library it is about

    try:
        Signer.of_seed(bytes(32))
    except ImportError:
        return Finding("signing", Level.NOTE, MISSING_LIBRARY, "nothing can be signed, and no signature be checked")
    return Finding("signing", Level.OK, "receipts can be signed and signatures checked")


def _agents() -> Iterator[Finding]:
    for recipe in RECIPES:
        path = shutil.which(recipe.facts.program) if recipe.facts.program else None
        if path is not None:
            yield Finding(recipe.name, Level.OK, path)


def _project(root: Path, docket_dir: Path | None) -> Iterator[Finding]:
    try:
        layout = layout_at(root, docket_dir)
    except DocketError as error:
        yield Finding("evidence", Level.PROBLEM, error.detail, error.hint)
        return
    yield _state(layout)
    yield _docket_dir(layout)
    yield _stages(layout)
    yield _ledgers(layout)


def _state(layout: Layout) -> Finding:
    # Looked at, not made: a question about a machine must leave no trace on it.
    folder = next(path for path in (layout.state, *layout.state.parents) if os.path.lexists(path))
    if not os.access(folder, os.W_OK | os.X_OK):
        hint = "make it yours, or name another with DOCKET_STATE_DIR"
        return Finding("state folder", Level.PROBLEM, f"{folder} cannot be written", hint)
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding("state folder", Level.NOTE, f"{folder}: its free space is not known: {error.strerror}")
    if free < LOW_SPACE_BYTES:
        return Finding("state folder", Level.NOTE, f"{layout.state}: only {free // 1_000_000} MB are free")
    return Finding("state folder", Level.OK, f"{layout.state}, {free // 1_000_000_000} GB free")


def _stages(layout: Layout) -> Finding:
    from docket.engines.transaction.backends.interface import Usable, View  # noqa: PLC0415 - asked only here
    from docket.engines.transaction.backends.registry import backends  # noqa: PLC0415
    from docket.stores.workspace.transactions import Transactions  # noqa: PLC0415

    # As `_state`: what would be made is tried in the folder that is there, and taken away again.
    root = Transactions.of(os.environ).root
    folder = next(path for path in (root, *root.parents) if os.path.lexists(path))
    works: list[str] = []
    refused: list[str] = []
    for backend in backends():
        try:
            found = backend.probe(layout.tree_root, folder)
        except DocketError as error:
            refused.append(f"{backend.name}: {error.detail}")
            continue
        if isinstance(found, Usable):
            works.append(f"{backend.name}{'' if found.view is View.BASE_PATH else ' (in a folder of its own)'}")
        else:
            refused.append(f"{backend.name}: {found.detail}")
    told = "; ".join(filter(None, (", ".join(works), *refused)))
    if not works:
        return Finding("stages", Level.NOTE, told, "docket run works without --workspace-tx")
    return Finding("stages", Level.OK, told)


def _docket_dir(layout: Layout) -> Finding:
    folder = layout.docket_dir if os.path.lexists(layout.docket_dir) else layout.docket_dir.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        detail = f"{folder} cannot be written: receipts will stand in the state folder only"
        return Finding("receipts", Level.NOTE, detail)
    return Finding("receipts", Level.OK, str(layout.docket_dir))


def _ledgers(layout: Layout) -> Finding:
    try:
        found = traces(layout)
        dead = unfinished(layout)
    except DocketError as error:
        return Finding("ledgers", Level.PROBLEM, error.detail)
    paths = sorted((layout.ledger_path(one) for one in found.ledgers), key=_changed_at, reverse=True)
    looked = [(path, is_held(lock_path(layout, path.stem))) for path in paths[:LEDGERS_LOOKED_AT]]
    concerns = dict.fromkeys(dead, "its run was killed")
    concerns |= {path.stem: said for path, held in looked if not held and (said := _concern(layout, path)) is not None}
    told = f"{len(paths)} in the state folder"
    if any(held for _, held in looked):
        told += f", {sum(held for _, held in looked)} of them being written"
    if len(paths) > len(looked):
        told += f", the newest {len(looked)} looked at"
    if concerns:
        listed = "; ".join(f"{session}: {concern}" for session, concern in list(concerns.items())[:3])
        return Finding("ledgers", Level.NOTE, f"{told}; {len(concerns)} need a look ({listed})", RECOVER_HINT)
    return Finding("ledgers", Level.OK, f"{told}, every ended run with its receipt")


def _changed_at(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:  # it went between the two looks
        return 0.0


def _concern(layout: Layout, path: Path) -> str | None:
    """Return what is wrong with a ledger that no run holds; one without an end is in order once it has its receipt."""
    try:
        for item in read_ledger(path):
            if isinstance(item, TornTail):
                return "its last line is torn"
        head = read_head(path)
    except DocketError as error:
        return error.detail
    if head is None:
        return "it is empty"
    if head.is_ours and not has_receipt(layout, head.docket_number):
        return "it has no receipt"
    return None
