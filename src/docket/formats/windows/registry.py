"""The registry of the windows that are open, `docket/windows-registry/v1`: one canonical document (spec/windows.md).

Rules, checked whenever it is read and before it is published; what breaks one is corrupt and is never repaired:
1. Windows stand in the order of their sequence numbers, all below `next_seq`; no key stands twice.
2. A window is of one group that stands here, of its own repository and mode; a group has a window.
3. A window has the tree before its tool or the reason why there is none, and a completion exactly when it is complete.
4. A group is closing only when all its windows are complete. A sealed one may have active windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from itertools import pairwise
from typing import NoReturn

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode, encode
from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.payload_codec import from_members, to_members
from docket.formats.process_identity import ProcessIdentity
from docket.formats.reason import Reason
from docket.formats.windows.key import ID_FORM, WindowKey
from docket.formats.windows.names import Hashes
from docket.formats.windows.records import Completion, Moment, UseFacts

SCHEMA = "docket/windows-registry/v1"
MAX_REGISTRY_BYTES = 64 * 1024 * 1024


class WindowStatus(StrEnum):
    """Whether a window's tool is still running."""

    ACTIVE = "active"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What stood in the tree before a tool, and what HEAD was.

    `clock_us` is the file system's clock when it was looked at, `head_log_bytes` the length of HEAD's log,
    `rules` the digest of what decides which names are ignored.
    """

    tree: str
    hashes: Hashes
    clock_us: int
    head: str | None = None
    head_log_bytes: int = 0
    rules: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWindow:
    """A registered window; `baseline` or `reason` says what became of the look at the tree.

    `record` is the session of the run whose ledger tells of it, None outside a run.
    """

    key: WindowKey
    tool_name: str
    group_id: str
    seq: int
    status: WindowStatus
    started: Moment
    baseline: Baseline | None = None
    ref: str | None = None
    reason: str | None = None
    completion: Completion | None = None
    command_summary: str | None = None
    record: str | None = None
    use: UseFacts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """Somebody finishes a group: who, how many have begun to, and the next sequence number when its last tool ended."""

    owner: ProcessIdentity
    attempts: int
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Windows that overlapped; `reason` is why nothing but a partial delta can come of them."""

    id: str
    repository: str
    mode: str
    created: Moment
    sealed: bool = False
    reason: str | None = None
    closing: Closing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """All open windows; `epoch` counts the windows that were completed, for whoever looks without the lock."""

    next_seq: int = 1
    epoch: int = 0
    windows: tuple[OpenWindow, ...] = ()
    groups: tuple[Group, ...] = ()

    def window(self, key: WindowKey) -> OpenWindow | None:
        """Return the window of a key, None where it is not open."""
        return next((window for window in self.windows if window.key == key), None)

    def group(self, group_id: str) -> Group:
        """Return a group that stands here."""
        return next(group for group in self.groups if group.id == group_id)

    def members(self, group_id: str) -> tuple[OpenWindow, ...]:
        """Return a group's windows by sequence number."""
        return tuple(window for window in self.windows if window.group_id == group_id)

    def active(self, group_id: str) -> tuple[OpenWindow, ...]:
        """Return a group's windows whose tools are running."""
        return tuple(window for window in self.members(group_id) if window.status is WindowStatus.ACTIVE)

    def with_window(self, window: OpenWindow) -> Registry:
        """Return the registry in which that window stands in the place of the one of its key, or as a new one."""
        rest = tuple(other for other in self.windows if other.key != window.key)
        return replace(self, windows=tuple(sorted((*rest, window), key=lambda item: item.seq)))

    def with_group(self, group: Group) -> Registry:
        """Return the registry in which that group stands in the place of the one of its id, or as a new one."""
        return replace(self, groups=(*(other for other in self.groups if other.id != group.id), group))

    def without_group(self, group_id: str) -> Registry:
        """Return the registry without a group and its windows."""
        return replace(
            self,
            windows=tuple(window for window in self.windows if window.group_id != group_id),
            groups=tuple(group for group in self.groups if group.id != group_id),
        )


def encode_registry(registry: Registry) -> bytes:
    """Return the document; InvalidDocumentError where an invariant is broken."""
    ordered = replace(registry, groups=tuple(sorted(registry.groups, key=lambda group: group.id)))
    _check(ordered)
    return encode({"schema": SCHEMA, **to_members(ordered)})


def decode_registry(document: bytes) -> Registry:
    """Read what `encode_registry` wrote and nothing else; InvalidDocumentError names what is wrong."""
    if len(document) > MAX_REGISTRY_BYTES:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"a registry has more than {MAX_REGISTRY_BYTES} bytes")
    value = decode(document)
    if not isinstance(value, Mapping) or value.get("schema") != SCHEMA:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"the document is no {SCHEMA}")
    members = {name: member for name, member in value.items() if name != "schema"}
    registry = from_members(Registry, members, "the registry")
    if encode_registry(registry) != document:
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "the registry is not in its only spelling")
    return registry


def _check(registry: Registry) -> None:
    for before, after in pairwise(registry.windows):
        if before.seq >= after.seq:
            _refuse("windows do not stand in the order of their sequence numbers")
    if registry.windows and registry.windows[-1].seq >= registry.next_seq:
        _refuse("a window has a sequence number that was not given out yet")
    if registry.epoch < 0 or (registry.windows and registry.windows[0].seq < 1):
        _refuse("a number is below the first one")
    if len({window.key for window in registry.windows}) != len(registry.windows):
        _refuse("a key stands twice")
    groups = {group.id: group for group in registry.groups}
    if len(groups) != len(registry.groups):
        _refuse("a group stands twice")
    for window in registry.windows:
        _check_window(window, groups.get(window.group_id))
    for group in registry.groups:
        _check_group(registry, group)


def _check_window(window: OpenWindow, group: Group | None) -> None:
    if group is None:
        _refuse("a window is of a group that is not here")
    if (group.repository, group.mode) != (window.key.repository, window.key.mode):
        _refuse("a window is of another repository or mode than its group")
    if (window.baseline is None) == (window.reason is None):
        _refuse("a window has a tree or a reason why there is none")
    if (window.baseline is None) != (window.ref is None):
        _refuse("a window's tree is kept by no ref")
    if (window.completion is None) != (window.status is WindowStatus.ACTIVE):
        _refuse("a window is complete with its completion")


def _check_group(registry: Registry, group: Group) -> None:
    if not ID_FORM.fullmatch(group.id):
        _refuse("a group's id is 32 hexadecimal digits")
    if not registry.members(group.id):
        _refuse("a group has no window")
    if group.closing is not None and (registry.active(group.id) or group.closing.attempts < 1):
        _refuse("a group is closing while a tool runs")


def _refuse(detail: str) -> NoReturn:
    raise InvalidDocumentError(Reason.WRONG_VALUE, detail)
