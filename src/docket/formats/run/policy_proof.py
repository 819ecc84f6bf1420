"""The policy section that says which keys vouch for a run."""

from __future__ import annotations

from typing import ClassVar

from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.run.policy_kinds import Flag, is_line, refuse
from docket.formats.run.policy_section import Section, key


@dataclass(frozen=True, slots=True)
class KeyFile:
    """Where a key's file stands; empty where none is named."""

    wants: str = "the path of a key's file, absolute or below ~/, or empty for none"
    toml_type: str = "path"

    def from_toml(self, value: object) -> object:
        """Accept a path that means the same from every folder."""
        self.check(value)
        return value

    def check(self, value: object) -> None:
        """Accept such a path, and nothing at all."""
        if not isinstance(value, str) or (value and not (is_line(value) and value.startswith(("/", "~/")))):
            refuse(self, value)

    def to_json(self, value: object) -> JsonValue:
        """Return the path."""
        return str(value)

    def from_json(self, value: JsonValue) -> object:
        """Read the path."""
        return self.from_toml(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofPolicy(Section):
    """Which keys vouch for a run."""

    NAME: ClassVar[str] = "proof"
    PURPOSE: ClassVar[str] = "Which keys of yours vouch for a run. A policy file in the tree has no say in it."

    sign: str = field(
        default="",
        metadata=key(KeyFile(), "The file of the key that signs receipts, as `--sign` takes it. No record names it."),
    )
    seal: bool = field(
        default=False, metadata=key(Flag(), "Whether receipts are sealed with the key of your state folder.")
    )
