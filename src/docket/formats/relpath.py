"""A path inside a tree: bytes, relative, without `.`, `..`, empty parts or NUL.

Rules (spec/tree.md): a file name is bytes; no normalisation, no case folding, no lossy decoding. A valid UTF-8
path is written as the member `path`, any other as `path_b64`.
"""

from __future__ import annotations

from collections.abc import Iterator

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.visible import Base64Fault, base64_bytes, base64_text, visible

MAX_PATH_BYTES = 4096 * 4
MAX_NAME_BYTES = 255


@dataclass(frozen=True, slots=True, order=True)
class RelPath:
    """A checked relative path; `raw` is its bytes with `/` between parts. Order is byte order."""

    raw: bytes

    @classmethod
    def parse(cls, raw: bytes) -> RelPath:
        """Check `raw`; raise InvalidDocumentError(NOT_A_PATH) with what is wrong."""
        padded = b"/" + raw + b"/"
        if b"//" in padded or b"/./" in padded or b"/../" in padded or b"\0" in raw:
            raise _refused(raw, next(fault for fault in map(_fault, raw.split(b"/")) if fault))
        if len(raw) > MAX_PATH_BYTES:
            raise _refused(raw, f"is longer than {MAX_PATH_BYTES} bytes")
        return cls(raw)

    @classmethod
    def from_members(cls, value: JsonObject) -> RelPath:
        """Read the member `path` or `path_b64` of an object; exactly one of them, in its only spelling."""
        text, coded = value.get("path"), value.get("path_b64")
        if isinstance(text, str) and "path_b64" not in value:
            return cls._from_text(text)
        if isinstance(coded, str) and "path" not in value:
            return cls._from_base64(coded)
        raise InvalidDocumentError(Reason.NOT_A_PATH, "an object names its path as either path or path_b64")

    @classmethod
    def _from_text(cls, text: str) -> RelPath:
        try:
            return cls.parse(text.encode("utf-8"))
        except UnicodeEncodeError as error:
            raise InvalidDocumentError(Reason.NOT_A_PATH, "path holds half of a surrogate pair") from error

    @classmethod
    def _from_base64(cls, coded: str) -> RelPath:
        raw = base64_bytes(coded)
        if isinstance(raw, Base64Fault):
            why = "is not base64" if raw is Base64Fault.UNREADABLE else "does not re-encode to itself"
            raise InvalidDocumentError(Reason.NOT_A_PATH, f"path_b64 {why}")
        if _is_utf8(raw):
            raise InvalidDocumentError(Reason.NOT_A_PATH, "path_b64 holds valid UTF-8, which belongs in path")
        return cls.parse(raw)

    def members(self) -> dict[str, JsonValue]:
        """Return {"path": text} or, for bytes that are not UTF-8, {"path_b64": base64}."""
        if _is_utf8(self.raw):
            return {"path": self.raw.decode("utf-8")}
        return {"path_b64": base64_text(self.raw)}

    @property
    def parts(self) -> tuple[bytes, ...]:
        """The names from the top down."""
        return tuple(self.raw.split(b"/"))

    @property
    def parent(self) -> RelPath | None:
        """The directory that holds this path, or None at the top of the tree."""
        head, slash, _ = self.raw.rpartition(b"/")
        return RelPath(head) if slash else None

    def above(self) -> Iterator[RelPath]:
        """Yield the directories that hold this path, the nearest first."""
        holder = self.parent
        while holder is not None:
            yield holder
            holder = holder.parent

    def child(self, name: bytes) -> RelPath:
        """Return the path of `name` in this directory."""
        if fault := _fault(name):
            raise _refused(name, fault)
        return RelPath(self.raw + b"/" + name)

    def __str__(self) -> str:
        return visible(self.raw)


def _fault(part: bytes) -> str:
    """Return why this is no name, empty where it is one."""
    if part == b"":
        return "has an empty part"
    if part in (b".", b".."):
        return f"has the part {part.decode()}"
    return "has a NUL or a slash inside a name" if b"\0" in part or b"/" in part else ""


def _refused(raw: bytes, why: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.NOT_A_PATH, f"the path {visible(raw[:200])!r} {why}")


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
