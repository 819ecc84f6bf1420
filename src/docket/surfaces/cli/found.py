"""Which run a person means: a docket number, a session id, a receipt, a ledger, or none of these."""

from __future__ import annotations

import os
from pathlib import Path

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.stores.layout import Layout
from docket.stores.ledger_reader import LOCK_SUFFIX
from docket.stores.receipts import DOCKET_NUMBER, SESSION_ID, ledger_of
from docket.stores.run_search import RunFound, live_runs, newest_run, run_of_number, run_of_session
from docket.surfaces.cli.project import runs_above

_NO_RUN = "docket run -- <agent> begins one"


def locate_run(layout: Layout, ref: str | None) -> RunFound:
    """Return the run that `ref` names; without it the newest that lives, else the newest. NOT_FOUND otherwise."""
    if ref is None:
        found = next(iter(live_runs(layout)), None) or newest_run(layout)
        if found is None:
            detail = f"there is no run in {layout.docket_dir} or the state folder"
            above = runs_above(None) if layout.is_split else None
            raise UnavailableError(Reason.NOT_FOUND, detail, hint=above or _NO_RUN)
        return found
    named = run_of_number(layout, ref.upper()) if DOCKET_NUMBER.fullmatch(ref.upper()) else None
    if named is None and SESSION_ID.fullmatch(ref):
        named = run_of_session(layout, ref)
    if named is not None:
        return named
    if os.path.exists(ref):  # noqa: PTH110 - Path's own raises for a name that is too long
        return _of_file(Path(ref))
    detail = f"{ref} is neither a run of this project nor the path of a receipt or a ledger"
    raise UnavailableError(Reason.NOT_FOUND, detail, hint="docket runs lists them")


def lock_of(run: RunFound) -> Path:
    """Return where the lock of a run's ledger stands while it lives."""
    first = run.places[0]
    return first.with_name(first.name + LOCK_SUFFIX)


def _of_file(path: Path) -> RunFound:
    """Return the run of a ledger, or of a receipt by the ledger that stands beside it."""
    from docket.surfaces.cli.commands.report import receipt_at  # noqa: PLC0415 - a ledger's path needs none of it

    if path.suffix == ".jsonl":
        return RunFound(session_id=path.stem, docket_number=None, began_at="", places=(path,))
    ledger = ledger_of(path, receipt_at(path))
    if ledger is None:
        detail = f"the ledger of {path} does not stand beside it"
        raise UnavailableError(Reason.NOT_FOUND, detail, hint="docket report shows what the receipt says")
    return RunFound(session_id=ledger.stem, docket_number=None, began_at="", places=(ledger,))
