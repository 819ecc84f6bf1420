"""The rows of `appendix.usage` as a ledger gives them, each with its path, made and written one by one.

Rules:
1. It is the array of its rows' JSON (`UsageRow.to_json`), and its text is what `formats.canonical` would write of that.
2. Rows are made when they are asked for: a long run has tens of thousands, each with a path of as many steps as its
   tree has levels. Rows that are neighbours share all but the lowest of these, and so does their text.
3. `parted` takes the text of a receipt apart around these very rows. It is no reading: where the text is any other,
   however little, it gives None.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

from docket.formats.canonical import JsonObject, LazyArray, quoted
from docket.formats.dataclass import dataclass
from docket.formats.merkle import MerkleTree, Side
from docket.formats.run.receipt import UsageRow

_MARGIN = "\n    "
_BEGINS = b'\n  "appendix": {\n    "usage": ['


class UsageArray(LazyArray):
    """Rows in the order of their ledger, and the tree over that."""

    __slots__ = ("rows", "tree")

    def __init__(self, rows: Sequence[UsageRow], tree: MerkleTree) -> None:
        self.rows, self.tree = rows, tree

    def __len__(self) -> int:
        return len(self.rows)

    def item(self, index: int) -> JsonObject:
        """Return a row as JSON."""
        row = self.rows[index]
        return row.to_json(self.tree.path(row.seq))

    def spelled(self) -> str:
        """Return the canonical text."""
        return f"[{','.join(self._texts(_canonical, _Paths(self.tree, _CANONICAL_STEP, ',')))}]"

    def indented(self, margin: str) -> str:
        """Return the text of a document whose line with the last bracket begins with `margin`."""
        return f"[{margin}  {f',{margin}  '.join(self.texts(margin))}{margin}]" if self.rows else "[]"

    def texts(self, margin: str) -> Iterator[str]:
        """Yield the text of each row as it stands between the commas of `indented`."""
        at = f"{margin}      "
        step = {side: (f'{{{at}  "side": "{side}",{at}  "hash": "', f'"{at}}}') for side in Side}
        return self._texts(partial(_indented, margin), _Paths(self.tree, step, f",{at}"))

    def _texts(self, write: _Write, paths: _Paths) -> Iterator[str]:
        return (write(row, paths.text(row.seq)) for row in self.rows)


@dataclass(frozen=True, slots=True)
class Parted:
    """The text of a receipt before its rows and behind them."""

    before: bytes
    behind: bytes


def parted(document: bytes, usage: UsageArray) -> Parted | None:
    """Take the text of a receipt apart around rows that stand in it just as `encode_document` writes them."""
    begins = document.find(_BEGINS) + len(_BEGINS)
    at = begins
    lead = f"{_MARGIN}  ".encode()
    for text in usage.texts(_MARGIN):
        if not document.startswith(lead, at):
            return None
        at += len(lead)
        row = text.encode("utf-8", "surrogatepass")
        if not document.startswith(row, at):
            return None
        at += len(row)
        lead = f",{_MARGIN}  ".encode()
    if begins < len(_BEGINS) or at == begins or not document.startswith(f"{_MARGIN}]".encode(), at):
        return None
    return Parted(document[:begins], document[at:])


class _Write(Protocol):
    def __call__(self, row: UsageRow, path: str, /) -> str: ...


class _Paths:
    """Writes the paths of a tree; `step` has by side what stands before and behind a hash."""

    __slots__ = ("_above", "_between", "_levels", "_nodes", "_steps")

    def __init__(self, tree: MerkleTree, step: Mapping[Side, tuple[str, str]], between: str) -> None:
        self._levels, self._between = tree.levels, between
        # By whether a node's own place is odd: its sibling then stands on the left.
        self._steps = step[Side.RIGHT], step[Side.LEFT]
        # By level, the node that was written last and the steps from it to the root; above all of them is none.
        self._nodes = [-1] * tree.height + [0]
        self._above = [""] * (tree.height + 1)

    def text(self, index: int) -> str:
        """Return the steps from a leaf to the root; what the leaf written before had in common is not written anew."""
        nodes, texts = self._nodes, self._above
        level, node = 0, index
        while nodes[level] != node:
            level, node = level + 1, node >> 1
        text = texts[level]
        while level:
            level -= 1
            node = index >> level
            known, other = self._levels[level], node ^ 1
            if other < len(known):
                before, behind = self._steps[node & 1]
                own = f"{before}{known[other].hex()}{behind}"
                text = f"{own}{self._between}{text}" if text else own
            nodes[level], texts[level] = node, text
        return text


def _indented(margin: str, row: UsageRow, path: str) -> str:
    at = f"{margin}    "
    steps = f"[{at}  {path}{at}]" if path else "[]"
    latency = "" if row.latency_ms is None else f'{at}"latency_ms": {row.latency_ms},'
    key = "" if row.cache_key is None else f'{at}"cache_key": {quoted(row.cache_key)},'
    return (
        f'{{{at}"seq": {row.seq},{at}"model": {quoted(row.model)},{at}"provider": {quoted(row.provider)},'
        f'{at}"input_tokens": {row.input_tokens},{at}"cached_input_tokens": {row.cached_input_tokens},'
        f'{at}"output_tokens": {row.output_tokens},{at}"usage_source": "{row.usage_source}",'
        f'{at}"cost_usd": "{row.cost_usd}",{at}"event_hash": "{row.event_hash}",'
        f'{latency}{key}{at}"merkle_path": {steps}{margin}  }}'
    )


def _canonical(row: UsageRow, path: str) -> str:
    latency = "" if row.latency_ms is None else f'"latency_ms":{row.latency_ms},'
    key = "" if row.cache_key is None else f'"cache_key":{quoted(row.cache_key)},'
    return (
        f'{{{key}"cached_input_tokens":{row.cached_input_tokens},"cost_usd":"{row.cost_usd}",'
        f'"event_hash":"{row.event_hash}","input_tokens":{row.input_tokens},{latency}"merkle_path":[{path}],'
        f'"model":{quoted(row.model)},"output_tokens":{row.output_tokens},"provider":{quoted(row.provider)},'
        f'"seq":{row.seq},"usage_source":"{row.usage_source}"}}'
    )


_CANONICAL_STEP = {side: ('{"hash":"', f'","side":"{side}"}}') for side in Side}
