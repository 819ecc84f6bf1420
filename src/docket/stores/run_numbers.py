"""The number of each run of a project, and the run whose receipt was published last (spec/receipt.md, Proof).

Rules:
1. A number is durable before the run's first event is written: no two runs of a project have the same.
2. Where the file is gone or damaged, the count goes on from the highest number that the project's own ledgers name,
   under the name that they give the project; who takes the number is told, so that the record says it.
3. One process at a time works on the file, under a lock.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.canonical import JsonObject, JsonValue, decode_document, encode_document
from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.payload_codec import from_members, to_members
from docket.formats.ledger.proof_facts import PreviousRun
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK, Disk, Folder
from docket.host.durable import TEMPORARY_SUFFIX, displace, publish
from docket.stores.layout import LEDGER_SUFFIX, RUNS, Layout
from docket.stores.unfinished import names_in, read_head

FORMAT = "docket/run-numbers/v1"
NUMBERS_FILE, NUMBERS_TURN = "run-numbers.json", "run-numbers.turn"
HIGHEST = 10**12  # what stands in a ledger is not believed beyond this: the count could never go on from there
_PATIENCE_SECONDS = 10.0
_MAX_BYTES = 64 * 1024
_PROJECT_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNumber:
    """A run's place among its project's; `lost` says what became of the count, where something did."""

    project: str
    run: int
    previous: PreviousRun | None = None
    lost: str = ""


def take_number(layout: Layout, *, disk: Disk = SYSTEM_DISK) -> RunNumber:
    """Return the next number, durably taken; UnavailableError where it cannot be kept or the lock is not to be had."""
    with disk.folder(layout.state) as state, _alone(state):
        kept = _kept(layout, state, disk)
        taken = replace(kept, run=kept.run + 1)
        _keep(state, taken)
    return taken


def put_previous(layout: Layout, previous: PreviousRun, *, disk: Disk = SYSTEM_DISK) -> None:
    """Name the run whose receipt was published last; UnavailableError where that cannot be kept."""
    with disk.folder(layout.state) as state, _alone(state):
        _keep(state, replace(_kept(layout, state, disk), previous=previous))


@contextmanager
def _alone(state: Folder) -> Iterator[None]:
    held = state.hold(NUMBERS_TURN, exclusive=True, wait_seconds=_PATIENCE_SECONDS)
    try:
        for name in state.names():
            if name.startswith(f".{NUMBERS_FILE}.") and name.endswith(TEMPORARY_SUFFIX):
                state.remove(name)  # whoever had begun it is dead: it would hold the turn
        yield
    finally:
        held.release()


def _keep(state: Folder, numbers: RunNumber) -> None:
    members: dict[str, JsonValue] = {"format": FORMAT, "project": numbers.project, "run": numbers.run}
    previous = None if numbers.previous is None else to_members(numbers.previous)
    publish(state, NUMBERS_FILE, encode_document(members | {"previous": previous}))


def _kept(layout: Layout, state: Folder, disk: Disk) -> RunNumber:
    lost = ""
    if state.identity(NUMBERS_FILE) is not None:
        try:
            return _read(state)
        except (InvalidDocumentError, UnavailableError) as error:
            aside = displace(state, NUMBERS_FILE)
            lost = f"{NUMBERS_FILE} could not be read ({error.detail}) and is now {aside}; "
    named = max(_named(layout, disk), key=lambda one: one[0], default=None)
    if named is None:
        begun = f"{lost}the project's runs are counted anew from 1" if lost else ""
        return RunNumber(project=secrets.token_hex(_PROJECT_BYTES), run=0, lost=begun)
    run, project = named
    detail = f"{lost}the project's count of runs was lost: it goes on from {run}, the highest that its ledgers name"
    return RunNumber(project=project, run=run, lost=detail)


def _read(state: Folder) -> RunNumber:
    with state.open(NUMBERS_FILE) as file:
        data = file.read(0, _MAX_BYTES)
    reader = Reader(decode_document(data), NUMBERS_FILE)
    if reader.text("format") != FORMAT:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"{NUMBERS_FILE} is not {FORMAT}")
    numbers = RunNumber(
        project=reader.text("project"),
        run=reader.integer("run"),
        previous=reader.optional(
            "previous", lambda name: from_members(PreviousRun, reader.any(name), f"{NUMBERS_FILE}.{name}")
        ),
    )
    reader.close()
    if not _is_project(numbers.project) or numbers.run > HIGHEST:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{NUMBERS_FILE} names no project or too high a number")
    return numbers


def _named(layout: Layout, disk: Disk) -> Iterator[tuple[int, str]]:
    for folder in dict.fromkeys((layout.state / RUNS, layout.docket_dir / RUNS)):
        for name in names_in(folder, disk):
            proof = _proof_of(folder / name, disk) if name.endswith(LEDGER_SUFFIX) else {}
            run, project = proof.get("run"), proof.get("project")
            if isinstance(run, int) and isinstance(project, str) and 0 < run <= HIGHEST and _is_project(project):
                yield run, project


def _proof_of(path: Path, disk: Disk) -> JsonObject:
    with suppress(DocketError):
        head = read_head(path, disk=disk)
        if head is not None and head.is_ours:
            return head.proof
    return {}


def _is_project(text: str) -> bool:
    return len(text) == 2 * _PROJECT_BYTES and set(text) <= set("0123456789abcdef")
