"""The surface: which paths of a tree a pass looks at, and for each one left out, why.

Rules (spec/tree.md, Surface):
1. The surface is a value made by a rule (rules.tree.watch); the scanner asks it and decides nothing itself.
2. What lies inside the surface and is left out becomes an omission: docket's own evidence and what the policy
   ignores as `excluded`, the content stores of version control as `object-store`.
3. What lies outside the watched roots or patterns is not in the surface and is told by `watch` alone.
4. A surface with `object_stores` looks at them like anything else: a stage is no use without what its git holds.

An object store is known by its place (`.git/objects`, `.hg/store/data`, ...), never by what it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath

WHOLE_TREE = "."
_EVIDENCE = "docket's own evidence"
_IGNORED = "the policy's files.ignore"
_STORE = "content that version control stores under its own digests"

# The last parts of the path of a directory that holds nothing but stored content.
_STORES: tuple[tuple[bytes, ...], ...] = (
    (b".git", b"lfs", b"objects"),
    (b".git", b"annex", b"objects"),
    (b".hg", b"store", b"data"),
    (b".jj", b"repo", b"store"),
    (b".svn", b"pristine"),
    (b".bzr", b"repository"),
    (b"_darcs", b"pristine.hashed"),
)
_STORE_NAMES = frozenset(parts[-1] for parts in _STORES) | {b"objects"}


class PathMatcher(Protocol):
    """Whether a path is meant by a list of patterns; `rules.selectors.Selector` is one."""

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns as they were written."""
        ...

    def matches(self, path: RelPath, *, is_directory: bool) -> bool:
        """Whether the path itself or a directory above it is meant."""
        ...

    def matches_own(self, raw: bytes, *, is_directory: bool) -> bool:
        """Whether the path itself is meant, directories above it left aside."""
        ...


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why a path within the surface is not looked at."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """What a pass looks at.

    `watch` is the policy's list as written. `roots` are the paths to begin at (none: the whole tree); `watched`
    are patterns that narrow it further. `evidence` are docket's own folders, `ignored` the policy's patterns.
    `object_stores`: the content stores of version control are looked at too.
    """

    watch: tuple[str, ...] = (WHOLE_TREE,)
    roots: tuple[RelPath, ...] = ()
    watched: PathMatcher | None = None
    evidence: tuple[RelPath, ...] = ()
    ignored: PathMatcher | None = None
    object_stores: bool = False
    _evidence_names: Mapping[bytes, frozenset[bytes]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names: dict[bytes, frozenset[bytes]] = {}
        for path in self.evidence:
            head, slash, name = path.raw.rpartition(b"/")
            parent = head + slash
            names[parent] = names.get(parent, frozenset()) | {name}
        object.__setattr__(self, "_evidence_names", names)

    @property
    def has_patterns(self) -> bool:
        """Whether each path must be held against patterns."""
        return self.ignored is not None or self.watched is not None

    def evidence_names(self, prefix: bytes) -> frozenset[bytes]:
        """Return the names of evidence in one directory; `prefix` is its path with a slash at the end, or empty."""
        return self._evidence_names.get(prefix, frozenset())

    def left_out(self, raw: bytes, *, is_directory: bool) -> LeftOut | None:
        """Return why the path is left out, None where it is looked at; nothing above it may be left out."""
        head, slash, name = raw.rpartition(b"/")
        if name in self.evidence_names(head + slash):
            return LeftOut(Reason.EXCLUDED, _EVIDENCE)
        if is_directory and not self.object_stores and name in _STORE_NAMES and is_object_store(raw):
            return LeftOut(Reason.OBJECT_STORE, _STORE)
        if self.ignored is not None and self.ignored.matches_own(raw, is_directory=is_directory):
            return LeftOut(Reason.EXCLUDED, _IGNORED)
        return None


def is_object_store(raw: bytes) -> bool:
    """Whether a directory at this path is a version control's store of content.

    `objects` counts in `.git`, in any directory named `*.git` (a bare repository) and in the repositories of
    submodules under `.git/modules`.
    """
    parts = tuple(raw.split(b"/"))
    if parts[-1] == b"objects" and len(parts) > 1:
        return parts[-2].endswith(b".git") or _in_modules(parts) or parts[-3:] in _STORES
    return any(parts[-len(store) :] == store for store in _STORES)


def _in_modules(parts: tuple[bytes, ...]) -> bool:
    return any(parts[i : i + 2] == (b".git", b"modules") for i in range(len(parts) - 3))
