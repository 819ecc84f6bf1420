"""A run as plain lines, one an event that somebody who looks on would want to know; no colour, no layout."""

from __future__ import annotations

from docket.formats.ledger.asserted_events import ToolCall, ToolResult
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelDenied, ModelError, ModelResponse
from docket.formats.ledger.network_events import NetAllowed, NetDenied
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import Note, PolicyViolation, ProcExit, SessionEnd, SessionStart
from docket.formats.ledger.spending_events import CapExceeded, CapWarning
from docket.formats.ledger.tree_events import FsChange
from docket.formats.ledger.window_events import HookLost, ToolDelta
from docket.surfaces.cli.console import plain
from docket.surfaces.render.figures import plural
from docket.surfaces.render.live import destination, latency_text, named_cap


def line(event: Event, payload: Payload | None) -> str | None:
    """Return the line of an event, None where it is no news to a person."""
    said = None if payload is None else _said(payload)
    return None if said is None else f"{plain(event.ts[11:19])}  {plain(said)}"


def _said(payload: Payload) -> str | None:
    match payload:
        case ModelResponse() | ModelError() | ModelDenied():
            return _call(payload)
        case ToolCall() | ToolResult() | ToolDelta():
            return _tool(payload)
        case HookLost():
            return f"no window came of {plural(payload.count, 'hook')} ({payload.kind})"
        case CapWarning():
            return f"cap {named_cap(payload)}: {payload.used_pct} % used, {payload.used} of {payload.limit}"
        case CapExceeded():
            return f"cap {named_cap(payload)}: {payload.detail}"
        case Note():
            return f"note: {payload.message}" + (" (the agent's word)" if payload.reported_by is not None else "")
        case NetAllowed():
            return f"let through  {payload.host}:{payload.port}"
        case NetDenied():
            return _turned_away(payload)
        case FsChange():
            return f"file {payload.change}: {payload.path}"
        case PolicyViolation():
            return f"against the policy ({payload.rule}): {payload.detail}"
        case _:
            return _course(payload)


def _course(payload: Payload) -> str | None:
    match payload:
        case SessionStart():
            return f"{payload.docket_number} begins: {' '.join(payload.argv)}"
        case ProcExit():
            return f"the agent has ended, exit {payload.exit_code}"
        case SessionEnd():
            cap = "" if payload.breached is None else f", stopped by the cap {payload.breached}"
            return f"ended after {payload.duration_seconds} s, exit {payload.exit_code}{cap}, spent ${payload.cost_usd}"
        case _:
            return None


def _call(payload: ModelResponse | ModelError | ModelDenied) -> str:
    match payload:
        case ModelResponse():
            usage = payload.usage
            whole = "" if payload.outcome == "complete" else f", {payload.outcome}"
            return (
                f"call {payload.call}  {payload.model}  {usage.input_tokens:,} in, {usage.output_tokens:,} out, "
                f"${payload.cost_usd}, {latency_text(payload.latency_ms)}{whole}; ${payload.cumulative_cost_usd} in all"
            )
        case ModelError():
            return f"call {payload.call}  {payload.model}  failed ({payload.reason}, status {payload.status})"
        case ModelDenied():
            return f"refused  {payload.model}  {payload.reason}: {payload.detail}"


def _turned_away(payload: NetDenied) -> str:
    if payload.host is None:
        return f"turned away  {plural(payload.count, 'request')} ({payload.reason})"
    return f"refused  {destination(payload)}" + (f", {payload.count} times" if payload.count > 1 else "")


def _tool(payload: ToolCall | ToolResult | ToolDelta) -> str:
    if isinstance(payload, ToolDelta):
        beside = f", together with {plural(payload.members - 1, 'other')}" if payload.members > 1 else ""
        what = f"changed {plural(payload.files, 'file')}" if payload.reason is None else f"unknown: {payload.reason}"
        return f"tool {payload.name} {what}{beside}"
    if isinstance(payload, ToolCall):
        return f"tool {payload.name}"
    return f"tool {payload.name} {'done' if payload.ok else 'failed'}{': ' + payload.error if payload.error else ''}"
