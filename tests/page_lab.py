"""A run's evidence in a folder and the page that is made of it, read back as an HTML parser sees it."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from docket.formats.canonical import encode_document
from docket.stores.layout import Layout
from docket.surfaces.cli.report_page import PageRequest, page_of
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import receipt_of

# What has no end tag, by the HTML standard.
VOID = frozenset(("br", "col", "input", "link", "meta", "wbr"))


def layout_of(tree: Path) -> Layout:
    """A project at `tree`, its state beside it."""
    return Layout(tree_root=tree, state=tree.parent / "state", docket_dir=tree / ".docket", evidence=())


def write(folder: Path, ledger: bytes | None, receipt: dict[str, Any]) -> Path:
    """Put a receipt and its ledger where a run leaves them; return the receipt's path."""
    for name in ("receipts", "runs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    if ledger is not None:
        (folder / "runs" / f"{receipt['session']['id']}.jsonl").write_bytes(ledger)
    path = folder / "receipts" / f"{receipt['docket_number']}.receipt.json"
    path.write_bytes(encode_document(receipt))
    return path


def page_at(path: Path, *, contents: bool = True, tree: Path | None = None) -> str:
    """The page of a receipt at that path, for somebody who stands in `tree`."""
    layout = layout_of(tree or path.parent.parent)
    return "".join(page_of(PageRequest(path=path, layout=layout, contents=contents)))


def page_of_ledger(folder: Path, ledger: LedgerBuilder, **changes: Any) -> str:
    """The page of the receipt that a ledger gives."""
    return page_at(write(folder, ledger.data(), receipt_of(ledger.data()) | changes))


@dataclass(slots=True)
class Element:
    """An element with what stands in it, in order."""

    name: str
    attributes: dict[str, str | None]
    inside: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(part if isinstance(part, str) else part.text for part in self.inside)

    def every(self, name: str, **wanted: str) -> list[Element]:
        """The elements of that name below it with these attributes; `class_` holds one of the classes."""
        found = []
        for part in self.inside:
            if isinstance(part, Element):
                if part.name == name and all(part.has(key, value) for key, value in wanted.items()):
                    found.append(part)
                found += part.every(name, **wanted)
        return found

    def has(self, key: str, value: str) -> bool:
        """Whether an attribute has that value, or is a list with it."""
        told = self.attributes.get(key.rstrip("_")) or ""
        return value == told or (key == "class_" and value in told.split())

    def one(self, name: str, **wanted: str) -> Element:
        """The only such element."""
        (found,) = self.every(name, **wanted)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, dict(attrs))
        assert len(made.attributes) == len(attrs), f"an attribute of {tag} stands twice"
        self._open[-1].inside.append(made)
        if tag not in VOID:
            self._open.append(made)

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1].name == tag, f"</{tag}> ends {self._open[-1].name}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].inside.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def parsed(page: str) -> Element:
    """The page as elements; every one that is opened is closed in its turn."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader._open == [reader.root]
    return reader.root.one("html")


def held(page: Element, name: str) -> bytes:
    """What a block of bytes holds."""
    return gzip.decompress(base64.b64decode(page.one("script", id=name).text, validate=True))


def data_of(page: Element, name: str) -> Any:
    """What a block of JSON holds."""
    return json.loads(page.one("script", id=name).text)


def rows_of(page: Element, name: str) -> list[list[str]]:
    """The cells of a table's body."""
    body = page.one("table", id=name).one("tbody")
    return [[cell.text for cell in row.inside if isinstance(cell, Element)] for row in body.every("tr")]
