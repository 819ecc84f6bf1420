"""Which run a person means: a docket number, a session id, a receipt, a ledger, or none of these."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click

from docket.errors import DocketError, UnavailableError
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK
from docket.stores.layout import RECEIPTS, Layout
from docket.stores.ledger_reader import LOCK_SUFFIX
from docket.stores.receipts import DOCKET_NUMBER, SESSION_ID, ledger_beside
from docket.stores.run_search import RunFound, live_runs, newest_run, run_of_number, run_of_session
from docket.stores.unfinished import names_in
from docket.surfaces.cli.project import current_folder, layout_at

_RECEIPT_SUFFIX = ".receipt.json"
_NO_RUN = "docket run -- <agent> begins one"


def locate_run(layout: Layout, ref: str | None) -> RunFound:
    """Return the run that `ref` names; without it the newest that lives, else the newest. NOT_FOUND otherwise."""
    if ref is None:
        found = next(iter(live_runs(layout)), None) or newest_run(layout)
        if found is None:
            detail = f"no run stands in {layout.docket_dir} or the state folder"
            raise UnavailableError(Reason.NOT_FOUND, detail, hint=_NO_RUN)
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


def numbers_like(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Return the docket numbers that begin so, the newest days first; for the shell's completion."""
    with suppress(DocketError):
        layout = layout_at(current_folder(), None)
        live = [run.docket_number for run in live_runs(layout) if run.docket_number is not None]
        numbers = [*live, *sorted(set(_numbers(layout)), reverse=True)]
        return [number for number in dict.fromkeys(numbers) if number.startswith(begun.upper())][:_MOST_COMPLETED]
    return []


_MOST_COMPLETED = 50


def _numbers(layout: Layout) -> Iterator[str]:
    for folder in {layout.docket_dir, layout.state}:
        names: tuple[str, ...] = ()
        with suppress(DocketError):
            names = names_in(folder / RECEIPTS, SYSTEM_DISK)
        for name in names:
            number = name.removesuffix(_RECEIPT_SUFFIX)
            if name.endswith(_RECEIPT_SUFFIX) and DOCKET_NUMBER.fullmatch(number):
                yield number


def _of_file(path: Path) -> RunFound:
    """Return the run of a ledger, or of a receipt by the ledger that stands beside it."""
    from docket.surfaces.cli.commands.report import receipt_at  # noqa: PLC0415 - a ledger's path needs none of it

    if path.suffix == ".jsonl":
        return RunFound(session_id=path.stem, docket_number=None, began_at="", places=(path,))
    session = receipt_at(path).get("session")
    session_id = session.get("id") if isinstance(session, dict) else None
    ledger = ledger_beside(path, session_id) if isinstance(session_id, str) else None
    if ledger is None:
        detail = f"the ledger of {path} does not stand beside it"
        raise UnavailableError(Reason.NOT_FOUND, detail, hint="docket report shows what the receipt says")
    return RunFound(session_id=str(session_id), docket_number=None, began_at="", places=(ledger,))
