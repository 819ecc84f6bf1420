"""What is found in a run, and each violation of its policy, as SARIF 2.1.0 (OASIS, errata 01).

Rules:
1. A rule's id is that of docs/reference/findings.md, or POLICY_VIOLATION; both stay what they are. A violation is a
   result of its own, and the finding that sums violations up is left out.
2. A path is a URI reference relative to TREE, its bytes percent-encoded: names that are no UTF-8 are told exactly.
   Where the tree stood is not told.
3. What is not about a path has the events that it rests on as its logical locations.
4. A partial fingerprint is made of the rule and of what a result is about, never of counts or of the run: the same
   trouble in the next run has the same one.
5. Braces and brackets of names are escaped in messages, where they would be placeholders and links.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from docket import __version__
from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue, object_at
from docket.formats.lenient import text_at
from docket.formats.relpath import RelPath
from docket.rules.analysis.finding import Finding, Severity
from docket.rules.analysis.record import Cited, RunRecord
from docket.rules.analysis.registry import RULES, findings_in
from docket.rules.analysis.write_scope import RULE as WRITE_SCOPE

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
VERSION = "2.1.0"
POLICY_VIOLATION = "policy-violation"
FINGERPRINT = "docketSubject/v1"
MAX_RESULTS = 5_000
TREE = "TREE"
_UNRESERVED = "/-._~"
_LEVELS = {Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "note", Severity.INFO: "none"}
_SHORT = {
    "runaway-loop": "The agent sent the same request over and over",
    "retry-storm": "Calls failed one after another",
    "cache-miss": "Input that could have come from the provider's cache was paid in full",
    "fat-context": "Calls carried a very large context",
    "premium-for-small-calls": "Small calls went to the dearest model",
    "concentration": "A few calls took most of the money",
    "write-scope": "Something was written where nothing should be",
    "denials": "Calls or connections were refused",
    "cache-hazard": "Earlier replies were given again while the tree changed",
    "unknown-spend": "Money was spent of which nobody says how much",
    POLICY_VIOLATION: "The run changed what its policy protects",
}
RULE_IDS = (*RULES, POLICY_VIOLATION)


def sarif_log(record: RunRecord, verdict: str) -> dict[str, JsonValue]:
    """Return the log of one run; `verdict` is the word that verification gave its record."""
    paths = {item.seq: path for item in (*record.changes, *record.violations) if (path := _path(item)) is not None}
    broken = {item.seq for item in record.violations}
    told = [item for item in findings_in(record) if not _is_summed_up(item, broken)]
    results = [_violation(item, paths.get(item.seq)) for item in record.violations]
    results += [_finding(item, paths) for item in told]
    return {
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [
            {
                "tool": {"driver": _driver()},
                "automationDetails": {"id": f"docket/{text_at(record.receipt, 'docket_number')}"},
                "originalUriBaseIds": {TREE: {"description": {"text": "The folder that the agent worked in."}}},
                "results": results[:MAX_RESULTS],
                "properties": _properties(record.receipt, verdict, len(results)),
            }
        ],
    }


def _driver() -> dict[str, JsonValue]:
    return {
        "name": "docket",
        "version": __version__,
        "rules": [{"id": name, "shortDescription": {"text": _SHORT[name]}} for name in RULE_IDS],
    }


def _properties(receipt: JsonObject, verdict: str, results: int) -> dict[str, JsonValue]:
    """Return what a reader needs to find the record again."""
    return {
        "docketNumber": text_at(receipt, "docket_number"),
        "ledgerHead": text_at(object_at(receipt, "ledger"), "head"),
        "costUsd": text_at(object_at(receipt, "totals"), "cost_usd"),
        "verdict": verdict,
        "resultsLeftOut": max(0, results - MAX_RESULTS),
    }


def _is_summed_up(finding: Finding, broken: set[int]) -> bool:
    return finding.rule == WRITE_SCOPE and broken.issuperset(finding.evidence)


def _violation(item: Cited, path: RelPath | None) -> dict[str, JsonValue]:
    rule = text_at(item.data, "rule") or "a rule"
    detail = text_at(item.data, "detail") or "it was violated"
    return {
        **_head(POLICY_VIOLATION, f"{rule} {'' if path is None else path.raw.hex()}", "error"),
        "message": {"text": _escaped(f"{rule}: {detail}")},
        "locations": _locations([item.seq], {} if path is None else {item.seq: path}),
        "properties": {"evidence": [item.seq], "confidence": "high"},
    }


def _finding(finding: Finding, paths: dict[int, RelPath]) -> dict[str, JsonValue]:
    impact = "" if finding.usd_impact is None else f" (${finding.usd_impact})"
    return {
        **_head(finding.rule, finding.subject, _LEVELS[finding.severity]),
        "message": {"text": _escaped(f"{finding.title}{impact}: {finding.detail}. {finding.remedy}")},
        "locations": _locations(finding.evidence, paths),
        "properties": {
            "evidence": list(finding.evidence),
            "confidence": str(finding.confidence),
            "severity": str(finding.severity),
            "usdImpact": None if finding.usd_impact is None else str(finding.usd_impact),
        },
    }


def _head(rule: str, subject: str, level: str) -> dict[str, JsonValue]:
    digest = hashlib.sha256(f"{rule}\0{subject}".encode("utf-8", "surrogatepass")).hexdigest()
    return {
        "ruleId": rule,
        "ruleIndex": RULE_IDS.index(rule),
        "kind": "informational" if level == "none" else "fail",
        "level": level,
        "partialFingerprints": {FINGERPRINT: digest},
    }


def _locations(evidence: Sequence[int], paths: dict[int, RelPath]) -> list[JsonValue]:
    """Return a location for each path among the evidence, else one that names the events."""
    found: Iterable[RelPath] = dict.fromkeys(paths[seq] for seq in evidence if seq in paths)
    places: list[JsonValue] = [
        {"physicalLocation": {"artifactLocation": {"uri": quote(path.raw, safe=_UNRESERVED), "uriBaseId": TREE}}}
        for path in found
    ]
    if places or not evidence:
        return places
    return [{"logicalLocations": [{"fullyQualifiedName": f"ledger/events/{seq}", "kind": "event"} for seq in evidence]}]


def _path(item: Cited) -> RelPath | None:
    try:
        return RelPath.from_members(item.data)
    except InvalidDocumentError:
        return None


def _escaped(message: str) -> str:
    doubled = message.replace("{", "{{").replace("}", "}}")
    return doubled.replace("[", "\\[").replace("]", "\\]")
