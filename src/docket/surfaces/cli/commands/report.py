"""`docket report`: what a run did and cost, from its receipt."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docket.errors import UsageError
from docket.formats.canonical import JsonObject, encode_document
from docket.formats.reason import Reason
from docket.surfaces.cli import console
from docket.surfaces.cli.completing import files_like, profiles_like, receipts_like
from docket.surfaces.cli.project import current_folder, layout_at, receipt_asked_for

if TYPE_CHECKING:
    from docket.stores.layout import Layout


@click.command()
@click.argument("receipt", required=False, shell_complete=receipts_like)
@click.option("--json", "as_json", is_flag=True, help="Print the receipt itself.")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a pull request or a ticket.")
@click.option("--html", is_flag=True, help="Make one page of HTML that holds its evidence and a verifier.")
@click.option(
    "--redact",
    metavar="PROFILES",
    shell_complete=profiles_like,
    help="Write a copy that hides paths, argv, hosts, names or secrets (a list), or all, into --out.",
)
@click.option(
    "--sign", metavar="KEY", shell_complete=files_like, help="Sign that copy: a file of docket keygen's, or fd:N."
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE|FOLDER",
              help="Where the page goes, without it stdout; the folder of a redacted copy.")  # fmt: skip
@click.option("--contents/--no-contents", default=True, show_default=True,
              help="Whether the page shows what files held, where that is kept.")  # fmt: skip
@click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the run's evidence stands.")
def report(receipt: str | None, *, as_json: bool, markdown: bool, docket_dir: Path | None, **asked: Any) -> None:  # noqa: ANN401
    """Show what a run did and cost.

    RECEIPT is a file or a docket number; without it, the newest run of this project.

    \b
    Examples:
      docket report
      docket report DKT-20260131-0A1B2C --markdown
      docket report --json | jq .totals.cost_usd
      docket report --html --out run.html
      docket report --redact paths,secrets --out for-them
    """
    _check_forms(as_json=as_json, markdown=markdown, **asked)
    path = receipt_asked_for(receipt, docket_dir)
    if asked["html"]:
        _page(path, layout_at(current_folder(), docket_dir), asked)
        return
    document = receipt_at(path, whole=as_json)
    if asked["redact"] is not None:
        from docket.surfaces.cli.redacting import write_redacted  # noqa: PLC0415 - for a copy alone

        write_redacted(document, path, asked["out"], named=asked["redact"], sign=asked["sign"])
    elif as_json:
        console.document(encode_document(document))
    elif markdown:
        from docket.surfaces.render import markdown as rendering  # noqa: PLC0415

        console.result(rendering.report(document).removesuffix("\n"))
    else:
        _on_terminal(document, receipt)


def _check_forms(*, as_json: bool, markdown: bool, html: bool, out: Path | None, contents: bool, **copy: Any) -> None:  # noqa: ANN401
    redact = copy["redact"] is not None
    if as_json + markdown + html + redact > 1:
        raise UsageError(Reason.USAGE, "of --json, --markdown, --html and --redact name one")
    if not (html or redact) and out is not None:
        raise UsageError(Reason.USAGE, "--out goes with --html or --redact")
    if not html and not contents:
        raise UsageError(Reason.USAGE, "--no-contents goes with --html")
    if not redact and copy["sign"] is not None:
        raise UsageError(Reason.USAGE, "--sign goes with --redact: a run is signed when it ends")
    if redact and out is None:
        raise UsageError(Reason.USAGE, "--redact writes a receipt and a ledger", hint="name a folder with --out FOLDER")
    if html and out is None and sys.stdout.isatty():
        raise UsageError(Reason.USAGE, "a page is nothing for a terminal", hint="name a file with --out FILE")


def _page(path: Path, layout: Layout, asked: dict[str, Any]) -> None:
    from docket.surfaces.cli.report_page import PageRequest, page_of, write_page  # noqa: PLC0415 - for a page alone

    page = page_of(PageRequest(path=path, layout=layout, contents=asked["contents"]))
    out = asked["out"]
    if out is None:
        for piece in page:
            console.document(piece.encode("utf-8"))
        return
    write_page(page, out)
    console.result(console.plain(f"page {out}"))


def receipt_at(path: Path, *, whole: bool = False) -> JsonObject:
    """Return a receipt, its rows without their paths unless it is `whole`; InvalidDocumentError names the file."""
    from docket.engines.receipt_document import receipt_document, shown_document  # noqa: PLC0415 - not for --help
    from docket.engines.verify import read_receipt  # noqa: PLC0415

    return receipt_document(path) if whole else shown_document(read_receipt(path), path)


def _on_terminal(document: JsonObject, receipt: str | None) -> None:
    from docket.stores.receipts import DOCKET_NUMBER  # noqa: PLC0415
    from docket.surfaces.render import text  # noqa: PLC0415 - rich is heavy; --json and --markdown do without

    # A file need be no run of this project: then its number leads nowhere.
    is_file = receipt is not None and not DOCKET_NUMBER.fullmatch(receipt.upper())
    said = console.plain(shlex.quote(receipt)) if is_file and receipt is not None else None
    console.result(text.rendered(document, colour=console.colour_for(sys.stdout), width=console.columns(), said=said))
