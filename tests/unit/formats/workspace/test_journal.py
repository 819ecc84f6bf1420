"""The journal of a commit: what it says, what a torn one says, and whom it is from."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import replace

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.formats.tree.address import Address
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import ABSENT, Remove, WriteFile, Xattr
from docket.formats.workspace.journal import (
    Journal,
    JournalHeader,
    JournalStep,
    LineWriter,
    StagingIdentity,
    Standing,
    decode_journal,
)
from docket.formats.workspace.state import Base
from tree_lab import file_state, holds_file, p

KEY = bytes(range(32))
HEADER = JournalHeader(
    transaction="00112233aabb", base=Base.of(b"/work/caf\xe9", (1, 2)), plan_sha256=Digest("ab" * 32), steps=3
)
STAGING = StagingIdentity(name=".docket-apply-0123456789abcdef", device=2**63, inode=7)
GONE = JournalStep(
    number=0,
    step=Remove(path=p(b"caf\xe9"), precondition=holds_file(b"x"), kind=Kind.FILE),
    inode=0,
    before=Standing(
        state=file_state(b"x"), device=2**63, inode=9, mtime_ns=-5, xattrs=(Xattr(b"user.note", b"\x00\xff"),)
    ),
)
MADE = JournalStep(
    number=2,
    step=WriteFile(path=p("a"), precondition=ABSENT, content=Address(Digest("cd" * 32), 4), mode=0o644),
    inode=2**40,
)
STEPS = (GONE, MADE)


def lines(*, key: bytes = KEY, steps=STEPS, header=HEADER) -> list[bytes]:
    writer = LineWriter(key)
    document = writer.header(header) + writer.prepared(steps, STAGING) + writer.applied()
    return document.splitlines(keepends=True)


def by_hand(*records, key: bytes = KEY) -> bytes:
    """Write lines with nothing of docket's."""
    document, mac = b"", ""
    for record in records:
        body = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
        mac = hmac.new(key, mac.encode() + b"\n" + body, hashlib.sha256).hexdigest()
        line = {"length": len(body), "mac": mac, "record": record, "sha256": hashlib.sha256(body).hexdigest()}
        document += json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    return document


def records() -> list[dict]:
    return [json.loads(line)["record"] for line in lines()]


def test_the_lines_are_what_the_specification_says():
    assert by_hand(*records()) == b"".join(lines())
    assert records()[0] == {
        "format": "docket/workspace-journal/v1",
        "transaction": "00112233aabb",
        "base": {"root": "/work/caf\\xe9", "root_b64": "L3dvcmsvY2Fm6Q==", "device": "1", "inode": "2"},
        "plan_sha256": "ab" * 32,
        "steps": 3,
    }
    assert records()[-2:] == [
        {"mark": "prepared", "staging": {"name": STAGING.name, "device": str(2**63), "inode": "7"}},
        {"mark": "applied"},
    ]


def test_a_journal_says_how_far_the_commit_surely_came():
    written = lines()
    for count in range(1, 6):
        read = decode_journal(b"".join(written[:count]), KEY)
        prepared = count >= 4
        assert read == Journal(
            header=HEADER,
            steps=STEPS if prepared else (),
            staging=STAGING if prepared else None,
            applied=count == 5,
            length=sum(map(len, written[:count])),
            mac=json.loads(written[count - 1])["mac"],
        )


def test_a_journal_torn_at_every_byte_says_what_its_whole_lines_say():
    written = lines()
    document = b"".join(written)
    for cut in range(len(document)):
        whole = [written[n] for n in range(5) if len(b"".join(written[: n + 1])) <= cut]
        expected = decode_journal(b"".join(whole), KEY)
        assert decode_journal(document[:cut], KEY) == expected
        assert decode_journal(document[:cut] + b"\0" * 40 + b"\n", KEY) == expected


@pytest.mark.parametrize(
    "document", [b"", lines()[0][:-1], b"{}\n", b"\n", lines()[0].replace(b'"steps":3', b'"steps":4')]
)
def test_a_journal_whose_header_is_torn_never_began(document):
    assert decode_journal(document, KEY) is None


@pytest.mark.parametrize("count", range(1, 6))
def test_a_journal_written_with_another_key_is_refused(count):
    own, foreign = lines(), lines(key=b"x" * 32)
    for document in (b"".join(foreign[:count]), b"".join([*own[: count - 1], foreign[count - 1]])):
        with pytest.raises(InvalidDocumentError) as caught:
            decode_journal(document, KEY)
        assert caught.value.reason == Reason.NOT_AUTHENTIC


def test_lines_cannot_be_left_out_or_mixed():
    own, other = lines(), lines(header=replace(HEADER, transaction="ffffffffffff"))
    for document in (own[0] + own[2], own[0] + other[1], own[0] + own[3] + own[1], own[1]):
        with pytest.raises(InvalidDocumentError) as caught:
            decode_journal(document, KEY)
        assert caught.value.reason == Reason.NOT_AUTHENTIC


HEAD, FIRST, SECOND, PREPARED, APPLIED = records()


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ([HEAD | {"format": "docket/workspace-journal/v2"}], Reason.UNKNOWN_FORMAT),
        ([FIRST], Reason.MISSING_MEMBER),
        ([HEAD | {"more": 1}], Reason.UNKNOWN_MEMBER),
        ([HEAD | {"transaction": "../../../x"}], Reason.WRONG_VALUE),
        ([HEAD | {"steps": -1}], Reason.WRONG_VALUE),
        ([HEAD | {"base": HEAD["base"] | {"inode": "x"}}], Reason.WRONG_VALUE),
        ([HEAD, APPLIED], Reason.WRONG_VALUE),
        ([HEAD, PREPARED, PREPARED], Reason.WRONG_VALUE),
        ([HEAD, PREPARED, FIRST], Reason.WRONG_VALUE),
        ([HEAD, PREPARED, APPLIED, APPLIED], Reason.WRONG_VALUE),
        ([HEAD, {"mark": "done"}], Reason.WRONG_VALUE),
        ([HEAD, PREPARED, APPLIED | {"more": 1}], Reason.UNKNOWN_MEMBER),
        ([HEAD, PREPARED | {"staging": PREPARED["staging"] | {"name": "../x"}}], Reason.WRONG_VALUE),
        ([HEAD, PREPARED | {"staging": PREPARED["staging"] | {"inode": "-1"}}], Reason.WRONG_VALUE),
        ([HEAD, FIRST, FIRST], Reason.DUPLICATE_KEY),
        ([HEAD, FIRST, FIRST | {"number": 1}], Reason.DUPLICATE_KEY),
        ([HEAD, FIRST | {"number": 3}], Reason.WRONG_VALUE),
        ([HEAD, FIRST | {"before": FIRST["before"] | {"mtime_ns": "1.5"}}], Reason.WRONG_VALUE),
        ([HEAD, FIRST | {"before": FIRST["before"] | {"more": 1}}], Reason.UNKNOWN_MEMBER),
        ([HEAD, SECOND | {"step": SECOND["step"] | {"path": "../x"}}], None),
    ],
)
def test_anything_else_is_no_journal(written, reason):
    with pytest.raises(InvalidDocumentError) as caught:
        decode_journal(by_hand(*written), KEY)
    assert reason is None or caught.value.reason == reason
