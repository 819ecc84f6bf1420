"""Golden ledgers in which every text that a person, an agent or an upstream chooses has a needle in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from docket.formats.canonical import JsonValue
from docket.formats.digest import digest_of
from docket.formats.ledger.event import Event
from docket.formats.relpath import RelPath
from docket.formats.windows.key import WindowKey
from docket.rules.redaction.table import EVENTS, RECORDS, Kind
from golden_ledgers import samples
from golden_ledgers.judging import bodies, chained

NEEDLE = "qxjzwombat"
_NAMES = frozenset(
    (Kind.MODEL, Kind.PROVIDER, Kind.TOOL, Kind.USE, Kind.SESSION, Kind.TURN, Kind.POOL, Kind.TITLE, Kind.VARIABLES)
)
_APPENDED = frozenset(
    (Kind.PROSE, Kind.LABEL, Kind.PLACE, Kind.TARGET, Kind.HOST, Kind.ENDPOINT, Kind.SOURCE, Kind.SERVICE, Kind.ACCOUNT)
)


def planted(name: str) -> list[Event]:
    """The golden ledger of that name with needles; it is as sound as it was."""
    original = samples.ALL[name]().events
    told = [(type_, ts, _record(EVENTS[type_], data)) for type_, ts, data in bodies(original)]
    windows = {
        data["window"]["window_id"]: _window(data) for _, _, data in told if isinstance(data.get("window"), dict)
    }
    for type_, _, data in told:
        if type_ == "policy.applied":
            data["digest"] = digest_of(data["document"])
        for holder in (data, data.get("window")):
            if isinstance(holder, dict) and "window_id" in holder:
                holder["window_id"] = windows.get(holder["window_id"], holder["window_id"])
    return chained(told, original)


def _record(table: Any, data: dict[str, Any]) -> dict[str, Any]:
    changed = dict(data)
    for name, value in data.items():
        kind = table.get("path" if name == "path_b64" else name)
        if isinstance(kind, str):
            records = [_record(RECORDS[kind], dict(item)) for item in (value if isinstance(value, list) else [value])]
            changed[name] = records if isinstance(value, list) else records[0]
        elif kind is Kind.PATH:
            del changed[name]
            raw = RelPath.from_members(data).raw
            changed |= RelPath.parse(NEEDLE.encode() + b"-" + raw).members()
        elif kind is not None:
            changed[name] = _planted(kind, value, data)
    return changed


def _planted(kind: Kind, value: Any, holder: dict[str, Any]) -> Any:
    if isinstance(value, list) and kind is not Kind.ARGV:
        return [_planted(kind, item, holder) for item in value if isinstance(item, str)]
    if kind in _NAMES:
        return f"{NEEDLE}-{value}"
    if kind in _APPENDED:
        return f"{value}/{NEEDLE}"
    match kind:
        case Kind.ARGV:
            return [*value, NEEDLE]
        case Kind.ROW:
            return re.sub(r"(\+as-|\+at-)", rf"\1{NEEDLE}-", f"{NEEDLE}-{value}")
        case Kind.PRICE:
            return re.sub(r"(\+as-|\+at-)", rf"\1{NEEDLE}-", f"{NEEDLE}-{value}") if value != "*" else value
        case Kind.AGENT:
            return f"sub:{NEEDLE}-{value}"
        case Kind.SCOPE:
            return f"sub:{NEEDLE}-{value}" if holder["scope"] == "agent" else f"{NEEDLE}-{value}"
        case Kind.REMARK:
            return f"{NEEDLE}-{value}" if "reported_by" in holder else value
        case Kind.METHOD:
            return f"{value}{NEEDLE.upper()}"
        case Kind.DETAILS:
            return {**value, "where": NEEDLE, NEEDLE: [NEEDLE]}
        case Kind.HOSTS_OF | Kind.TABLE:
            return {**value, "where": NEEDLE} | (
                {"as_of": NEEDLE, "imported": {"source": NEEDLE}} if kind is Kind.TABLE else {}
            )
        case Kind.OVERRIDES:
            return {**value, f"{NEEDLE}-own": f"https://{NEEDLE}.example/v1"}
        case Kind.ROOTS:
            return value if value == "." else f"{NEEDLE}/{value}"
        case Kind.POLICY:
            return _policy(value)
        case Kind.FAULTS:
            return f"{value},model=*{NEEDLE}*" if "@" in value else f"{value}@model=*{NEEDLE}*"
    return value


def _policy(document: dict[str, Any]) -> dict[str, JsonValue]:
    changed: dict[str, Any] = {
        **document,
        "name": f"{NEEDLE}-{document['name']}",
        "files": {"watch": [".", NEEDLE], "ignore": [f"*.{NEEDLE}"], "deny_write": [f"{NEEDLE}/*"]},
        "models": {"allow": [f"*{NEEDLE}*", "claude-*"], "deny": [], "priced_as": [f"{NEEDLE}=gpt-4.1"]},
        "egress": {**document["egress"], "allow": [f".{NEEDLE}.example"]},
        "upstreams": {f"{NEEDLE}-own": f"https://{NEEDLE}.example/v1"},
        "proof": {"sign": f"/home/{NEEDLE}/key", "seal": False},
        "later": {"unknown": NEEDLE, "many": [NEEDLE, "1.00"]},
    }
    budget, caps = dict(document["budget"]), dict(document["caps"])
    budget["pools"] = [f"{NEEDLE}-{pool}" for pool in budget.get("pools", ["spare"])]
    budget["pass_endpoints"] = [f"openai/{NEEDLE}"]
    caps["per_model"] = {f"{NEEDLE}-{key}": item for key, item in caps.get("per_model", {"odd": {}}).items()}
    caps["per_agent"] = {f"sub:{NEEDLE}-{key}": item for key, item in caps.get("per_agent", {"odd": {}}).items()}
    return changed | {"budget": budget, "caps": caps}


def _window(data: dict[str, Any]) -> str:
    window = data["window"]
    key = {name: window[name] for name in ("repository", "provider", "session_id", "turn_id", "mode")}
    return WindowKey(**key, tool_use_id=data["id"]).window_id


def lines(events: Sequence[Event]) -> bytes:
    """The file."""
    return b"".join(event.line + b"\n" for event in events)
