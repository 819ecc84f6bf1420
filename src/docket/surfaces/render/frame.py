"""A frame for a terminal: bars, the last calls, tools and files, laid out for its width and height by rich.

Rules: text from the record is shown as it is and never as markup; without colour nothing is lost, for a bar's share
stands behind it in figures; on a narrow terminal columns are left out, the least needed first.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from docket.formats.dataclass import dataclass
from docket.rules.receipt.live import DoneCall, LiveFold
from docket.surfaces.cli.console import plain
from docket.surfaces.render import live
from docket.surfaces.render.live import CapRow, Frame, State

_FEWEST_CALLS, _MOST_CALLS, _MOST_PATHS = 1, 20, 5
_STATE_STYLES = {State.RUNNING: "green", State.ENDED: "bold", State.KILLED: "red"}
_NARROW, _WIDE = 64, 100
_SHORTEST_BAR, _WIDEST_BAR = 8, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameView:
    """A frame to print.

    `height` is how many lines the last calls have to fit into, None where there is no need; `wraps`: what is longer
    than a line goes on in the next.
    """

    frame: Frame
    height: int | None = None
    wraps: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the frame out for the terminal's width."""
        width = options.max_width
        above: list[RenderableType] = [*_head(self.frame, width), Text(), _caps(self.frame, width), Text()]
        below = [Text(), *_below(self.frame, None if self.wraps else width)]
        taken = len(above) + len(live.cap_rows(self.frame)) - 1 + 1 + len(list(_facts(self.frame))) + 1
        room = _MOST_CALLS if self.height is None else max(_FEWEST_CALLS, self.height - taken - 1)
        yield Group(*above, *_calls(self.frame.fold, width, room), *below)


def _head(frame: Frame, width: int) -> Iterator[Text]:
    start = frame.fold.course.start
    first = Text(plain(frame.number), style="bold")
    first.append(f"  {plain(frame.ending)}", style=_ending_style(frame))
    if start is not None:
        first.append(f"  {plain(start.agent)}", style="not bold dim")
    yield _fitted(first, width)
    if start is not None:
        yield _fitted(Text(plain(shlex.join(start.argv)), style="dim"), width)


def _ending_style(frame: Frame) -> str:
    end = frame.fold.course.end
    if frame.fold.exceeded is not None or (end is not None and end.exit_code):
        return "not bold red"
    return f"not bold {_STATE_STYLES[frame.state]}"


def _caps(frame: Frame, width: int) -> Table:
    rows = [(row, *_cap_texts(row, with_remark=width >= _NARROW - 14)) for row in live.cap_rows(frame)]
    taken = 8 + max(len(used) for _, used, _ in rows) + 2 + max(len(behind) for *_, behind in rows) + 2
    bar = min(_WIDEST_BAR, width - taken - 1)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", width=6)
    for _ in range(3 if bar >= _SHORTEST_BAR else 2):
        table.add_column(no_wrap=True)
    for row, used, behind in rows:
        cells = [_bar(row, frame, bar)] * (bar >= _SHORTEST_BAR)
        table.add_row(row.name, used, *cells, behind)
    return table


def _cap_texts(row: CapRow, *, with_remark: bool) -> tuple[str, str]:
    used = row.used if row.limit is None else f"{row.used} of {row.limit}"
    share = "" if row.permille is None else f"{row.permille // 10}.{row.permille % 10} %"
    return used, "  ".join(part for part in (share, row.remark if with_remark else "") if part)


def _bar(row: CapRow, frame: Frame, width: int) -> RenderableType:
    if row.permille is None:
        return Text("no cap", style="dim") if row.name == "spend" else Text()
    reached = row.permille >= 1000 or (frame.fold.exceeded is not None and frame.fold.exceeded.cap == row.cap)
    style = "red" if reached else "yellow" if row.cap in frame.fold.warnings or row.permille >= 800 else "green"
    return ProgressBar(
        total=1000,
        completed=min(1000, row.permille),
        width=width,
        style="bright_black",
        complete_style=style,
        finished_style=style,
    )


def _calls(fold: LiveFold, width: int, room: int) -> Iterator[RenderableType]:
    yield _fitted(Text("calls  ", style="bold").append(plain(live.call_summary(fold)), style="not bold"), width)
    shown = list(fold.recent)[-room:] if room else []
    if not shown:
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("model", no_wrap=True, overflow="ellipsis", max_width=max(12, width - _fixed(width)))
    for name in _figures(width):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True, overflow="ellipsis")
    for call in shown:
        table.add_row(*_cells(call, width), style=_call_style(call))
    yield table


def _figures(width: int) -> tuple[str, ...]:
    if width < _NARROW:
        return ("cost",)
    return ("in", "cached", "out", "cost", "latency") if width >= _WIDE else ("in", "out", "cost", "latency")


def _fixed(width: int) -> int:
    """How many columns of a line stand beside the model's name."""
    return 30 if width < _NARROW else 74 if width >= _WIDE else 56


def _cells(call: DoneCall, width: int) -> Iterator[Text]:
    figures = {
        "in": f"{call.input_tokens:,}",
        "cached": f"{call.cached_input_tokens:,}",
        "out": f"{call.output_tokens:,}",
        "cost": f"${call.cost_usd}",
    }
    yield Text("-" if call.call is None else str(call.call))
    yield Text(plain(call.model))
    for name in _figures(width):
        text = live.latency_text(call.latency_ms) if name == "latency" else figures[name] if call.billed else ""
        yield Text(text)
    said = plain(call.outcome) if call.call is not None else f"refused: {plain(call.outcome)}"
    yield Text(said + (" (estimated)" if call.estimated else ""))


def _call_style(call: DoneCall) -> str:
    if call.call is None:
        return "red"
    return "yellow" if not call.billed or call.outcome != "complete" else ""


def _below(frame: Frame, width: int | None) -> Iterator[RenderableType]:
    """Yield the facts under the calls, each on one line where there is a width, else as long as it is."""
    if width is None:
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(style="bold", width=6)
        table.add_column(overflow="fold")
        for name, value in _facts(frame):
            table.add_row(name, Text(plain(value), style="" if name else "dim"))
        yield table
        return
    for name, value in _facts(frame):
        line = Text(f"{name:<7}", style="bold").append(plain(value), style="not bold" if name else "not bold dim")
        yield _fitted(line, width)


def _facts(frame: Frame) -> Iterator[tuple[str, str]]:
    fold = frame.fold
    tools, said, around = live.tool_summary(fold), live.asserted_summary(fold), live.around_summary(fold)
    if around is not None:
        yield "state", around
    if tools is not None:
        yield "tools", tools
    if said is not None:
        yield "said", said
    network = live.network_summary(fold)
    if network is not None:
        yield "net", network
    yield "files", live.file_summary(frame)
    for path in fold.tree.paths[:_MOST_PATHS]:
        yield "", path
    if fold.exceeded is not None:
        yield "cap", fold.exceeded.detail
    elif fold.warnings:
        yield "cap", live.cap_summary(list(fold.warnings.values())[-1])
    if fold.sub_budgets:
        yield "cap", live.cap_summary(list(fold.sub_budgets.values())[-1])
    if fold.remarks:
        yield "note", _remark(fold)
    if frame.others:
        yield "also", f"{', '.join(frame.others)} (docket watch NUMBER)"


def _remark(fold: LiveFold) -> str:
    last = fold.remarks[-1]
    return f"{last.message} (the agent's word)" if last.reported_by is not None else last.message


def _fitted(line: Text, width: int) -> Text:
    line.truncate(width, overflow="ellipsis")
    line.no_wrap = True
    return line
