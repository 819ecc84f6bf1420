"""A copy under `all` has nothing of what anybody chose, in any spelling, nor has a page or a report made of it."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path

import pytest

from docket.formats.canonical import encode_document
from docket.formats.ledger.redaction_facts import Profile
from docket.rules.redaction.copy import CopyAsked, redacted
from docket.surfaces.cli.root import run
from golden_ledgers import samples
from golden_ledgers.judging import judged, receipt_of
from golden_ledgers.planted import NEEDLE, lines, planted
from page_lab import held, page_at, parsed, write

# One has a type that is not known and is not copied, one is a copy, one has roots over events that are planted here.
NAMES = [name for name in samples.ALL if name not in ("busy", "hidden", "checkpointed")]


@cache
def copied(name: str, *profiles: Profile) -> tuple[bytes, dict[str, object]]:
    asked = CopyAsked(profiles=frozenset(profiles or Profile), key=b"k" * 32, opening=b"o" * 32)
    raw = lines(redacted(planted(name), asked))
    return raw, receipt_of(raw)


def spellings(text: str) -> set[bytes]:
    """The needle in both cases, in hexadecimal and in base64 at each of its three offsets."""
    found = set()
    for form in (text, text.upper(), text.capitalize()):
        raw = form.encode()
        found |= {raw, raw.hex().encode(), raw.hex().upper().encode(), "".join(f"%{byte:02x}" for byte in raw).encode()}
        for skip in range(3):
            for code in (base64.b64encode, base64.urlsafe_b64encode, base64.b32encode):
                step = 8 if code is base64.b32encode else 4
                found.add(code(b"\0" * (skip + 2) + raw + b"\0\0")[step:-step])
    return {form for form in found if len(form) >= 6}


def assert_clean(whole: bytes) -> None:
    for form in spellings(NEEDLE):
        assert form not in whole, (form, whole[max(0, whole.find(form) - 120) : whole.find(form) + 60])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_planted_everywhere_is_nowhere_in_the_copy_which_verifies_as_the_record_does(name: str) -> None:
    before = lines(planted(name))
    assert before.count(NEEDLE.encode()) > 10
    told = judged(receipt_of(before), before)
    assert all(failure.startswith("evidence-completeness") for failure in told.failures)
    raw, receipt = copied(name)
    verdict = judged(receipt, raw)
    assert (verdict.word, verdict.failures) == (told.word, told.failures)
    assert_clean(raw + encode_document(receipt))


@pytest.mark.parametrize("name", ["pooled", "cached", "windowed", "landed", "asserted", "drilled"])
def test_names_alone_are_hidden_by_their_own_profile(name: str) -> None:
    raw, receipt = copied(name, Profile.NAMES)
    assert judged(receipt, raw).failures == ()
    start = json.loads(raw.splitlines()[0])["data"]
    assert start["argv"] == ["agent", "--fast", NEEDLE]
    assert start["cwd"].startswith("/home/dev/tree/")
    for event in map(json.loads, raw.splitlines()):
        for member in ("model", "provider", "pool", "agent_id", "scope_name", "name", "id", "pattern", "tool_use_ids"):
            assert NEEDLE not in str(event["data"].get(member, "")), event


@pytest.mark.parametrize("name", ["pooled", "windowed", "landed", "drilled"])
def test_pages_and_reports_of_the_copy_have_nothing_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    raw, receipt = copied(name)
    path = write(tmp_path, raw, receipt)
    page = page_at(path)
    assert_clean(page.encode())
    for block in ("receipt", "ledger"):
        assert_clean(held(parsed(page), block))
    for form in (["report", str(path), "--markdown"], ["report", str(path)], ["explain", str(path)]):
        assert run(form) in (0, 1)
        assert_clean("".join(capsys.readouterr()).encode())
