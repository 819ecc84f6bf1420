"""Upstreams that lie about what they send: counts, names, codings, lines, lengths.

Whatever they say, the agent gets their bytes, the record says no more than they did, and the next call goes on.
"""

from __future__ import annotations

import gzip
import json
import struct

import pytest

from aws_frames import event as converse_event
from boundary_rig.raw_upstream import RawUpstream, chunk, chunked_head
from boundary_rig.rig import boundary, caps
from boundary_rig.wire_forms import FORMS, JSON, SSE, Form
from docket.formats.amount import Usd

BY_NAME = {form.name: form for form in FORMS}
EACH_FORM = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
# Forms whose counts stand in JSON as they are, not inside checksummed frames.
READABLE = pytest.mark.parametrize(
    "form", [form for form in FORMS if b"1000" in form.body and "stream" not in form.name], ids=lambda form: form.name
)
CALL = "model.response"


def answered(tmp_path, form: Form, body: bytes, *, kind: str = "", extra: str = ""):
    """Have one body answered twice; return the two events of it, or of the errors it stands for."""

    def handler(request, sock):
        sock.sendall(chunked_head(kind=kind or form.kind, extra=extra) + chunk(body) + b"0\r\n\r\n")
        return True

    with (
        RawUpstream(handler) as upstream,
        boundary(tmp_path, upstream.url, name=form.provider, policy=caps(max_usd=Usd.parse("1000000000"))) as rig,
    ):
        for _ in range(2):
            status, _, got = rig.post(form.request, form.path)
            assert (status, got) == (200, body)
        first, second = rig.data(CALL, "model.error")
        assert rig.end.state.in_flight == 0
        assert rig.end.state.spent == sum(
            (Usd.parse(item["cost_usd"]) for item in (first, second) if "cost_usd" in item), Usd(0)
        )
    return first


BAD_COUNTS = [
    "-1000",
    "1e400",
    "NaN",
    "-Infinity",
    "1000.5",
    '"1000"',
    "true",
    "[1000]",
    '{"a":1000}',
    "9" * 13,
    "9" * 5000,
]


@READABLE
@pytest.mark.parametrize("number", BAD_COUNTS, ids=lambda number: number[:13])
def test_a_count_that_is_none_is_not_booked(tmp_path, form, number):
    # The input is the one that was asked for: 100 tokens by its bytes, nobody reported it.
    body = form.body.replace(b"1000", number.encode()).replace(b"1100", number.encode())
    if "ollama" in form.name and number == "-Infinity":
        pytest.skip("the same as NaN")
    event = answered(tmp_path, form, body)
    assert event["usage_source"] == "estimated", event
    assert event["usage"]["input_tokens"] == 100
    # What was shown is 440 bytes, 110 tokens; a body that cannot be read is taken for output as a whole, an event that
    # no parser takes is passed over.
    unread = 0 if len(number) == 5000 else 110
    assert event["usage"]["output_tokens"] in (100, 110, unread, -(-len(body) // 4))


@READABLE
@pytest.mark.parametrize("number", ["1e3", "1000.0", "1E+3"])
def test_a_count_in_another_spelling_is_that_count(tmp_path, form, number):
    event = answered(tmp_path, form, form.body.replace(b"1000", number.encode()))
    assert (event["usage"]["input_tokens"], event["cost_usd"]) == (1000, form.whole[2])


@READABLE
def test_the_largest_count_is_priced_exactly(tmp_path, form):
    if form.whole[3] != "reported":
        pytest.skip("nothing is reported")
    event = answered(tmp_path, form, form.body.replace(b"1000", b"999999999999").replace(b"1100", b"1000000000099"))
    assert event["usage"]["input_tokens"] == 999_999_999_999
    assert "." in event["cost_usd"]
    assert float(event["cost_usd"]) >= 0


@READABLE
def test_a_model_of_a_megabyte_and_one_that_is_no_text(tmp_path, form):
    named = b'"modelVersion": "' if form.provider == "gemini" else b'"model": "'
    if named not in form.body:
        pytest.skip("its replies name no model")
    own = form.body.partition(named)[2].partition(b'"')[0]
    for at, name in enumerate((b"m" * 1_000_000, b"\\ud800\\udc00\\udfff", b"m\\u0000\\n\\u202e", b"\xff\xfe")):
        folder = tmp_path / str(at)
        folder.mkdir()
        event = answered(folder, form, form.body.replace(named + own + b'"', named + name + b'"'))
        assert len(event["model"]) <= 2048
        assert event["model"].isprintable()
        json.dumps(event["model"]).encode("ascii")
        assert event["usage"]["input_tokens"] == form.whole[0]


@EACH_FORM
@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate", "x-nonsense", "gzip, gzip"])
def test_a_coding_that_is_not_the_bodys(tmp_path, form, coding):
    body = form.body if coding != "gzip, gzip" else gzip.compress(form.body)
    event = answered(tmp_path, form, body, extra=f"Content-Encoding: {coding}\r\n")
    assert (event["usage_source"], event["usage"]["input_tokens"]) == ("estimated", 100)
    assert event["usage"]["output_tokens"] <= -(-len(body) // 4)


@EACH_FORM
def test_a_coding_that_is_not_said(tmp_path, form):
    body = gzip.compress(form.body)
    event = answered(tmp_path, form, body)
    assert event["usage_source"] == "estimated"
    assert event["usage"]["output_tokens"] <= -(-len(body) // 4)


EVENTS = pytest.mark.parametrize("form", [form for form in FORMS if form.kind == SSE], ids=lambda form: form.name)


@EVENTS
@pytest.mark.parametrize(
    "spell",
    [
        pytest.param(lambda body: body.replace(b"\r\n", b"\n").replace(b"\n", b"\r"), id="cr"),
        pytest.param(lambda body: body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"), id="crlf"),
        pytest.param(lambda body: b"\xef\xbb\xbf" + body, id="bom"),
        pytest.param(lambda body: body.replace(b"data: ", b"data:"), id="no-blank"),
        pytest.param(lambda body: body.replace(b"data: ", b"id: 1\nretry: 5\ndata: "), id="other-fields"),
        pytest.param(lambda body: body.replace(b"data: {", b"data: {\ndata: "), id="two-lines-of-data"),
        pytest.param(lambda body: b"\n" * 100_000 + body + b"\n" * 100_000, id="empty-events"),
        pytest.param(lambda body: b": \xff\xfe\0\n\n" + body, id="junk-comment"),
        pytest.param(lambda body: b"data: " + b"[" * 100_000 + b"\n\n" + body, id="depth"),
        pytest.param(lambda body: b'data: {"x":"' + b"y" * 3_000_000 + b'"}\n\n' + body, id="a-long-line"),
        pytest.param(lambda body: b"data" * 1_000_000 + b"\n\n" + body, id="a-long-line-that-is-none"),
        pytest.param(lambda body: body.rstrip(b"\r\n"), id="no-blank-line-at-the-end"),
    ],
)
def test_events_however_they_are_spelt(tmp_path, form, spell):
    event = answered(tmp_path, form, spell(form.body))
    assert (event["usage"]["input_tokens"], event["usage"]["output_tokens"]) == form.whole[:2]
    assert (event["cost_usd"], event["usage_source"]) == form.whole[2:]


@EVENTS
def test_usage_that_comes_twice_counts_once(tmp_path, form):
    if form.whole[3] != "reported":
        pytest.skip("nothing is reported")
    pieces = [piece for piece in form.pieces if b"DONE" not in piece and b"message_stop" not in piece]
    last = form.pieces[len(pieces) :]
    body = b"".join([*pieces, pieces[-1], *last])
    event = answered(tmp_path, form, body)
    assert (event["usage"]["input_tokens"], event["usage"]["output_tokens"]) == (1000, 100)
    assert event["cost_usd"] == form.whole[2]


@READABLE
def test_a_member_that_stands_twice_in_the_usage_counts_once(tmp_path, form):
    if form.whole[3] != "reported":
        pytest.skip("nothing is reported")
    name = next(
        name
        for name in (b"prompt_tokens", b"promptTokenCount", b"input_tokens", b"inputTokens", b"prompt_eval_count")
        if b'"%s": 1000' % name in form.body
    )
    body = form.body.replace(b'"%s": 1000' % name, b'"%s": 5, "%s": 1000' % (name, name))
    event = answered(tmp_path, form, body)
    assert (event["usage"]["input_tokens"], event["cost_usd"]) == (1000, form.whole[2])


FRAMED = pytest.mark.parametrize("form", [BY_NAME["converse-stream"], BY_NAME["invoke-stream"]], ids=lambda f: f.name)


@FRAMED
@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda body: body[:-1] + bytes([body[-1] ^ 1]), id="checksum"),
        pytest.param(lambda body: struct.pack(">II", 2**32 - 1, 0) + body, id="huge-length"),
        pytest.param(lambda body: struct.pack(">III", 15, 0, 0) + body, id="length-too-small"),
        pytest.param(lambda body: struct.pack(">II", 100, 2**31) + body, id="huge-headers"),
        pytest.param(lambda body: b"\0" * 64 + body, id="zeros"),
    ],
)
def test_frames_that_are_none_are_not_read(tmp_path, form, spoil):
    body = spoil(form.body)
    event = answered(tmp_path, form, body)
    assert event["outcome"] == "complete"
    assert event["usage"]["output_tokens"] <= 110
    # The model's own counts come before its last frame.
    before_last = form.name == "invoke-stream" and len(body) == len(form.body)
    assert event["usage_source"] == ("reported" if before_last else "estimated")


def test_a_frame_of_the_largest_size_passes(tmp_path):
    form = BY_NAME["converse-stream"]
    text = {"delta": {"text": "x" * 20_000_000}, "contentBlockIndex": 0}
    body = form.pieces[0] + converse_event("contentBlockDelta", text) + b"".join(form.pieces[3:])
    event = answered(tmp_path, form, body)
    assert (event["cost_usd"], event["usage_source"]) == form.whole[2:]


@pytest.mark.parametrize("form", [form for form in FORMS if form.kind == JSON], ids=lambda form: form.name)
@pytest.mark.parametrize("depth", [900, 5000, 100_000])
def test_a_body_of_any_depth(tmp_path, form, depth):
    if form.name == "gemini-array":
        body = b"[" + b'{"a":' * depth + b"1" + b"}" * depth + b",\n" + form.body[1:]
    else:
        body = b'{"deep":' + b"[" * depth + b"]" * depth + b"," + form.body[1:]
    event = answered(tmp_path, form, body)
    assert (event["usage"]["input_tokens"], event["usage"]["output_tokens"]) == form.whole[:2]
    assert (event["cost_usd"], event["usage_source"]) == form.whole[2:]
