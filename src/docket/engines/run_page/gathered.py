"""What a page of a run is made of: values alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from docket.engines.foresee import Compared
from docket.engines.run_page.packing import Packed
from docket.formats.canonical import JsonObject
from docket.formats.dataclass import dataclass, field
from docket.formats.windows.delta import Delta
from docket.rules.analysis.finding import Finding
from docket.rules.analysis.told import ChangedPath, Recorded
from docket.stores.layout import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Which receipt is shown; `contents` is whether diffs, deltas and kept replies are to be in the page.

    `layout` is the project that the person stands in.
    """

    path: Path
    layout: Layout
    contents: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the page carries for its verifier, packed; None for what it does not carry, and then `why_no_…` says why.

    `deltas` is an object of documents of tool windows by their digests, `responses` one of kept replies in base64 by
    their paths; how many they are stands beside them.
    """

    receipt: Packed
    ledger: Packed | None = None
    why_no_ledger: str = ""
    deltas: Packed | None = None
    delta_count: int = 0
    checkpoints: Packed | None = None
    responses: Packed | None = None
    response_count: int = 0
    why_no_responses: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPath:
    """A changed path with both of its contents, or why there is nothing to compare; neither for a directory."""

    changed: ChangedPath
    compared: Compared | None = None
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """A run to be shown. `damage` says where its ledger ends to be readable, empty where it is whole.

    `comparisons` are of the first changed paths and are read as they are asked for; `places` are where contents were
    looked for. `verifier` is the text of the JavaScript module.
    """

    receipt: JsonObject
    evidence: Evidence
    told: Recorded
    verifier: str
    damage: str = ""
    comparisons: Iterable[ComparedPath] = ()
    places: Sequence[str] = ()
    deltas: Mapping[str, Delta] = field(default_factory=dict)
    findings: Sequence[Finding] = ()


__all__ = ["ComparedPath", "Evidence", "Gathered", "PageRequest"]
