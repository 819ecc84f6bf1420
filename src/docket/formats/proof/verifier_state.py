"""What somebody who verifies remembers of runs that they verified before: `docket/verifier-state/v1`.

Rules (spec/checkpoint.md, State):
1. By key and project the highest run, with the digest of its receipt; by origin the largest size, with its root.
2. One spelling of each entry; the entry that was learned last stands last, and the oldest go where there are too many.
3. Whatever an accepted receipt can teach is read again. An entry that none can have taught is refused, and never passed
   over: what is forgotten lets an older receipt through.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass, replace
from docket.formats.digest import Digest, is_digest
from docket.formats.proof.checkpoint import TreeHead
from docket.formats.reading import Reader
from docket.formats.reason import Reason

FORMAT = "docket/verifier-state/v1"
UNSIGNED = "unsigned"
MAX_STATE_BYTES = 16 * 1024 * 1024
MAX_ENTRIES = 10_000
_PROJECT = re.compile(r"[0-9a-f]{32}")
_SESSION = re.compile(r"[0-9A-Za-z_-]{1,64}")
_ORIGIN = re.compile(rf"docket\.local/(?:{UNSIGNED}|[0-9a-f]{{16}})/{_SESSION.pattern}")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRun:
    """The highest run of a project by one key: `key` is 64 hexadecimal digits, or `unsigned`."""

    key: str
    project: str
    run: int
    session: str
    receipt_sha256: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierState:
    """What is remembered; nothing at first."""

    runs: tuple[KnownRun, ...] = ()
    heads: tuple[TreeHead, ...] = ()

    def runs_of(self, project: str) -> tuple[KnownRun, ...]:
        """Return what is known of a project, by each key and by none, what was learned last at the end."""
        return tuple(one for one in self.runs if one.project == project)

    def head_of(self, origin: str) -> TreeHead | None:
        """Return the largest head that is known of an origin."""
        return next((one for one in self.heads if one.origin == origin), None)

    def with_run(self, run: KnownRun) -> VerifierState:
        """Return the state that knows this run, instead of what it knew of the project by the key."""
        others = tuple(one for one in self.runs if (one.key, one.project) != (run.key, run.project))
        return replace(self, runs=_newest((*others, run)))

    def with_head(self, head: TreeHead) -> VerifierState:
        """Return the state that knows this head, instead of what it knew of the origin."""
        others = tuple(one for one in self.heads if one.origin != head.origin)
        return replace(self, heads=_newest((*others, head)))

    def to_json(self) -> dict[str, JsonValue]:
        """Return {format, projects, origins}."""
        return {
            "format": FORMAT,
            "projects": [
                {
                    "key": one.key,
                    "project": one.project,
                    "run": one.run,
                    "session": one.session,
                    "receipt_sha256": one.receipt_sha256,
                }
                for one in self.runs
            ],
            "origins": [{"origin": one.origin, "size": one.size, "root": one.root} for one in self.heads],
        }


def highest(runs: Iterable[KnownRun]) -> KnownRun | None:
    """Return the run with the highest number, None of none."""
    return max(runs, key=lambda one: one.run, default=None)


def read_state(document: JsonValue) -> VerifierState:
    """Return the state of a document; InvalidDocumentError says what is wrong with it."""
    reader = Reader(document, "the state")
    if reader.text("format") != FORMAT:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"it is not {FORMAT}")
    runs = tuple(_run(item, f"projects[{at}]") for at, item in enumerate(reader.items("projects")))
    heads = tuple(_head(item, f"origins[{at}]") for at, item in enumerate(reader.items("origins")))
    reader.close()
    if len({(one.key, one.project) for one in runs}) < len(runs) or len({one.origin for one in heads}) < len(heads):
        raise InvalidDocumentError(Reason.WRONG_VALUE, "it names a project by one key, or an origin, twice")
    return VerifierState(runs=runs, heads=heads)


def _run(item: JsonValue, where: str) -> KnownRun:
    reader = Reader(item, where)
    run = KnownRun(
        key=_key(reader),
        project=_formed(reader, "project", _PROJECT, "32 lower-case hexadecimal digits"),
        run=reader.integer("run", minimum=1),
        session=_formed(reader, "session", _SESSION, "1 to 64 letters, digits, _ and -"),
        receipt_sha256=reader.digest("receipt_sha256"),
    )
    reader.close()
    return run


def _key(reader: Reader) -> str:
    key = reader.text("key")
    if key != UNSIGNED and not is_digest(key):  # 32 bytes in hexadecimal digits, as a digest is
        detail = f"{reader.where}.key is neither 64 lower-case hexadecimal digits nor {UNSIGNED}"
        raise InvalidDocumentError(Reason.WRONG_VALUE, detail)
    return key


def _formed(reader: Reader, name: str, form: re.Pattern[str], words: str) -> str:
    text = reader.text(name)
    if not form.fullmatch(text):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reader.where}.{name} is not {words}")
    return text


def _head(item: JsonValue, where: str) -> TreeHead:
    reader = Reader(item, where)
    head = TreeHead(
        origin=_formed(reader, "origin", _ORIGIN, "an origin, docket.local/KEY/SESSION"),
        size=reader.integer("size", minimum=1),
        root=reader.digest("root"),
    )
    reader.close()
    return head


def _newest(entries: tuple[T, ...]) -> tuple[T, ...]:
    return entries[-MAX_ENTRIES:]
