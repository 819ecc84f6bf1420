"""What a page is made of: values alone, gathered by whoever reads files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from docket.formats.canonical import JsonObject
from docket.formats.dataclass import dataclass, field
from docket.formats.windows.delta import Delta
from docket.rules.analysis.finding import Finding
from docket.surfaces.render.page.files import PathDiff
from docket.surfaces.render.page.record import Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Bytes that the page carries for its verifier; None for what it does not carry, and then `why_no_ledger` says why.

    `deltas` are documents of tool windows by their digests.
    """

    receipt: bytes
    ledger: bytes | None = None
    why_no_ledger: str = ""
    deltas: Mapping[str, str] = field(default_factory=dict)
    checkpoints: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """A run to be shown. `damage` says where its ledger ends to be readable, empty where it is whole.

    `places` are where contents were looked for; `verifier` is the text of the JavaScript module.
    """

    receipt: JsonObject
    evidence: Evidence
    told: Recorded
    verifier: str
    damage: str = ""
    diffs: Sequence[PathDiff] = ()
    places: Sequence[str] = ()
    deltas: Mapping[str, Delta] = field(default_factory=dict)
    findings: Sequence[Finding] = ()


__all__ = ["Evidence", "Material"]
