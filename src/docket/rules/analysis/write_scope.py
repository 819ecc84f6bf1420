"""Writes where there should have been none: protected paths, and paths beyond what the run watched or staged."""

from __future__ import annotations

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, object_at
from docket.formats.lenient import count_at, text_at
from docket.formats.relpath import RelPath
from docket.formats.workspace.scope import Settled
from docket.rules.analysis.finding import Confidence, Finding, Severity, cited
from docket.rules.analysis.record import Cited, RunRecord
from docket.rules.analysis.thresholds import SCOPE_PATHS
from docket.rules.wording import times, were

RULE = SCOPE_PATHS.rule
_SHOWN = 3
_NOT_LANDED = (str(Settled.REFUSED), str(Settled.DISCARDED), str(Settled.LEFT_FOR_REVIEW))


def find(record: RunRecord) -> list[Finding]:
    """Return one finding for each kind: violations of a rule, changes beyond the watched folders, left-out writes."""
    found: list[Finding] = []
    by_rule: dict[str, list[Cited]] = {}
    for item in record.violations:
        by_rule.setdefault(text_at(item.data, "rule") or "a rule", []).append(item)
    found.extend(_violated(rule, items, is_apart=_is_apart(record.receipt)) for rule, items in by_rule.items())
    roots = _roots(record.receipt)
    outside = [item for item in record.changes if roots and not _is_below(_raw(item.data), roots)]
    if outside:
        found.append(_outside(outside))
    found.extend(_excluded(item) for item in record.strays)
    return found


def _violated(rule: str, items: list[Cited], *, is_apart: bool) -> Finding:
    return Finding(
        rule=RULE,
        subject=f"violation {rule}",
        title="The run changed what its policy protects" + (", in a stage that did not land" if is_apart else ""),
        severity=Severity.MEDIUM if is_apart else Severity.HIGH,
        confidence=Confidence.HIGH,
        evidence=cited(item.seq for item in items),
        detail=f"{rule} was violated {times(len(items))}: {_names(items)}",
        remedy="Nothing of it is in the tree: docket tx diff shows what would land."
        if is_apart
        else "Look at the changes before anything else is built on them; docket restore puts kept contents back, and "
        "--workspace-tx keeps a protected path from landing without an approval.",
    )


def _is_apart(receipt: JsonObject) -> bool:
    """Whether the run's changes are in a stage and are known not to be in the tree."""
    return object_at(receipt, "workspace").get("outcome") in _NOT_LANDED


def _outside(items: list[Cited]) -> Finding:
    return Finding(
        rule=RULE,
        subject="outside",
        title="Paths beyond the watched folders were changed",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        evidence=cited(item.seq for item in items),
        detail=f"{len(items):,} of the recorded changes are not below files.watch: {_names(items)}",
        remedy="Name every folder that the agent works in under files.watch.",
    )


def _excluded(item: Cited) -> Finding:
    writes = count_at(item.data, "excluded_write_count")
    return Finding(
        rule=RULE,
        subject="excluded",
        title="Writes to paths that were left out of the stage are lost",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        evidence=(item.seq,),
        detail=f"{were(writes, 'path')} written that the stage leaves out; nothing of that lands",
        remedy="Take what is wanted out of workspace.exclude, or put it under workspace.share.",
    )


def _roots(receipt: JsonObject) -> list[bytes]:
    """Return the watched folders; none where everything is, or where the policy does not say."""
    if "redaction" in receipt:  # neither the folders nor the paths are those of the run
        return []
    watch = object_at(object_at(object_at(receipt, "policy"), "document"), "files").get("watch")
    names = [name for name in watch if isinstance(name, str)] if isinstance(watch, (list, tuple)) else []
    roots = [name.removeprefix("./").strip("/").encode("utf-8", "replace") for name in names]
    return [] if b"." in roots or b"" in roots else roots


def _is_below(raw: bytes | None, roots: list[bytes]) -> bool:
    return raw is None or any(raw == root or raw.startswith(root + b"/") for root in roots)


def _raw(data: JsonObject) -> bytes | None:
    try:
        return RelPath.from_members(data).raw
    except InvalidDocumentError:
        return None


def _names(items: list[Cited]) -> str:
    names = [str(RelPath(raw)) for raw in (_raw(item.data) for item in items) if raw is not None]
    more = len(items) - len(names[:_SHOWN])
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if names and more else "") or "no path is named"
