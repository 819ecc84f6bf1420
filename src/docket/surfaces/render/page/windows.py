"""Tool windows: what each tool use of the agent changed, with the lines where its delta is at hand.

Rules:
1. The list is the receipt's; lines come from deltas that have the digest that it names.
2. Windows of a group share a delta, which is shown with the first of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from docket.formats import lenient
from docket.formats.canonical import JsonObject
from docket.formats.windows.delta import Delta
from docket.surfaces.render import figures
from docket.surfaces.render import windows as window_lines
from docket.surfaces.render.figures import plural
from docket.surfaces.render.page.files import LinesLeft, code, lines
from docket.surfaces.render.page.html import Html, element, joined
from docket.surfaces.render.page.tables import Table, instant, table

MOST_WINDOWS = 300


def windows(document: JsonObject, deltas: Mapping[str, Delta], left: LinesLeft) -> Html:
    """Return the section's contents; empty where the run had no window."""
    tools = lenient.rows_at(document, "windows", "tools")
    lost = lenient.part(document, "windows", "hooks_lost")
    if not tools and not lost:
        return Html("")
    parts = [element("p", _sum(document))]
    shown: set[str] = set()
    parts += [_one(tool, deltas, shown, left) for tool in tools[:MOST_WINDOWS]]
    if len(tools) > MOST_WINDOWS:
        parts.append(
            table(
                Table(
                    name="windows-rest",
                    caption="Further tool windows",
                    headings=("Tool", "Use", "What changed", "Cost share"),
                    rows=[_row(tool) for tool in tools[MOST_WINDOWS:]],
                    numbers=frozenset((3,)),
                )
            )
        )
    return joined(parts)


def _sum(document: JsonObject) -> str:
    count, complete, partial, open_, files = (
        lenient.count_at(document, "windows", name) for name in ("count", "complete", "partial", "open", "files")
    )
    said = [f"{plural(count, 'tool window')}: {complete:,} with what changed, {plural(files, 'path')}"]
    said += [f"{partial:,} of which what changed is unknown"] * bool(partial)
    said += [f"{open_:,} without an end"] * bool(open_)
    lost = lenient.part(document, "windows", "hooks_lost")
    if isinstance(lost, Mapping) and lost:
        said.append("hooks of which no window came: " + ", ".join(f"{lost[kind]} {kind}" for kind in lost))
    return "; ".join(said) + "."


def _one(tool: JsonObject, deltas: Mapping[str, Delta], shown: set[str], left: LinesLeft) -> Html:
    name, use, what, cost = _row(tool)
    summary = element(
        "summary", code(name), " ", element("span", what), " ",
        element("span", f"{cost} (its share)" if cost else "", class_="counts"),
    )  # fmt: skip
    digest = figures.text(tool, "delta", "delta_sha256", default="")
    delta = deltas.get(digest)
    inside = [element("p", "tool use ", code(use), class_="muted")]
    if delta is None:
        words = "Its delta is not at hand, so no lines can be shown." if digest else "The ledger has no delta of it."
        inside.append(element("p", words, class_="muted"))
    elif digest in shown:
        inside.append(element("p", "It ran beside others; what they changed is shown with the first.", class_="muted"))
    else:
        shown.add(digest)
        inside += [*_delta(delta, left)]
    return element("details", summary, inside, class_="file")


def _row(tool: JsonObject) -> tuple[str, str, str, str]:
    share = lenient.part(tool, "asked_by", "share_usd")
    return (
        figures.text(tool, "name", default="a tool"),
        figures.text(tool, "id", default=""),
        _what(tool),
        "" if share is None else f"${share}",
    )


def _what(tool: JsonObject) -> str:
    if lenient.part(tool, "delta") is None:
        return "no end recorded"
    if lenient.part(tool, "delta", "status") == "partial":
        return f"what changed is unknown ({figures.text(tool, 'delta', 'reason')})"
    number = lenient.count_at(tool, "delta", "files")
    beside = lenient.count_at(tool, "delta", "members") - 1
    said = f"{plural(number, 'path')} changed" if number else "nothing changed"
    failed = ", it failed" if lenient.part(tool, "after", "ok") is False else ""
    return said + failed + (f", with {plural(beside, 'other')} at the same time" if beside > 0 else "")


def _delta(delta: Delta, left: LinesLeft) -> Iterator[Html]:
    span = delta.window
    summaries = dict.fromkeys(use.command_summary for use in delta.tool_uses if use.command_summary)
    yield from (element("p", code(summary)) for summary in summaries)
    yield element("p", f"{instant(span.started_at)}, for {span.duration_ms:,} ms", class_="muted")
    if delta.head_before != delta.head_after:
        yield element("p", f"HEAD went from {delta.head_before or 'nothing'} to {delta.head_after or 'nothing'}")
    number = 1
    for file in delta.files:
        head, *rest = window_lines.file_lines(file, number)
        yield element("p", code(head), class_="path")
        if rest:
            yield lines(rest, left)
        number += len(file.hunks)


__all__ = ["MOST_WINDOWS", "windows"]
