"""The steps of a plan: what is to stand at a path afterwards, and what must stand there before.

Rules (spec/plan.md, Steps and Preconditions):
1. A step has one path and one precondition. It is done only where the precondition holds, or nothing is left to do.
2. Content is named by its address alone, so no plan can point at a file to copy from.
3. A file's mode has no setuid, setgid or sticky bit, a directory's no setuid bit: no plan can give such powers.

Which steps go together and how they are written is `formats.tree.plan`'s.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from docket.formats.dataclass import dataclass
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.listing import Kind

MAX_FILE_MODE = 0o777
MAX_DIRECTORY_MODE = 0o3777


@dataclass(frozen=True, slots=True)
class Absent:
    """Nothing stands at the path."""


@dataclass(frozen=True, slots=True)
class Holds:
    """The path holds exactly this state: a file's content and mode, a directory's mode, a link's target.

    A file's state without a digest says that its content is not known; only `SetMode`, which leaves it, takes one.
    """

    state: EntryState


@dataclass(frozen=True, slots=True)
class Anything:
    """Whatever a writer can displace without loss to others: a file, a link, an empty directory, or nothing."""


Precondition: TypeAlias = Absent | Holds | Anything
ABSENT, ANYTHING = Absent(), Anything()


@dataclass(frozen=True, slots=True)
class Xattr:
    """One extended attribute, of the `user.` namespace (`name` includes that prefix) or a POSIX ACL."""

    name: bytes
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFile:
    """Make the path a file of its own with this content, mode, time and attributes.

    `mtime_ns` None leaves the time of writing; `xattrs` None carries over those of the file that stood there.
    `sparse` leaves holes where the content has long runs of zeros.
    """

    path: RelPath
    precondition: Precondition
    content: Address
    mode: int
    mtime_ns: int | None = None
    sparse: bool = False
    xattrs: tuple[Xattr, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeDirectory:
    """Make the path a directory with this mode, or give the directory that stands there this mode and time.

    It has this time when the whole plan is done, also where steps change what it holds. `xattrs` None leaves those
    that it has.
    """

    path: RelPath
    precondition: Precondition
    mode: int
    mtime_ns: int | None = None
    xattrs: tuple[Xattr, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeSymlink:
    """Make the path a symbolic link with this literal target."""

    path: RelPath
    precondition: Precondition
    target: bytes
    mtime_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMode:
    """Give the file at the path another mode; a directory's is `MakeDirectory`'s.

    `acl` is the access ACL that it has with that mode; None leaves the entries of the one that it has.
    """

    path: RelPath
    precondition: Precondition
    mode: int
    mtime_ns: int | None = None
    acl: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Make the path another name of the file at `to`, which stands there when every other step is done.

    `holds` is what that file must be, where the plan does not write it; None where any file will do.
    """

    path: RelPath
    precondition: Precondition
    to: RelPath
    holds: EntryState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Remove what stands at the path: `kind` is a file, a symlink, or a directory that is empty by then.

    Under `Anything` a file may have become a link or the reverse, but a directory is never taken for either.
    """

    path: RelPath
    precondition: Precondition
    kind: Kind


Step: TypeAlias = WriteFile | MakeDirectory | MakeSymlink | SetMode | Link | Remove


class StepStatus(StrEnum):
    """What became of a step."""

    APPLIED = "applied"
    ALREADY = "already"
    REFUSED = "refused"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one step.

    After `refused` and `failed` the path holds what it held before; `reason` and `detail` say why. An `applied`
    step may have a detail too: something small that could not be kept.
    """

    path: RelPath
    status: StepStatus
    reason: Reason | None = None
    detail: str | None = None
