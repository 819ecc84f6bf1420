"""What Gemini requests ask for, typed by hand after its API reference."""

from __future__ import annotations

import json

import pytest

from docket.formats.reason import Reason
from docket.rules.providers.endpoints import GEMINI
from docket.rules.providers.interface import Hidden, Refusal, RequestFacts, RequestTarget
from docket.rules.providers.request import MAX_PARSED_BYTES

PATH = "/v1beta/models/gemini-2.0-flash:streamGenerateContent?alt=sse&key=k"


def asked(body: object = None, path: str = PATH, headers: tuple[tuple[bytes, bytes], ...] = ()) -> RequestFacts:
    data = body if isinstance(body, bytes) else json.dumps({"contents": [], **(body or {})}).encode()  # type: ignore[dict-item]
    return GEMINI.read_request(data, RequestTarget(path=path, headers=headers))


@pytest.mark.parametrize(
    ("path", "model", "streaming"),
    [
        (PATH, "gemini-2.0-flash", True),
        ("/v1beta/models/gemini-2.0-flash:generateContent", "gemini-2.0-flash", False),
        ("/v1/projects/p/locations/l/publishers/google/models/gemini-2.0-pro:streamGenerateContent", "gemini-2.0-pro",
         True),
        ("/v1beta/tunedModels/mine:generateContent", "mine", False),
    ],
)  # fmt: skip
def test_the_path_names_the_model_and_says_whether_it_streams(path: str, model: str, streaming: bool) -> None:
    facts = asked(path=path)
    assert (facts.model, facts.streaming) == (model, streaming)
    assert facts.hidden == (() if streaming else (Hidden.NON_STREAMING,))


@pytest.mark.parametrize(
    ("members", "wanted"),
    [
        ({"generationConfig": {"maxOutputTokens": 64}}, {"max_output_tokens": 64}),
        ({"generation_config": {"max_output_tokens": 64}}, {"max_output_tokens": 64}),
        ({"generationConfig": {"candidateCount": 3}}, {"choices": 3}),
        ({"generationConfig": {"candidateCount": "3"}}, {"choices": 3}),
        ({"generationConfig": "x"}, {"max_output_tokens": None, "choices": 1}),
        ({"generationConfig": {"thinkingConfig": {"thinkingBudget": 512}, "maxOutputTokens": 1000}},
         {"thinking_tokens": 512, "max_output_tokens": 1000, "hidden": (Hidden.REASONING,)}),
        ({"generationConfig": {"thinking_config": {"thinking_budget": 2000}, "maxOutputTokens": 1000}},
         {"thinking_tokens": 2000, "max_output_tokens": 3000, "hidden": (Hidden.REASONING,)}),
        ({"generationConfig": {"thinkingConfig": {"thinkingBudget": -1}}},
         {"thinking_tokens": None, "hidden": (Hidden.REASONING,)}),
        ({"generationConfig": {"thinkingConfig": {"thinkingLevel": "high"}}}, {"hidden": (Hidden.REASONING,)}),
        ({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}, {"thinking_tokens": 0, "hidden": ()}),
        ({"tools": [{"functionDeclarations": []}, {"computer_use": {}}]}, {"hidden": ()}),
        ({"tools": [{"functionDeclarations": [], "googleSearch": {}}]}, {"hidden": (Hidden.SERVER_TOOLS,)}),
        ({"tools": [{"google_search": {}}]}, {"hidden": (Hidden.SERVER_TOOLS,)}),
        ({"tools": [{"code_execution": {}}]}, {"hidden": (Hidden.SERVER_TOOLS,)}),
        ({"tools": [{"urlContext": {}}]}, {"hidden": (Hidden.SERVER_TOOLS,)}),
        ({"cachedContent": "cachedContents/c"}, {"hidden": (Hidden.STORED_HISTORY,)}),
        ({"cached_content": "cachedContents/c"}, {"hidden": (Hidden.STORED_HISTORY,)}),
        ({"contents": [{"parts": [{"fileData": {"fileUri": "u"}}]}]}, {"hidden": (Hidden.REMOTE_INPUT,)}),
        ({"contents": [{"parts": [{"file_data": {"file_uri": "u"}}]}]}, {"hidden": (Hidden.REMOTE_INPUT,)}),
        ({"contents": [{"parts": [{"inlineData": {"data": "AAAA"}}]}]}, {"hidden": ()}),
        ({"serviceTier": "FLEX"}, {"service_tier": "flex"}),
        ({"service_tier": "priority"}, {"service_tier": "priority"}),
        ({"serviceTier": "unspecified"}, {"service_tier": None}),
        ({"model": "models/gemini-2.0-flash"}, {"model": "gemini-2.0-flash", "ambiguous": None}),
        ({"model": 5}, {"model": "gemini-2.0-flash", "ambiguous": None}),
    ],
)  # fmt: skip
def test_members(members: dict[str, object], wanted: dict[str, object]) -> None:
    facts = asked(members)
    assert {name: getattr(facts, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("model", "thinks"),
    [
        ("gemini-2.5-pro", True),
        ("gemini-2.5-flash", True),
        ("gemini-2.5-flash-lite", False),
        ("gemini-2.5-flash-image", False),
        ("gemini-2.0-flash", False),
        ("gemini-3-pro-preview", True),
        ("gemini-12-flash", True),
        ("gemini-embedding-001", False),
        ("gemma-3-27b-it", False),
    ],
)
def test_models_that_think_unasked(model: str, thinks: bool) -> None:
    facts = asked(path=f"/v1beta/models/{model}:streamGenerateContent")
    assert (Hidden.REASONING in facts.hidden) is thinks


@pytest.mark.parametrize(
    ("headers", "tier"),
    [
        (((b"X-Vertex-AI-LLM-Shared-Request-Type", b"Priority"),), "priority"),
        (((b"x-vertex-ai-llm-request-type", b"dedicated"),), "provisioned_throughput"),
        (((b"x-vertex-ai-llm-request-type", b"shared"), (b"x-vertex-ai-llm-shared-request-type", b"flex")), "flex"),
        (((b"x-vertex-ai-llm-request-type", b"shared"),), None),
    ],
)
def test_vertex_asks_for_tiers_in_headers(headers: tuple[tuple[bytes, bytes], ...], tier: str | None) -> None:
    assert asked(headers=headers).service_tier == tier


def test_code_assist_wraps_the_request() -> None:
    inner = {"contents": [], "generationConfig": {"maxOutputTokens": 9}, "session_id": "s-1"}
    body = {"model": "gemini-2.0-flash", "project": "p", "user_prompt_id": "u-1", "request": inner}
    facts = asked(json.dumps(body).encode(), "/v1internal:streamGenerateContent?alt=sse")
    assert (facts.model, facts.streaming, facts.max_output_tokens) == ("gemini-2.0-flash", True, 9)
    again = {**body, "user_prompt_id": "u-2", "request": {**inner, "session_id": "s-2"}}
    assert asked(json.dumps(again).encode(), "/v1internal:generateContent").fingerprint == facts.fingerprint
    other = {**body, "model": "gemini-2.0-pro"}
    assert asked(json.dumps(other).encode(), "/v1internal:generateContent").fingerprint != facts.fingerprint


def test_a_body_alone_may_name_the_model() -> None:
    assert asked({"model": "models/m"}, "/v1internal:generateContent").model == "m"


def test_the_fingerprint_tells_models_apart() -> None:
    assert asked().fingerprint == asked(path="/v1/models/gemini-2.0-flash:generateContent").fingerprint
    assert asked().fingerprint != asked(path="/v1/models/gemini-2.0-pro:generateContent").fingerprint


def test_embeddings_have_no_output() -> None:
    for verb in ("embedContent", "batchEmbedContents"):
        assert asked(path=f"/v1beta/models/gemini-embedding-001:{verb}").max_output_tokens == 0


@pytest.mark.parametrize(
    "body",
    [
        b'{"generationConfig":{},"generation_config":{"maxOutputTokens":9}}',
        b'{"generationConfig":{},"generationConfig":{"maxOutputTokens":9}}',
        b'{"GenerationConfig":{"maxOutputTokens":9}}',
        b'{"cached_Content":"c"}',
        b'{"model":"models/gemini-2.5-pro"}',
    ],
)
def test_what_another_reader_could_read_otherwise(body: bytes) -> None:
    assert asked(body).ambiguous is not None


def test_bodies_that_cannot_be_read() -> None:
    facts = asked(b"[]")
    assert (facts.model, facts.streaming, facts.hidden) == ("gemini-2.0-flash", True, (Hidden.UNREADABLE,))
    assert asked(b"", "/v1internal:generateContent").model is None


def test_of_a_very_large_body_the_small_members_are_kept() -> None:
    filler = b'{"contents":[{"parts":[{"inlineData":{"data":"' + b"A" * MAX_PARSED_BYTES
    facts = asked(filler + b'"}}]}],"generationConfig":{"maxOutputTokens":7},"tools":[{"googleSearch":{}}]}')
    assert (facts.max_output_tokens, facts.hidden) == (7, (Hidden.SERVER_TOOLS,))


def test_the_refusal_has_the_providers_shape() -> None:
    status, headers, body = GEMINI.refusal(Refusal(reason=Reason.MAX_USD, message="no more", docket_number="dkt-1"))
    value = json.loads(body)
    assert status == 400
    assert ("x-should-retry", "false") in headers
    assert value["error"]["code"] == 400
    assert (value["error"]["message"], value["error"]["status"]) == ("no more", "FAILED_PRECONDITION")
    assert value["error"]["details"][0]["reason"] == str(Reason.MAX_USD)
    assert value["docket"] == {"reason": str(Reason.MAX_USD), "docket_number": "dkt-1"}
    waiting = Refusal(reason=Reason.MAX_USD, message="m", docket_number="n", status=429, retry_after_seconds=34)
    error = json.loads(GEMINI.refusal(waiting).body)["error"]
    assert error["status"] == "RESOURCE_EXHAUSTED"
    assert error["details"][1]["retryDelay"] == "34s"
    broken = Refusal(reason=Reason.EVIDENCE_FAILED, message="m", docket_number="n", status=503)
    assert json.loads(GEMINI.refusal(broken).body)["error"]["status"] == "INTERNAL"
