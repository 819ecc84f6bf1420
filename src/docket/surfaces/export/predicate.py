"""What the predicate `urn:docket:predicate:run:v1` says of a run, and whose word each of it is (spec/predicate-run.md).

Rules:
1. Names are lowerCamelCase, instants RFC 3339 in UTC, amounts decimal texts. A member that the record does not tell, or
   that another writer filled with another type, is left out; none is null.
2. `provenance` names the class of every member by its path, whatever stands in an array under the array's: what the
   writer of the record *observed*, what somebody *reported* to it, what is *derived* from the two.
3. Counts of tokens are reported where the providers counted all of them, else derived.
4. Command line, folder, host and paths are no part of it: the receipt's digest binds them, and a statement travels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.lenient import instant_of, integer_of, object_of
from docket.surfaces.export.record import VerifiedRecord

PREDICATE_TYPE = "urn:docket:predicate:run:v1"


class Provenance(StrEnum):
    """Whose word a member is."""

    OBSERVED = "observed"
    REPORTED = "reported"
    DERIVED = "derived"


_TOKENS = {
    "inputTokens": "input_tokens",
    "cachedInputTokens": "cached_input_tokens",
    "outputTokens": "output_tokens",
}
_ROWS = {"rows": "calls", "reportedRows": "usage_reported_calls", "estimatedRows": "usage_estimated_calls",
         "assertedRows": "asserted_calls"}  # fmt: skip
TOKEN_MEMBERS = tuple(f"{part}.{name}" for part in ("usage", "models") for name in _TOKENS)

CLASSES: Mapping[str, Provenance] = {
    **dict.fromkeys(
        ("docketNumber", "sessionId", "agent", "writer.name", "writer.version", "startedAt", "createdAt",
         "durationSeconds", "exitCode", "exitSource", "breached", "interrupted", "policy.name", "policy.sha256",
         "usage.modelCalls", "usage.denied", "usage.errors", "providers", "files.added", "files.modified",
         "files.removed", "caps.exceeded", "caps.warnings", "network.tunnelsAllowed", "network.tunnelsDenied",
         "evidence.complete", "evidence.ended", "proof.origin", "proof.project", "proof.run", "workspace.outcome",
         "workspace.committed", "rollback.applied", "redaction.profiles", "redaction.commitment"),
        Provenance.OBSERVED,
    ),
    **dict.fromkeys(("label", "tools.calls", "tools.failures", "tools.names", *TOKEN_MEMBERS), Provenance.REPORTED),
    **dict.fromkeys(
        (*(f"usage.{name}" for name in _ROWS), "models.model", "models.rows", "models.costUsd", "cost.usd",
         "cost.basis", "cost.assumedPriceModels", "cost.priceTableSha256", "files.violations", "ledger.events",
         "ledger.head", "ledger.merkleRoot", "ledger.checked", "limits", "verdict"),
        Provenance.DERIVED,
    ),
}  # fmt: skip


_INTEGERS = frozenset(
    ("exitCode", "usage.modelCalls", "usage.denied", "usage.errors", *(f"usage.{name}" for name in _ROWS),
     *TOKEN_MEMBERS, "models.rows", "files.added", "files.modified", "files.removed", "files.violations", "tools.calls",
     "tools.failures", "caps.exceeded", "caps.warnings", "network.tunnelsAllowed", "network.tunnelsDenied",
     "ledger.events", "proof.run")
)  # fmt: skip
_FLAGS = frozenset(
    ("interrupted", "ledger.checked", "evidence.complete", "evidence.ended", "workspace.committed", "rollback.applied")
)
_LISTS = frozenset(("cost.assumedPriceModels", "tools.names", "limits", "redaction.profiles"))


def predicate(record: VerifiedRecord) -> dict[str, JsonValue]:
    """Return the predicate of a run."""
    told = {name: kept for name, value in _members(record) if (kept := _kept(name, value)) not in (None, {})}
    counted = integer_of(record.part("totals").get("usage_estimated_calls")) == 0
    classes = CLASSES if counted else {**CLASSES, **dict.fromkeys(TOKEN_MEMBERS, Provenance.DERIVED)}
    return {**told, "provenance": {path: str(classes[path]) for path in sorted(set(_paths(told)))}}


def _members(record: VerifiedRecord) -> Iterator[tuple[str, JsonValue]]:
    document, session, totals = record.document, record.part("session"), record.part("totals")
    yield "docketNumber", record.docket_number
    yield "label", document.get("label")
    yield "sessionId", record.session_id
    yield "agent", session.get("agent")
    yield "writer", _picked(record.part("tool"), {"name": "name", "version": "version"})
    yield "startedAt", instant_of(session.get("started_at"))
    yield "createdAt", instant_of(document.get("created_at"))
    yield "durationSeconds", session.get("duration_seconds")
    yield "exitCode", session.get("exit_code")
    yield "exitSource", session.get("exit_source")
    yield "breached", session.get("breached")
    yield "interrupted", session.get("interrupted")
    yield "policy", _picked(record.part("policy"), {"name": "name", "sha256": "digest"})
    calls = record.part("model_calls")
    yield (
        "usage",
        {
            **_picked(calls, {"modelCalls": "count", "denied": "denied", "errors": "errors"}),
            **_picked(totals, _ROWS),
            # Rows count the uses of a fee as input; a call's usage counts tokens alone.
            **_picked(record.part("model_calls", "usage") or totals, _TOKENS),
        },
    )
    yield (
        "cost",
        {
            **_picked(totals, {"usd": "cost_usd", "basis": "cost_basis", "assumedPriceModels": "assumed_price_models"}),
            **_picked(record.part("price_table"), {"priceTableSha256": "digest"}),
        },
    )
    yield "models", [_model(object_of(item)) for item in record.items("by_model", "totals")]
    yield "providers", calls.get("by_provider")
    yield from _effects(record)
    yield "verdict", str(record.word)
    yield "workspace", _picked(record.part("workspace"), {"outcome": "outcome", "committed": "committed"})
    yield "rollback", _picked(record.part("ops", "rollback"), {"applied": "applied"})
    yield "redaction", _picked(record.part("redaction"), {"profiles": "profiles", "commitment": "commitment"})


def _effects(record: VerifiedRecord) -> Iterator[tuple[str, JsonValue]]:
    same = {name: name for name in ("added", "modified", "removed", "violations")}
    yield "files", _picked(record.part("files"), same)
    yield "tools", _picked(record.part("tools"), {name: name for name in ("calls", "failures", "names")})
    yield "caps", _picked(record.part("caps"), {"exceeded": "exceeded", "warnings": "warnings"})
    tunnels = {"tunnelsAllowed": "tunnels_allowed", "tunnelsDenied": "tunnels_denied"}
    yield "network", _picked(record.part("network"), tunnels)
    ledger = _picked(record.part("ledger"), {"events": "events", "head": "head", "merkleRoot": "merkle_root"})
    yield "ledger", {**ledger, "checked": record.checked}
    yield "evidence", _picked(record.part("evidence"), {"complete": "ledger_complete", "ended": "ended"})
    yield "limits", record.part("limits_disclosure").get("codes")
    yield "proof", _picked(record.part("proof"), {"origin": "origin", "project": "project", "run": "run"})


def _model(row: JsonObject) -> JsonValue:
    return _picked(row, {"model": "model", "rows": "calls", **_TOKENS, "costUsd": "cost_usd"})


def _picked(source: JsonObject, names: Mapping[str, str]) -> dict[str, JsonValue]:
    return {name: source.get(member) for name, member in names.items()}


def _kept(path: str, value: JsonValue) -> JsonValue:
    """Return a member as far as it has its type; None for one that is not told."""
    if path not in CLASSES:  # an object of members, or an array of such
        if isinstance(value, list):
            return [_kept(path, item) for item in value]
        members = ((name, _kept(f"{path}.{name}", member)) for name, member in object_of(value).items())
        return {name: member for name, member in members if member is not None}
    if path == "providers":
        return {name: count for name, count in object_of(value).items() if _is_integer(count)}
    if path in _LISTS:
        texts = value if isinstance(value, (list, tuple)) else None
        return None if texts is None else [text for text in texts if isinstance(text, str)]
    fits = isinstance(value, bool) if path in _FLAGS else _is_integer(value) if path in _INTEGERS else None
    return value if (isinstance(value, str) if fits is None else fits) else None


def _is_integer(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _paths(told: JsonObject) -> Iterator[str]:
    for name, value in told.items():
        if name in CLASSES:
            yield name
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, Mapping) and name not in CLASSES:
                yield from (f"{name}.{member}" for member in item)
