"""The three classes of paths of a workspace transaction, by one matcher that every measurement and the commit use.

Rules (spec/workspace.md, Surface):
1. *staged*: copied, and what changed in it lands. *shared*: the base's own, seen and written through, never landed.
   *masked*: absent in the stage, never landed; what appears there is reported and left.
2. A path that both lists mean is masked. Docket's own evidence always is.
3. A class holds for everything below a path. Stores of version control are staged like anything else.

How the matcher reads a pattern is `rules.selectors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from docket.formats.dataclass import dataclass, replace
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Kind, Listing
from docket.formats.tree.surface import PathMatcher, Surface
from docket.formats.workspace.state import SurfaceRules
from docket.rules.selectors import Selector, compile_patterns


class PathClass(StrEnum):
    """What becomes of a path."""

    STAGED = "staged"
    SHARED = "shared"
    MASKED = "masked"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Means what any of its matchers means; each decides by its own list alone."""

    matchers: tuple[PathMatcher, ...]

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns of all, one list after the other."""
        return tuple(pattern for matcher in self.matchers for pattern in matcher.patterns)

    def matches(self, path: RelPath, *, is_directory: bool) -> bool:
        """Whether one of them means the path or a directory above it."""
        return any(matcher.matches(path, is_directory=is_directory) for matcher in self.matchers)

    def matches_own(self, raw: bytes, *, is_directory: bool) -> bool:
        """Whether one of them means the path itself."""
        return any(matcher.matches_own(raw, is_directory=is_directory) for matcher in self.matchers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """The classes of one transaction."""

    masked: Selector
    shared: Selector
    evidence: tuple[RelPath, ...] = ()

    @classmethod
    def of(cls, rules: SurfaceRules) -> Classes:
        """Compile the lists; InvalidDocumentError(POLICY_INVALID) names a pattern that cannot be meant."""
        return cls(
            masked=compile_patterns(rules.exclude),
            shared=compile_patterns(rules.share),
            evidence=tuple(item.path for item in rules.evidence),
        )

    def surface(self, shared: Sequence[RelPath] = ()) -> Surface:
        """Return what a pass over base or stage looks at: what is staged; the rest is left out by name.

        `shared` are the places in a stage where the base's own show through, whatever kind of thing does that there.
        """
        return Surface(evidence=(*self.evidence, *shared), ignored=self.unstaged(), object_stores=True)

    def unstaged(self) -> PathMatcher | None:
        """Return what means the masked and the shared paths, None where there is no pattern."""
        matchers = tuple(matcher for matcher in (self.masked, self.shared) if matcher.patterns)
        return AnyOf(matchers) if matchers else None

    def of_path(self, path: RelPath, *, is_directory: bool) -> PathClass:
        """Return a path's class; `is_directory` is about the path itself."""
        for place in (path, *path.above()):
            is_folder = is_directory or place != path
            if place in self.evidence or self.masked.matches_own(place.raw, is_directory=is_folder):
                return PathClass.MASKED
        return PathClass.SHARED if self.shared.matches(path, is_directory=is_directory) else PathClass.STAGED

    def outermost(self, listing: Listing) -> tuple[tuple[RelPath, ...], tuple[RelPath, ...]]:
        """Return the masked and the shared paths that a pass met and did not enter."""
        masked: list[RelPath] = []
        shared: list[RelPath] = []
        for omission in listing.omissions:
            if omission.reason is Reason.EXCLUDED:
                is_directory = omission.kind is Kind.DIRECTORY
                found = self.of_path(omission.path, is_directory=is_directory)
                (shared if found is PathClass.SHARED else masked).append(omission.path)
        return tuple(masked), tuple(shared)


def staged_only(surface: Surface, rules: SurfaceRules, shared: Sequence[RelPath]) -> Surface:
    """Return a surface without what a transaction of these rules does not stage; `shared` as in `Classes.surface`."""
    unstaged = Classes.of(rules).unstaged()
    matchers = tuple(matcher for matcher in (surface.ignored, unstaged) if matcher is not None)
    ignored = AnyOf(matchers) if matchers else None
    return replace(surface, ignored=ignored, evidence=(*surface.evidence, *shared))
