"""A run as somebody sees it who looks on: the facts of a frame, as words, figures and JSON. Pure; layout is `frame`'s.

Rules:
1. Every figure comes from the fold over the ledger; the clock adds nothing but how long a living run has lasted.
2. Amounts are exact; shares are rounded down, so that nothing looks reached that is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue, object_at
from docket.formats.dataclass import dataclass
from docket.formats.ledger.network_events import NetDenied
from docket.formats.ledger.resilience_events import BreakerState
from docket.formats.ledger.spending_events import CapExceeded, CapWarning
from docket.rules.receipt.live import DoneCall, LiveFold
from docket.surfaces.render.figures import plural

_SECONDS_OF_DAY = 24 * 60 * 60
_DURATION = re.compile(r"[0-9]{1,12}\.[0-9]{3}", re.ASCII)


class State(StrEnum):
    """What has become of a run."""

    RUNNING = "running"
    ENDED = "ended"
    KILLED = "killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One look at a run. `now` is an RFC 3339 instant; `others` are the numbers of other runs that live."""

    fold: LiveFold
    state: State
    now: str
    others: tuple[str, ...] = ()

    @property
    def number(self) -> str:
        """The docket number, or what stands for it while the record has no beginning yet."""
        start = self.fold.course.start
        return "(no event yet)" if start is None else start.docket_number

    @property
    def elapsed_ms(self) -> int:
        """How long the run has lasted."""
        end = self.fold.course.end
        if end is not None and _DURATION.fullmatch(end.duration_seconds):
            return int(end.duration_seconds.replace(".", ""))
        until = self.now if self.state is State.RUNNING else self.fold.last_at
        return max(0, milliseconds_between(self.fold.course.started_at, until))

    @property
    def ending(self) -> str:
        """In a few words what the run does or how it ended."""
        end = self.fold.course.end
        if end is not None:
            if end.breached is not None:
                return f"stopped by the cap {end.breached}, exit {end.exit_code}"
            return f"{'interrupted, ' if end.interrupted else ''}exit {end.exit_code}"
        if self.state is State.KILLED:
            return "killed: no end was recorded; run docket recover"
        exceeded = self.fold.exceeded
        if exceeded is not None:
            return f"the cap {exceeded.cap} is reached"
        return "the agent has ended" if self.fold.course.exit is not None else "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapRow:
    """One scale: what was used, of what, and how much of it in thousandths; `remark` stands behind it."""

    name: str
    cap: str
    used: str
    limit: str | None
    permille: int | None
    remark: str = ""


def cap_rows(frame: Frame) -> tuple[CapRow, ...]:
    """Return the scales of a run; dollars are left out where they are not counted."""
    fold = frame.fold
    caps, budget = _section(fold, "caps"), _section(fold, "budget")
    held = fold.held
    in_flight = f"{len(fold.open)} in flight" if fold.open else ""
    dollars = [] if budget.get("mode") == "quota" else [_dollars(fold.spent, caps.get("max_usd"), held)]
    return (
        *dollars,
        _counted("tokens", "max_tokens", fold.used_tokens, caps.get("max_tokens")),
        _counted("calls", "max_model_calls", fold.calls, caps.get("max_model_calls"), in_flight),
        _lasted(frame.elapsed_ms // 1000, caps.get("max_wall_seconds")),
    )


def _dollars(spent: Usd, limit: JsonValue, held: Usd) -> CapRow:
    most = Usd.parse(limit) if isinstance(limit, str) else None
    return CapRow(
        name="spend",
        cap="max_usd",
        used=f"${spent}",
        limit=None if most is None else f"${most}",
        permille=None if most is None else _permille(spent.micros, most.micros),
        remark=f"+${held} held" if held.micros else "",
    )


def _counted(name: str, cap: str, used: int, limit: JsonValue, remark: str = "") -> CapRow:
    most = limit if isinstance(limit, int) else None
    return CapRow(
        name=name,
        cap=cap,
        used=f"{used:,}",
        limit=None if most is None else f"{most:,}",
        permille=None if most is None else _permille(used, most),
        remark=remark,
    )


def _lasted(seconds: int, limit: JsonValue) -> CapRow:
    most = limit if isinstance(limit, int) else None
    return CapRow(
        name="time",
        cap="max_wall_seconds",
        used=clock_text(seconds),
        limit=None if most is None else clock_text(most),
        permille=None if most is None else _permille(seconds, most),
    )


def _permille(used: int, limit: int) -> int:
    return used * 1000 // limit if limit else 1000


def call_summary(fold: LiveFold) -> str:
    """Return how many calls have ended in which way."""
    failed, refused = fold.errors.total(), fold.denials.total()
    parts = [f"{fold.calls:,} settled"]
    parts += [f"{len(fold.open)} in flight"] * bool(fold.open)
    parts += [f"{failed:,} failed ({_by_count(fold.errors)})"] * bool(failed)
    parts += [f"{refused:,} refused ({_by_count(fold.denials)})"] * bool(refused)
    parts += [f"{fold.estimated_calls:,} estimated"] * bool(fold.estimated_calls)
    return ", ".join(parts)


def tool_summary(fold: LiveFold) -> str | None:
    """Return which tools were used how often, None where the record tells of none."""
    tools = fold.asserted.tools
    if not tools:
        return None
    failed = fold.asserted.failures
    return f"{tools.total():,} ({_by_count(tools)})" + (f", {failed:,} failed" if failed else "")


def asserted_summary(fold: LiveFold) -> str | None:
    """Return what the agent says it called past the boundary, None where it says nothing."""
    asserted = fold.asserted
    if not asserted.calls:
        return None
    tokens = asserted.tokens["input_tokens"] + asserted.tokens["output_tokens"]
    return f"{plural(asserted.calls, 'call')} of {plural(tokens, 'token')} on the agent's word, in no total"


def around_summary(fold: LiveFold) -> str | None:
    """Return what stands around the calls: cache, pacing, breakers, pools, a drill; None where nothing does."""
    parts = [f"{plural(fold.cache_hits, 'answer')} from the cache (${fold.avoided} avoided)"] * bool(fold.cache_hits)
    parts += [f"{plural(fold.paced, 'call')} had to wait"] * bool(fold.paced)
    open_ = [place for place, state in sorted(fold.breakers.items()) if state is not BreakerState.CLOSED]
    named = ", ".join(f"{provider} ({upstream})" for provider, upstream in open_)
    parts += [f"calls to {named} are held back: {'it fails' if len(open_) == 1 else 'they fail'}"] * bool(open_)
    parts += [f"in the pool{'s' * (len(fold.pools) > 1)} {', '.join(fold.pools)}"] * bool(fold.pools)
    parts += ["a drill: faults are injected"] * fold.is_drill
    return "; ".join(parts) or None


def network_summary(fold: LiveFold) -> str | None:
    """Return what the proxy let through and refused, with the last destination refused; None where there was none."""
    counts = fold.course.network()
    allowed, denied = int(str(counts["tunnels_allowed"])), int(str(counts["tunnels_denied"]))
    if not allowed and not denied:
        return None
    last = f", last {destination(fold.refused_hosts[-1])}" if fold.refused_hosts else ""
    return f"{plural(allowed, 'connection')} through the proxy, {denied:,} refused{last}"


def named_cap(payload: CapWarning | CapExceeded) -> str:
    """Return a cap's name, with the model pattern, the agent or the pool it is about."""
    return payload.cap if payload.scope is None else f"{payload.cap} of {payload.scope} {payload.scope_name}"


def cap_summary(payload: CapWarning | CapExceeded) -> str:
    """Return what is said of a cap."""
    if isinstance(payload, CapExceeded):
        return payload.detail
    return f"{named_cap(payload)} warned at {payload.used_pct} %: {payload.used} of {payload.limit}"


def destination(denied: NetDenied) -> str:
    """Return a refused destination with its reason."""
    port = "" if denied.port is None else f":{denied.port}"
    return f"{denied.host}{port} ({denied.reason})"


def file_summary(frame: Frame) -> str:
    """Return what is known of changed files: nothing before the second pass."""
    tree, has_gap = frame.fold.tree, bool(frame.fold.course.gaps)
    changed = tree.changes.total()
    if not changed:
        if tree.both_passes:
            differ = len({taken.tree_sha256 for taken in tree.passes.values()}) > 1
            return "some changed, which ones is not on the record" if differ and has_gap else "none changed"
        return "known after the run" if frame.state is State.RUNNING else "not known"
    kinds = ", ".join(f"{number} {kind}" for kind, number in tree.changes.items() if number)
    violations = tree.violations.total()
    least = "at least " * has_gap
    return f"{least}{changed:,} changed ({kinds})" + (f", {violations} against the policy" if violations else "")


def _by_count(counter: Mapping[str, int]) -> str:
    ranked = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    rest = len(ranked) - _NAMED
    return ", ".join(f"{name} {number}" for name, number in ranked[:_NAMED]) + (f", {rest} more" if rest > 0 else "")


_NAMED = 6


def milliseconds_between(begun: str, until: str) -> int:
    """Return the time between two RFC 3339 instants, 0 where one is none: a record may hold any text there."""
    try:
        delta = datetime.fromisoformat(until) - datetime.fromisoformat(begun)
    except (ValueError, TypeError):  # TypeError: one of them names no zone
        return 0
    return (delta.days * _SECONDS_OF_DAY + delta.seconds) * 1000 + delta.microseconds // 1000


def clock_text(seconds: int) -> str:
    """Return `1:05`, or `2:01:05` from an hour on."""
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def latency_text(latency_ms: int | None) -> str:
    """Return `340 ms` or `12.3 s`."""
    if latency_ms is None:
        return ""
    return f"{latency_ms} ms" if latency_ms < 1000 else f"{latency_ms // 1000}.{latency_ms % 1000 // 100} s"


def document(frame: Frame) -> dict[str, JsonValue]:
    """Return a frame as JSON."""
    fold, end = frame.fold, frame.fold.course.end
    return {
        **_began(fold),
        "state": str(frame.state),
        "started_at": fold.course.started_at or None,
        "last_at": fold.last_at or None,
        "elapsed_ms": frame.elapsed_ms,
        "events": fold.events,
        "cost_usd": str(fold.spent),
        "held_usd": str(fold.held),
        "tokens": {name: fold.tokens[name] for name in ("input_tokens", "cached_input_tokens", "output_tokens")},
        "calls": _calls(fold),
        "avoided_cost_usd": str(fold.avoided),
        "breakers": [
            {"provider": provider, "upstream": upstream, "state": str(state)}
            for (provider, upstream), state in sorted(fold.breakers.items())
        ],
        "pools": list(fold.pools),
        "caps": {row.cap: {"used": row.used, "limit": row.limit, "permille": row.permille} for row in cap_rows(frame)},
        "last_calls": [_call(call) for call in fold.recent],
        "tools": {**fold.asserted.tools_member(), "by_name": dict(sorted(fold.asserted.tools.items()))},
        "asserted": fold.asserted.member(),
        "files": fold.tree.files() if fold.tree.both_passes else None,
        **fold.course.network(),
        "last_refused_hosts": [
            {"host": one.host, "port": one.port, "reason": one.reason} for one in fold.refused_hosts
        ],
        "breached": None if fold.exceeded is None else fold.exceeded.cap,
        "exit_code": None if end is None else end.exit_code,
        "interrupted": None if end is None else end.interrupted,
        "other_live_runs": list(frame.others),
    }


def _began(fold: LiveFold) -> dict[str, JsonValue]:
    start = fold.course.start
    return {
        "docket_number": None if start is None else start.docket_number,
        "session_id": None if start is None else start.session_id,
        "agent": None if start is None else start.agent,
        "argv": None if start is None else list(start.argv),
    }


def _calls(fold: LiveFold) -> dict[str, JsonValue]:
    return {
        "settled": fold.calls,
        "in_flight": len(fold.open),
        "failed": dict(sorted(fold.errors.items())),
        "denied": dict(sorted(fold.denials.items())),
        "estimated": fold.estimated_calls,
        "cache_hits": fold.cache_hits,
        "paced": fold.paced,
    }


def _call(call: DoneCall) -> dict[str, JsonValue]:
    return {
        "call": call.call,
        "at": call.at,
        "provider": call.provider,
        "model": call.model,
        "outcome": call.outcome,
        "billed": call.billed,
        "input_tokens": call.input_tokens,
        "cached_input_tokens": call.cached_input_tokens,
        "output_tokens": call.output_tokens,
        "cost_usd": str(call.cost_usd),
        "latency_ms": call.latency_ms,
        "usage_source": None if not call.billed else "estimated" if call.estimated else "reported",
        "detail": call.detail or None,
    }


def _section(fold: LiveFold, name: str) -> JsonObject:
    return object_at(fold.course.policy_document, name)
