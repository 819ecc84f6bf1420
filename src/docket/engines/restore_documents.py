"""Reads the three documents that a restore is made of, says what they are worth, and whether they go together.

Rules (spec/restore.md, Which tree):
1. The receipt and its ledger are verified as `docket verify` does, before anything else is asked of them. A record that
   fails is not used unless the person insists.
2. The manifest must be the one whose digest the ledger recorded, and all three must be of one session: no insisting
   changes that.
3. The tree is never taken from one document alone: all three must name it, or the person does.

What is refused is refused with every point at once: the checks that failed, and who says what about the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from docket.engines.verify import VerifyRequest, decode_receipt, verify_receipt
from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.canonical import JsonObject, object_at
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.lines import TornTail
from docket.formats.ledger.session_events import EvidenceGap, SessionEnd, SessionStart
from docket.formats.ledger.tree_events import FsChange, FsSnapshot, Phase
from docket.formats.ledger.vocabulary import read_payload
from docket.formats.reason import Reason
from docket.formats.run.verdict import Verdict, Word
from docket.formats.tree.listing import Kind
from docket.formats.tree.manifest import Manifest
from docket.formats.visible import raw_of, visible
from docket.host.disk import Disk
from docket.stores.ledger_reader import read_ledger

INSIST = "--despite-failed-verification"
_FAILURES_TOLD = 6
_PLACES_TOLD = 3
_UNSEEN = (Reason.OTHER_FILE_SYSTEM, Reason.NOT_PERMITTED, Reason.UNREADABLE)
_UNUSABLE = (Word.FAILED, Word.UNREADABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """What receipt and ledger say of a run that kept a snapshot; `remarks` are what a person should know of them.

    `changes_known`: the ledger ends as a run ends, and nothing is missing in it.
    """

    receipt: JsonObject
    verdict: Verdict
    start: SessionStart
    manifest_sha256: Digest | None
    changes: Sequence[FsChange]
    remarks: tuple[str, ...]
    changes_known: bool

    def check_usable(self, manifest: Manifest | None, *, insists: bool) -> None:
        """Refuse a record that fails verification; InvalidDocumentError names each check, and who says what."""
        if self.verdict.word not in _UNUSABLE or insists:
            return
        failures = self.verdict.failures or (self.verdict.detail,)
        more = len(failures) - _FAILURES_TOLD
        points = (*failures[:_FAILURES_TOLD], *((f"and {more} more",) if more > 0 else ()))
        if manifest is not None and self.roots_differ(manifest):
            points = (*points, *self._roots_told(manifest))
        raise InvalidDocumentError(
            Reason.VERIFICATION_FAILED,
            "the run's record fails verification: what it says of the tree is not to be relied on; nothing was changed",
            points=points,
            hint=f"docket verify tells all of it; {INSIST} uses it all the same",
        )

    def check_manifest(self, manifest: Manifest, sha256: Digest, path: Path) -> None:
        """Refuse a manifest that is not the one of this run; InvalidDocumentError."""
        named = {
            "receipt": object_at(self.receipt, "session").get("id"),
            "ledger": self.start.session_id,
            "manifest": manifest.head.session_id,
        }
        if len(set(map(str, named.values()))) > 1:
            points = tuple(f"the {document} is of session {name}" for document, name in named.items())
            detail = "receipt, ledger and manifest are not of one run"
            raise InvalidDocumentError(Reason.DOCUMENTS_DISAGREE, detail, points=points)
        if self.manifest_sha256 != sha256:
            detail = f"the manifest in {path} is not the one whose digest the ledger recorded"
            points = (f"the ledger recorded {self.manifest_sha256}", f"the manifest has {sha256}")
            raise InvalidDocumentError(Reason.DOCUMENTS_DISAGREE, detail, points=points)

    def agreed_root(self, manifest: Manifest) -> bytes:
        """Return the tree that all three name; InvalidDocumentError prints what each says and asks for --root."""
        if not self.roots_differ(manifest):
            return manifest.head.root
        raise InvalidDocumentError(
            Reason.DOCUMENTS_DISAGREE,
            "receipt, ledger and manifest do not agree about the tree of the run",
            points=self._roots_told(manifest),
            hint="name the tree that is meant with --root",
        )

    def roots_differ(self, manifest: Manifest) -> bool:
        """Whether the three do not name one tree."""
        return any(told != manifest.head.root for told in self._roots(manifest).values())

    def _roots(self, manifest: Manifest) -> Mapping[str, bytes | None]:
        start = self.start
        ledger = {"cwd": start.cwd, **({} if start.cwd_b64 is None else {"cwd_b64": start.cwd_b64})}
        return {
            "receipt": raw_of("cwd", object_at(self.receipt, "session")),
            "ledger": raw_of("cwd", ledger),
            "manifest": manifest.head.root,
        }

    def _roots_told(self, manifest: Manifest) -> tuple[str, ...]:
        return tuple(
            f"the {document} says {'nothing' if told is None else visible(told)}"
            for document, told in self._roots(manifest).items()
        )


def read_documents(receipt: bytes, ledger_path: Path, disk: Disk) -> Documents:
    """Verify the receipt against its ledger and read both.

    InvalidDocumentError where one cannot be read at all; UnavailableError where the run kept no snapshot, or was cut
    short before its changes were recorded.
    """
    document = decode_receipt(receipt)
    verdict = verify_receipt(VerifyRequest(receipt=receipt, ledger_path=ledger_path))
    try:
        said = _ledger(ledger_path, disk)
    except InvalidDocumentError as error:
        raise InvalidDocumentError(error.reason, error.detail, points=verdict.failures, hint=error.hint) from error
    start = said.start
    if start is None:
        raise InvalidDocumentError(Reason.LEDGER_DAMAGED, f"{ledger_path} has no beginning")
    if Phase.CONTENTS not in said.passes:
        detail = f"the run {start.docket_number} kept no snapshot: what it changed cannot be put back"
        raise UnavailableError(Reason.NOT_FOUND, detail, hint="docket run --snapshot keeps one")
    if Phase.AFTER not in said.passes:
        detail = f"the run {start.docket_number} was cut short: its ledger does not tell what it changed"
        hint = (
            f"docket snapshots show {start.docket_number} --diff tells how the tree differs from its snapshot, and "
            "docket snapshots extract takes single files out of it"
        )
        raise UnavailableError(Reason.NOT_RECORDED, detail, hint=hint)
    if verdict.word is Word.INCOMPLETE:
        said.remarks.append("the record itself says that it is not whole: nothing is known about what is missing")
    return Documents(
        receipt=document,
        verdict=verdict,
        start=start,
        manifest_sha256=said.passes[Phase.CONTENTS].manifest_sha256,
        changes=said.changes,
        remarks=tuple(said.remarks),
        changes_known=said.has_end and not said.has_gap,
    )


def unseen(manifest: Manifest) -> tuple[str, ...]:
    """Return the remark on places that no pass looks into, where there are any: what the run did there is not known."""
    places = [item.path for item in manifest.not_covered if item.reason in _UNSEEN and item.kind is not Kind.FILE]
    if not places:
        return ()
    named = ", ".join(map(str, places[:_PLACES_TOLD])) + (", …" if len(places) > _PLACES_TOLD else "")
    return (f"docket could not look into these, so what the run did there is not known and not put back: {named}",)


def worth(verdict: Verdict) -> str:
    """Return in one sentence what a record is worth, for the first line a person reads."""
    match verdict.word:
        case Word.VERIFIED:
            return "verified: the receipt is what its ledger gives, and a key vouches for it"
        case Word.CONSISTENT:
            return "consistent: the receipt is what its ledger gives; no key vouches for who wrote the two"
        case Word.INCOMPLETE:
            return "incomplete: what is recorded holds together, and the record says that it is not whole"
        case _:
            first = next(iter(verdict.failures), verdict.detail)
            return f"{verdict.word}: not to be relied on, and used because you insist; {first}"


class _Said:
    """What a ledger says that a restore needs."""

    def __init__(self) -> None:
        self.start: SessionStart | None = None
        self.passes: dict[Phase, FsSnapshot] = {}
        self.changes: list[FsChange] = []
        self.remarks: list[str] = []
        self.has_end = self.has_gap = False


def _ledger(path: Path, disk: Disk) -> _Said:
    said = _Said()
    for item in read_ledger(path, disk=disk):
        if isinstance(item, TornTail):
            said.remarks.append("the ledger ends in a part of a line: the run did not end by itself")
            continue
        payload = read_payload(item)
        match payload:
            case SessionStart():
                said.start = payload
            case FsSnapshot():
                said.passes[payload.phase] = payload
            case FsChange():
                said.changes.append(payload)
            case SessionEnd():
                said.has_end = True
            case EvidenceGap():
                said.has_gap = True
                said.remarks.append("the ledger has a gap: changes of the run may be missing in it")
            case _:
                pass
    return said
