"""Gemini, Vertex AI, Code Assist and Ollama over the real boundary; replies and prices are typed by hand.

Dollars per million tokens: gemini-2.5-flash 0.30 in, 0.03 cached, 1.00 audio in, 2.50 out; gemini-2.5-pro 1.25 in and
10 out up to 200,000 tokens of input, 2.50 and 15 beyond.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import json
import threading

import pytest

from boundary_rig.raw_upstream import RawUpstream, chunk, chunked_head, whole
from boundary_rig.rig import TOKEN, boundary, caps
from docket.formats.amount import Usd
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import BudgetPolicy, CapsPolicy

ASK = b'{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}'
FLASH = "/gemini/v1beta/models/gemini-2.5-flash"
SECRET = "goog1e-k3y-of-a-person"


def response(text, usage, *, finish=None, model="gemini-2.5-flash"):
    candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": "r-1"}


PARTS = [
    response("Grüße", {"promptTokenCount": 1000, "totalTokenCount": 1000}),
    response(
        "!",
        {
            "promptTokenCount": 1000,
            "cachedContentTokenCount": 400,
            "candidatesTokenCount": 40,
            "thoughtsTokenCount": 60,
            "totalTokenCount": 1100,
        },
        finish="STOP",
    ),
]
# 600 x 0.30 + 400 x 0.03 + 100 x 2.50 = 180 + 12 + 250 micro-dollars.
COST = "0.000442"
TEXTS = [json.dumps(part, ensure_ascii=False).encode() for part in PARTS]
EVENTS = [b"data: " + text + b"\r\n\r\n" for text in TEXTS]
ARRAY = [b"[" + TEXTS[0], b"\r\n,\r\n" + TEXTS[1], b"]"]


def streaming(pieces, content_type="text/event-stream", coding=""):
    def handler(request, sock):
        sent = pieces
        extra = f"Content-Encoding: {coding}\r\n" if coding else ""
        if coding:
            sent = [gzip.compress(b"".join(pieces))]
        sock.sendall(chunked_head(kind=content_type, extra=extra))
        for piece in sent:
            # Every write is cut once more, inside the umlaut too.
            for at in range(0, len(piece), 37):
                sock.sendall(chunk(piece[at : at + 37]))
        sock.sendall(b"0\r\n\r\n")
        return True

    return handler


@pytest.mark.parametrize("coding", ["", "gzip"])
@pytest.mark.parametrize(
    ("query", "pieces", "content_type"),
    [("?alt=sse", EVENTS, "text/event-stream"), ("", ARRAY, "application/json; charset=UTF-8")],
)
def test_a_stream_is_passed_on_as_it_is_and_priced_by_its_last_counts(tmp_path, query, pieces, content_type, coding):
    with (
        RawUpstream(streaming(pieces, content_type, coding)) as upstream,
        boundary(tmp_path, upstream.url, name="gemini", policy=caps(max_usd=Usd.parse("1"))) as rig,
    ):
        target = f"{FLASH}:streamGenerateContent{query}"
        status, _, got = rig.post(ASK, target, {"Accept-Encoding": coding or "identity"})
        (asked,) = rig.data("model.request")
        (answer,) = rig.data("model.response")
        assert upstream.requests[0].line == f"POST {target.removeprefix('/gemini')} HTTP/1.1"
        assert upstream.requests[0].body == ASK
    assert (gzip.decompress(got) if coding else got) == b"".join(pieces)
    assert status == 200
    assert (asked["wire"], asked["model"], asked["streaming"]) == ("gemini", "gemini-2.5-flash", True)
    assert asked["request_sha256"] == hashlib.sha256(ASK).hexdigest()
    assert (answer["cost_usd"], answer["usage_source"], answer["outcome"]) == (COST, "reported", "complete")
    assert answer["usage"] == {
        "input_tokens": 1000,
        "cached_input_tokens": 400,
        "output_tokens": 100,
        "reasoning_tokens": 60,
    }


def test_a_whole_reply_and_code_assist(tmp_path):
    def handler(request, sock):
        value = {"response": PARTS[1]} if "v1internal" in request.line else PARTS[1]
        sock.sendall(whole(json.dumps(value).encode()))
        return True

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url, name="gemini") as rig:
        rig.post(ASK, f"{FLASH}:generateContent")
        rig.post(b'{"model":"gemini-2.5-flash","request":' + ASK + b"}", "/gemini/v1internal:generateContent")
        assert [item["cost_usd"] for item in rig.data("model.response")] == [COST, COST]
        assert [item["model"] for item in rig.data("model.request")] == ["gemini-2.5-flash"] * 2


def test_a_client_that_goes_away_pays_for_what_was_reported(tmp_path):
    closed = threading.Event()

    def handler(request, sock):
        sock.sendall(chunked_head())
        sock.sendall(chunk(EVENTS[0]))
        sock.settimeout(20)
        with contextlib.suppress(OSError):
            sock.recv(1)
        closed.set()
        return False

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url, name="gemini") as rig:
        sock = rig.raw()
        head = f"POST /{TOKEN}{FLASH}:streamGenerateContent?alt=sse HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        sock.sendall(head.encode() + b"Content-Length: %d\r\n\r\n" % len(ASK) + ASK)
        while b"promptTokenCount" not in sock.recv(65536):
            pass
        sock.close()
        assert closed.wait(20)
        (answer,) = rig.data("model.response")
    assert (answer["outcome"], answer["usage_source"]) == ("client_gone", "estimated")
    # The input is the reported one; seven bytes of output were shown.
    assert (answer["usage"]["input_tokens"], answer["usage"]["output_tokens"]) == (1000, 2)


def test_an_upstream_that_breaks_in_an_array_is_passed_on_as_broken(tmp_path):
    def handler(request, sock):
        sock.sendall(chunked_head(kind="application/json"))
        sock.sendall(chunk(ARRAY[0]))
        return False

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url, name="gemini") as rig:
        with pytest.raises((OSError, http.client.HTTPException)):
            rig.post(ASK, f"{FLASH}:streamGenerateContent")
        (answer,) = rig.data("model.response")
    assert (answer["outcome"], answer["usage"]["input_tokens"]) == ("upstream_broken", 1000)


def test_keys_in_the_query_and_in_headers_stand_nowhere_in_the_record(tmp_path):
    with (
        RawUpstream(lambda request, sock: sock.sendall(whole(TEXTS[1])) is None) as upstream,
        boundary(tmp_path, upstream.url, name="gemini", policy=caps(max_usd=Usd.parse("1"))) as rig,
    ):
        headers = {"x-goog-api-key": SECRET, "Authorization": f"Bearer {SECRET}"}
        for verb in ("generateContent", "countTokens", "newVerb"):
            rig.post(ASK, f"{FLASH}:{verb}?key={SECRET}", headers)
        connection = rig.connect()
        connection.request("GET", f"/{TOKEN}/gemini/v1beta/models?key={SECRET}", headers=headers)
        connection.getresponse().read()
        connection.close()
        assert f"key={SECRET}" in upstream.requests[0].line
        assert upstream.requests[0].values("x-goog-api-key") == [SECRET]
        assert [event.type for event in rig.events("model.request", "x-docket.other", "model.denied")] == [
            "model.request", "x-docket.other", "model.denied", "x-docket.other",
        ]  # fmt: skip
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"generateContent" in written
    assert SECRET.encode() not in written


@pytest.mark.parametrize("verb", ["generateContent", "streamGenerateContent?alt=sse"])
def test_a_refusal_is_an_error_of_googles(tmp_path, verb):
    with (
        RawUpstream(streaming(EVENTS)) as upstream,
        boundary(tmp_path, upstream.url, name="gemini", policy=caps(max_usd=Usd.parse("0.00001"))) as rig,
    ):
        long = json.dumps({"contents": [{"parts": [{"text": "word " * 2000}]}]}).encode()
        status, _, got = rig.post(long, f"{FLASH}:{verb}")
        assert upstream.requests == []
    error = json.loads(got)["error"]
    assert (status, error["code"], error["status"]) == (400, 400, "FAILED_PRECONDITION")
    assert "max_usd" in error["message"]


@pytest.mark.parametrize("verb", ["batchGenerateContent", "predict", "predictLongRunning"])
def test_what_is_billed_later_is_refused_under_a_cap_unless_the_policy_lists_it(tmp_path, verb):
    listed = Policy(
        caps=CapsPolicy(max_usd=Usd.parse("1")), budget=BudgetPolicy(pass_endpoints=("gemini/v1beta/models/*",))
    )
    with RawUpstream(lambda request, sock: sock.sendall(whole(b"{}")) is None) as upstream:
        for place, (policy, status) in enumerate([(caps(max_usd=Usd.parse("1")), 400), (listed, 200)]):
            folder = tmp_path / str(place)
            folder.mkdir()
            with boundary(folder, upstream.url, name="gemini", policy=policy) as rig:
                assert rig.post(ASK, f"{FLASH}:{verb}")[0] == status


def test_a_stored_prompt_is_booked_when_its_reply_reports_it(tmp_path):
    stored = {
        "name": "cachedContents/c",
        "model": "models/gemini-2.5-flash",
        "usageMetadata": {"totalTokenCount": 5000},
    }
    with (
        RawUpstream(lambda request, sock: sock.sendall(whole(json.dumps(stored).encode())) is None) as upstream,
        boundary(tmp_path, upstream.url, name="gemini") as rig,
    ):
        rig.post(b'{"model":"models/gemini-2.5-flash","contents":[]}', "/gemini/v1beta/cachedContents")
        connection = rig.connect()
        connection.request("GET", f"/{TOKEN}/gemini/v1beta/cachedContents/c")
        connection.getresponse().read()
        connection.close()
        (answer,) = rig.data("model.response")
    # 5000 x 0.30 micro-dollars.
    assert (answer["cost_usd"], answer["model"]) == ("0.001500", "gemini-2.5-flash")


@pytest.mark.parametrize(
    ("tokens", "cost"),
    # 200,000 x 1.25 + 100 x 10 = 251,000; one token more and all are at 2.50 and 15: 500,002.5 + 1,500.
    [(200_000, "0.251000"), (200_001, "0.501502")],
)
def test_a_long_prompt_is_dearer_as_a_whole(tmp_path, tokens, cost):
    usage = {"promptTokenCount": tokens, "candidatesTokenCount": 100, "totalTokenCount": tokens + 100}
    reply = json.dumps(response("x", usage, finish="STOP", model="gemini-2.5-pro")).encode()
    with (
        RawUpstream(lambda request, sock: sock.sendall(whole(reply)) is None) as upstream,
        boundary(tmp_path, upstream.url, name="gemini") as rig,
    ):
        rig.post(ASK, "/gemini/v1beta/models/gemini-2.5-pro:generateContent")
        (answer,) = rig.data("model.response")
    assert answer["cost_usd"] == cost


def test_sound_is_dearer_than_text(tmp_path):
    usage = {
        "promptTokenCount": 1000,
        "candidatesTokenCount": 10,
        "totalTokenCount": 1010,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}, {"modality": "AUDIO", "tokenCount": 900}],
    }
    reply = json.dumps(response("x", usage, finish="STOP")).encode()
    with (
        RawUpstream(lambda request, sock: sock.sendall(whole(reply)) is None) as upstream,
        boundary(tmp_path, upstream.url, name="gemini") as rig,
    ):
        rig.post(ASK, f"{FLASH}:generateContent")
        (answer,) = rig.data("model.response")
    # 100 x 0.30 + 900 x 1.00 + 10 x 2.50 micro-dollars.
    assert answer["cost_usd"] == "0.000955"


def test_anthropics_models_on_vertex(tmp_path):
    models = "/vertex/v1/projects/p/locations/us-east5/publishers/anthropic/models"
    reply = {
        "type": "message", "model": "claude-sonnet-4-5-20250929", "content": [],
        "usage": {"input_tokens": 100, "output_tokens": 50},
    }  # fmt: skip

    def handler(request, sock):
        value = {"input_tokens": 7} if "count-tokens" in request.line else reply
        sock.sendall(whole(json.dumps(value).encode()))
        return True

    ask = b'{"anthropic_version":"vertex-2023-10-16","max_tokens":64,"messages":[]}'
    with (
        RawUpstream(handler) as upstream,
        boundary(tmp_path, upstream.url, name="vertex", policy=caps(max_usd=Usd.parse("1"))) as rig,
    ):
        assert rig.post(ask, f"{models}/claude-sonnet-4-5@20250929:rawPredict")[0] == 200
        assert rig.post(ask, f"{models}/count-tokens:rawPredict")[0] == 200
        (asked,) = rig.data("model.request")
        (answer,) = rig.data("model.response")
        assert len(rig.data("x-docket.other")) == 1
    assert (asked["wire"], asked["model"]) == ("vertex-claude", "claude-sonnet-4-5@20250929")
    # 100 x 3 + 50 x 15 micro-dollars.
    assert answer["cost_usd"] == "0.001050"


LINES = [
    b'{"model":"llama3.2","message":{"role":"assistant","content":"hi"},"done":false}\n',
    b'{"model":"llama3.2","message":{"role":"assistant","content":""},"done":true,"prompt_eval_count":26,"eval_count":9}\n',
]


def test_ollama_is_metered_and_free(tmp_path):
    def handler(request, sock):
        if "/api/chat" in request.line:
            return streaming(LINES, "application/x-ndjson")(request, sock)
        sock.sendall(whole(b'{"models":[]}'))
        return True

    with (
        RawUpstream(handler) as upstream,
        boundary(tmp_path, upstream.url, name="ollama", policy=caps(max_usd=Usd.parse("1"))) as rig,
    ):
        _, _, got = rig.post(b'{"model":"llama3.2","messages":[]}', "/ollama/api/chat")
        rig.post(b'{"model":"llama3.2"}', "/ollama/api/show")
        connection = rig.connect()
        for path in ("tags", "version", "ps"):
            connection.request("GET", f"/{TOKEN}/ollama/api/{path}")
            connection.getresponse().read()
        connection.close()
        (answer,) = rig.data("model.response")
        assert len(rig.data("x-docket.other")) == 4
    assert got == b"".join(LINES)
    assert (answer["cost_usd"], answer["usage_source"]) == ("0.00", "reported")
    assert (answer["usage"]["input_tokens"], answer["usage"]["output_tokens"]) == (26, 9)


@pytest.mark.parametrize(("lines", "outcome"), [(LINES, "complete"), (LINES[:1], "upstream_broken")])
def test_lines_that_end_with_the_connection_are_whole_only_with_their_last(tmp_path, lines, outcome):
    def handler(request, sock):
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n"
        sock.sendall(head + b"".join(lines))
        return False

    with RawUpstream(handler) as upstream, boundary(tmp_path, upstream.url, name="ollama") as rig:
        with contextlib.suppress(OSError, http.client.HTTPException):
            rig.post(b'{"model":"llama3.2","messages":[]}', "/ollama/api/chat")
        (answer,) = rig.data("model.response")
    assert answer["outcome"] == outcome


def test_a_hosted_ollama_is_not_free(tmp_path):
    """Its host is not this machine, so that a model without a price is refused under a cap."""
    with boundary(tmp_path, "http://ollama.example.com", name="ollama", policy=caps(max_usd=Usd.parse("1"))) as rig:
        status, _, got = rig.post(b'{"model":"llama3.2","messages":[]}', "/ollama/api/chat")
    assert status == 400
    assert "no price is known" in json.loads(got)["error"]
