"""What each text of each event is, so that a copy knows what to hide (spec/ledger.md, Redacted copies).

Rules: every member of every payload that holds a text, an array or an object stands here, and every key of a policy
that does; tests hold the tables against vocabulary and policy, so that a new one is decided on before a copy can
carry it. Numbers, flags and amounts hide nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import TypeAlias


class Kind(Enum):
    """What a member holds."""

    WORD = auto()  # a word of a closed list of docket's: nobody else chooses it
    OWN = auto()  # what docket made by chance or by count, or says of itself
    FIGURE = auto()  # a number or an amount in writing, and objects of nothing else
    MODEL = auto()
    ROW = auto()  # the name of a priced row: a model and its labels
    PROVIDER = auto()
    AGENT = auto()
    TOOL = auto()
    USE = auto()  # of a tool, as agent and provider call it
    SESSION = auto()  # of the agent's own
    TURN = auto()
    POOL = auto()
    SCOPE = auto()  # what a limit is about, as the member `scope` beside it says
    REMARK = auto()  # the code of a remark: docket's own, or an agent's
    TITLE = auto()  # a free name of a person's
    PRICE = auto()  # the pattern of a family of prices
    SOURCE = auto()  # where a price comes from: the public table, or somebody's own
    TABLE = auto()  # which table the prices are of
    SERVICE = auto()  # a word of a provider's about how it served a call
    METHOD = auto()  # of HTTP
    VARIABLES = auto()  # names of variables of an environment
    FAULTS = auto()  # the rules of a drill
    PROSE = auto()  # a sentence, which may name anything
    LABEL = auto()  # the person's own words about the run
    ARGV = auto()  # a command line
    PLACE = auto()  # a path of this machine
    ROOTS = auto()  # watched folders
    TARGET = auto()  # of a link
    HOST = auto()  # a host, an address, a URL
    HOSTS_OF = auto()  # an object whose values are of this machine
    OVERRIDES = auto()  # an object of URLs by the names of providers
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

_W, _O, _F, _D = Kind.WORD, Kind.OWN, Kind.FIGURE, Kind.DIGEST
_MODEL, _PROVIDER = Kind.MODEL, Kind.PROVIDER


def _are(kind: Kind, *names: str) -> dict[str, Member]:
    return dict.fromkeys(names, kind)


_HIT: dict[str, Member] = {
    **_are(_F, "usage", "avoided_cost_usd"),
    "usage_source": _W,
    "provider": _PROVIDER,
    "model": Kind.ROW,
    "method": Kind.METHOD,
    "key": _D,
    "origin": Kind.LINK,
    "path": Kind.ENDPOINT,
    "request_sha256": _D,
    "fingerprint": _D,
    "response_sha256": _D,
}
_CAP: dict[str, Member] = {
    **_are(_W, "cap", "scope", "action"),
    **_are(_F, "threshold", "used_pct", "used", "limit", "cost_usd"),
    "scope_name": Kind.SCOPE,
}

EVENTS: Mapping[str, Mapping[str, Member]] = {
    "session.start": {
        **_are(_O, "session_id", "docket_number", "tool", "version", "fold", "boundary"),
        **_are(_W, "agent", "admission"),
        "label": Kind.LABEL,
        "argv": Kind.ARGV,
        "argv_b64": Kind.CODED,
        "cwd": Kind.PLACE,
        "cwd_b64": Kind.CODED,
        "upstream_overrides": Kind.OVERRIDES,
        "host": Kind.HOSTS_OF,
        "prices": Kind.TABLE,
        "proof": Kind.LINK,
        "redaction": Kind.LINK,
    },
    "policy.applied": {"name": Kind.TITLE, "digest": Kind.LINK, "document": Kind.POLICY, "source": Kind.PLACE},
    "policy.violation": {"rule": _W, "path": Kind.PATH, "detail": Kind.PROSE},
    "note": {
        "code": Kind.REMARK,
        "message": Kind.PROSE,
        "detail": Kind.DETAILS,
        "reported_by": _W,
        "event": _W,
    },
    "fs.snapshot": {
        **_are(_W, "phase", "format"),
        "roots": Kind.ROOTS,
        "tree_sha256": _D,
        "manifest_sha256": _D,
        "store": Kind.PLACE,
    },
    "x-docket.omissions": {"phase": _W, "omissions": "omitted_path"},
    "fs.change": {"path": Kind.PATH, "change": _W, "before": "entry_state", "after": "entry_state"},
    "proc.spawn": {
        "argv": Kind.ARGV,
        "argv_b64": Kind.CODED,
        "cwd": Kind.PLACE,
        "cwd_b64": Kind.CODED,
        "env_set": Kind.VARIABLES,
        "isolation": _W,
    },
    "proc.exit": _are(_W, "signal", "terminated_by"),
    "model.request": {
        **_are(_W, "wire", "altered"),
        "held_usd": _F,
        "provider": _PROVIDER,
        "model": _MODEL,
        "model_b64": Kind.CODED,
        "method": Kind.METHOD,
        "path": Kind.ENDPOINT,
        "fingerprint": _D,
        "request_sha256": _D,
        "forwarded_sha256": _D,
        "agent_id": Kind.AGENT,
    },
    "model.response": {
        **_are(_W, "outcome", "usage_source"),
        **_are(_F, "usage", "cost_usd", "cumulative_cost_usd", "upstream_cost_usd"),
        **_are(Kind.SERVICE, "service_tier", "speed", "inference_geo"),
        **_are(Kind.PROSE, "usage_note", "response_note"),
        "provider": _PROVIDER,
        "model": _MODEL,
        "model_b64": Kind.CODED,
        "requested_model": _MODEL,
        "usage_parts": "usage_part",
        "components": "component",
        "response_sha256": _D,
        "provider_request_id": Kind.ACCOUNT,
        "cache": "cache_mark",
        "response_path": Kind.LINK,
        "response_stored_sha256": Kind.LINK,
        "tool_use_ids": Kind.USE,
    },
    "model.error": {
        "provider": _PROVIDER,
        "model": _MODEL,
        "reason": _W,
        "error": Kind.PROSE,
        "response_sha256": _D,
    },
    "model.denied": {
        **_are(_W, "reason", "cap"),
        "provider": _PROVIDER,
        "model": _MODEL,
        "detail": Kind.PROSE,
        "path": Kind.ENDPOINT,
    },
    "x-docket.other": {"provider": _PROVIDER, "method": Kind.METHOD, "path": Kind.ENDPOINT},
    "x-docket.price": {
        **_are(_F, "input", "cached_input", "output"),
        "pattern": Kind.PRICE,
        "source": Kind.SOURCE,
    },
    "model.cache_hit": _HIT,
    "x-docket.cache-hit": _HIT,
    "cap.warning": _CAP,
    "cap.exceeded": {**_CAP, "detail": Kind.PROSE},
    "x-docket.budget": {
        "admission": _W,
        **_are(_F, "cap_usd", "spent_usd", "overshoot_usd", "bound_usd", "peak_held_usd"),
        "scopes": "scope_use",
    },
    "net.denied": {**_are(_W, "reason", "kind"), "host": Kind.HOST},
    "net.allowed": {"kind": _W, "method": Kind.METHOD, "host": Kind.HOST, "address": Kind.HOST},
    "x-docket.net-closed": _are(_W, "outcome"),
    "tool.call": {
        "name": Kind.TOOL,
        "id": Kind.USE,
        "input_sha256": _D,
        "reported_by": _W,
        "window": "window_begun",
    },
    "tool.result": {
        "name": Kind.TOOL,
        "id": Kind.USE,
        "result_sha256": _D,
        "error": Kind.PROSE,
        "reported_by": _W,
        "window_id": Kind.LINK,
    },
    "x-docket.asserted-call": {"provider": _PROVIDER, "model": _MODEL, "reported_by": _W},
    "x-docket.pool": {"pool": Kind.POOL, **_are(_F, "daily_usd", "weekly_usd", "total_usd")},
    "x-docket.pool-use": {
        "pool": Kind.POOL,
        **_are(_F, "spent_usd", "unknown_usd", "overshoot_usd", "bound_usd"),
    },
    "x-docket.evidence-gap": {"detail": Kind.PROSE},
    "session.end": {**_are(_W, "exit_source", "breached"), **_are(_F, "duration_seconds", "cost_usd")},
    "x-docket.paced": {"provider": _PROVIDER, "model": _MODEL},
    "x-docket.breaker": {"provider": _PROVIDER, "state": _W, "upstream": Kind.HOST},
    "x-docket.fault-plan": {"spec": Kind.FAULTS},
    "x-docket.fault": _are(_W, "kind", "detail"),
    "x-docket.snapshot-refused": {"reason": _W, "detail": Kind.PROSE},
    "x-docket.rollback-applied": {
        "trigger": _W,
        "plan_sha256": _D,
        "record": Kind.PLACE,
        "refusals": "omitted_path",
    },
    "x-docket.rollback-refused": {**_are(_W, "trigger", "reason"), "detail": Kind.PROSE, "record": Kind.PLACE},
    "x-docket.workspace-opened": {
        **_are(_W, "backend", "view", "settle"),
        "transaction": _O,
        "manifest_sha256": _D,
        "store": Kind.PLACE,
    },
    "x-docket.workspace-refused": {"reason": _W, "detail": Kind.PROSE},
    "x-docket.workspace-intent": {
        **_are(_W, "decision", "reason", "approval"),
        "transaction": _O,
        "detail": Kind.PROSE,
        "result_sha256": _D,
        "diff_sha256": _D,
        "not_preserved": "omitted_path",
        "excluded_writes": "excluded_write",
    },
    "x-docket.workspace-settled": {
        **_are(_W, "outcome", "reason"),
        "transaction": _O,
        "detail": Kind.PROSE,
        "plan_sha256": _D,
        "refusals": "refused_change",
    },
    "x-docket.tool-delta": {
        "window_id": Kind.LINK,
        "id": Kind.USE,
        "name": Kind.TOOL,
        "delta_sha256": _D,
        **_are(_W, "scope", "status", "reason"),
        "group_id": _D,
        "tree_before": _D,
        "tree_after": _D,
    },
    "x-docket.hook-lost": _are(_W, "kind"),
    "x-docket.checkpoint": {"root": Kind.LINK},
}

RECORDS: Mapping[str, Mapping[str, Member]] = {
    "omitted_path": {"path": Kind.PATH, "reason": _W, "detail": Kind.PROSE},
    "refused_change": {"path": Kind.PATH, "reason": _W, "detail": Kind.PROSE, "transaction": _O},
    "excluded_write": {"path": Kind.PATH},
    "entry_state": {"kind": _W, "sha256": _D, "target": Kind.TARGET, "target_b64": Kind.CODED},
    "cache_mark": {"key": _D, "reason": _W},
    "component": {"model": Kind.ROW, "cost_usd": _F},
    "usage_part": {"model": _MODEL, "usage": _F},
    "scope_use": {"scope": _W, "name": Kind.SCOPE, **_are(_F, "spent_usd", "bound_usd", "cap_usd")},
    "window_begun": {
        "window_id": Kind.LINK,
        "repository": _D,
        "provider": _W,
        "session_id": Kind.SESSION,
        "turn_id": Kind.TURN,
        "mode": _W,
        "group_id": _D,
        "tree": _D,
        "hashes": _W,
        "head": _D,
        "reason": _W,
    },
}


class PolicyKind(Enum):
    """What a key of a policy holds that is no number, no amount and no word of a closed list."""

    WORD = auto()  # of a closed list, or a number in writing
    ROOTS = auto()
    PATHS = auto()
    HOSTS = auto()
    MODELS = auto()  # patterns of models that nothing is reckoned by
    PRICED_AS = auto()  # names of an account's own
    POOLS = auto()
    MODEL_BUDGETS = auto()  # limits by patterns
    AGENT_BUDGETS = auto()


POLICY: Mapping[str, PolicyKind] = {
    "budget.mode": PolicyKind.WORD,
    "budget.admission": PolicyKind.WORD,
    "budget.unknown_models": PolicyKind.WORD,
    "budget.unknown_endpoints": PolicyKind.WORD,
    "budget.pass_endpoints": PolicyKind.HOSTS,
    "budget.pools": PolicyKind.POOLS,
    "caps.on_breach": PolicyKind.WORD,
    "caps.on_sub_breach": PolicyKind.WORD,
    "caps.per_model": PolicyKind.MODEL_BUDGETS,
    "caps.per_agent": PolicyKind.AGENT_BUDGETS,
    "models.allow": PolicyKind.MODELS,
    "models.deny": PolicyKind.MODELS,
    "models.priced_as": PolicyKind.PRICED_AS,
    "egress.mode": PolicyKind.WORD,
    "egress.allow": PolicyKind.HOSTS,
    "files.watch": PolicyKind.ROOTS,
    "files.ignore": PolicyKind.PATHS,
    "files.deny_write": PolicyKind.PATHS,
    "workspace.backend": PolicyKind.WORD,
    "workspace.settle": PolicyKind.WORD,
    "workspace.exclude": PolicyKind.PATHS,
    "workspace.share": PolicyKind.PATHS,
    "workspace.protect": PolicyKind.PATHS,
    "proof.sign": PolicyKind.PATHS,
}
