"""A plan: the steps that take a tree from one state to another, in their only order, as a value and as bytes.

Rules (spec/plan.md):
1. One step a path. Removals come first, deepest first; then what is made or changed, a directory right before what
   it holds; then links to files.
2. Steps that contradict each other are refused: a thing below what the plan makes no directory, a link to what the
   plan removes.
3. The encoding is a header line with the identity of the tree's root, and one canonical JSON line a step; its
   SHA-256 is the plan's digest. Decoding accepts exactly what encoding produces.
4. Numbers that may pass 2**53 (times, inodes) are decimal texts.

It decides nothing about what to do (rules.tree) and does nothing (engines.apply).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue, decode, encode
from docket.formats.dataclass import dataclass, field
from docket.formats.digest import Digest, sha256
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import MAX_NAME_BYTES, RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.attributes import ACCESS_ACL, DEFAULT_ACL
from docket.formats.tree.changes import SYMLINK_MODE, symlink_state, target_of
from docket.formats.tree.listing import MAX_MODE, Kind, target_members, tree_order
from docket.formats.tree.steps import (
    ABSENT,
    ANYTHING,
    MAX_DIRECTORY_MODE,
    MAX_FILE_MODE,
    Absent,
    Anything,
    Holds,
    Link,
    MakeDirectory,
    MakeSymlink,
    Outcome,
    Precondition,
    Remove,
    SetMode,
    Step,
    StepStatus,
    WriteFile,
    Xattr,
)
from docket.formats.tree.xattrs import check_step_acl, check_step_xattrs, read_xattrs, xattr_members
from docket.formats.visible import base64_text

FORMAT = "docket/plan/v1"
MAX_TARGET_BYTES = 4095
_NS_FORM = re.compile(r"0|-?[1-9][0-9]{0,18}")
_NUMBER_FORM = re.compile(r"0|[1-9][0-9]{0,19}")
_ACLS = (ACCESS_ACL, DEFAULT_ACL)
_REMOVABLE = (Kind.FILE, Kind.DIRECTORY, Kind.SYMLINK)
# Which of size, sha256 and target a state has.
_MEMBERS: dict[str, tuple[bool, bool, bool]] = {
    Kind.FILE: (True, True, False),
    Kind.DIRECTORY: (False, False, False),
    Kind.SYMLINK: (False, False, True),
}

RootIdentity: TypeAlias = tuple[int, int]
"""(device, inode) of the directory a plan was made for."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Ordered steps for the tree whose root is `root`; made by `plan_of` or `decode_plan`, which check them."""

    steps: tuple[Step, ...]
    root: RootIdentity
    document: bytes = field(repr=False)
    digest: Digest

    def __len__(self) -> int:
        return len(self.steps)


def plan_of(steps: Iterable[Step], root: RootIdentity) -> Plan:
    """Return the plan of `steps` in their order; InvalidDocumentError where they cannot stand together."""
    ordered = sorted(steps, key=_place)
    for step in ordered:
        _check(step)
    _check_together(ordered)
    device, inode = root
    header: JsonObject = {"format": FORMAT, "root": {"device": str(device), "inode": str(inode)}}
    document = b"".join([encode(header) + b"\n", *(encode_step(step) for step in ordered)])
    return Plan(tuple(ordered), root, document, sha256(document))


def decode_plan(document: bytes) -> Plan:
    """Read what `plan_of` wrote and nothing else."""
    head, *lines = document.split(b"\n")
    if not lines or lines.pop() != b"":
        raise InvalidDocumentError(Reason.TORN_TAIL, "a plan ends with a line end")
    reader = Reader(decode(head), "plan")
    if reader.text("format") != FORMAT:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"a plan begins with a {FORMAT} header line")
    root = reader.object("root")
    identity = _decimal(root, "device"), _decimal(root, "inode")
    root.close()
    reader.close()
    plan = plan_of((decode_step(line) for line in lines), identity)
    if plan.document != document:
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "the steps are not in the order of a plan")
    return plan


def encode_step(step: Step) -> bytes:
    """Return the canonical line of one step, line end included."""
    members: dict[str, JsonValue] = dict(step.path.members())
    members["precondition"] = _precondition_members(step.precondition)
    match step:
        case WriteFile():
            members.update(step="write", sha256=step.content.sha256, size=step.content.size, mode=step.mode)
            members.update({"sparse": True} if step.sparse else {})
            members.update({} if step.xattrs is None else {"xattrs": xattr_members(step.xattrs)})
        case MakeDirectory():
            members.update(step="directory", mode=step.mode)
            members.update({} if step.xattrs is None else {"xattrs": xattr_members(step.xattrs)})
        case MakeSymlink():
            members.update(step="symlink", **target_members(step.target))
        case SetMode():
            members.update(step="mode", mode=step.mode)
            members.update({} if step.acl is None else {"acl": base64_text(step.acl)})
        case Link():
            held: JsonObject = {} if step.holds is None else {"holds": _state_members(step.holds)}
            members.update(step="link", to={**step.to.members(), **held})
        case _:
            members.update(step="remove", kind=step.kind.value)
    mtime_ns = getattr(step, "mtime_ns", None)
    members.update({} if mtime_ns is None else {"mtime_ns": str(mtime_ns)})
    return encode(members) + b"\n"


def decode_step(line: bytes) -> Step:
    """Read one line (without its line end); InvalidDocumentError for what `encode_step` does not write."""
    reader = Reader(decode(line), "a step of the plan")
    path = _path(reader)
    verb = reader.choice("step", ("write", "directory", "symlink", "mode", "link", "remove"))
    expected = _precondition(reader)
    step = _READERS[verb](reader, path, expected)
    reader.close()
    return step


def _write(reader: Reader, path: RelPath, expected: Precondition) -> Step:
    content = Address(reader.digest("sha256"), reader.integer("size"))
    sparse = reader.flag("sparse") if reader.has("sparse") else False
    if reader.has("sparse") and not sparse:
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "sparse is written only where it is true")
    return WriteFile(
        path=path,
        precondition=expected,
        content=content,
        mode=reader.integer("mode"),
        mtime_ns=_mtime(reader),
        sparse=sparse,
        xattrs=read_xattrs(reader, _ACLS) if reader.has("xattrs") else None,
    )


def _directory(reader: Reader, path: RelPath, expected: Precondition) -> Step:
    return MakeDirectory(
        path=path,
        precondition=expected,
        mode=reader.integer("mode"),
        mtime_ns=_mtime(reader),
        xattrs=read_xattrs(reader, _ACLS) if reader.has("xattrs") else None,
    )


def _symlink(reader: Reader, path: RelPath, expected: Precondition) -> Step:
    return MakeSymlink(path=path, precondition=expected, target=_target(reader), mtime_ns=_mtime(reader))


def _mode(reader: Reader, path: RelPath, expected: Precondition) -> Step:
    acl = reader.base64("acl") if reader.has("acl") else None
    return SetMode(path=path, precondition=expected, mode=reader.integer("mode"), mtime_ns=_mtime(reader), acl=acl)


def _link(reader: Reader, path: RelPath, expected: Precondition) -> Step:
    to = reader.object("to")
    holds = _state(to.object("holds")) if to.has("holds") else None
    step = Link(path=path, precondition=expected, to=_path(to), holds=holds)
    to.close()
    return step


def _remove(reader: Reader, path: RelPath, expected: Precondition) -> Step:
    return Remove(path=path, precondition=expected, kind=Kind(reader.choice("kind", _REMOVABLE)))


_READERS = {
    "write": _write,
    "directory": _directory,
    "symlink": _symlink,
    "mode": _mode,
    "link": _link,
    "remove": _remove,
}


def _place(step: Step) -> tuple[int, bytes]:
    order = tree_order(step.path.raw)
    if isinstance(step, Remove):
        # Inverted bytes turn the order round; the end mark keeps a longer path before the one it lies in.
        return 0, bytes(255 - byte for byte in order) + b"\xff\xff"
    return (2 if isinstance(step, Link) else 1), order


def _check_together(steps: list[Step]) -> None:
    by_path: dict[RelPath, Step] = {}
    for step in steps:
        if by_path.setdefault(step.path, step) is not step:
            raise InvalidDocumentError(Reason.DUPLICATE_KEY, f"the path {step.path} stands twice in one plan")
    for step in steps:
        for above in step.path.above():
            holder = by_path.get(above)
            if holder is not None and not isinstance(holder, MakeDirectory) and not isinstance(step, Remove):
                raise _wrong(f"{step.path} is to stand below {above}, which the plan makes no directory")
        if isinstance(step, Link) and isinstance(by_path.get(step.to), Remove | Link | MakeDirectory | MakeSymlink):
            raise _wrong(f"{step.path} is to be a link to {step.to}, which the plan makes no file")
        if isinstance(step, Link) and step.holds is not None and step.to in by_path:
            raise _wrong(f"{step.path} is to be a link to {step.to} as it stands, which the plan changes")


def _check(step: Step) -> None:
    _check_names(step.path)
    if isinstance(step.precondition, Holds):
        _check_state(step)
    highest = MAX_DIRECTORY_MODE if isinstance(step, MakeDirectory) else MAX_FILE_MODE
    mode = getattr(step, "mode", 0)
    if not 0 <= mode <= highest:
        raise _wrong(f"the mode {mode:o} of {step.path} has bits beyond {highest:o}")
    mtime_ns = getattr(step, "mtime_ns", None)
    if mtime_ns is not None and not -(2**63) <= mtime_ns < 2**63:
        raise _wrong(f"the time of {step.path} is outside 64 bits")
    match step:
        case MakeSymlink():
            _check_target(step.target)
        case WriteFile() | MakeDirectory():
            check_step_xattrs(step)
        case SetMode():
            check_step_acl(step)
        case Link():
            _check_names(step.to)
            if step.holds is not None and not _is_known_file(step.holds):
                raise _wrong(f"{step.path} is to be a link to {step.to}, which holds no file that is known")
        case Remove(kind=kind) if kind not in _REMOVABLE:
            raise _wrong(f"{step.path} is to be removed as a {kind}, which no plan does")
        case _:
            pass


def _is_known_file(state: EntryState) -> bool:
    known = state.kind == Kind.FILE and None not in (state.size, state.sha256) and state.target is None
    return known and 0 <= state.mode <= MAX_MODE


def _check_names(path: RelPath) -> None:
    if any(len(part) > MAX_NAME_BYTES for part in RelPath.parse(path.raw).parts):
        raise InvalidDocumentError(Reason.NAME_TOO_LONG, f"a name in {path} has more than 255 bytes")


def _check_state(step: Step) -> None:
    assert isinstance(step.precondition, Holds)  # noqa: S101 - told to the type checker
    state = step.precondition.state
    if not 0 <= state.mode <= MAX_MODE:
        raise _wrong(f"the mode expected at {step.path} has bits beyond {MAX_MODE:o}")
    members = (state.size is not None, state.sha256 is not None, state.target is not None)
    if isinstance(step, SetMode) and (state.kind, *members) == (Kind.FILE, True, False, False):
        return
    if _MEMBERS.get(state.kind) != members:
        raise _wrong(f"the state expected at {step.path} does not tell all that a {state.kind} has, or more")
    if isinstance(step, Remove) and step.kind != state.kind:
        raise _wrong(f"{step.path} is to be removed as a {step.kind} and expected to be a {state.kind}")
    if state.kind == Kind.SYMLINK and state != symlink_state(target_of(state)):
        raise _wrong(f"the link expected at {step.path} has another mode than {SYMLINK_MODE:o}")


def _check_target(target: bytes) -> None:
    if not target or b"\0" in target or len(target) > MAX_TARGET_BYTES:
        raise _wrong(f"a link's target is 1 to {MAX_TARGET_BYTES} bytes without NUL")


def _precondition_members(precondition: Precondition) -> JsonValue:
    match precondition:
        case Absent():
            return "absent"
        case Anything():
            return "anything"
    return _state_members(precondition.state)


def _state_members(state: EntryState) -> JsonObject:
    members: dict[str, JsonValue] = {"kind": str(state.kind)}
    if state.kind == Kind.SYMLINK and state.target is not None:
        return members | target_members(target_of(state))
    members["mode"] = state.mode
    members.update({} if state.size is None else {"size": state.size})
    members.update({} if state.sha256 is None else {"sha256": str(state.sha256)})
    return members


def _precondition(reader: Reader) -> Precondition:
    value = reader.any("precondition")
    if value in ("absent", "anything"):
        return ABSENT if value == "absent" else ANYTHING
    if not isinstance(value, Mapping):
        raise InvalidDocumentError(Reason.WRONG_VALUE, "a precondition is absent, anything or a state")
    return Holds(_state(reader.object("precondition")))


def _state(state: Reader) -> EntryState:
    kind = state.choice("kind", _REMOVABLE)
    if kind == Kind.SYMLINK:
        found = symlink_state(_target(state))
    else:
        found = EntryState(
            kind=kind,
            mode=state.integer("mode"),
            size=state.integer("size") if state.has("size") else None,
            sha256=state.digest("sha256") if state.has("sha256") else None,
        )
    state.close()
    return found


def _path(reader: Reader) -> RelPath:
    return RelPath.from_members({key: reader.any(key) for key in ("path", "path_b64") if reader.has(key)})


def _target(reader: Reader) -> bytes:
    if reader.has("target"):
        target = reader.text("target").encode("utf-8")
    else:
        target = reader.base64("target_b64")
        if "target" in target_members(target):
            raise InvalidDocumentError(Reason.NOT_CANONICAL, "target_b64 holds valid UTF-8, which belongs in target")
    _check_target(target)
    return target


def _mtime(reader: Reader) -> int | None:
    return _decimal(reader, "mtime_ns", _NS_FORM) if reader.has("mtime_ns") else None


def _decimal(reader: Reader, name: str, form: re.Pattern[str] = _NUMBER_FORM) -> int:
    text = reader.text(name)
    if not form.fullmatch(text) or int(text) >= 2**64:
        raise _wrong(f"{name} is not a whole number of 64 bits as text")
    return int(text)


def _wrong(detail: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.WRONG_VALUE, detail)


__all__ = [
    "ABSENT",
    "ANYTHING",
    "FORMAT",
    "Absent",
    "Address",
    "Anything",
    "Holds",
    "Link",
    "MakeDirectory",
    "MakeSymlink",
    "Outcome",
    "Plan",
    "Precondition",
    "Remove",
    "RootIdentity",
    "SetMode",
    "Step",
    "StepStatus",
    "WriteFile",
    "Xattr",
    "decode_plan",
    "decode_step",
    "encode_step",
    "plan_of",
]
