"""Forged documents of a run that agree with each other: manifest, ledger and receipt rewritten together."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docket.formats.canonical import encode, encode_document
from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import follow
from docket.formats.merkle import MerkleTree
from golden_ledgers.judging import Body, bodies, chained, lines_of, receipt_of
from run_lab import RunLab

Document = dict[str, Any]


class Forgery:
    """The documents of the one run with a snapshot in a lab; change `manifest` and `bodies`, then `publish`."""

    def __init__(self, lab: RunLab) -> None:
        (self.manifest_path,) = lab.state.glob("*/snapshots/*/manifest.json")
        self.ledgers = [*lab.tree.glob(".docket/runs/*.jsonl"), *lab.state.glob("*/runs/*.jsonl")]
        self.receipts = [*lab.tree.glob(".docket/receipts/DKT-*.json"), *lab.state.glob("*/receipts/DKT-*.json")]
        self.checkpoints = [*lab.tree.glob(".docket/runs/*.checkpoints"), *lab.state.glob("*/runs/*.checkpoints")]
        kept = (self.manifest_path, *self.ledgers, *self.receipts, *self.checkpoints)
        self.kept = {path: path.read_bytes() for path in kept}
        self.events = [item for item in follow([self.ledgers[0].read_bytes()]) if isinstance(item, Event)]
        self.manifest: Document = {}
        self.bodies: list[Body] = []
        self.restore()

    def restore(self) -> None:
        """Put the run's own documents back."""
        for path, data in self.kept.items():
            path.write_bytes(data)
        self.manifest = json.loads(self.kept[self.manifest_path])
        self.bodies = bodies(self.events)

    def data(self, kind: str) -> list[Document]:
        """What the events of one type say."""
        return [data for type_, _, data in self.bodies if type_ == kind]

    def change(self, path: str) -> Document:
        """The fs.change of a path."""
        (found,) = [data for data in self.data("fs.change") if data.get("path") == path]
        return found

    def entry(self, path: str, kind: str = "entries") -> Document:
        """The manifest's entry of a path."""
        (found,) = [item for item in self.manifest[kind] if item.get("path") == path]
        return found

    def moved_to(self, root: Path) -> None:
        """Name another tree, by its real identity, in all three."""
        status = root.stat()
        self.manifest["root"] = str(root)
        self.manifest["root_identity"] = {"device": str(status.st_dev), "inode": str(status.st_ino)}
        for kind in ("session.start", "proc.spawn"):
            for data in self.data(kind):
                data["cwd"] = str(root)

    def ordered(self) -> None:
        """Put the manifest's lists into tree order."""
        for kind in ("entries", "directories", "symlinks", "not_covered"):
            self.manifest[kind].sort(key=lambda item: raw_path(item).replace(b"/", b"\0"))

    def publish(self, raw: bytes | None = None, doctored: Callable[[Document], None] = lambda _: None) -> None:
        """Write all three so that each fits the others; `raw` stands in for the manifest, `doctored` for the receipt.

        A manifest that no document of docket's can say is written as any JSON writer would.
        """
        manifest = told(self.manifest) if raw is None else raw
        self.manifest_path.write_bytes(manifest)
        for data in self.data("fs.snapshot"):
            if data["phase"] == "contents":
                data["manifest_sha256"] = hashlib.sha256(manifest).hexdigest()
        for at, (type_, _, data) in enumerate(self.bodies):
            if type_ == "x-docket.checkpoint":  # what stands before it has its hashes by now
                before = chained(self.bodies[:at], self.events[:at])
                data["root"] = MerkleTree([event.hash for event in before[: data["size"]]]).root
        ledger = lines_of(chained(self.bodies, self.events))
        receipt = receipt_of(ledger)
        doctored(receipt)
        for path in self.ledgers:
            path.write_bytes(ledger)
        for path in self.receipts:
            path.write_bytes(encode_document(receipt))
        for path in self.checkpoints:  # of another ledger now; what travels without them is checked all the same
            path.unlink(missing_ok=True)


def told(document: Any) -> bytes:
    """The document in canonical form where it has one, else as near to it as can be."""
    try:
        return encode(document) + b"\n"
    except Exception:
        return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def raw_path(item: Document) -> bytes:
    """The bytes of a path as a document spells it."""
    coded = item.get("path_b64")
    return base64.b64decode(coded) if coded is not None else os.fsencode(str(item.get("path")))
