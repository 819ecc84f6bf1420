"""What a run watches: the surface that a policy's lists make, and the trees docket will not work on.

Rules (spec/tree.md, Surface):
1. `watch` names directories or files by their path, literally; an item with `*` or `?` is a pattern of the path
   from the root (`**/` in front: anywhere). `.` is the whole tree.
2. `ignore` are gitignore patterns. Docket's own evidence and the object stores are always left out.
3. The root of the file system and the home directory are refused: a pass over either is never what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from docket.errors import InvalidDocumentError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.surface import WHOLE_TREE, Surface
from docket.rules.selectors import compile_patterns

_SPECIAL = re.compile(r"[\\\[\] ]")


def watched_surface(*, watch: Sequence[str], ignore: Sequence[str], evidence: Sequence[RelPath]) -> Surface:
    """Return the surface of a policy's `files.watch` and `files.ignore`.

    InvalidDocumentError(POLICY_INVALID): an item that names no path in the tree, or a pattern `compile_patterns`
    refuses. An empty `watch` is the whole tree.
    """
    items = tuple(dict.fromkeys(item.removeprefix("./").rstrip("/") or WHOLE_TREE for item in watch))
    ignored = compile_patterns(ignore) if ignore else None
    surface = Surface(watch=tuple(watch) or (WHOLE_TREE,), evidence=tuple(evidence), ignored=ignored)
    if not items or WHOLE_TREE in items:
        return surface
    if any(_is_pattern(item) for item in items):
        watched = compile_patterns([_anchored(item) for item in items])
        return Surface(watch=surface.watch, watched=watched, evidence=surface.evidence, ignored=ignored)
    roots = _outermost(sorted(_root(item) for item in items))
    return Surface(watch=surface.watch, roots=roots, evidence=surface.evidence, ignored=ignored)


def root_refusal(root: str, home: str | None) -> Reason | None:
    """Return BASE_REFUSED if `root` is the file system's root or the home directory; both are real absolute paths."""
    refused = {"/"} if home is None else {"/", home.rstrip("/") or "/"}
    return Reason.BASE_REFUSED if (root.rstrip("/") or "/") in refused else None


def _root(item: str) -> RelPath:
    try:
        return RelPath.parse(item.encode("utf-8", "surrogateescape"))
    except InvalidDocumentError as error:
        raise InvalidDocumentError(Reason.POLICY_INVALID, f"files.watch: {error.detail}") from error


def _anchored(item: str) -> str:
    if not _is_pattern(item):
        return "/" + _SPECIAL.sub(r"\\\g<0>", item)
    return item if "/" in item or item.startswith("!") else f"/{item}"


def _is_pattern(item: str) -> bool:
    return "*" in item or "?" in item


def _outermost(roots: Sequence[RelPath]) -> tuple[RelPath, ...]:
    kept: list[RelPath] = []
    for root in roots:
        if not any(root.raw.startswith(outer.raw + b"/") for outer in kept):
            kept.append(root)
    return tuple(kept)
