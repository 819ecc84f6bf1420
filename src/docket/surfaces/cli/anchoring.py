"""Where the head of a run goes that is to be kept beyond the machine's reach: a file of the person's, or a trailer.

Rules: that the file can be appended to is shown before the agent starts. What fails afterwards is told, and changes
neither the receipt nor the exit code.
"""

from __future__ import annotations

import os
from pathlib import Path

from docket.engines.supervise.request import RunResult
from docket.errors import DocketError, RefusedBeforeStartError
from docket.formats.canonical import encode_document
from docket.formats.digest import sha256
from docket.formats.proof.checkpoint import anchored_text
from docket.host.anchor_file import append_durably, try_anchor
from docket.rules.proof.signed_note import checkpoint_text
from docket.rules.proof.vouching import Voucher
from docket.surfaces.cli import console
from docket.surfaces.cli.project import path_said
from docket.surfaces.export.trailer import trailers_of

GIT_TRAILER = "git-trailer"


def try_anchors(anchors: tuple[str, ...], tree: Path) -> None:
    """Show that every file can be appended to; RefusedBeforeStartError for one that cannot.

    One in the tree is warned of.
    """
    for anchor in anchors:
        if anchor == GIT_TRAILER:
            continue
        try:
            try_anchor(path_said(anchor))
        except DocketError as error:
            raise RefusedBeforeStartError(error.reason, f"--anchor: {error.detail}", hint=error.hint) from error
        if Path(os.path.realpath(path_said(anchor))).is_relative_to(tree):
            console.warn(console.plain(f"--anchor: {anchor} stands in the tree: the agent can write the heads in it"))


def anchor_head(anchors: tuple[str, ...], result: RunResult, voucher: Voucher) -> None:
    """Append the last checkpoint to the files that were named, and print the trailers where they were asked for."""
    if result.head is None or result.receipt is None:
        if anchors:
            console.warn("nothing is anchored: there is no receipt")
        return
    for anchor in anchors:
        if anchor == GIT_TRAILER:
            for line in trailers_of(sha256(encode_document(result.receipt)), result.head):
                console.note(console.plain(line))
            continue
        try:
            note = checkpoint_text(result.head, voucher.signer)
            append_durably(path_said(anchor), anchored_text(note).encode("utf-8"))
        except Exception as error:  # noqa: BLE001 - the run is over, and its exit code is its own
            detail = error.detail if isinstance(error, DocketError) else repr(error)
            console.warn(console.plain(f"the head is not anchored: {detail}"))
