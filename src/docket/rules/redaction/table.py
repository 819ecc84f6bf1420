"""What each text of each event is, so that a copy knows what to hide (spec/ledger.md, Redacted copies).

Rules: every member of every payload that holds a text, an array or an object stands here; a test holds the table
against the vocabulary, so that a new member is decided on before a copy can carry it. Numbers, flags and amounts hide
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import TypeAlias


class Kind(Enum):
    """What a member holds."""

    KEPT = auto()  # a word of a closed list, a number of docket's own, what the record is counted or priced by
    NAME = auto()  # a free name: it stays, without what is hidden elsewhere
    PROSE = auto()  # a sentence, which may name anything
    LABEL = auto()  # the person's own words about the run
    ARGV = auto()  # a command line
    PLACE = auto()  # a path of this machine
    ROOTS = auto()  # watched folders
    TARGET = auto()  # of a link
    HOST = auto()  # a host, an address, a URL
    HOSTS_OF = auto()  # an object whose values are
    ENDPOINT = auto()  # the path of a request, in which accounts, projects and keys may stand
    ACCOUNT = auto()  # what only the account's owner has a use for
    CODED = auto()  # the exact bytes of the member without `_b64`
    DIGEST = auto()  # a digest of something that is not in the ledger, or a name that is made of one
    POLICY = auto()
    DETAILS = auto()  # an object of anything
    PATH = auto()  # the members path and path_b64 of a tree
    LINK = auto()  # made anew when the copy is chained


Member: TypeAlias = "Kind | str"
"""A kind, or the name of a record; an array of records is as one."""

_K, _N, _D = Kind.KEPT, Kind.NAME, Kind.DIGEST


def _kept(*names: str) -> dict[str, Member]:
    return dict.fromkeys(names, Kind.KEPT)


_HIT: dict[str, Member] = {
    **_kept("provider", "model", "method", "usage", "usage_source", "avoided_cost_usd"),
    "key": _D,
    "origin": Kind.LINK,
    "path": Kind.ENDPOINT,
    "request_sha256": _D,
    "fingerprint": _D,
    "response_sha256": _D,
}
_CAP = _kept("cap", "threshold", "used_pct", "used", "limit", "scope", "scope_name", "cost_usd", "action")

EVENTS: Mapping[str, Mapping[str, Member]] = {
    "session.start": {
        **_kept("session_id", "docket_number", "tool", "version", "fold", "agent", "admission", "boundary", "prices"),
        "label": Kind.LABEL,
        "argv": Kind.ARGV,
        "argv_b64": Kind.CODED,
        "cwd": Kind.PLACE,
        "cwd_b64": Kind.CODED,
        "upstream_overrides": Kind.HOSTS_OF,
        "host": Kind.HOSTS_OF,
        "proof": Kind.LINK,
        "redaction": Kind.LINK,
    },
    "policy.applied": {"name": _N, "digest": Kind.LINK, "document": Kind.POLICY, "source": Kind.PLACE},
    "policy.violation": {"rule": _K, "path": Kind.PATH, "detail": Kind.PROSE},
    "note": {
        "code": _N,
        "message": Kind.PROSE,
        "detail": Kind.DETAILS,
        "reported_by": _K,
        "event": _K,
    },
    "fs.snapshot": {
        **_kept("phase", "format"),
        "roots": Kind.ROOTS,
        "tree_sha256": _D,
        "manifest_sha256": _D,
        "store": Kind.PLACE,
    },
    "x-docket.omissions": {"phase": _K, "omissions": "omitted_path"},
    "fs.change": {"path": Kind.PATH, "change": _K, "before": "entry_state", "after": "entry_state"},
    "proc.spawn": {
        "argv": Kind.ARGV,
        "argv_b64": Kind.CODED,
        "cwd": Kind.PLACE,
        "cwd_b64": Kind.CODED,
        **_kept("env_set", "isolation"),
    },
    "proc.exit": _kept("signal", "terminated_by"),
    "model.request": {
        **_kept("provider", "wire", "model", "model_b64", "method", "altered", "held_usd"),
        "path": Kind.ENDPOINT,
        "fingerprint": _D,
        "request_sha256": _D,
        "forwarded_sha256": _D,
        "agent_id": _K,
    },
    "model.response": {
        **_kept("provider", "model", "model_b64", "requested_model", "outcome", "usage", "usage_source", "usage_parts"),
        **_kept("service_tier", "speed", "inference_geo", "components", "cost_usd", "cumulative_cost_usd"),
        **_kept("upstream_cost_usd", "response_note"),
        "usage_note": Kind.PROSE,
        "response_sha256": _D,
        "provider_request_id": Kind.ACCOUNT,
        "cache": "cache_mark",
        "response_path": Kind.LINK,
        "response_stored_sha256": Kind.LINK,
        "tool_use_ids": _N,
    },
    "model.error": {**_kept("provider", "model", "reason"), "error": Kind.PROSE, "response_sha256": _D},
    "model.denied": {
        **_kept("provider", "model", "reason", "cap"),
        "detail": Kind.PROSE,
        "path": Kind.ENDPOINT,
    },
    "x-docket.other": {**_kept("provider", "method"), "path": Kind.ENDPOINT},
    "x-docket.price": _kept("pattern", "input", "cached_input", "output", "source"),
    "model.cache_hit": _HIT,
    "x-docket.cache-hit": _HIT,
    "cap.warning": _CAP,
    "cap.exceeded": {**_CAP, "detail": Kind.PROSE},
    "x-docket.budget": _kept(
        "admission", "cap_usd", "spent_usd", "overshoot_usd", "bound_usd", "peak_held_usd", "scopes"
    ),
    "net.denied": {**_kept("reason", "kind"), "host": Kind.HOST},
    "net.allowed": {**_kept("kind", "method"), "host": Kind.HOST, "address": Kind.HOST},
    "x-docket.net-closed": _kept("outcome"),
    "tool.call": {"name": _N, "id": _N, "input_sha256": _D, "reported_by": _K, "window": "window_begun"},
    "tool.result": {
        "name": _N,
        "id": _N,
        "result_sha256": _D,
        "error": Kind.PROSE,
        "reported_by": _K,
        "window_id": Kind.LINK,
    },
    "x-docket.asserted-call": {"provider": _N, "model": _N, "reported_by": _K},
    "x-docket.pool": _kept("pool", "daily_usd", "weekly_usd", "total_usd"),
    "x-docket.pool-use": _kept("pool", "spent_usd", "unknown_usd", "overshoot_usd", "bound_usd"),
    "x-docket.evidence-gap": {"detail": Kind.PROSE},
    "session.end": _kept("exit_source", "duration_seconds", "breached", "cost_usd"),
    "x-docket.paced": _kept("provider", "model"),
    "x-docket.breaker": {**_kept("provider", "state"), "upstream": Kind.HOST},
    "x-docket.fault-plan": _kept("spec"),
    "x-docket.fault": _kept("kind", "detail"),
    "x-docket.snapshot-refused": {"reason": _K, "detail": Kind.PROSE},
    "x-docket.rollback-applied": {
        "trigger": _K,
        "plan_sha256": _D,
        "record": Kind.PLACE,
        "refusals": "omitted_path",
    },
    "x-docket.rollback-refused": {**_kept("trigger", "reason"), "detail": Kind.PROSE, "record": Kind.PLACE},
    "x-docket.workspace-opened": {
        **_kept("transaction", "backend", "view", "settle"),
        "manifest_sha256": _D,
        "store": Kind.PLACE,
    },
    "x-docket.workspace-refused": {"reason": _K, "detail": Kind.PROSE},
    "x-docket.workspace-intent": {
        **_kept("transaction", "decision", "reason", "approval"),
        "detail": Kind.PROSE,
        "result_sha256": _D,
        "diff_sha256": _D,
        "not_preserved": "omitted_path",
        "excluded_writes": "excluded_write",
    },
    "x-docket.workspace-settled": {
        **_kept("transaction", "outcome", "reason"),
        "detail": Kind.PROSE,
        "plan_sha256": _D,
        "refusals": "refused_change",
    },
    "x-docket.tool-delta": {
        "window_id": Kind.LINK,
        "id": _N,
        "name": _N,
        "delta_sha256": _D,
        **_kept("scope", "status", "reason"),
        "group_id": _D,
        "tree_before": _D,
        "tree_after": _D,
    },
    "x-docket.hook-lost": _kept("kind"),
    "x-docket.checkpoint": {"root": Kind.LINK},
}

RECORDS: Mapping[str, Mapping[str, Member]] = {
    "omitted_path": {"path": Kind.PATH, "reason": _K, "detail": Kind.PROSE},
    "refused_change": {"path": Kind.PATH, "reason": _K, "detail": Kind.PROSE, "transaction": _K},
    "excluded_write": {"path": Kind.PATH},
    "entry_state": {"kind": _K, "sha256": _D, "target": Kind.TARGET, "target_b64": Kind.CODED},
    "cache_mark": {"key": _D, "reason": _K},
    "window_begun": {
        "window_id": Kind.LINK,
        "repository": _D,
        "provider": _K,
        "session_id": _N,
        "turn_id": _N,
        "mode": _K,
        "group_id": _D,
        "tree": _D,
        "hashes": _K,
        "head": _D,
        "reason": _K,
    },
}

POLICY_PATHS = frozenset(
    {
        ("files", "watch"),
        ("files", "ignore"),
        ("files", "deny_write"),
        ("workspace", "exclude"),
        ("workspace", "share"),
        ("workspace", "protect"),
        ("proof", "sign"),
    }
)
POLICY_HOSTS = frozenset({("egress", "allow"), ("budget", "pass_endpoints"), ("models", "priced_as")})
POLICY_HOST_SECTIONS = frozenset({"upstreams"})
