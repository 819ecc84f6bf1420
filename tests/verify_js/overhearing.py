"""The doctored records that other tests make, overheard: their receipts, ledgers and orders of events.

Rules: a test of another module is run as it stands, and what it asks a verdict on is taken down. Where a test knows
only an order of payloads, a ledger is made that tells them in this order.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from docket.engines.verify import RESPONSES, VerifyRequest, verify_receipt
from docket.errors import InvalidDocumentError
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import PolicyApplied, SessionStart
from docket.formats.ledger.tree_events import Phase
from docket.formats.ledger.workspace_events import WorkspaceIntent, WorkspaceSettled
from docket.formats.run.verdict import Verdict
from docket.rules.receipt.fold import fold
from golden_ledgers import samples
from golden_ledgers.build import LedgerBuilder, exited, policy, snapshot, spawn, start
from golden_ledgers.judging import bodies, chained, judged, lines_of, receipt_of, rederived
from verify_js.in_node import Pair, pair


def judged_pairs(module: ModuleType, patch: pytest.MonkeyPatch, folder: Path) -> list[Pair]:
    """Every receipt and ledger on which the module's tests ask for a verdict."""
    found: list[Pair] = []

    def listening(document: dict[str, Any], raw: bytes | None) -> Verdict:
        found.append(pair(f"{module.__name__} {len(found)}", document, raw))
        return judged(document, raw)

    def listening_to_files(request: VerifyRequest) -> Verdict:
        assert request.ledger_path is not None
        verdict = verify_receipt(request)
        ledger = request.ledger_path.read_bytes()
        beside = _responses(request.ledger_path)
        found.append(Pair(f"{module.__name__} {len(found)}", request.receipt, ledger, verdict, responses=beside))
        return verdict

    for name, listener in (("judged", listening), ("verify_receipt", listening_to_files)):
        if hasattr(module, name):
            patch.setattr(module, name, listener)
    for number, (test, given) in enumerate(_calls(module)):
        needed = inspect.signature(test).parameters
        given.update((name, made) for name in needed if (made := _fixture(module, name)) is not None)
        if "tmp_path" in needed:
            given["tmp_path"] = folder / f"{module.__name__}-{number}"
            given["tmp_path"].mkdir()
        if set(given) == set(needed):
            test(**given)
    return found


def ordered_pairs(module: ModuleType) -> list[Pair]:
    """A ledger for every order of payloads with which a test of the module is parametrized."""
    found = []
    for test, given in _calls(module):
        payloads = tuple(_payloads(tuple(given.values())))
        if payloads:
            found.append(told(f"{module.__name__} {test.__name__} {len(found)}", *payloads))
    return found


def told(name: str, *payloads: Payload) -> Pair:
    """The pair of a ledger that tells these payloads, behind a start and a policy where they have none.

    What becomes of a stage stands behind the passes that it needs.
    """
    ledger = LedgerBuilder()
    kinds = {type(payload) for payload in payloads}
    first = [] if SessionStart in kinds else [start()]
    settles = bool(kinds & _SETTLING)
    passes = [snapshot(Phase.BEFORE, 2)] if settles else []
    for payload in (*first, *([] if PolicyApplied in kinds else [policy()]), *passes, *payloads):
        if settles and type(payload) in _SETTLING:
            settles = False
            for one in (spawn(), exited(), snapshot(Phase.AFTER, 2)):
                ledger.add(one)
        ledger.add(payload)
    return pair_of(name, ledger)


_SETTLING = {WorkspaceIntent, WorkspaceSettled}


def pair_of(name: str, ledger: LedgerBuilder) -> Pair:
    """The pair of a ledger with the receipt that derives from it, or with another's where none does."""
    try:
        fold(ledger.events)
    except InvalidDocumentError:
        return pair(name, rederived(receipt_of(samples.zero().data()), ledger.events), ledger.data())
    return pair(name, receipt_of(ledger.data()), ledger.data())


def changed(name: str, ledger: LedgerBuilder, change: Callable[[list[Any]], object]) -> Pair:
    """The pair of a ledger whose events were changed, chained anew, with its own receipt's figures made to fit."""
    items = bodies(ledger.events)
    change(items)
    events = chained(items, ledger.events)
    return pair(name, rederived(receipt_of(ledger.data()), events), lines_of(events))


def _calls(module: ModuleType) -> Iterator[tuple[Callable[..., None], dict[str, Any]]]:
    for name, test in vars(module).items():
        if not name.startswith("test_"):
            continue
        marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
        for values in product(*(mark.args[1] for mark in marks)):
            given: dict[str, Any] = {}
            for mark, value in zip(marks, values, strict=True):
                names = (
                    [part.strip() for part in mark.args[0].split(",")]
                    if isinstance(mark.args[0], str)
                    else mark.args[0]
                )
                given.update(zip(names, value if len(names) > 1 else (value,), strict=True))
            yield test, given


def _fixture(module: ModuleType, name: str) -> Any:
    """Return what a fixture of the module without any of its own makes, None where there is no such fixture."""
    fixture = getattr(module, name, None)
    make = getattr(fixture, "_fixture_function", None) or getattr(
        getattr(fixture, "__pytest_wrapped__", None), "obj", None
    )
    return make() if make is not None and not inspect.signature(make).parameters else None


def _payloads(value: object) -> Iterator[Payload]:
    if isinstance(value, Payload):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _payloads(item)


def _responses(ledger_path: Path) -> dict[str, bytes] | None:
    """What stands in the run's own folder of responses, and what the ledger names beside it."""
    root, raw = ledger_path.parent.parent, ledger_path.read_bytes()
    own = root / RESPONSES / ledger_path.stem
    found: dict[str, bytes] = {}
    for folder in (own, own.parent):
        for path in folder.iterdir() if folder.is_dir() else ():
            name = str(path.relative_to(root))
            if path.is_file() and (folder == own or name.encode() in raw):
                with path.open("rb") as file:
                    found[name] = file.read(
                        1 << 20
                    )  # of a file with a hole of a thousand gigabytes a beginning will do
    return found if found or own.is_dir() else None
