"""What a section of a policy is: a frozen dataclass whose fields are the keys.

Rules:
1. The fields are the key table: the parser, the document, the reference page and the tests read it from them.
2. A key that is `later` than its section stands in the document only where it differs from its default, so that the
   digest of a policy without it stays what it was.
3. A section that exists is valid: its constructor checks every key and what must hold between keys.

How a key is enforced is said by its sentence; the enforcing is done by the rooms that own it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Self

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass, described_fields
from docket.formats.reading import Reader
from docket.formats.run.policy_kinds import ValueKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of the table; `path` is its dotted name."""

    section: str
    name: str
    kind: ValueKind
    default: object
    summary: str
    later: bool = False

    @property
    def path(self) -> str:
        """The key as messages name it, such as `caps.max_usd`."""
        return f"{self.section}.{self.name}"


class Section:
    """What every section has in common; the subclasses are frozen dataclasses whose fields are the keys."""

    __slots__ = ()
    NAME: ClassVar[str]
    PURPOSE: ClassVar[str]

    def __post_init__(self) -> None:
        for key in self.table():
            try:
                key.kind.check(getattr(self, key.name))
            except InvalidDocumentError as error:
                raise InvalidDocumentError(error.reason, f"{key.path} {error.detail}") from error
        self._check_together()

    def _check_together(self) -> None:
        """Refuse keys that contradict one another."""

    @classmethod
    @cache
    def table(cls) -> tuple[Key, ...]:
        """The keys in the order of the table."""
        return tuple(
            Key(
                section=cls.NAME,
                name=name,
                kind=metadata["kind"],
                default=default,
                summary=metadata["summary"],
                later=metadata["later"],
            )
            for name, default, metadata in described_fields(cls)
        )

    def document(self) -> dict[str, JsonValue]:
        """Return the section as it is digested: its keys in the document's spelling."""
        values = ((key, getattr(self, key.name)) for key in self.table())
        return {key.name: key.kind.to_json(value) for key, value in values if not (key.later and value == key.default)}

    @classmethod
    def from_document(cls, reader: Reader) -> Self:
        """Read what `document` writes; a missing, unknown or otherwise spelt member is refused."""
        values: dict[str, Any] = {}
        for key in cls.table():
            if key.later and not reader.has(key.name):
                continue
            try:
                values[key.name] = key.kind.from_json(reader.any(key.name))
            except InvalidDocumentError as error:
                raise InvalidDocumentError(error.reason, f"{reader.where}.{key.name}: {error.detail}") from error
        reader.close()
        return cls(**values)


def key(kind: ValueKind, summary: str, *, later: bool = False) -> dict[str, object]:
    return {"kind": kind, "summary": summary, "later": later}
