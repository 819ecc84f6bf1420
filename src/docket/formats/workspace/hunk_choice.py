"""What of a change set is to land, `docket/workspace-hunks/v1`: whole paths, and single hunks of files.

Rules (spec/workspace.md, Chosen hunks):
1. The document names the change set that it chooses from by its digest, so it fits no other content.
2. `take` is a list of paths, each once. One without `hunks` is taken whole, with everything below it; of one with
   `hunks` only these, by the names that `docket tx diff --json` tells, at least one.
3. People and their programs write it: blanks and the order of members are free, anything unknown is refused.

Which hunks there are, and what comes of a choice, is `rules.workspace.hunks`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue, decode_document, encode_document
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath

FORMAT = "docket/workspace-hunks/v1"
MAX_CHOICE_BYTES = 64 * 1024 * 1024
MODE = "mode"
"""The hunk that is a file's change of mode."""
_NAME = re.compile(r"mode|[1-9][0-9]{0,9}-[0-9a-f]{12}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenPath:
    """A path to take: whole where `hunks` is None, else these hunks of it."""

    path: RelPath
    hunks: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkChoice:
    """What to take of the change set of that digest."""

    diff_sha256: Digest
    take: tuple[TakenPath, ...]


def encode_choice(choice: HunkChoice) -> bytes:
    """Return the document."""
    take: list[JsonValue] = [
        {**item.path.members(), **({} if item.hunks is None else {"hunks": list(item.hunks)})} for item in choice.take
    ]
    return encode_document({"format": FORMAT, "diff_sha256": choice.diff_sha256, "take": take})


def decode_choice(document: bytes) -> HunkChoice:
    """Read a choice; InvalidDocumentError names what is wrong."""
    if len(document) > MAX_CHOICE_BYTES:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"a choice of hunks has more than {MAX_CHOICE_BYTES:,} bytes")
    members = decode_document(document)
    if not isinstance(members, Mapping) or members.get("format") != FORMAT:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"the document is no {FORMAT}")
    reader = Reader(members, "the choice")
    reader.text("format")
    choice = HunkChoice(
        diff_sha256=reader.digest("diff_sha256"), take=tuple(_taken(item) for item in reader.items("take"))
    )
    reader.close()
    _once([str(item.path) for item in choice.take], "path")
    return choice


def _taken(value: JsonValue) -> TakenPath:
    reader = Reader(value, "a path to take")
    path = RelPath.from_members({key: reader.any(key) for key in ("path", "path_b64") if reader.has(key)})
    hunks = tuple(_name(item) for item in reader.items("hunks")) if reader.has("hunks") else None
    reader.close()
    if hunks == ():
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"of {path} no hunk is named; leave the path out to leave it")
    _once(list(hunks or ()), f"hunk of {path}")
    return TakenPath(path=path, hunks=hunks)


def _name(value: JsonValue) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{value!r} is no name of a hunk")
    return value


def _once(names: list[str], what: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise InvalidDocumentError(Reason.DUPLICATE_KEY, f"the {what} {twice} is named twice")
