"""A receipt for a terminal: a summary of a few lines after a run, and the whole report through rich."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from docket.formats import lenient
from docket.formats.canonical import JsonObject
from docket.formats.run.receipt import TOP_PATHS
from docket.surfaces.cli.console import plain
from docket.surfaces.render import figures, operations

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_ANY_WIDTH = 10_000
PATHS_SHOWN = TOP_PATHS


def summary(document: JsonObject) -> tuple[str, ...]:
    """Return the lines printed after a run; plain text, no colour."""
    lines = [
        f"{figures.text(document, 'docket_number')}  {figures.ending(document)}",
        f"spent {figures.spend(document)} in {figures.calls(document)}; {figures.files(document)}",
    ]
    cache, refused = operations.cache(document), lenient.count_at(document, "network", "tunnels_denied")
    lines += [f"cache: {cache}"] * bool(cache)
    is_staged = figures.is_left_on_a_stage(document) or figures.is_unknown_what_landed(document)
    kept, back = operations.snapshot(document), operations.rollback(document)
    undo = f"; undo the run with docket restore {figures.text(document, 'docket_number')}"
    is_left = bool(lenient.count_at(document, "files", "changed")) and lenient.part(document, "ops", "rollback") is None
    is_undoable = is_left and lenient.part(document, "ops", "snapshot", "taken") is True
    lines += [f"snapshot: {kept}{undo if is_undoable else ''}"] * bool(kept)
    lines += [f"rollback: {back}"] * bool(back)
    lines += [f"stage: {operations.stage(document)}{operations.landing(document)}"] * is_staged
    lines += [f"network: {figures.proxied(document)} (docket watch --lines names them)"] * bool(refused)
    lines += [f"proof: {figures.vouching(document)}"] * any(
        lenient.part(document, name) for name in ("seal", "signature")
    )
    return tuple(lines)


def rendered(document: JsonObject, *, colour: bool, width: int | None = None, said: str | None = None) -> str:
    """Return the whole report as text, without a final newline.

    `width` is the terminal's, `said` what a person calls the receipt by where that is not its number.
    """
    import io  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415 - rich is heavy, and few runs print a whole report

    out = io.StringIO()
    console = Console(file=out, force_terminal=colour, no_color=not colour, highlight=False, width=width)
    report(document, console, wraps=width is not None, said=said)
    # A table fills its columns up with spaces, which a file or a pipe has no use for.
    return "\n".join(line.rstrip(" ") for line in out.getvalue().removesuffix("\n").split("\n"))


def report(document: JsonObject, console: Console, *, wraps: bool = False, said: str | None = None) -> None:
    """Print the whole report; `wraps`: its sentences go on in the next line where the console ends; `said` as above."""
    number, ending = figures.text(document, "docket_number"), figures.ending(document)
    console.print(_styled(number, "bold").append(f"  {plain(ending)}", "not bold"))
    console.print(_styled(figures.command_line(document), "dim"), soft_wrap=True)
    console.print(_styled(f"in {figures.text(document, 'session', 'cwd')}", "dim"), soft_wrap=True)
    console.print()
    console.print(_facts(document))
    by_model = lenient.rows_at(document, "totals", "by_model")
    if by_model:
        console.print()
        table = _by_model(by_model)
        # Where there is no room, the parts of a model go to lines of their own before a name is cut.
        wanted = console.measure(table, options=console.options.update(max_width=_ANY_WIDTH)).maximum
        console.print(table if wanted <= console.width else _by_model(by_model, "\n +"))
    paths, more = figures.changed_paths(document, PATHS_SHOWN)
    if paths:
        console.print()
        console.print(_styled("Changed paths", "bold"))
        for path in paths:
            console.print(_styled(f"  {path}"), soft_wrap=True)
        if more:
            console.print(_styled(f"  and {more:,} more: {figures.ALL_PATHS}", "dim"), soft_wrap=True)
    console.print()
    console.print(_styled(_closing(document, said), "dim"), soft_wrap=not wraps)


def _facts(document: JsonObject) -> Table:
    from rich.table import Table  # noqa: PLC0415 - rich is heavy and only the report needs it

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in facts(document):
        table.add_row(name, _styled(value))
    return table


def facts(document: JsonObject) -> Sequence[tuple[str, str]]:
    """Return the report's labelled figures, in order."""
    tokens = (
        f"{lenient.count_at(document, 'totals', 'input_tokens'):,} in "
        f"({lenient.count_at(document, 'totals', 'cached_input_tokens'):,} from cache), "
        f"{lenient.count_at(document, 'totals', 'output_tokens'):,} out"
    )
    lines = [
        ("Spend", figures.spend(document)),
        ("Calls", figures.calls(document)),
        ("Tokens", tokens),
        ("Counted by", figures.text(document, "totals", "cost_basis")),
        ("Time", figures.duration(document)),
        ("Files", figures.files(document)),
        ("Policy", figures.text(document, "policy", "name")),
        ("Record", _record(document)),
    ]  # fmt: skip
    if not lenient.count_at(document, "model_calls", "count"):
        lines = [line for line in lines if line[0] != "Counted by"]
    if lenient.part(document, "latency", "measured_calls"):
        quantiles = ", ".join(f"{q} {figures.text(document, 'latency', f'{q}_ms')} ms" for q in ("p50", "p95", "p99"))
        lines.insert(5, ("Latency", quantiles))
    lines[-2:-2] = operations.lines(document)
    proxied = figures.proxied(document)
    if proxied:
        lines.insert(-2, ("Network", proxied))
    assumed = lenient.texts_at(document, "totals", "assumed_price_models")
    hidden = lenient.texts_at(document, "redaction", "profiles")
    if hidden:
        replaced = figures.plural(lenient.count_at(document, "redaction", "replaced"), "value")
        lines.append(("Copy", f"hides {', '.join(hidden)}: {replaced} replaced"))
    if assumed:
        lines.insert(1, ("Assumed", f"no known price for {', '.join(assumed)}: the dearest was assumed"))
    return lines


def _record(document: JsonObject) -> str:
    events = figures.plural(lenient.count_at(document, "ledger", "events"), "event")
    return f"{events}, head {figures.text(document, 'ledger', 'head')[:16]}…, {figures.vouching(document)}"


def _by_model(by_model: Sequence[JsonObject], plus: str = "+") -> Table:
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    model, *others = figures.MODEL_HEADINGS
    table.add_column(model, overflow="fold")
    for name in others:
        table.add_column(name, justify="right")
    for row in by_model:
        name, *cells = map(plain, figures.model_cells(row))
        table.add_row(_shown(name.replace("+", plus)), *map(_shown, cells))
    return table


def _closing(document: JsonObject, said: str | None) -> str:
    if lenient.part(document, "session", "exit_code") is None:
        return "The record has no end: what happened after its last event is unknown."
    if lenient.part(document, "evidence", "ledger_complete") is False:
        return "The record has gaps: what could not be written is declared in the receipt."
    check = f"docket verify {said or figures.text(document, 'docket_number')}"
    return f"Check it: {check}. What docket cannot see is listed in the receipt under limits_disclosure."


def _styled(text: str, style: str = "") -> Text:
    return _shown(plain(text), style)


def _shown(text: str, style: str = "") -> Text:
    # Never as markup: a name is shown as it is, square brackets, backslashes and :emoji: codes too.
    from rich.text import Text  # noqa: PLC0415

    return Text(text, style=style)
