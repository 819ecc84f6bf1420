"""The last phases: what the run's end is called, the record's last events, the receipt and where it is put."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from docket.engines.boundary import BoundaryEnd
from docket.engines.supervise.foresight import Ready, foresee
from docket.engines.supervise.request import RunResult
from docket.engines.supervise.session import OpenRun, Session
from docket.engines.supervise.watch import Breached, Cause, Watched, signal_name
from docket.errors import DocketError, UnavailableError
from docket.formats.amount import ZERO, Usd
from docket.formats.canonical import JsonObject, encode_document, object_at
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import EvidenceGap, ExitSource, Note, ProcExit, SessionEnd
from docket.formats.proof.checkpoint import TreeHead
from docket.formats.reason import Reason
from docket.formats.run import exit_code as codes
from docket.host.disk import SYSTEM_DISK
from docket.host.process import AgentExit
from docket.rules.proof.vouching import NO_VOUCHER, Voucher
from docket.rules.receipt.assemble import receipt_from_ledger
from docket.rules.receipt.proof import previous_of
from docket.stores.layout import RUNS, open_docket_dir
from docket.stores.ledger_reader import read_chunks
from docket.stores.receipts import Problem, Publication, publish
from docket.stores.run_numbers import put_previous


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The run's exit code, whose number it is, and which cap was reached."""

    exit_code: int
    exit_source: ExitSource
    breached: str | None = None
    interrupted: bool = False


def ending_of(watched: Watched, breached: Breached) -> Ending:
    """Return what the watched end means for docket's own exit code.

    A cap that was reached decides even where the agent ended by itself on the refusal: work that a cap cut short
    must not look like a success.
    """
    if watched.cause is Cause.AGENT and breached.cap is not None:
        return Ending(exit_code=codes.CAP, exit_source=ExitSource.CAP, breached=str(breached.cap))
    if watched.cause is Cause.CAP:
        return Ending(exit_code=codes.CAP, exit_source=ExitSource.CAP, breached=str(watched.cap))
    if watched.cause is Cause.SIGNAL:
        return interrupted_ending(watched.signal or 0)
    if watched.cause is Cause.EVIDENCE:
        return Ending(exit_code=codes.UNAVAILABLE, exit_source=ExitSource.DOCKET)
    return _own_ending(watched.exit)


def interrupted_ending(number: int) -> Ending:
    """Return the ending of a run that a signal to docket ended."""
    return Ending(exit_code=codes.SIGNAL_BASE + number, exit_source=ExitSource.SIGNAL, interrupted=True)


def _own_ending(exit_: AgentExit) -> Ending:
    if exit_.failure is not None:
        code = exit_.exit_code if exit_.exit_code is not None else codes.INTERNAL
        return Ending(exit_code=code, exit_source=ExitSource.DOCKET)
    if exit_.signal is not None:
        return Ending(exit_code=codes.SIGNAL_BASE + exit_.signal, exit_source=ExitSource.SIGNAL)
    if exit_.exit_code is None:
        return Ending(exit_code=codes.INTERNAL, exit_source=ExitSource.DOCKET)
    return Ending(exit_code=exit_.exit_code, exit_source=ExitSource.AGENT)


def exit_payload(watched: Watched) -> ProcExit:
    """Return the event of the agent's end."""
    by = {
        Cause.CAP: str(watched.cap),
        Cause.SIGNAL: None if watched.signal is None else signal_name(watched.signal),
        Cause.EVIDENCE: str(Reason.EVIDENCE_FAILED),
    }
    code = watched.exit.exit_code
    if code is None:
        code = codes.SIGNAL_BASE + watched.exit.signal if watched.exit.signal is not None else codes.INTERNAL
    return ProcExit(
        exit_code=code,
        signal=None if watched.exit.signal is None else signal_name(watched.exit.signal),
        terminated_by=by.get(watched.cause) if watched.stopped else None,
        leftover_processes=watched.exit.leftover_processes,
    )


def close_record(run: OpenRun, ending: Ending, settled: BoundaryEnd | None, last: Sequence[Payload]) -> Ready | None:
    """Write the record's last events, into the reserve if the disk is full; return what was signed of them before."""
    ledger = run.session.ledger
    run.session.checkpoints.stop()
    with suppress(DocketError):
        ledger.flush()
    payloads: list[Payload] = [*last]
    if ledger.failure is None:
        recheck = ledger.recheck()
        if recheck.first_difference is not None:
            payloads.append(Note(code="ledger-diverged", message=recheck.detail))
    if run.session.responses is not None and run.session.responses.lost:
        sentence = f"{run.session.responses.lost} kept responses did not become durable: a power cut may lose them"
        payloads.append(Note(code="responses-not-durable", message=sentence))
    if ledger.lost_events:
        payloads.append(
            EvidenceGap(
                first_failing_seq=ledger.failed_seq if ledger.failed_seq is not None else len(ledger.hashes),
                unwritten_events=ledger.lost_events,
                detail="the ledger took no more events" if ledger.failure is None else ledger.failure.detail,
            )
        )
    payloads.append(_end_payload(run, ending, ZERO if settled is None else settled.state.spent))
    ready = foresee(run, payloads)
    try:
        ledger.append_final(payloads, now=None if ready is None else ready.ledger.now)
    except DocketError:
        # Less may still fit: the end alone is what makes the record say that it has one.
        with suppress(DocketError):
            ledger.append_final(payloads[-1:])
    return ready


def _end_payload(run: OpenRun, ending: Ending, spent: Usd) -> SessionEnd:
    milliseconds = (run.world.clock.monotonic_ns() - run.session.started_ns) // 1_000_000
    return SessionEnd(
        exit_code=ending.exit_code,
        exit_source=ending.exit_source,
        duration_seconds=f"{milliseconds // 1000}.{milliseconds % 1000:03d}",
        breached=ending.breached,
        interrupted=ending.interrupted,
        cost_usd=spent,
    )


def report(run: OpenRun, ending: Ending, ready: Ready | None = None) -> RunResult:
    """Derive the receipt from the ledger, publish both, and give back what was reserved, the lock last.

    `ready` is what `close_record` returned.
    """
    try:
        return _report(run, ending, ready)
    finally:
        run.session.lock.let_go()


def _report(run: OpenRun, ending: Ending, ready: Ready | None) -> RunResult:
    request, session = run.request, run.session
    problems: list[Problem] = []
    if ready is not None and session.ledger.hashes != ready.ledger.hashes:
        ready = None  # fewer events were written in the end
    receipt, ledger_path = _derive(run, problems, ready)
    if receipt is not None and (ready is None or receipt is not ready.receipt):
        receipt = vouched(receipt, request.voucher, session.ledger.hashes, problems)
    head = _last_head(run, receipt, problems)
    session.ledger.close()
    if session.responses is not None:
        session.responses.close()
    path = None
    if receipt is None:
        if session.reserve is not None:
            session.reserve.release()
    else:
        try:
            data = ready.data if ready is not None and receipt is ready.receipt else encode_document(receipt)
            published = publish(request.layout, _publication(session, data, ledger_path))
            problems += published.problems
            _make_previous(run, receipt, problems)
            path, ledger_path = published.receipt_path, published.ledger_path
        except DocketError as error:
            problems.append(Problem(Reason(error.reason), error.detail))
    if path is None:
        # A run whose record is not to be had must not look like one that ended well.
        ending = Ending(exit_code=codes.UNAVAILABLE, exit_source=ExitSource.DOCKET)
    return RunResult(
        exit_code=ending.exit_code,
        exit_source=ending.exit_source,
        docket_number=session.docket_number,
        receipt=receipt,
        receipt_path=path,
        ledger_path=ledger_path,
        problems=tuple(problems),
        head=head,
    )


def _last_head(run: OpenRun, receipt: JsonObject | None, problems: list[Problem]) -> TreeHead:
    """Make the last checkpoint and return its head: what was written, by docket's memory and by no file's."""
    head, missed = run.session.checkpoints.finish()
    if missed is not None:
        problems.append(Problem(Reason.WRITE_FAILED, missed))
    if receipt is not None and receipt.get("signature") is None and receipt.get("seal") is None:
        root = object_at(receipt, "ledger").get("merkle_root")
        if root != head.root:
            detail = f"the receipt says that the ledger's root is {root}, and what was written has the root {head.root}"
            problems.append(Problem(Reason.LEDGER_DAMAGED, detail))
    return head


def vouched(receipt: JsonObject, voucher: Voucher, written: Sequence[Digest], problems: list[Problem]) -> JsonObject:
    """Return the receipt sealed and signed; as it is, and told, where that cannot be.

    `written` are the hashes of what docket wrote: it signs for no ledger that says anything else, whoever changed the
    file before it was read back.
    """
    if voucher == NO_VOUCHER:
        return receipt
    ledger = object_at(receipt, "ledger")
    if (ledger.get("events"), ledger.get("head")) != (len(written), written[-1] if written else None):
        problems.append(Problem(Reason.LEDGER_DAMAGED, "the ledger that was read back is not the one that was written"))
        problems.append(Problem(Reason.KEY_UNUSABLE, "the receipt is not signed, though it was to be"))
        return receipt
    try:
        return voucher.vouched(receipt)
    except Exception as error:  # noqa: BLE001 - what the library may raise: an unsigned receipt is better than none
        detail = f"the receipt is not signed, though it was to be: {type(error).__name__}: {error}"
        problems.append(Problem(Reason.KEY_UNUSABLE, detail))
        return receipt


def _make_previous(run: OpenRun, receipt: JsonObject, problems: list[Problem]) -> None:
    """Let the next run of the project name this one; a chain that lacks a link is told, and no reason to fail."""
    try:
        put_previous(run.request.layout, previous_of(receipt))
    except DocketError as error:
        problems.append(Problem(Reason(error.reason), f"the next run will not name this one: {error.detail}"))


def _derive(run: OpenRun, problems: list[Problem], ready: Ready | None) -> tuple[JsonObject | None, Path]:
    """Return the receipt and the ledger it was derived from, or None and where the ledger should be."""
    session, stands = run.session, False
    with suppress(DocketError):
        aside = session.ledger.reinstate()
        stands = True
        if aside is not None:
            detail = f"something rewrote the ledger during the run: it is put back as written, the other is {aside}"
            problems.append(Problem(Reason.LEDGER_DAMAGED, detail))
    path = session.ledger.path
    if ready is not None and stands:
        return ready.receipt, path
    try:
        return receipt_from_ledger(read_chunks(path)), path
    except UnavailableError as error:
        problems.append(Problem(Reason(error.reason), f"the ledger is out of reach: {error.detail}"))
    except DocketError as error:
        problems.append(Problem(Reason(error.reason), f"no receipt could be derived from the ledger: {error.detail}"))
        return None, path
    return _rescued(run, problems)


def _rescued(run: OpenRun, problems: list[Problem]) -> tuple[JsonObject | None, Path]:
    """Derive the receipt from a copy in the folder that a person looks into, made from what docket still holds open."""
    layout, ledger = run.request.layout, run.session.ledger
    copy = layout.docket_dir / RUNS / ledger.path.name
    try:
        with open_docket_dir(layout, SYSTEM_DISK) as visible_folder, visible_folder.folder(RUNS, create=True) as runs:
            ledger.copy_into(runs)
        return receipt_from_ledger(read_chunks(copy)), copy
    except DocketError as error:
        problems.append(Problem(Reason(error.reason), f"no receipt could be derived from the ledger: {error.detail}"))
        return None, ledger.path


def _publication(session: Session, receipt: bytes, ledger_path: Path) -> Publication:
    return Publication(
        docket_number=session.docket_number,
        session_id=session.session_id,
        receipt=receipt,
        ledger_path=ledger_path,
        reserve=session.reserve,
    )
