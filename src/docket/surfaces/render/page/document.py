"""The whole page: one file of HTML that asks for nothing, from disk as from anywhere else.

Rules:
1. A policy in its head forbids every request, and every script and style but the two whose digests it names. They hold
   nothing of any record; what a record says is text in the page, or JSON and bytes that no browser runs. A worker may
   run what the page itself made, which is that same script.
2. A section stands only where there is something to tell. The order is a reader's: what ran and what it cost, then the
   calls, then what it did, then what is not known and how all of it is checked.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib.resources import files as package_files

from docket.engines.run_page.gathered import Gathered
from docket.formats import lenient
from docket.formats.canonical import JsonObject
from docket.rules.analysis.told import micros
from docket.surfaces.render import figures
from docket.surfaces.render.page import chart as charts
from docket.surfaces.render.page import sections
from docket.surfaces.render.page.embedded import json_block
from docket.surfaces.render.page.files import LinesLeft, files
from docket.surfaces.render.page.findings import findings
from docket.surfaces.render.page.html import Html, element, joined, line_escaped
from docket.surfaces.render.page.proof import blocks, proof, verify_button
from docket.surfaces.render.page.windows import windows

GENERATOR = "docket report --html"


def page(run: Gathered) -> tuple[str, ...]:
    """Return the page of a run, piece by piece: the blocks that it carries are large, and stand in it as they are."""
    document = run.receipt
    curve = _curve(run)
    left = LinesLeft()
    shown = [
        _section("run", "The run", sections.overview(document)),
        _section("spending", "Spending over time", charts.chart(curve)),
        _section("findings", "Findings", findings(run.findings)),
        _section("models", "Cost by model", sections.by_model(document)),
        _section("calls", "Model calls", joined([_damage(run), sections.calls(run.told)])),
        _section("remarks", "Stopped, warned, remarked", sections.remarks(run.told)),
        _section("tools", "Tools", sections.tools(document, run.told)),
        _section("files", "Files", _files(run, left), opens=bool(run.places)),
        _section("transaction", "Transaction", sections.transaction(document)),
        _section("windows", "Tool windows", windows(document, run.deltas, left), opens=True),
        _section("limits", "Limits", sections.limits(document)),
        _section("proof", "Proof", proof(document, run.evidence)),
    ]
    kept = [item for item in shown if item is not None]
    script = _script(run.verifier)
    return (
        "<!doctype html>\n",
        '<html lang="en">',
        _head(figures.text(document, "docket_number"), script),
        "<body>",
        element("a", "Skip to the run", href="#main", class_="skip"),
        _header(document, [(name, title) for name, title, _ in kept]),
        '<main id="main">',
        sections.tiles(document),
        *(drawn for _, _, drawn in kept),
        "</main>",
        element("footer", element("p", _made_by(document))),
        *blocks(run.evidence),
        json_block("chart-data", charts.chart_data(curve)),
        element("script", script, type="module", id="program"),
        "</body></html>\n",
    )


def _head(title: str, script: Html) -> Html:
    style = Html(_shipped("page.css"))
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'sha256-{_digest(style)}'; "
        "img-src data:; worker-src blob:; base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name_="generator", content=GENERATOR),
        element("meta", name_="referrer", content="no-referrer"),
        element("meta", name_="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),
        element("title", f"{title}, docket"),
        element("style", style),
    )


def _script(verifier: str) -> Html:
    return Html(f"\n{verifier}\n{_shipped('page.js')}")


def _shipped(name: str) -> str:
    return package_files(__package__).joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _header(document: JsonObject, contents: list[tuple[str, str]]) -> Html:
    words, state = sections.ending(document)
    number = figures.text(document, "docket_number")
    links = [element("li", element("a", title, href=f"#{name}")) for name, title in contents]
    return element(
        "header",
        element("p", "Docket of one run of an agent", class_="eyebrow"),
        element("h1", number, " ", element("span", words, class_=f"state {state}")),
        element(
            "pre", _command(document), class_="command", dir="ltr", tabindex="0", role="group", aria_label="Command"
        ),
        element(
            "div",
            verify_button(),
            element("p", "Not checked yet.", id="verdict", class_="verdict", role="status", aria_live="polite"),
            class_="bar scripted",
            hidden=True,
        ),
        element("nav", element("ul", links), aria_label="Sections"),
    )


def _command(document: JsonObject) -> Html:
    line = figures.command_line(document) or "unknown command"
    return joined(map(line_escaped, line.split("\n")), between="\n")


def _section(name: str, title: str, inside: Html, *, opens: bool = False) -> tuple[str, str, Html] | None:
    if not inside:
        return None
    button = element("button", "Open all", type="button", class_="scripted", hidden=True, data_opens=name)
    head = element("h2", title, id=f"{name}-title")
    return name, title, element("section", head, *[button] * opens, inside, id=name, aria_labelledby=f"{name}-title")


def _curve(run: Gathered) -> charts.Curve:
    document = run.receipt
    in_tokens = lenient.part(document, "policy", "document", "budget", "mode") == "quota"
    most = lenient.part(document, "policy", "document", "caps", "max_tokens" if in_tokens else "max_usd")
    cap = most if isinstance(most, int) else micros(most) if isinstance(most, str) else None
    lasted_ms = sections.lasted_ms(document)
    return charts.curve_of(run.told.calls, lasted_ms=lasted_ms, cap=cap, in_tokens=in_tokens)


def _damage(run: Gathered) -> Html:
    if not run.damage:
        return Html("")
    words = f"The ledger cannot be read to its end, and what follows is not shown: {run.damage}"
    return element("p", words, class_="verdict failed")


def _files(run: Gathered, left: LinesLeft) -> Html:
    return joined([files(run.receipt, run.told, run.comparisons, left), *_looked(run)])


def _looked(run: Gathered) -> Iterator[Html]:
    if run.told.changes:
        where = " and ".join(run.places)
        words = (
            f"Contents were looked for in {where}. What is shown has the digests of the record."
            if run.places
            else "No contents are shown: no snapshot, stage or tree of this run is at hand."
        )
        yield element("p", words, class_="muted")


def _made_by(document: JsonObject) -> str:
    created = figures.text(document, "created_at")
    return (
        f"Made by {GENERATOR} from the receipt of {created}. It may hold contents of files: share it as you would them."
    )


__all__ = ["GENERATOR", "page"]
