"""A blame in words: a line a line, then who they were, then how many of each; and the same as JSON.

Nothing here escapes control characters: whoever prints does (`cli.console`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from docket.engines.windows.blame import FileBlame, ModelCall
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.visible import text_members, visible
from docket.formats.windows.key import WindowKey
from docket.rules.windows.origin import WHY, Caller, LineOrigin, Origin

SCHEMA = "docket/blame/v1"
ID_SHOWN = 8
WHO_COLUMNS, COST_COLUMNS, TAB_COLUMNS = 16, 9, 4
NO_COST = "-"
_COUNTED = {
    Origin.TOOL: "of one tool call",
    Origin.GROUP: "of tool calls at once",
    Origin.OUTSIDE: "outside of every tool call",
    Origin.UNKNOWN: "unknown",
}
Calls = Callable[[WindowKey], ModelCall | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A blame with the lines of it that are asked for, counted from 1, and what joins tool uses to model calls."""

    blame: FileBlame
    first: int
    last: int
    calls: Calls

    def each(self) -> Iterator[tuple[int, bytes, LineOrigin]]:
        """Yield number, line and origin."""
        for number in range(self.first, self.last + 1):
            yield number, self.blame.lines[number - 1], self.blame.origins[number - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line: what it is of (`mark`), who that was, what the model call cost, its number and its text."""

    origin: Origin
    mark: str
    who: str
    cost: str
    number: int
    text: str


def rows(shown: Shown) -> Iterator[Row]:
    """Yield a row a line."""
    for number, line, origin in shown.each():
        text = visible(line.removesuffix(b"\r")).expandtabs(TAB_COLUMNS)
        yield Row(origin=origin.origin, mark=mark_of(origin), who=_who(origin), cost=_cost(origin, shown.calls),
                  number=number, text=text)  # fmt: skip


def mark_of(origin: LineOrigin) -> str:
    """Return what tells a claim from the others in a column: a window, a group, or the class."""
    if origin.origin is Origin.TOOL:
        return origin.callers[0].key.window_id[:ID_SHOWN]
    if origin.origin is Origin.GROUP:
        return f"+{(origin.delta_sha256 or '')[: ID_SHOWN - 1]}"
    return origin.origin.value


def legend(shown: Shown) -> Iterator[str]:
    """Yield what the marks mean, and the counts."""
    told: dict[tuple[str, ...], None] = {}
    for _, _, origin in shown.each():
        told.setdefault(tuple(_told(origin, shown.calls)), None)
    for lines in told:
        yield from lines
    if any(_cost(origin, shown.calls) != NO_COST for _, _, origin in shown.each()):
        yield "costs are derived: of the model call that asked for a tool, that tool's share"
    counts = {kind: sum(origin.origin is kind for _, _, origin in shown.each()) for kind in Origin}
    total = sum(counts.values())
    parts = [f"{count:,} {_COUNTED[kind]}" for kind, count in counts.items() if count]
    yield f"{total:,} line{'' if total == 1 else 's'}{': ' if parts else ''}{', '.join(parts)}"


def as_members(shown: Shown) -> dict[str, JsonValue]:
    """Return the blame as JSON: tool uses once, lines naming them by their place in that list."""
    blame = shown.blame
    callers = tuple(dict.fromkeys(caller for _, _, origin in shown.each() for caller in origin.callers))
    counts = {kind.value: sum(origin.origin is kind for _, _, origin in shown.each()) for kind in Origin}
    return {
        "schema": SCHEMA,
        **text_members("path", blame.path.raw),
        "content": blame.name,
        "tool_uses": [_caller(caller, shown.calls) for caller in callers],
        "lines": [_line(number, line, origin, callers) for number, line, origin in shown.each()],
        "counts": dict(counts),
    }


def _who(origin: LineOrigin) -> str:
    if origin.origin is Origin.TOOL:
        caller = origin.callers[0]
        return f"{caller.key.provider} {caller.tool_name}"
    if origin.origin is Origin.GROUP:
        return f"{len(origin.callers)} at once"
    if origin.origin is Origin.OUTSIDE:
        return "until now" if origin.until is None else f"by {_day(origin.until)}"
    return "" if origin.reason is None else origin.reason.value


def _cost(origin: LineOrigin, calls: Calls) -> str:
    call = calls(origin.callers[0].key) if origin.origin is Origin.TOOL else None
    return NO_COST if call is None or call.cost_usd is None else f"${call.cost_usd}"


def _told(origin: LineOrigin, calls: Calls) -> Iterator[str]:
    mark = f"{mark_of(origin):<{ID_SHOWN}}  "
    beyond = " " * len(mark)
    back = " (it held these lines before, and does again)" if origin.came_back else ""
    match origin.origin:
        case Origin.TOOL:
            yield f"{mark}{_name(origin.callers[0], calls)}"
            yield f"{beyond}{_span(origin)}{back}"
        case Origin.GROUP:
            yield f"{mark}one of these at once, {_span(origin)}{back}"
            for caller in origin.callers:
                yield f"{beyond}{caller.key.window_id[:ID_SHOWN]}  {_name(caller, calls)}"
        case Origin.OUTSIDE:
            yield f"{mark}by no recorded tool call, {_between(origin)}{back}"
        case Origin.UNKNOWN:
            why = "" if origin.reason is None else f"{origin.reason.value}: {WHY[origin.reason]}"
            yield f"{mark}{why}{back}"
            for caller in origin.callers:
                yield f"{beyond}{caller.key.window_id[:ID_SHOWN]}  {_name(caller, calls)}"


def _name(caller: Caller, calls: Calls) -> str:
    key, call = caller.key, calls(caller.key)
    model = "" if call is None or call.model is None else f", {call.model}"
    parts = [f"{key.provider} {caller.tool_name or 'tool'} {key.tool_use_id}{model}"]
    parts += [f"turn {key.turn_id}"] if key.turn_id else []
    parts += [f"session {key.session_id}"] if key.session_id else []
    if not caller.recorded:
        parts.append("no whole record")
    return ", ".join(parts)


def _span(origin: LineOrigin) -> str:
    return f"{_second(origin.since)} to {_later(origin)}"


def _between(origin: LineOrigin) -> str:
    return f"between {_second(origin.since)} and {'now' if origin.until is None else _later(origin)}"


def _later(origin: LineOrigin) -> str:
    """Return the end of a span, without the day where that is the beginning's."""
    since, until = _second(origin.since), _second(origin.until)
    return until[11:] if since[:10] == until[:10] else until


def _second(instant: str | None) -> str:
    return "?" if instant is None else instant[:19].replace("T", " ")


def _day(instant: str) -> str:
    return instant[5:16].replace("T", " ")


def _caller(caller: Caller, calls: Calls) -> dict[str, JsonValue]:
    key, call = caller.key, calls(caller.key)
    return {
        "window_id": key.window_id,
        "provider": key.provider,
        "session_id": key.session_id,
        "turn_id": key.turn_id,
        "tool_use_id": key.tool_use_id,
        "tool_name": caller.tool_name,
        "recorded": caller.recorded,
        "model": None if call is None else call.model,
        "cost": None if call is None or call.cost_usd is None else {"usd": call.cost_usd, "derived": True},
    }


def _line(number: int, line: bytes, origin: LineOrigin, callers: Sequence[Caller]) -> dict[str, JsonValue]:
    members: dict[str, JsonValue] = {
        "line": number,
        **text_members("text", line),
        "origin": origin.origin.value,
        "tool_uses": [callers.index(caller) for caller in origin.callers],
        "delta_sha256": origin.delta_sha256,
        "since": origin.since,
        "until": origin.until,
        "reason": None if origin.reason is None else origin.reason.value,
        "came_back": origin.came_back,
        "came_at": {**text_members("path", origin.path.raw), "line": origin.line},
    }
    return {name: member for name, member in members.items() if member is not None}
