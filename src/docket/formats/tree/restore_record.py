"""The record of a restore: which tree, from which run, what became of each path, and what stood there before.

Rules (spec/restore.md, The record):
1. One canonical JSON object and a line end; decoding accepts exactly what encoding produces.
2. A path stands once, in tree order. `was` and `now` are what stood there before and stands there since, null for
   nothing; they are written for what was done.
3. `kept`: the content that `was` names, a file's, lies beside the record, in its `blobs`.
4. What was put back comes from a manifest, from the delta of a tool call, or from what another restore kept: that is
   named. Who puts back what undid a tool call names that one too.

A restore never touches the run's ledger or its receipt: this is what there is of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue, decode, encode
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import symlink_state, target_of
from docket.formats.tree.listing import MAX_MODE, Kind, target_members, tree_order
from docket.formats.tree.steps import StepStatus
from docket.formats.visible import raw_of, text_members

FORMAT = "docket/restore/v1"
_NUMBER_FORM = re.compile(r"0|[1-9][0-9]{0,19}", re.ASCII)
_KINDS = (Kind.FILE.value, Kind.DIRECTORY.value, Kind.SYMLINK.value)
_VERB_FORM = re.compile(r"[a-z]+(?:-[a-z]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredPath:
    """What became of one path; `verb` is what was to be done, `status` None where there was no step for it.

    `was` and `now` are meaningful where `status` is applied.
    """

    path: RelPath
    verb: str
    status: StepStatus | None = None
    reason: str | None = None
    detail: str | None = None
    was: EntryState | None = None
    now: EntryState | None = None
    kept: bool = False

    def members(self) -> dict[str, JsonValue]:
        """Return the members that stand for it; `was` and `now` only where something was done."""
        members: dict[str, JsonValue] = {**self.path.members(), "verb": self.verb}
        members["status"] = None if self.status is None else str(self.status)
        for name, text in (("reason", self.reason), ("detail", self.detail)):
            members.update({} if text is None else {name: text})
        if self.status is StepStatus.APPLIED:
            members["was"] = None if self.was is None else state_members(self.was)
            members["now"] = None if self.now is None else state_members(self.now)
            members["kept"] = self.kept
        return members


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRecord:
    """One restore. `root_identity` is (device, inode); `redo_of` the plan that this one undoes, if it does.

    Of a tool call that was undone, `delta_sha256` and `tool_use_id` say which, and there is no docket number.
    """

    session_id: str
    docket_number: str
    restored_at: str
    root: bytes
    root_identity: tuple[int, int]
    plan_sha256: Digest
    forced: bool
    paths: tuple[RestoredPath, ...]
    manifest_sha256: Digest | None = None
    redo_of: Digest | None = None
    delta_sha256: Digest | None = None
    tool_use_id: str | None = None

    def members(self) -> dict[str, JsonValue]:
        """Return the members that stand for it."""
        device, inode = self.root_identity
        undone = {"delta_sha256": self.delta_sha256, "tool_use_id": self.tool_use_id}
        return {
            **{name: value for name, value in undone.items() if value is not None},
            "format": FORMAT,
            "session_id": self.session_id,
            "docket_number": self.docket_number,
            "restored_at": self.restored_at,
            **text_members("root", self.root),
            "root_identity": {"device": str(device), "inode": str(inode)},
            "plan_sha256": self.plan_sha256,
            "manifest_sha256": self.manifest_sha256,
            "redo_of": self.redo_of,
            "forced": self.forced,
            "paths": [item.members() for item in self.paths],
        }


def encode_record(record: RestoreRecord) -> bytes:
    """Return the record's bytes."""
    return encode(record.members()) + b"\n"


def decode_record(document: bytes) -> RestoreRecord:
    """Read what `encode_record` wrote; InvalidDocumentError for anything else."""
    if not document.endswith(b"\n"):
        raise InvalidDocumentError(Reason.TORN_TAIL, "a restore's record ends with a line end")
    reader = Reader(decode(document[:-1]), "the record")
    if reader.text("format") != FORMAT:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"a restore's record has the format {FORMAT}")
    identity = reader.object("root_identity")
    record = RestoreRecord(
        session_id=reader.text("session_id"),
        docket_number=reader.text("docket_number"),
        restored_at=reader.instant("restored_at"),
        root=_root(reader),
        root_identity=(_number(identity, "device"), _number(identity, "inode")),
        plan_sha256=reader.digest("plan_sha256"),
        manifest_sha256=reader.optional("manifest_sha256", reader.digest),
        redo_of=reader.optional("redo_of", reader.digest),
        delta_sha256=reader.digest("delta_sha256") if reader.has("delta_sha256") else None,
        tool_use_id=reader.text("tool_use_id") if reader.has("tool_use_id") else None,
        forced=reader.flag("forced"),
        paths=tuple(_path(item) for item in reader.items("paths")),
    )
    identity.close()
    reader.close()
    keys = [tree_order(item.path.raw) for item in record.paths]
    if any(earlier >= later for earlier, later in pairwise(keys)):
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "the record's paths are not in tree order, each once")
    _check_source(record)
    if encode_record(record) != document:
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "the record is not in its only spelling")
    return record


def _check_source(record: RestoreRecord) -> None:
    if (record.manifest_sha256 is None) == (record.redo_of is None and record.delta_sha256 is None):
        detail = "the record names neither or both of a manifest and another source of what was put back"
        raise InvalidDocumentError(Reason.WRONG_VALUE, detail)
    if (record.delta_sha256 is None) != (record.tool_use_id is None) or (record.delta_sha256 and record.docket_number):
        raise InvalidDocumentError(Reason.WRONG_VALUE, "the record is of a tool call and a run, or of half a call")


def state_members(state: EntryState) -> dict[str, JsonValue]:
    """Return the members of a state: kind, and whatever that kind has."""
    if state.kind == Kind.SYMLINK.value:
        return {"kind": state.kind, **target_members(target_of(state))}
    members: dict[str, JsonValue] = {"kind": state.kind, "mode": state.mode}
    members.update({} if state.size is None else {"size": state.size})
    members.update({} if state.sha256 is None else {"sha256": state.sha256})
    return members


def _path(value: JsonValue) -> RestoredPath:
    reader = Reader(value, "a path")
    status = reader.optional("status", lambda name: StepStatus(reader.choice(name, tuple(StepStatus))))
    done = status is StepStatus.APPLIED
    item = RestoredPath(
        path=RelPath.from_members({key: reader.any(key) for key in ("path", "path_b64") if reader.has(key)}),
        verb=_verb(reader),
        status=status,
        reason=reader.optional("reason", reader.text),
        detail=reader.optional("detail", reader.text),
        was=_state(reader, "was") if done else None,
        now=_state(reader, "now") if done else None,
        kept=reader.flag("kept") if done else False,
    )
    reader.close()
    if item.kept and (item.was is None or item.was.sha256 is None):
        raise InvalidDocumentError(Reason.WRONG_VALUE, "the content of what is no file is said to be kept")
    return item


def _state(reader: Reader, name: str) -> EntryState | None:
    value = reader.any(name)
    if value is None:
        return None
    inner = Reader(value, name)
    kind = inner.choice("kind", _KINDS)
    if kind == Kind.SYMLINK.value:
        members = {key: inner.any(key) for key in ("target", "target_b64") if inner.has(key)}
        target = raw_of("target", members)
        if not target or b"\0" in target or not isinstance(value, Mapping):
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"{name} has no target that a link can have")
        state = symlink_state(target)
    else:
        mode = inner.integer("mode")
        is_file = kind == Kind.FILE.value
        if mode > MAX_MODE:
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"{name} has a mode beyond {MAX_MODE:o}")
        state = EntryState(
            kind=kind,
            mode=mode,
            size=inner.integer("size") if is_file else None,
            sha256=inner.digest("sha256") if is_file else None,
        )
    inner.close()
    return state


def _verb(reader: Reader) -> str:
    verb = reader.text("verb")
    if not _VERB_FORM.fullmatch(verb):
        raise InvalidDocumentError(Reason.WRONG_VALUE, "a verb is a word of small letters")
    return verb


def _root(reader: Reader) -> bytes:
    root = raw_of("root", {key: reader.any(key) for key in ("root", "root_b64") if reader.has(key)})
    if root is None or not root.startswith(b"/") or b"\0" in root:
        raise InvalidDocumentError(Reason.NOT_A_PATH, "the root is not an absolute path")
    return root


def _number(reader: Reader, name: str) -> int:
    text = reader.text(name)
    if not _NUMBER_FORM.fullmatch(text) or int(text) >= 2**64:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{name} is not a decimal 64-bit number")
    return int(text)
