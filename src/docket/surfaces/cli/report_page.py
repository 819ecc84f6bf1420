"""Gathers what a page of a run is made of, from the receipt's evidence and from where contents are still held.

Rules:
1. Ledger, deltas and checkpoints are those that stand beside the receipt. A fault of one of them leaves it out and is
   said in the page; only a receipt that is none makes no page.
2. A receipt leads nobody into a folder that is not its project's: contents are looked for in the state of the project
   that the person stands in, and in its tree where that is the one the receipt names. For a copy that hides something
   nothing is looked for: what it hides may still be held here.
3. An existing file is only replaced where it is a page that docket made.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from docket.engines.foresee import MAX_COMPARED_BYTES, Compared
from docket.engines.held_contents import HeldContents, Places, held_contents
from docket.engines.verify import read_receipt
from docket.engines.verify_deltas import DELTAS, WINDOWS
from docket.errors import DocketError, InvalidDocumentError, UnavailableError, UsageError
from docket.formats import lenient
from docket.formats.canonical import JsonObject
from docket.formats.digest import is_digest, sha256
from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import follow
from docket.formats.ledger.payload_codec import from_members
from docket.formats.ledger.tree_events import EntryState
from docket.formats.proof.checkpoint import MAX_CHECKPOINTS_BYTES, read_checkpoints
from docket.formats.reason import Reason
from docket.formats.tree.listing import Kind
from docket.formats.visible import raw_of
from docket.formats.windows.delta import MAX_DELTA_BYTES, Delta, decode_delta
from docket.formats.workspace.state import TRANSACTION_ID
from docket.host.disk import SYSTEM_DISK
from docket.host.durable import publish
from docket.host.regular_file import read_regular_file
from docket.rules.analysis.finding import Finding
from docket.rules.analysis.registry import findings_of
from docket.stores.checkpoint_file import checkpoints_path
from docket.stores.layout import Layout
from docket.stores.receipts import SESSION_ID, ledger_of
from docket.stores.snapshots import snapshot_path
from docket.stores.workspace.transactions import Transactions
from docket.surfaces.render import content_diff, figures
from docket.surfaces.render.page.document import GENERATOR, page
from docket.surfaces.render.page.files import MOST_DIFFS, PathDiff
from docket.surfaces.render.page.material import Evidence, Material
from docket.surfaces.render.page.record import ChangedPath, Reading, Recorded, from_rows

MAX_LEDGER_BYTES = 512 * 1024 * 1024
_SHIPPED = Path(__file__).resolve().parents[2] / "data" / "docket-verify.mjs"
# In a checkout the module stands where it is made.
_MADE = Path(__file__).resolve().parents[4] / "verify-js" / "docket-verify.mjs"
_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Which receipt is shown; `contents` is whether diffs and deltas are to be, `layout` the project one stands in."""

    receipt: JsonObject
    path: Path
    layout: Layout
    contents: bool = True

    @property
    def shows_contents(self) -> bool:
        """Whether contents are looked for (rule 2)."""
        return self.contents and self.receipt.get("redaction") is None


def page_of(request: PageRequest) -> str:
    """Return the page of a run; DocketError where the receipt or the verifier's module cannot be read."""
    beside = _beside(request)
    verifier = _verifier()
    with held_contents(_places(request)) as held:
        changes = beside.told.changes[:MOST_DIFFS] if request.shows_contents else ()
        return page(
            Material(
                receipt=request.receipt,
                evidence=beside.evidence,
                told=beside.told,
                damage=beside.damage,
                verifier=verifier,
                diffs=tuple(_diff(changed, held) for changed in changes),
                places=held.places,
                deltas=beside.deltas,
                findings=beside.findings,
            )
        )


def write_page(text: str, target: Path) -> None:
    """Write a page durably, for its owner alone; UsageError where something else stands there."""
    if os.path.lexists(target):
        _check_replaceable(target)
    parent = Path(os.path.realpath(target.parent))
    with SYSTEM_DISK.folder(parent) as folder:
        publish(folder, target.name, text.encode("utf-8"))


def _check_replaceable(target: Path) -> None:
    detail = f"{target} is there already and is no page of docket's"
    error = UsageError(Reason.ALREADY_EXISTS, detail, hint="remove it, or name another file")
    if not target.is_file() or target.is_symlink():
        raise error
    with target.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head and GENERATOR.encode("ascii") not in head:
        raise error


@dataclass(slots=True, kw_only=True)
class _Beside:
    evidence: Evidence
    told: Recorded
    damage: str = ""
    deltas: dict[str, Delta] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def _beside(request: PageRequest) -> _Beside:
    data = read_receipt(request.path)
    path = ledger_of(request.path, request.receipt)
    if path is None:
        why = "it does not stand beside the receipt"
        return _alone(request.receipt, Evidence(receipt=data, why_no_ledger=why))
    try:
        ledger = read_regular_file(path, MAX_LEDGER_BYTES)
    except UnavailableError as error:
        return _alone(request.receipt, Evidence(receipt=data, why_no_ledger=error.detail))
    found = _Beside(evidence=Evidence(receipt=data), told=Recorded())
    reading = Reading()
    found.findings = findings_of(request.receipt, reading.through(_events(ledger, found)))
    found.told = reading.finish()
    documents = _deltas(request, path, found) if request.shows_contents else {}
    found.evidence = Evidence(receipt=data, ledger=ledger, deltas=documents, checkpoints=_checkpoints(path))
    return found


def _alone(receipt: JsonObject, evidence: Evidence) -> _Beside:
    """Return what a receipt tells without its ledger."""
    return _Beside(evidence=evidence, told=from_rows(receipt), findings=findings_of(receipt))


def _events(ledger: bytes, found: _Beside) -> Iterator[Event]:
    """Yield the events up to where the ledger is damaged."""
    try:
        for item in follow([ledger]):
            if isinstance(item, Event):
                yield item
            else:
                found.damage = "its last line is torn"
    except InvalidDocumentError as error:
        found.damage = error.detail


def _deltas(request: PageRequest, ledger: Path, found: _Beside) -> dict[str, str]:
    """Return the documents of the deltas that the receipt names, and put what they say into `found`."""
    folder, documents = ledger.parent.parent / WINDOWS / DELTAS, dict[str, str]()
    for tool in lenient.rows_at(request.receipt, "windows", "tools"):
        digest = figures.text(tool, "delta", "delta_sha256", default="")
        if not is_digest(digest) or digest in documents:
            continue
        with suppress(DocketError):
            document = read_regular_file(folder / f"{digest}.json", MAX_DELTA_BYTES)
            if sha256(document) == digest:
                found.deltas[digest] = decode_delta(document)
                documents[digest] = document.decode("utf-8")
    return documents


def _checkpoints(ledger: Path) -> bytes | None:
    """Return the file of checkpoints, empty where it is none: no other file is to get into a page by its name."""
    path = checkpoints_path(ledger)
    if not os.path.lexists(path):
        return None
    with suppress(DocketError), SYSTEM_DISK.folder(path.parent) as folder, folder.open(path.name) as file:
        size = file.size()
        data = file.read(0, size) if size <= MAX_CHECKPOINTS_BYTES else b""
        read_checkpoints(data)
        return data
    return b""


def _places(request: PageRequest) -> Places:
    session, cwd = lenient.part(request.receipt, "session", "id"), raw_of("cwd", _session(request.receipt))
    if not request.shows_contents or not isinstance(session, str) or not SESSION_ID.fullmatch(session):
        return Places()
    is_here = cwd is not None and cwd == os.fsencode(request.layout.tree_root)
    return Places(
        snapshot=snapshot_path(request.layout, session),
        stages=_stages(request.receipt) if is_here else (),
        tree=cwd if is_here else None,
    )


def _session(receipt: JsonObject) -> JsonObject:
    session = receipt.get("session")
    return session if isinstance(session, dict) else {}


def _stages(receipt: JsonObject) -> tuple[Path, ...]:
    """Return where what the run wrote on its stage may lie: an overlay's own layer, or the whole stage."""
    name = lenient.part(receipt, "workspace", "transaction")
    if not isinstance(name, str) or not TRANSACTION_ID.fullmatch(name):
        return ()
    stage = Transactions.of(os.environ).path(name) / "stage"
    return stage / "upper", stage


def _diff(changed: ChangedPath, held: HeldContents) -> PathDiff:
    try:
        was, now = (None if side is None else from_members(EntryState, side, "state") for side in _sides(changed))
    except InvalidDocumentError:
        return PathDiff(changed=changed, why_not="The record does not say what stood there.")
    if not any(map(_has_content, (was, now))):
        return PathDiff(changed=changed, why_not="It has no contents: a directory.")
    if any(state is not None and (state.size or 0) > MAX_COMPARED_BYTES for state in (was, now)):
        compared = Compared(path=changed.path, was=was, now=now, before=None, after=None, too_large=True)
        return PathDiff(changed=changed, lines=tuple(content_diff.diff_of(compared)))
    before, after = (_content(changed, state, held) for state in (was, now))
    lacking = [name for name, content in (("before", before), ("after", after)) if content is None]
    if lacking:
        return PathDiff(changed=changed, why_not=f"Not held any more: what it was {' and '.join(lacking)} the run.")
    compared = Compared(path=changed.path, was=was, now=now, before=before, after=after)
    return PathDiff(changed=changed, lines=tuple(content_diff.diff_of(compared)))


def _content(changed: ChangedPath, state: EntryState | None, held: HeldContents) -> bytes | None:
    """Return what a state holds, nothing for what has no contents, None where they are not held."""
    return b"" if state is None or not _has_content(state) else held.content(changed.path, state)


def _sides(changed: ChangedPath) -> tuple[JsonObject | None, JsonObject | None]:
    return changed.before, changed.after


def _has_content(state: EntryState | None) -> bool:
    return state is not None and state.kind in (Kind.FILE.value, Kind.SYMLINK.value)


def _verifier() -> str:
    for path in (_SHIPPED, _MADE):
        with suppress(OSError):
            return path.read_text("utf-8")
    detail = f"the verifier's module is not there: {_SHIPPED}"
    raise UnavailableError(Reason.NOT_FOUND, detail, hint="install docket again")


__all__ = ["PageRequest", "page_of", "write_page"]
