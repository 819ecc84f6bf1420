"""The page's sections on what a run was, cost and did, from its receipt and its events.

Each function returns the contents of one section, empty where there is nothing to tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from docket.formats import lenient
from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject
from docket.formats.digest import is_digest
from docket.rules.analysis.told import BILLED, Call, Recorded
from docket.surfaces.render import figures, operations, workspace
from docket.surfaces.render.figures import plural
from docket.surfaces.render.page.html import Html, element, joined
from docket.surfaces.render.page.tables import Table, alike, facts, instant, table

_CALL_HEADINGS = ("Call", "At", "Provider", "Model", "Input", "Cached", "Output", "Cost", "Latency", "What came of it")
_GROUPS = {
    "enforced_before_send": "Enforced before anything is sent",
    "recorded_not_enforced": "Recorded, not enforced",
    "not_observed": "Not observed",
    "failure_behaviour": "When something fails",
    "trust_assumptions": "What has to be trusted",
}
_SECOND_MS, _MINUTE_MS = 1000, 60_000
_SECONDS = re.compile(r"([0-9]{1,12})(?:\.([0-9]+))?")


def ending(document: JsonObject) -> tuple[str, str]:
    """Return how the run ended, in words and as a class: ok, breached, bad or unknown."""
    code = lenient.part(document, "session", "exit_code")
    words = figures.ending(document)
    if lenient.part(document, "session", "breached"):
        return words, "breached"
    if code is None:
        return words, "unknown"
    return words, "ok" if code == 0 and not lenient.part(document, "session", "interrupted") else "bad"


def tiles(document: JsonObject) -> Html:
    """Return the figures that a person looks for first."""
    cap = lenient.part(document, "policy", "document", "caps", "max_usd")
    total = lenient.count_at(document, "totals", "total_tokens")
    cached = lenient.count_at(document, "totals", "cached_input_tokens")
    calls = figures.calls(document).split(", ")
    refused = lenient.count_at(document, "model_calls", "denied")
    violations = lenient.count_at(document, "files", "violations")
    return element(
        "ul",
        _tile("Cost", f"${figures.text(document, 'totals', 'cost_usd', default='0.00')}",
              f"of ${cap}" if cap is not None else "no cap in dollars"),
        _tile("Model calls", calls[0].split(" ")[0], ", ".join(calls[1:]) or "none refused", "warn" if refused else ""),
        _tile("Tokens", f"{total:,}", f"{cached:,} from cache" if cached else "none from cache"),
        _tile("Changed paths", f"{lenient.count_at(document, 'files', 'changed'):,}",
              plural(violations, "policy violation") if violations else "no policy violation",
              "warn" if violations else ""),
        _tile("Time", _duration(document),
              f"exit code {figures.text(document, 'session', 'exit_code', default='none')}"),
        class_="tiles",
    )  # fmt: skip


def _tile(name: str, value: str, below: str, mark: str = "") -> Html:
    return element(
        "li",
        element("span", name, class_="tile-name"),
        element("strong", value),
        element("span", below, class_=f"tile-note {mark}".strip()),
    )


def _duration(document: JsonObject) -> str:
    lasted = lasted_ms(document)
    if lasted is None:
        return "not known"
    minutes, rest = divmod(lasted, _MINUTE_MS)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    seconds, part = divmod(rest, _SECOND_MS)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds}.{part // 100} s"


def lasted_ms(document: JsonObject) -> int | None:
    """Return how long the run lasted in milliseconds, None where the record has no end or no such figure."""
    told = _SECONDS.fullmatch(figures.text(document, "session", "duration_seconds", default=""))
    return None if told is None else int(told[1]) * _SECOND_MS + int((told[2] or "").ljust(3, "0")[:3])


def overview(document: JsonObject) -> Html:
    """Return what ran, where, when, by which policy, and what stood beside the calls."""
    session = ("session",)
    was_called = lenient.count_at(document, "model_calls", "count") > 0
    counted = [("Counted by", figures.text(document, "totals", "cost_basis"))] * was_called
    pairs: list[tuple[str, str | Html]] = [
        ("Folder", element("code", figures.text(document, *session, "cwd"), dir="ltr")),
        ("Agent", figures.text(document, *session, "agent")),
        ("Started", _instant(figures.text(document, *session, "started_at"))),
        ("Ended", _instant(figures.text(document, "created_at"))),
        ("Policy", _policy(document)),
        ("Caps", _caps(document)),
        ("Spend", figures.spend(document)),
        *counted,
        ("Recorded by", f"docket {figures.text(document, 'tool', 'version')}"),
    ]
    label = lenient.part(document, "label")
    if isinstance(label, str):
        pairs.insert(0, ("Label", label))
    hidden = lenient.texts_at(document, "redaction", "profiles")
    if hidden:
        replaced = figures.plural(lenient.count_at(document, "redaction", "replaced"), "value")
        pairs.insert(0, ("Copy", f"it hides {', '.join(hidden)}: {replaced} replaced, no contents shown"))
    assumed = lenient.texts_at(document, "totals", "assumed_price_models")
    if assumed:
        pairs.append(("Assumed", f"no known price for {', '.join(assumed)}: the dearest was assumed"))
    proxied, gap = figures.proxied(document), figures.gap(document)
    pairs += [("Network", proxied)] * bool(proxied) + [("Gap", gap)] * bool(gap)
    pairs += [pair for pair in operations.lines(document) if pair[0] not in ("Tools", "Stage")]
    return facts(pairs)


def _policy(document: JsonObject) -> str:
    source = lenient.part(document, "policy", "source")
    return figures.text(document, "policy", "name") + (f", from {source}" if isinstance(source, str) else "")


_CAP_WORDS = {
    "max_usd": "${}",
    "max_tokens": "{} tokens",
    "max_model_calls": "{} calls",
    "max_wall_seconds": "{} seconds",
    "max_repeats": "{} repeats of a request",
}


def _caps(document: JsonObject) -> str:
    caps = lenient.part(document, "policy", "document", "caps")
    found = caps.items() if isinstance(caps, Mapping) else ()
    said = [
        _CAP_WORDS.get(name, f"{name} {{}}").format(f"{value:,}" if isinstance(value, int) else value)
        for name, value in found
        if name.startswith("max_") and isinstance(value, int | str)
    ]
    return ", ".join(said) or "none"


def _instant(text: str) -> Html:
    return element("time", instant(text), datetime=text)


def by_model(document: JsonObject) -> Html:
    """Return the table of cost by model."""
    rows = lenient.rows_at(document, "totals", "by_model")
    if not rows:
        return Html("")
    return table(
        Table(
            name="models-table",
            caption="Cost by model",
            is_plain=True,
            headings=figures.MODEL_HEADINGS,
            rows=alike([figures.model_cells(row) for row in rows], 5),
            numbers=frozenset((1, 2, 3, 4, 5)),
        )
    )


def calls(told: Recorded) -> Html:
    """Return the table of all calls, the refused ones too."""
    if not told.calls:
        return element("p", "There was no model call.", class_="muted")
    by_rows = "" if told.has_events else " Refused and failed ones are in the ledger, which is not at hand."
    return joined(
        [
            element("p", by_rows.strip(), class_="muted") if by_rows else "",
            table(
                Table(
                    name="calls-table",
                    caption="Model calls in the order in which they ended",
                    headings=_CALL_HEADINGS,
                    rows=alike([_call_row(call) for call in told.calls], 7),
                    numbers=frozenset((0, 1, 4, 5, 6, 7, 8)),
                    marks=[_mark(call) for call in told.calls],
                    left_out=told.left_out["calls"],
                )
            ),
        ]
    )


def _mark(call: Call) -> str:
    return "" if call.kind == BILLED else "call-" + call.kind.split(" ", maxsplit=1)[0]


def _call_row(call: Call) -> tuple[str, ...]:
    billed = call.kind == BILLED
    counted = billed or any(call.tokens)
    tokens = tuple(f"{number:,}" if counted else "" for number in call.tokens)
    came = call.note if billed else f"{call.kind}: {call.note}" if call.note else call.kind
    return (
        "" if call.number is None else f"{call.number:,}",
        "" if call.elapsed_ms is None else clock(call.elapsed_ms),
        call.provider,
        call.model,
        *tokens,
        f"${Usd(call.micros)}" if billed else "",
        "" if call.latency_ms is None else f"{call.latency_ms:,} ms",
        came or "complete",
    )


def clock(elapsed_ms: int) -> str:
    """Return an instant of the run as minutes and seconds to the millisecond, hours where there are some."""
    minutes, rest = divmod(elapsed_ms, _MINUTE_MS)
    hours, minutes = divmod(minutes, 60)
    seconds, part = divmod(rest, _SECOND_MS)
    head = f"{hours}:{minutes:02}" if hours else f"{minutes}"
    return f"{head}:{seconds:02}.{part:03}"


def tools(document: JsonObject, told: Recorded) -> Html:
    """Return the tools that the agent said it used."""
    if not lenient.count_at(document, "tools", "calls"):
        return Html("")
    said = f"{operations.tools_said(document)}."
    if not told.tools:
        names = ", ".join(lenient.texts_at(document, "tools", "names"))
        return joined([element("p", said), element("p", names)])
    rows = [(name, f"{count:,}", f"{told.failed_tools[name]:,}") for name, count in told.tools.most_common()]
    shown = Table(
        name="tools-table",
        caption="Tools by how often they were used",
        is_plain=True,
        headings=("Tool", "Uses", "Failed"),
        rows=rows,
        numbers=frozenset((1, 2)),
    )
    return joined([element("p", said), table(shown)])


def transaction(document: JsonObject) -> Html:
    """Return what became of the stage, empty where the agent worked on the tree itself."""
    if not isinstance(lenient.part(document, "workspace"), Mapping):
        return Html("")
    said = operations.stage(document) or f"no stage was opened: {figures.text(document, 'workspace', 'detail')}"
    named = (line.removeprefix("workspace_tx.").partition(": ") for line in workspace.block(document))
    pairs = [(_capital(name.replace("_", " ")), _named(value)) for name, _, value in named]
    head = f"{_capital(said)}{operations.landing(document)}."
    return joined([element("p", head), facts(pairs)])


def _named(value: str) -> str | Html:
    return element("code", value, dir="ltr") if is_digest(value) else value


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def remarks(told: Recorded) -> Html:
    """Return what was forbidden, warned of, turned away and remarked."""
    if not told.remarks:
        return Html("")
    return table(
        Table(
            name="remarks-table",
            caption="What the run was stopped at, warned of and remarked, in its order",
            headings=("What", "In words"),
            rows=told.remarks,
            marks=["warn" if what in ("policy violation", "cap exceeded") else "" for what, _ in told.remarks],
            left_out=told.left_out["remarks"],
        )
    )


def limits(document: JsonObject) -> Html:
    """Return what docket does not see and what it does not hold, in the receipt's own sentences."""
    return joined(_group(document, name, words) for name, words in _GROUPS.items())


def _group(document: JsonObject, name: str, words: str) -> Iterator[Html]:
    sentences = lenient.texts_at(document, "limits_disclosure", name)
    if sentences:
        yield element("h3", words)
        yield element("ul", [element("li", sentence) for sentence in sentences])


__all__ = [
    "by_model", "calls", "clock", "ending", "lasted_ms", "limits", "overview", "remarks", "tiles", "tools",
    "transaction",
]  # fmt: skip
