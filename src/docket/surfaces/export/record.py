"""A record that was verified, as the exports are made of it: the receipt, and what is known of its ledger.

Rules:
1. What stands here was found to hold; who reads files and verifies is `surfaces.cli.exporting`.
2. A member that another writer left out, or filled with another type, is as one that is not there.
3. JSON of an export is one line of ASCII with its keys sorted, so that the same record gives the same bytes and no name
   in it drives a terminal.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from docket.formats.canonical import JsonObject, JsonValue, object_at
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.lenient import items_of, text_of
from docket.formats.run.receipt_view import is_ours
from docket.formats.run.verdict import Word


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedRecord:
    """`document` is the receipt, the digests are those of its file and of the ledger's, None where none was there."""

    document: JsonObject
    receipt_sha256: Digest
    word: Word
    ledger_sha256: Digest | None

    @property
    def checked(self) -> bool:
        """Whether the ledger bore it out."""
        return self.ledger_sha256 is not None

    @property
    def ours(self) -> bool:
        """Whether docket wrote it, by this version's fold."""
        return is_ours(self.document)

    @property
    def docket_number(self) -> str:
        """The number of the run."""
        return text_of(self.document.get("docket_number"))

    @property
    def session_id(self) -> str:
        """The id of the run's session."""
        return text_of(self.part("session").get("id"))

    def part(self, *names: str) -> JsonObject:
        """Return a nested object, empty where there is none."""
        found: JsonObject = self.document
        for name in names:
            found = object_at(found, name)
        return found

    def items(self, name: str, *names: str) -> Sequence[JsonValue]:
        """Return the array `name` of a nested object, empty where there is none."""
        return items_of(self.part(*names).get(name))


def json_line(value: JsonValue) -> bytes:
    """Return a value as rule 3 says, without a line end."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).replace("\x7f", "\\u007f").encode("ascii")
