"""The contents of two states of a path as a diff in git's form, for a person to read.

Rules:
1. The head names both sides and both modes as git does; a change of nothing but the mode is that head alone.
2. A content with a NUL byte, or one that is too large, is told by its sizes. Any other is shown by its lines, bytes
   that are no UTF-8 as they came, for the console to make visible.
3. A link is a file whose content is its target.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from docket.engines.foresee import Compared
from docket.formats.ledger.tree_events import EntryState
from docket.formats.tree.listing import Kind
from docket.surfaces.render.figures import plural

_NOTHING = "/dev/null"
_LINK_MODE = "120000"
_NO_END = "\\ No newline at end of file"


def diff_of(compared: Compared) -> Iterator[str]:
    """Yield the lines of the diff from what stands there to what would."""
    name, was, now = str(compared.path), _as_file(compared.was), _as_file(compared.now)
    yield f"diff --git a/{name} b/{name}"
    yield from _head(was, now)
    if compared.problem is not None:
        yield f"Contents not shown: {compared.problem}"
        return
    if compared.too_large:
        yield f"Contents not shown: {_bytes(was)} and {_bytes(now)}"
        return
    sides = [side or b"" for side in (compared.before, compared.after)]
    if sides[0] == sides[1]:
        return
    if any(b"\0" in side for side in sides):
        yield f"Binary files differ: {_bytes(was)} and {_bytes(now)}"
        return
    names = (_NOTHING if was is None else f"a/{name}", _NOTHING if now is None else f"b/{name}")
    yield from _lines(sides, names)


def _lines(sides: list[bytes], names: tuple[str, str]) -> Iterator[str]:
    # By bytes of a line end alone: what else Unicode takes for one is a character of a line.
    before, after = ([line + b"\n" for line in side.split(b"\n")] for side in sides)
    texts = []
    for lines in (before, after):
        lines[-1] = lines[-1][:-1]
        texts.append([line.decode("utf-8", "surrogateescape") for line in lines if line])
    for line in difflib.unified_diff(texts[0], texts[1], *names):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield _NO_END


def _as_file(state: EntryState | None) -> EntryState | None:
    """Return a state that has a content to show; None for nothing and for a directory."""
    return None if state is None or state.kind == Kind.DIRECTORY.value else state


def _head(was: EntryState | None, now: EntryState | None) -> Iterator[str]:
    if was is None and now is not None:
        yield f"new file mode {_mode(now)}"
    elif was is not None and now is None:
        yield f"deleted file mode {_mode(was)}"
    elif was is not None and now is not None and _mode(was) != _mode(now):
        yield f"old mode {_mode(was)}"
        yield f"new mode {_mode(now)}"


def _mode(state: EntryState) -> str:
    return _LINK_MODE if state.kind == Kind.SYMLINK.value else f"10{state.mode:04o}"


def _bytes(state: EntryState | None) -> str:
    return "nothing" if state is None else plural(state.size or 0, "byte")
