"""Which tool call a window is of, and the names that are made of it.

Rules (spec/windows.md, Identity):
1. A window is (repository, provider, session, turn, tool use, mode). What an agent calls these is any text up to
   MAX_TEXT characters; a half of a surrogate pair stands escaped (`key_text`).
2. Its id is 32 hexadecimal digits of the SHA-256 of its canonical members, so no text of an agent is ever a file name.
3. A component of a ref is up to 24 harmless characters of the text and 32 digits of its SHA-256.
"""

from __future__ import annotations

import re

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue, encode
from docket.formats.dataclass import dataclass
from docket.formats.digest import sha256
from docket.formats.reason import Reason

MAX_TEXT = 1024
ID_DIGITS = 32
IN_TREE, IN_STAGE = "tree", "stage"
REF_ROOT = "refs/docket/tool-windows"
_SHOWN = 24
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
ID_FORM = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class WindowKey:
    """The identity of a tool window; `mode` says what it observes: the tree, or a transaction's stage."""

    repository: str
    provider: str
    session_id: str
    turn_id: str
    tool_use_id: str
    mode: str = IN_TREE

    def __post_init__(self) -> None:
        for name in ("repository", "provider", "tool_use_id"):
            if not getattr(self, name):
                raise InvalidDocumentError(Reason.WRONG_VALUE, f"a window's {name} is empty")
        if max(map(len, (self.provider, self.session_id, self.turn_id, self.tool_use_id))) > MAX_TEXT:
            raise InvalidDocumentError(Reason.TOO_LARGE, f"a name of a window has more than {MAX_TEXT} characters")
        if self.mode not in (IN_TREE, IN_STAGE):
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"a window's mode is {self.mode!r}")

    def members(self) -> dict[str, JsonValue]:
        """Return the key as JSON."""
        return {
            "repository": self.repository,
            "provider": self.provider,
            "session_id": self.session_id,
            "turn_id": self.turn_id,
            "tool_use_id": self.tool_use_id,
            "mode": self.mode,
        }

    @property
    def window_id(self) -> str:
        """The name under which docket keeps the window."""
        return sha256(encode(self.members()))[:ID_DIGITS]


def key_text(text: str) -> str:
    """Return a text of an agent's so that it has a UTF-8 form; what has one stays as it is."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def group_id(window_id: str, seq: int) -> str:
    """Return the id of the group that a window begins, published under that sequence number."""
    return sha256(f"{window_id} {seq}".encode())[:ID_DIGITS]


def ref_component(text: str) -> str:
    """Return a component of a ref that stands for any text and for no other."""
    shown = _FOREIGN.sub("-", text)[:_SHOWN].strip("-") or "x"
    return f"{shown}-{sha256(text.encode())[:ID_DIGITS]}"


def pre_ref(worktree: str, group: str, key: WindowKey) -> str:
    """Return the ref that keeps what stood in the tree before a tool."""
    tool_use = f"{key.tool_use_id}\0{key.window_id}"
    shown = ref_component(key.tool_use_id).rpartition("-")[0]
    component = f"{shown}-{sha256(tool_use.encode())[:ID_DIGITS]}"
    return f"{REF_ROOT}/{ref_component(worktree)}/{ref_component(group)}/{component}/pre"


def post_ref(worktree: str, group: str) -> str:
    """Return the ref that keeps what stood in the tree after a group."""
    return f"{REF_ROOT}/{ref_component(worktree)}/{ref_component(group)}/post"
