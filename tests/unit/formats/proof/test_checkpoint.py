"""Checkpoints and the words a person writes down: one spelling of each."""

from __future__ import annotations

import base64

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.proof.checkpoint import (
    TreeHead,
    anchored_text,
    head_text,
    head_words,
    read_anchored,
    read_checkpoints,
    read_head_text,
    read_head_words,
)
from golden_ledgers.headed import line_of, note_of
from golden_ledgers.proven import SECRET_KEY

ORIGIN, ROOT = "docket.local/unsigned/0123456789ab", "5c" * 32
CODED = base64.b64encode(b"\x5c" * 32).decode()
HEAD = TreeHead(origin=ORIGIN, size=20852163, root=ROOT)  # type: ignore[arg-type]
BODY = f"{ORIGIN}\n20852163\n{CODED}\n"


def test_a_body_is_three_lines() -> None:
    assert head_text(HEAD) == BODY
    assert read_head_text(BODY) == HEAD


@pytest.mark.parametrize(
    "text",
    [
        "", "\n\n\n", BODY[:-1], f"{BODY}more\n", f"{BODY}\n", BODY.replace("20852163", "0"),
        BODY.replace("20852163", "020852163"), BODY.replace("20852163", "-1"), BODY.replace("20852163", "1e3"),
        BODY.replace("20852163", "\u0662"), BODY.replace("20852163", "1" * 17), BODY.replace(ORIGIN, ""),
        BODY.replace(ORIGIN, "a b"), BODY.replace(ORIGIN, "a+b"), BODY.replace(CODED, CODED[:-1]),
        BODY.replace(CODED, CODED.replace("=", "")), BODY.replace(CODED, "XFw="), BODY.replace(CODED, f"{CODED}=="),
        BODY.replace(CODED, CODED[:-2] + "x="),
    ],
)  # fmt: skip
def test_what_is_no_body(text: str) -> None:
    with pytest.raises(InvalidDocumentError):
        read_head_text(text)


def test_words() -> None:
    words = f"{ORIGIN} 20852163 {ROOT}"
    assert head_words(HEAD) == words
    printed = f"docket: docket-head {words}"
    for text in (words, f"docket-head {words}", printed, f"  {words}\n", words.replace(" ", "\t")):
        assert read_head_words(text) == HEAD


@pytest.mark.parametrize(
    "text",
    ["", "docket-head", ORIGIN, f"{ORIGIN} 1", f"{ORIGIN} 1 {ROOT} more", f"{ORIGIN} 0 {ROOT}",
     f"{ORIGIN} 1 {ROOT[1:]}", f"{ORIGIN} 1 {ROOT.upper()}", f"a+b 1 {ROOT}", f"docket-heads {ORIGIN} 1 {ROOT}",
     f"docket: {ORIGIN} 1 {ROOT}", f"docket: docket: docket-head {ORIGIN} 1 {ROOT}", "docket: docket-head"],
)  # fmt: skip
def test_what_are_no_words_of_a_head(text: str) -> None:
    with pytest.raises(InvalidDocumentError):
        read_head_words(text)


def test_the_file_names_the_line_that_is_none() -> None:
    lines = [line_of(number, note_of(ORIGIN, number, ROOT)) for number in (1, 2)]
    assert [(one.number, one.head.size, one.note) for one in read_checkpoints(b"".join(lines))] == [
        (1, 1, None),
        (2, 2, None),
    ]
    for data, said in (
        (b"", "no line"),
        (b"\n", "line 1: "),
        (lines[0] + b"{}", "line 2 is not whole"),
        (lines[0] + b"{}\n", "line 2: "),
        (lines[0] + lines[0], "line 2: the checkpoint is none: its number is 1, the next one is 2"),
        (lines[0] + lines[1].replace(b"/v1", b"/v2"), "line 2: the checkpoint is not docket/checkpoint/v1"),
        (lines[0].replace(b":1}", b":1.0}"), "line 1: "),
        (lines[0].replace(b":1}", b':"1"}'), "line 1: "),
        (b"\xff\n", "line 1: "),
    ):
        with pytest.raises(InvalidDocumentError) as caught:
            read_checkpoints(data)
        assert said in caught.value.detail


def test_what_runs_append_to_a_file_is_read_again_signed_or_not() -> None:
    texts = [
        anchored_text(note_of(ORIGIN, size, ROOT, secret)) for size, secret in ((1, None), (2, SECRET_KEY), (3, None))
    ]
    assert [head.size for head in read_anchored("".join(texts))] == [1, 2, 3]
    assert read_anchored("") == []
    with pytest.raises(InvalidDocumentError):
        read_anchored("".join(texts)[:-60])
