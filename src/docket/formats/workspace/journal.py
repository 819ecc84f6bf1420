"""The journal of one commit, `docket/workspace-journal/v1`: what was about to be done, and how far it surely came.

Rules (spec/workspace.md, Journal):
1. JSON Lines; each line carries the length and the SHA-256 of its record, so that a torn one shows, and a MAC over
   the record and the MAC of the line before, so that nobody without the user's key writes, mixes or reorders one.
2. A header names transaction, base, plan and its steps' count. Then come the steps that were built, each with what it
   expects and leaves, and the marks PREPARED, which names the staging directory, and APPLIED. What was done between
   the two is found by looking, never told.
3. From the first line that is torn on there is nothing: it was not durable. Anything else that is wrong is no journal.

The plan itself stands beside it, by its digest.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator
from enum import StrEnum

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue, decode, encode
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest, sha256
from docket.formats.ledger.payload_codec import from_members, to_members
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.tree.attributes import ACCESS_ACL, DEFAULT_ACL
from docket.formats.tree.plan import Step, decode_step, encode_step
from docket.formats.tree.steps import Xattr
from docket.formats.tree.xattrs import read_xattrs, xattr_members
from docket.formats.workspace.state import TRANSACTION_ID, Base

FORMAT = "docket/workspace-journal/v1"
KEY_BYTES = 32
_STAGING_NAME = re.compile(r"\.docket-apply-[0-9a-f]{16}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,19}")
_TIME = re.compile(r"0|-?[1-9][0-9]{0,18}")
_ACLS = (ACCESS_ACL, DEFAULT_ACL)


class Mark(StrEnum):
    """How far a commit came: everything is built and durable; every path is as planned and durable."""

    PREPARED = "prepared"
    APPLIED = "applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalHeader:
    """Which commit it is: the transaction, the base, the digest of the plan and the number of its steps."""

    transaction: str
    base: Base
    plan_sha256: Digest
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingIdentity:
    """The staging directory in the base's root: its name, device and inode."""

    name: str
    device: int
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What stood at a path when its step was built, as far as it must be put back."""

    state: EntryState
    device: int
    inode: int
    mtime_ns: int
    xattrs: tuple[Xattr, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalStep:
    """One step that was built: its number in the plan, the inode of what it puts in place (0 for none)."""

    number: int
    step: Step
    inode: int
    before: Standing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """A journal as it was read. `staging` is None until it was prepared, and so are its steps.

    `length` is that of its whole lines, `mac` the last line's: where and how the next line is written.
    """

    header: JournalHeader
    length: int
    mac: str
    steps: tuple[JournalStep, ...] = ()
    staging: StagingIdentity | None = None
    applied: bool = False


@dataclass(slots=True)
class LineWriter:
    """Writes the lines of one journal in their order; `mac` is the last one's, empty before the first."""

    key: bytes
    mac: str = ""

    def header(self, header: JournalHeader) -> bytes:
        """Return the first line."""
        return self._line({"format": FORMAT, **to_members(header)})

    def prepared(self, steps: tuple[JournalStep, ...], staging: StagingIdentity) -> bytes:
        """Return the lines of the steps that were built, and of the mark after them."""
        lines = [self._line(_step_members(step)) for step in steps]
        place: JsonObject = {"name": staging.name, "device": str(staging.device), "inode": str(staging.inode)}
        return b"".join([*lines, self._line({"mark": Mark.PREPARED.value, "staging": place})])

    def applied(self) -> bytes:
        """Return the line of the last mark."""
        return self._line({"mark": Mark.APPLIED.value})

    def _line(self, record: JsonObject) -> bytes:
        body = encode(record)
        self.mac = _mac(self.key, self.mac, body)
        return encode({"length": len(body), "mac": self.mac, "record": record, "sha256": sha256(body)}) + b"\n"


def decode_journal(document: bytes, key: bytes) -> Journal | None:
    """Read a journal, None where not even its header was durable; InvalidDocumentError for anything else."""
    lines = list(_lines(document, key))
    if not lines:
        return None
    header = _header(lines[0][0])
    staging, applied = None, False
    steps: list[JournalStep] = []
    for record, _, _ in lines[1:]:
        if applied or (staging is not None and "mark" not in record):
            raise _wrong("the journal's records do not stand in their order")
        reader = Reader(record, "the journal's record")
        if not reader.has("mark"):
            steps.append(_step(reader, header))
        elif reader.choice("mark", tuple(Mark)) == Mark.PREPARED and staging is None:
            staging = _staging(reader.object("staging"))
        elif staging is not None and record["mark"] == Mark.APPLIED:
            applied = True
        else:
            raise _wrong("the journal's marks do not stand in their order")
        reader.close()
    _, length, mac = lines[-1]
    if len({step.number for step in steps}) != len(steps) or len({step.step.path for step in steps}) != len(steps):
        raise InvalidDocumentError(Reason.DUPLICATE_KEY, "a step or a path stands twice in the journal")
    done = tuple(steps) if staging is not None else ()
    return Journal(header=header, steps=done, staging=staging, applied=applied, length=length, mac=mac)


def _header(record: JsonObject) -> JournalHeader:
    reader = Reader(record, "the journal's header")
    if reader.text("format") != FORMAT:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"a journal begins with a {FORMAT} line")
    members = {name: reader.any(name) for name in ("transaction", "base", "plan_sha256", "steps")}
    reader.close()
    header = from_members(JournalHeader, members, "the journal's header")
    numbers = _NUMBER.fullmatch(header.base.device) and _NUMBER.fullmatch(header.base.inode)
    if not numbers or not TRANSACTION_ID.fullmatch(header.transaction) or header.steps < 0:
        raise _wrong("the journal's header names no transaction, or no base")
    return header


def _lines(document: bytes, key: bytes) -> Iterator[tuple[JsonObject, int, str]]:
    """Yield each record with the length up to its end and its MAC; ends where a line is torn."""
    length, mac = 0, ""
    for line in document.split(b"\n")[:-1]:
        try:
            reader = Reader(decode(line), "a line of the journal")
            record = reader.mapping("record")
            body = encode(record)
            whole = (reader.integer("length"), reader.digest("sha256")) == (len(body), sha256(body))
            told = reader.text("mac")
            reader.close()
        except InvalidDocumentError:
            return
        if not whole:
            return
        mac = _mac(key, mac, body)
        if not hmac.compare_digest(mac.encode(), told.encode()):
            raise InvalidDocumentError(Reason.NOT_AUTHENTIC, "a line of the journal was not written with this key")
        length += len(line) + 1
        yield record, length, mac


def _mac(key: bytes, before: str, body: bytes) -> str:
    return hmac.new(key, before.encode() + b"\n" + body, "sha256").hexdigest()


def _step_members(step: JournalStep) -> JsonObject:
    line = decode(encode_step(step.step).removesuffix(b"\n"))
    members: dict[str, JsonValue] = {"number": step.number, "step": line, "inode": str(step.inode)}
    before = step.before
    if before is not None:
        told: dict[str, JsonValue] = {
            "state": to_members(before.state),
            "device": str(before.device),
            "inode": str(before.inode),
            "mtime_ns": str(before.mtime_ns),
        }
        members["before"] = told | ({"xattrs": xattr_members(before.xattrs)} if before.xattrs else {})
    return members


def _step(reader: Reader, header: JournalHeader) -> JournalStep:
    number = reader.integer("number")
    if number >= header.steps:
        raise _wrong("the journal has a step beyond those of its plan")
    step = decode_step(encode(reader.mapping("step")))
    inode = _decimal(reader, "inode")
    before = _standing(reader.object("before")) if reader.has("before") else None
    return JournalStep(number=number, step=step, inode=inode, before=before)


def _standing(reader: Reader) -> Standing:
    found = Standing(
        state=from_members(EntryState, reader.any("state"), "the journal's state"),
        device=_decimal(reader, "device"),
        inode=_decimal(reader, "inode"),
        mtime_ns=_decimal(reader, "mtime_ns", _TIME),
        xattrs=read_xattrs(reader, _ACLS) if reader.has("xattrs") else (),
    )
    reader.close()
    return found


def _staging(reader: Reader) -> StagingIdentity:
    name = reader.text("name")
    if not _STAGING_NAME.fullmatch(name):
        raise _wrong("the journal names no staging directory")
    staging = StagingIdentity(name=name, device=_decimal(reader, "device"), inode=_decimal(reader, "inode"))
    reader.close()
    return staging


def _decimal(reader: Reader, name: str, form: re.Pattern[str] = _NUMBER) -> int:
    text = reader.text(name)
    if not form.fullmatch(text):
        raise _wrong(f"{name} is not a whole number as text")
    return int(text)


def _wrong(detail: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.WRONG_VALUE, detail)
