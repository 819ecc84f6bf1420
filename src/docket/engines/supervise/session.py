"""The session of a run: its names, its open ledger, and the small events that begin it (phases open and announce)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from docket import __version__
from docket.engines.supervise.checkpoints import RunCheckpoints
from docket.engines.supervise.request import RunRequest, RunWorld
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.ledger.proof_facts import ProofFacts
from docket.formats.ledger.resilience_events import FaultPlanned
from docket.formats.ledger.session_events import FOLD, Note, PolicyApplied, SessionStart
from docket.formats.proof.origin import origin_of
from docket.formats.visible import base64_text, shown_and_coded, visible
from docket.host.locks import FileLock
from docket.stores.layout import prepare_state
from docket.stores.ledger import LedgerOptions, LedgerWriter
from docket.stores.receipts import ReceiptReserve
from docket.stores.responses import ResponseFolder, ResponseLimits
from docket.stores.run_numbers import RunNumber, take_number

if TYPE_CHECKING:
    from docket.engines.transaction.world import OpenTransaction

LOCK_PATIENCE_SECONDS = 5.0
_MAY_BE_SECRET = re.compile(r"[A-Za-z0-9_-]{24,}")


class RunLock:
    """The lock of a run's ledger, held until the receipt stands.

    The writer releases it with the ledger; were it free then, `docket recover` could take a run that is about to
    publish for a dead one.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock: FileLock | None = None

    def acquire(self, path: Path) -> RunLock:
        """Take the lock; whoever only looks whether it is held gets out of the way."""
        self._lock = FileLock.acquire(path, wait_seconds=LOCK_PATIENCE_SECONDS)
        return self

    def release(self) -> None:
        """What the writer calls; the run still needs it."""

    def let_go(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._lock is not None:
            self._lock.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session that has begun: from here on there is a receipt, whatever happens."""

    session_id: str
    docket_number: str
    started_ns: int
    ledger: LedgerWriter
    lock: RunLock
    reserve: ReceiptReserve | None
    number: RunNumber
    checkpoints: RunCheckpoints
    responses: ResponseFolder | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """What every phase between opening and report works with; `stage` while the agent works on one."""

    request: RunRequest
    world: RunWorld
    session: Session
    stage: OpenTransaction | None = None


def open_session(request: RunRequest, world: RunWorld) -> Session:
    """Create the ledger and set space aside; UnavailableError if the evidence cannot be kept."""
    prepare_state(request.layout)
    number = take_number(request.layout)
    session_id = world.ids.session_id()
    docket_number = world.ids.docket_number(world.clock.now())
    resilience = request.policy.resilience
    lock = RunLock()
    with ExitStack() as undo:
        undo.callback(lock.let_go)
        ledger = LedgerWriter.create(
            request.layout.ledger_path(session_id),
            clock=world.clock,
            options=LedgerOptions(
                max_events=resilience.max_events,
                max_bytes=resilience.max_ledger_bytes,
                min_free_bytes=resilience.min_free_bytes,
                on_failure=lambda _: world.signals.wake(),
                on_overflow=lambda _: world.signals.wake(),
                acquire_lock=lock.acquire,
            ),
        )
        undo.callback(ledger.close)
        reserve = ReceiptReserve.hold(request.layout, docket_number)
        undo.pop_all()
    return Session(
        session_id=session_id,
        docket_number=docket_number,
        started_ns=world.clock.monotonic_ns(),
        ledger=ledger,
        lock=lock,
        reserve=reserve,
        number=number,
        checkpoints=RunCheckpoints(
            ledger, origin_of(session_id, request.voucher.public_key), request.voucher.signer, world.clock
        ),
        responses=_responses(request, session_id),
    )


def _responses(request: RunRequest, session_id: str) -> ResponseFolder | None:
    evidence = request.policy.evidence
    if not evidence.record_responses:
        return None
    limits = ResponseLimits(
        total_max_bytes=evidence.record_total_max_bytes, min_free_bytes=request.policy.resilience.min_free_bytes
    )
    return ResponseFolder(request.layout, session_id, limits)


def announce(run: OpenRun, upstreams: Mapping[str, str]) -> None:
    """Write what the run is: start, policy, remarks; durable before anything is measured or started."""
    request, session = run.request, run.session
    policy = request.policy.recorded
    session.ledger.append(_start(request, session, upstreams))
    session.ledger.append(
        PolicyApplied(name=policy.name, digest=policy.digest, document=policy.document(), source=request.policy_source),
        control=True,
    )
    if request.faults is not None:
        plan = FaultPlanned(seed=request.faults.seed, spec=request.faults.spec)
        session.ledger.append(plan, control=True)
    if session.number.lost:
        session.ledger.append(Note(code="run-number-lost", message=session.number.lost), control=True)
        run.world.watcher.warned(session.number.lost)
    for remark in request.remarks:
        session.ledger.append(Note(code="policy-remark", message=remark), control=True)
    session.ledger.flush()
    session.checkpoints.begin()


def argv_members(argv: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Return (argv as text, base64 of every argument where one is not Unicode)."""
    raw = [os.fsencode(argument) for argument in argv]
    pairs = [shown_and_coded(argument) for argument in raw]
    shown = tuple(text for text, _ in pairs)
    return shown, None if all(coded is None for _, coded in pairs) else tuple(base64_text(item) for item in raw)


def without_secrets(url: str) -> str:
    """Return an address for the record: a part of its path that may be a secret, and its query's values, are left out.

    An address may be another boundary's, whose token stands in its path, or carry a key in its query; user names and
    passwords are refused earlier.
    """
    bare, mark, query = url.partition("?")
    scheme, separator, rest = bare.partition("://")
    host, *parts = rest.split("/")
    shown = "/".join([host, *("…" if _MAY_BE_SECRET.fullmatch(part) else part for part in parts)])
    return scheme + separator + shown + mark + "&".join(_without_value(member) for member in query.split("&"))


def _without_value(member: str) -> str:
    name, mark, _ = member.partition("=")
    return f"{name}=…" if mark else "…" * bool(name)


def _start(request: RunRequest, session: Session, upstreams: Mapping[str, str]) -> SessionStart:
    argv, argv_b64 = argv_members(request.argv)
    cwd, cwd_b64 = shown_and_coded(os.fsencode(request.cwd))
    overrides: dict[str, JsonValue] = {name: without_secrets(url) for name, url in sorted(upstreams.items())}
    return SessionStart(
        session_id=session.session_id,
        docket_number=session.docket_number,
        label=None if request.label is None else visible(os.fsencode(request.label)),
        argv=argv,
        argv_b64=argv_b64,
        cwd=cwd,
        cwd_b64=cwd_b64,
        tool="docket",
        version=__version__,
        fold=FOLD,
        agent=request.recipe.name,
        admission=str(request.policy.budget.admission),
        boundary=_boundary_members(request),
        upstream_overrides=overrides,
        host=request.host_facts,
        prices=request.book.session_members(),
        proof=_proof(request, session),
    )


def _proof(request: RunRequest, session: Session) -> ProofFacts:
    """Return what will vouch for the run: said before anything happens, so that it cannot be left out later."""
    number, voucher = session.number, request.voucher
    return ProofFacts(
        origin=origin_of(session.session_id, voucher.public_key),
        project=number.project,
        run=number.run,
        previous=number.previous,
        signature=voucher.signing_key(),
        seal=voucher.sealing_key(),
    )


def _boundary_members(request: RunRequest) -> dict[str, JsonValue]:
    """Return what a session records of its boundary; `http_proxy` stands there where it is one."""
    members: dict[str, JsonValue] = {"host": "127.0.0.1", "requested_port": request.port}
    return members | {"http_proxy": True} if request.http_proxy else members
