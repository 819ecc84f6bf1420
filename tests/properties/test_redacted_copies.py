"""Copies of records with any names: the pair verifies, and no hidden name stands in it in any form."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from docket.formats.canonical import encode_document
from docket.formats.ledger.asserted_events import ToolCall
from docket.formats.ledger.network_events import NetAllowed
from docket.formats.ledger.redaction_facts import Profile
from docket.formats.ledger.session_events import Note
from docket.formats.ledger.tree_events import Phase
from docket.formats.relpath import RelPath
from docket.formats.visible import shown_and_coded
from docket.rules.redaction.copy import CopyAsked, redacted
from golden_ledgers.build import LedgerBuilder, added, budget, end, exited, policy, snapshot, spawn, start
from golden_ledgers.judging import judged, receipt_of

# What no record has by itself: a mark in front, and then anything that a name may hold.
MARK = "QXJZ"
NAMES = st.binary(min_size=1, max_size=12).map(
    lambda raw: MARK.encode() + raw.replace(b"/", b"_").replace(b"\0", b"_") + b"."
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12).map(lambda text: MARK + text)


def argument(raw: bytes) -> tuple[str, str]:
    text, coded = shown_and_coded(raw)
    return text, coded or base64.b64encode(raw).decode()


@settings(max_examples=40)
@given(
    paths=st.lists(PATHS, min_size=1, max_size=5, unique=True),
    argv=st.lists(NAMES, min_size=1, max_size=4),
    host=WORDS,
    said=WORDS,
    chosen=st.sets(st.sampled_from(Profile)),
)
def test_no_hidden_name_is_left(
    paths: list[bytes], argv: list[bytes], host: str, said: str, chosen: set[Profile]
) -> None:
    spoken = [argument(raw) for raw in argv]
    line = {"argv": tuple(text for text, _ in spoken), "argv_b64": tuple(coded for _, coded in spoken)}
    place, place_b64 = shown_and_coded(b"/" + paths[0])
    folder = {"cwd": place, "cwd_b64": place_b64}
    ledger = LedgerBuilder()
    for payload in (
        start(**line, **folder, upstream_overrides={"openai": host}),
        policy(),
        snapshot(Phase.BEFORE, 2),
        replace(spawn(), **line, **folder),  # type: ignore[arg-type]
        NetAllowed(tunnel=1, kind="tunnel", host=host, port=1),
        ToolCall(name=f"tool {place} {spoken[0][0]} {host}"),
        Note(code="c", message=said, detail={"a": place}),
        exited(),
        snapshot(Phase.AFTER, 3, "22"),
        *(added(path) for path in sorted(paths)),
        budget("0.00"),
        end("0.00"),
    ):
        ledger.add(payload)
    profiles = frozenset(chosen | {Profile.PATHS, Profile.ARGV, Profile.HOSTS})
    copy = redacted(ledger.events, CopyAsked(profiles=profiles, key=b"k" * 32, opening=b"o" * 32))
    raw = b"".join(event.line + b"\n" for event in copy)
    receipt = receipt_of(raw)

    assert judged(receipt, raw).failures == ()
    whole = raw + encode_document(receipt)
    coded = base64.b64encode(MARK.encode())[:5]  # what stands before the next byte decides on the rest
    assert MARK.encode() not in whole
    assert coded not in whole
    assert all(RelPath.from_members(data).raw.startswith(b"[path-") for data in _changes(copy))


def _changes(copy: list) -> list[dict]:
    return [json.loads(event.line)["data"] for event in copy if event.type == "fs.change"]
