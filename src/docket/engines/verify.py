"""Verifies a receipt, with its ledger where one is given (spec/receipt.md, Checks).

Rules: it finds no receipt and no ledger by itself, reads regular files alone, streams the ledger, and needs the
standard library only. Whatever the bytes are, the outcome is a verdict; what cannot be read as a receipt is
`unreadable` with its reason.
"""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from docket.engines.verify_deltas import deltas_beside
from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.canonical import JsonObject, JsonValue, decode_document, first_member
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.line_shape import LineShapes
from docket.formats.ledger.lines import follow
from docket.formats.ledger.vocabulary import PAYLOADS
from docket.formats.proof.checkpoint import CHECKPOINTS_SUFFIX, MAX_CHECKPOINTS_BYTES, TreeHead
from docket.formats.proof.pins import NO_PINS, Pins
from docket.formats.proof.verifier_state import VerifierState
from docket.formats.reason import Reason
from docket.formats.run.verdict import Verdict, Word
from docket.host.regular_file import read_regular_file, regular_file_chunks
from docket.rules.checks.ledger_pass import LedgerPass, LedgerReading
from docket.rules.checks.registry import Beside, judge
from docket.rules.checks.retained import FoundBodies
from docket.rules.checks.written_rows import read_around_rows

MAX_RECEIPT_BYTES = 256 * 1024 * 1024
MAX_RECEIPT_VALUES = 6_000_000
RESPONSES = "responses"
_BEGINNING_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """`receipt` is what `read_receipt` gives; `required` the word that exit code 0 asks for, `pins` the keys named.

    `checkpoints_path` is the file that was named, which must be there; without it the one beside the ledger is read, if
    any. `heads` were written down earlier, `remembered` is what is known of runs that were verified before. `progress`
    is told how many bytes of the ledger were read.
    """

    receipt: bytes
    ledger_path: Path | None = None
    required: Word = Word.CONSISTENT
    pins: Pins = NO_PINS
    checkpoints_path: Path | None = None
    heads: tuple[TreeHead, ...] = ()
    remembered: VerifierState | None = None
    progress: Callable[[int], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A verdict and what it is on.

    `document` is the receipt, None where it is unreadable; rows that are just what the ledger gives are the ledger's,
    and their JSON is made when it is asked for. `ledger_sha256` is the digest of the ledger file that was read.
    """

    verdict: Verdict
    document: JsonObject | None = None
    ledger_sha256: Digest | None = None


def verify_receipt(request: VerifyRequest) -> Verdict:
    """Return the verdict; never raises for what a file holds."""
    return examine_receipt(request).verdict


def examine_receipt(request: VerifyRequest) -> Examined:
    """Return the verdict with what was read for it; never raises for what a file holds."""
    with _uncollected():
        return _examined(request)


def _examined(request: VerifyRequest) -> Examined:
    try:
        document, ledger = _read_both(request)
        bodies, deltas = None, None
        if ledger is not None and request.ledger_path is not None:
            bodies = bodies_beside(request.ledger_path, ledger)
            deltas = deltas_beside(request.ledger_path, document) if "windows" in document else None
        checkpoints = _checkpoints(request)
    except InvalidDocumentError as error:
        return Examined(verdict=Verdict(word=Word.UNREADABLE, required=request.required, detail=error.detail))
    beside = Beside(
        bodies=bodies,
        deltas=deltas,
        pins=request.pins,
        checkpoints=checkpoints,
        heads=request.heads,
        remembered=request.remembered,
    )
    verdict = judge(document, ledger, request.required, beside)
    return Examined(verdict=verdict, document=document, ledger_sha256=None if ledger is None else ledger.file_sha256)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Collect no cycles for a while: what is read here has none, and each search for some would walk through it all."""
    was_enabled = gc.isenabled()
    try:  # around the switch, too: an interrupt may come right behind it
        gc.disable()
        yield
    finally:
        if was_enabled:
            gc.enable()


def read_receipt(path: Path) -> bytes:
    """Return the bytes of a receipt file, bounded; InvalidDocumentError where it cannot be read."""
    try:
        return read_regular_file(path, MAX_RECEIPT_BYTES)
    except UnavailableError as error:
        raise InvalidDocumentError(error.reason, f"the receipt {error.detail}") from error


def decode_receipt(data: bytes) -> JsonObject:
    """Return the receipt as an object, its form unchecked; InvalidDocumentError where it is none."""
    _bounded(data)
    try:
        document = decode_document(data, shared=True)
    except InvalidDocumentError as error:
        if error.reason == Reason.NOT_JSON and _is_ledger(data):
            raise InvalidDocumentError(error.reason, "it is a ledger, and no receipt") from error
        raise
    if not isinstance(document, Mapping):
        raise InvalidDocumentError(Reason.WRONG_TYPE, "the receipt is not a JSON object")
    return document


def _is_ledger(data: bytes) -> bool:
    line, end, _ = data.partition(b"\n")
    return bool(end) and line.startswith(b'{"data":{') and b',"hash":"' in line


def session_of(data: bytes) -> str | None:
    """Return the session that a receipt names, with which its ledger is found; None where none can be read.

    It stands near the beginning, and what it is worth is for `verify_receipt` to say: a long receipt is not decoded
    twice for it.
    """
    session = first_member(data[:_BEGINNING_BYTES], "session")
    if session is None:
        try:
            session = decode_receipt(data).get("session")
        except InvalidDocumentError:
            return None
    name = session.get("id") if isinstance(session, Mapping) else None
    return name if isinstance(name, str) else None


def _read_both(request: VerifyRequest) -> tuple[JsonObject, LedgerReading | None]:
    """Return the receipt and the reading of its ledger; what is wrong with the receipt is told first."""
    receipt, ledger_path = request.receipt, request.ledger_path
    if ledger_path is None:
        return decode_receipt(receipt), None
    _bounded(receipt)
    try:
        ledger = reading_of(ledger_path, request.progress)
    except InvalidDocumentError:
        decode_receipt(receipt)
        raise
    return read_around_rows(receipt, ledger) or decode_receipt(receipt), ledger


def _bounded(data: bytes) -> None:
    # Two bytes of JSON can become sixty in memory: what bounds the file does not bound the values.
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > MAX_RECEIPT_VALUES:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"the receipt holds more than {MAX_RECEIPT_VALUES} values")


def reading_of(path: Path, progress: Callable[[int], None] | None = None) -> LedgerReading:
    """Return the reading of a ledger file; a damaged one is a reading too. `progress` as in `VerifyRequest`."""
    ledger, damage, digest = LedgerPass(), None, hashlib.sha256()
    read = regular_file_chunks(path)
    chunks = _hashed(read if progress is None else counted(read, progress), digest)
    try:
        try:
            for item in follow(chunks, LineShapes(PAYLOADS)):
                ledger.take(item)
        except InvalidDocumentError as error:
            damage = error.detail
        for _ in chunks:
            pass
    except UnavailableError as error:
        raise InvalidDocumentError(error.reason, f"the ledger {error.detail}") from error
    return ledger.finish(file_sha256=Digest(digest.hexdigest()), damage=damage)


def counted(chunks: Iterable[bytes], progress: Callable[[int], None]) -> Iterator[bytes]:
    """Yield the same chunks; `progress` is told how many bytes they are so far."""
    read_bytes = 0
    for chunk in chunks:
        read_bytes += len(chunk)
        progress(read_bytes)
        yield chunk


def _checkpoints(request: VerifyRequest) -> bytes | None:
    """Return the file of checkpoints; one that stands beside the ledger and cannot be read is one that says nothing."""
    named, ledger = request.checkpoints_path, request.ledger_path
    if named is None and ledger is None:
        return None
    path = named or ledger.with_suffix(CHECKPOINTS_SUFFIX)  # type: ignore[union-attr] # one of them is there
    if named is None and not os.path.lexists(path):
        return None
    try:
        return read_regular_file(path, MAX_CHECKPOINTS_BYTES)
    except UnavailableError as error:
        if named is None:
            return b""
        raise InvalidDocumentError(error.reason, f"the file of checkpoints {error.detail}") from error


def bodies_beside(ledger_path: Path, ledger: LedgerReading) -> FoundBodies:
    """Return what stands in the folder of kept responses beside a ledger, hashed up to the first that is another.

    A path that leads out is not read, nor is what stands behind a body by which the record fails.
    """
    root = ledger_path.parent.parent
    digests: dict[str, tuple[str, int]] = {}
    faults: dict[str, str] = {}
    paths = {body.path for body in ledger.kept if isinstance(body.path, str) and not has_way_out(body.path)}
    for body in ledger.kept:
        path = str(body.path)
        if path in digests or path not in paths:
            continue
        try:
            digests[path] = _digest_of(root / path, body.size_bytes)
        except UnavailableError as error:
            faults[path] = error.detail
            break
        if digests[path][0] != body.sha256:
            break
    session = root / RESPONSES / ledger_path.stem
    named = {str(body.path) for body in ledger.kept}
    own = (f"{RESPONSES}/{session.name}/{name}" for name in _names_in(session))
    return FoundBodies(
        digests=digests,
        faults=faults,
        others=tuple(sorted(path for path in own if path not in named)),
        # Path's own raises for a name that is too long.
        folder=any(os.path.isdir((root / path).parent) for path in paths),  # noqa: PTH112
    )


def has_way_out(path: str) -> bool:
    """Whether a relative path leads out of the folder that it is relative to, or is not in its one spelling."""
    return "\0" in path or not {"", ".", ".."}.isdisjoint(path.split("/"))


def _digest_of(path: Path, stated_bytes: JsonValue) -> tuple[str, int]:
    """Return the digest and the size of a file; of one that is longer than is stated nothing further is read."""
    digest, size = hashlib.sha256(), 0
    for chunk in regular_file_chunks(path):
        digest.update(chunk)
        size += len(chunk)
        if type(stated_bytes) is int and size > stated_bytes:
            break
    return digest.hexdigest(), size


def _names_in(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(item.name for item in folder.iterdir())
    except OSError:
        return ()


def _hashed(chunks: Iterator[bytes], digest: hashlib._Hash) -> Iterator[bytes]:
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
