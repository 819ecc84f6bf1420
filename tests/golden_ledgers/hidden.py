"""A record that says of itself that it is a redacted copy."""

from __future__ import annotations

from docket.formats.digest import Digest
from docket.formats.ledger.redaction_facts import RedactionFacts
from golden_ledgers.build import LedgerBuilder, closed, opened

FACTS = RedactionFacts(
    profiles=("argv", "paths"), replaced=7, not_carried=("seal", "signature"), commitment=Digest("56" * 32)
)


def hidden() -> LedgerBuilder:
    """A copy that hides the command line and paths."""
    copy = opened(argv=("[redacted]",), cwd="[redacted]", redaction=FACTS)
    return closed(copy, "0.00", (b"[path-1]", b"[path-2]"))
