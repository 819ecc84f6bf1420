"""What request bodies ask for."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import replace

import brotli
import pytest
import zstandard

from docket.rules.providers.anthropic import AnthropicMessages
from docket.rules.providers.encoding import decode_body
from docket.rules.providers.interface import Hidden, RequestFacts, RequestTarget, Wire, model_members, model_text
from docket.rules.providers.openai_chat import OpenAiChat
from docket.rules.providers.openai_responses import OpenAiResponses
from docket.rules.providers.registry import provider
from docket.rules.providers.request import MAX_PARSED_BYTES, fingerprint


def messages(**members: object) -> RequestFacts:
    return AnthropicMessages().read_request(json.dumps({"model": "claude-opus-5", **members}).encode())


def chat(**members: object) -> RequestFacts:
    return OpenAiChat().read_request(json.dumps({"model": "gpt-4.1", **members}).encode())


def responses(**members: object) -> RequestFacts:
    return OpenAiResponses().read_request(json.dumps({"model": "gpt-4.1", **members}).encode())


def test_a_plain_messages_request() -> None:
    facts = messages(stream=True, max_tokens=1024, temperature=0.7, messages=[{"role": "user", "content": "hi"}])
    assert replace(facts, fingerprint="") == RequestFacts(model="claude-opus-5", streaming=True, max_output_tokens=1024)


def test_a_plain_chat_request() -> None:
    facts = chat(stream=True, max_tokens=10, max_completion_tokens=50, n=3, service_tier="flex")
    assert replace(facts, fingerprint="") == RequestFacts(
        model="gpt-4.1", streaming=True, max_output_tokens=50, choices=3, service_tier="flex"
    )


def test_a_plain_responses_request() -> None:
    facts = responses(stream=True, max_output_tokens=77, input="hi", store=False)
    assert replace(facts, fingerprint="") == RequestFacts(model="gpt-4.1", streaming=True, max_output_tokens=77)


@pytest.mark.parametrize(
    ("most", "budget", "expected"), [(4096, 1024, 4096), (1000, 5000, 6000), (1000, 1000, 2000), (None, 500, None)]
)
def test_a_thinking_budget_over_the_maximum_is_added(most: int | None, budget: int, expected: int | None) -> None:
    facts = messages(max_tokens=most, thinking={"type": "enabled", "budget_tokens": budget}, stream=True)
    assert (facts.max_output_tokens, facts.thinking_tokens) == (expected, budget)
    assert facts.hidden == (Hidden.REASONING,)


IMAGE = {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}]}
IN_RESULT = {
    "role": "user",
    "content": [{"type": "tool_result", "content": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]}],
}
INLINE = {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "url"}}, "url"]}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"stream": False}, Hidden.NON_STREAMING),
        ({"thinking": {"type": "adaptive"}}, Hidden.REASONING),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, Hidden.SERVER_TOOLS),
        ({"mcp_servers": [{"url": "https://x"}]}, Hidden.SERVER_TOOLS),
        ({"container": "c_1"}, Hidden.SERVER_TOOLS),
        ({"messages": [IMAGE]}, Hidden.REMOTE_INPUT),
        ({"messages": [IN_RESULT]}, Hidden.REMOTE_INPUT),
        ({"fallbacks": "default"}, Hidden.SEVERAL_MODELS),
        ({"compaction": {}, "context_management": {"edits": [{"type": "compact_20260112"}]}}, Hidden.ITERATIONS),
    ],
)
def test_what_messages_can_bill_unseen(members: dict[str, object], expected: Hidden) -> None:
    assert messages(**{"stream": True, **members}).hidden == (expected,)


@pytest.mark.parametrize(
    "members",
    [
        {"tools": [{"name": "bash", "input_schema": {}}, {"type": "custom", "name": "x"}, {"type": "bash_20250124"}]},
        {"tools": [{"type": "text_editor_20250728"}, {"type": "memory_20250818"}, "junk", {"type": 5}]},
        {"messages": [INLINE, {"role": "user", "content": '"url"'}, 7]},
        {"thinking": {"type": "disabled"}},
    ],
)
def test_what_messages_cannot_bill_unseen(members: dict[str, object]) -> None:
    assert messages(stream=True, **members).hidden == ()


def test_an_advisor_is_another_model_and_a_server_tool() -> None:
    facts = messages(stream=True, tools=[{"type": "advisor_20260301", "name": "advisor", "model": "claude-opus-5"}])
    assert facts.hidden == (Hidden.SERVER_TOOLS, Hidden.SEVERAL_MODELS)


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ([], None),
        ([{"type": "web_search_20250305", "max_uses": 5}], 5),
        ([{"type": "web_search_20250305", "max_uses": 5}, {"type": "web_search_20260209"}], None),
        ([{"type": "web_search_20250305"}], None),
    ],
)
def test_how_many_searches_a_request_allows(tools: list[object], expected: int | None) -> None:
    assert messages(tools=tools).web_search_limit == expected


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"stream": None}, Hidden.NON_STREAMING),
        ({"model": "o3"}, Hidden.REASONING),
        ({"model": "openai/gpt-5.2"}, Hidden.REASONING),
        ({"reasoning_effort": "low"}, Hidden.REASONING),
        ({"web_search_options": {}}, Hidden.SERVER_TOOLS),
        ({"tools": [{"type": "mcp"}]}, Hidden.SERVER_TOOLS),
        (
            {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}]},
            Hidden.REMOTE_INPUT,
        ),
        ({"messages": [{"content": [{"type": "file", "file": {"file_id": "file-1"}}]}]}, Hidden.REMOTE_INPUT),
    ],
)
def test_what_chat_can_bill_unseen(members: dict[str, object], expected: Hidden) -> None:
    assert chat(**{"stream": True, **members}).hidden == (expected,)


@pytest.mark.parametrize(
    "members",
    [
        {"model": "gpt-5.2-chat-latest"},
        {"model": "gpt-5.4", "reasoning_effort": "none"},
        {"tools": [{"type": "function", "function": {}}, {"type": "custom"}]},
        {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]}]},
        {"model": None},
    ],
)
def test_what_chat_cannot_bill_unseen(members: dict[str, object]) -> None:
    assert chat(stream=True, **members).hidden == ()


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"previous_response_id": "resp_1"}, Hidden.STORED_HISTORY),
        ({"conversation": {"id": "conv_1"}}, Hidden.STORED_HISTORY),
        ({"prompt": {"id": "pmpt_1"}}, Hidden.STORED_HISTORY),
        ({"input": [{"type": "item_reference", "id": "x"}]}, Hidden.STORED_HISTORY),
        ({"background": True}, Hidden.BACKGROUND),
        ({"tools": [{"type": "web_search"}]}, Hidden.SERVER_TOOLS),
        (
            {"input": [{"content": [{"type": "input_image", "image_url": "https://x/y.png"}]}]},
            Hidden.REMOTE_INPUT,
        ),
        ({"input": [{"content": [{"type": "input_file", "file_id": "file-1"}]}]}, Hidden.REMOTE_INPUT),
        ({"input": [{"content": [{"type": "input_file", "file_url": "https://x"}]}]}, Hidden.REMOTE_INPUT),
        (
            {"input": [{"type": "function_call_output", "output": [{"type": "input_image", "file_id": "file-1"}]}]},
            Hidden.REMOTE_INPUT,
        ),
        ({"reasoning": {"effort": "high"}}, Hidden.REASONING),
        ({"context_management": [{"type": "compaction"}]}, Hidden.ITERATIONS),
    ],
)
def test_what_responses_can_bill_unseen(members: dict[str, object], expected: Hidden) -> None:
    assert responses(**{"stream": True, **members}).hidden == (expected,)


def test_what_responses_cannot_bill_unseen() -> None:
    tools = [{"type": "function"}, {"type": "local_shell"}, {"type": "apply_patch"}]
    image = [{"content": [{"type": "input_image", "image_url": "data:image/png;base64,AA=="}]}]
    assert responses(stream=True, tools=tools, input=image).hidden == ()


def test_the_chain_of_a_response_is_named() -> None:
    assert responses(previous_response_id="resp_7").previous_response_id == "resp_7"


@pytest.mark.parametrize(
    ("options", "expected"),
    [(None, None), ({"include_usage": True}, True), ({"include_usage": False}, False), ({}, False), ("x", False)],
)
def test_whether_chat_asks_for_its_usage(options: object, expected: bool | None) -> None:
    assert chat(stream_options=options).include_usage is expected


@pytest.mark.parametrize("count", [0, -1, None, "two", "-2", "0x10", "", True, [3]])
def test_a_strange_number_of_choices_is_one(count: object) -> None:
    assert chat(n=count).choices == 1


@pytest.mark.parametrize(
    ("members", "choices"),
    # A server that reads bodies into declared types takes a number in a text, as JSON of protocol buffers does too.
    [({"n": "50"}, 50), ({"n": " +7.0 "}, 7), ({"n": 2, "best_of": "9"}, 9), ({"n": 3.0}, 3), ({}, 1)],
)
def test_a_number_of_choices_counts_however_it_is_written(members: dict[str, object], choices: int) -> None:
    assert chat(**members).choices == choices


@pytest.mark.parametrize(
    ("members", "limit"),
    [
        ({"max_tokens": 10, "max_completion_tokens": 20}, 20),
        ({"max_tokens": 10, "max_completion_tokens": None}, 10),
        # Which of the two a server goes by, and what it makes of the other, nobody knows.
        ({"max_tokens": 10, "max_completion_tokens": "100000"}, None),
        ({"max_tokens": 10, "max_completion_tokens": -1}, None),
        ({"max_tokens": "10"}, None),
    ],
)
def test_a_limit_beside_one_that_cannot_be_read_is_none(members: dict[str, object], limit: int | None) -> None:
    assert chat(**members).max_output_tokens == limit


@pytest.mark.parametrize(
    ("body", "note"),
    [
        (b"", "the request body is empty"),
        (b"[]", "the request body is not a JSON object"),
        (b"\x1f\x8b\x08", "the request body is not a JSON object"),
        (b'{"model":' * 50_000, "the request body is not a JSON object"),
    ],
)
def test_bodies_that_are_no_object(body: bytes, note: str) -> None:
    for wire in (AnthropicMessages(), OpenAiChat(), OpenAiResponses()):
        facts = wire.read_request(body)
        assert (facts.model, facts.hidden, facts.note) == (None, (Hidden.UNREADABLE,), note)
        assert len(facts.fingerprint) == 16


@pytest.mark.parametrize(
    ("coding", "encode"),
    [("gzip", gzip.compress), ("zstd", zstandard.compress), ("br", brotli.compress), ("deflate", zlib.compress)],
)
def test_a_compressed_body_is_read_from_a_decoded_copy(coding: str, encode: Callable[[bytes], bytes]) -> None:
    encoded = encode(b'{"model":"gpt-5.5","input":"hi"}')
    decoded = decode_body(coding, encoded, 1000)
    assert decoded is not None
    assert OpenAiResponses().read_request(decoded).model == "gpt-5.5"
    # Undecoded it is no object, and that is no fault.
    assert OpenAiResponses().read_request(encoded).hidden == (Hidden.UNREADABLE,)


def test_a_lone_surrogate_a_fraction_and_a_duplicate_are_read() -> None:
    body = b'{"model":"a","model":"m\\ud83d","temperature":0.7,"top_p":1e-3,"messages":[{"content":"\\udc00"}]}'
    facts = OpenAiChat().read_request(body)
    assert (facts.model, facts.model_raw) == ("m\\ud83d", b"m\xed\xa0\xbd")
    assert len(facts.fingerprint) == 16


def test_a_very_large_body_is_read_member_by_member() -> None:
    head = b'{"model":"gpt-4.1","messages":[{"content":"' + b"x" * MAX_PARSED_BYTES
    facts = OpenAiChat().read_request(head + b'"}],"stream":true,"max_tokens":5}')
    assert (facts.model, facts.streaming, facts.max_output_tokens) == ("gpt-4.1", True, 5)
    other = OpenAiChat().read_request(head + b'"}],"stream":true,"max_tokens":6}')
    assert facts.fingerprint != other.fingerprint


SYSTEM = [
    {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.0; cch=aaaa;"},
    {"type": "text", "text": "You are an agent."},
]


def test_repetitions_have_the_same_fingerprint() -> None:
    first = messages(system=SYSTEM, messages=["a"], metadata={"user_id": "u1"}, stream=True)
    other = [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.0; cch=bbbb;"}, SYSTEM[1]]
    again = messages(messages=["a"], metadata={"user_id": "u2"}, system=other)
    assert first.fingerprint == again.fingerprint
    assert messages(system=SYSTEM[1:], messages=["a"]).fingerprint == first.fingerprint
    assert messages(system=SYSTEM[1:], messages=["b"]).fingerprint != first.fingerprint


def test_a_billing_line_in_a_plain_system_text_stays() -> None:
    text = "x-anthropic-billing-header: a"
    assert messages(system=text).fingerprint != messages(system=text + "b").fingerprint


def test_the_fingerprint_of_a_known_body() -> None:
    # SHA-256 of {"messages":[],"model":"gpt-4.1"}, worked out with sha256sum.
    assert chat(messages=[], user="someone").fingerprint == "0349b4c97e9dcd68"


def test_the_fingerprint_of_what_is_too_deep_to_be_written_again_is_the_bodys() -> None:
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    # SHA-256 of the five bytes, worked out with sha256sum.
    assert fingerprint(b"a bod", {"messages": deep}) == "0de5acb873f84833"


def test_names_of_models() -> None:
    assert model_members(None) == (None, None)
    assert model_members("") == (None, None)
    assert model_members("x" * 257) == (None, None)
    assert model_members("anthropic/claude") == ("anthropic/claude", None)
    assert model_members("a\nb") == ("a\\u000ab", b"a\nb")
    assert model_text("\u202egpt") == "\\u202egpt"


@pytest.mark.parametrize("wire", [AnthropicMessages(), OpenAiChat(), OpenAiResponses()])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"model":"a","messages":[{"model":"b"},{"model":"c"}],"tools":[]}', None),
        (b'{"model":"a","MyModel":1,"temperature":1}', None),
        (b'{"model":"a","model":"a"}', 'names "model" more than once'),
        (b'{"model":"a","max_tokens":1,"max\\u005ftokens":9}', 'names "max_tokens" more than once'),
        (b'{"model":"a","x\\n":1,"x\\n":2}', 'names "x\\u000a" more than once'),
        (b'{"model":"a","Model":"b"}', 'names "Model", which some servers read as "model"'),
        ('{"model":"a","me\u017fsages":[]}'.encode(), 'names "me\u017fsages", which some servers read as "messages"'),
        (b'{"N":7}', 'names "N", which some servers read as "n"'),
        (b'{"model":"a","thinking":{"budget_tokens":1,"budget_tokens":9}}', 'names "budget_tokens" more than once'),
        (b'{"model":"a","tools":[{"type":"web_search","type":"custom"}]}', 'names "type" more than once'),
        (b'{"model":"a","x":{"y":{"z":1,"\\u007a":2}},"x":3}', 'names "x" more than once'),
        (b'{"model":"a","messages":[{"role":"user","role":"user"}],"input":[{"a":1,"a":2}]}', None),
    ],
)
def test_a_body_that_two_readers_read_differently_says_so(wire, body: bytes, said: str | None) -> None:
    ambiguous = wire.read_request(body).ambiguous
    assert ambiguous is None if said is None else said in str(ambiguous)


@pytest.mark.parametrize("again", [b'"model":"b"', b'"MODEL":"b"'])
def test_a_very_large_body_that_names_its_model_twice_says_so(again: bytes) -> None:
    body = b'{"model":"a","messages":"' + b"x" * MAX_PARSED_BYTES + b'"'
    assert OpenAiChat().read_request(body + b"}").ambiguous is None
    assert "more than once" in str(OpenAiChat().read_request(body + b"," + again + b"}").ambiguous)


@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("anthropic", "/v1/messages", {"messages": [{"content": [{"source": {"type": "url", "url": "https://x"}}]}]}),
        (
            "openai", "/v1/chat/completions",
            {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "https://x"}}]}]},
        ),
        ("openai", "/v1/responses", {"input": [{"content": [{"type": "input_file", "file_url": "https://x"}]}]}),
        ("gemini", "/v1beta/models/m:generateContent", {"contents": [{"parts": [{"fileData": {"fileUri": "gs://x"}}]}]}),
        ("gemini", "/v1beta/interactions", {"input": [{"type": "image", "uri": "gs://x"}]}),
        ("bedrock", "/model/m/converse", {"messages": [{"content": [{"image": {"source": {"s3Location": {}}}}]}]}),
    ],
)  # fmt: skip
def test_input_that_lies_elsewhere_is_found_however_its_name_is_written(
    name: str, path: str, body: dict[str, object]
) -> None:
    wire = provider(name).classify("POST", path).wire
    assert wire is not None
    plain = json.dumps(body).encode()
    letters = (b'"url"', b'"file_url"', b'"fileUri"', b'"fileData"', b'"uri"', b'"s3Location"')
    escaped = plain
    for word in letters:
        escaped = escaped.replace(word, b'"\\u%04x' % word[1] + word[2:])
    assert escaped != plain
    for asked in (plain, escaped):
        assert Hidden.REMOTE_INPUT in wire.read_request(asked, RequestTarget(path=path)).hidden


@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("anthropic", "/v1/messages", b'{"model":"m","max_tokens":1,"thinking":{"type":"disabled","type":"enabled"}}'),
        ("openai", "/v1/chat/completions", b'{"model":"m","tools":[{"type":"x","type":"function"}]}'),
        ("openai", "/v1/responses", b'{"model":"m","reasoning":{"effort":"high","effort":"none"}}'),
        (
            "gemini",
            "/v1beta/models/m:generateContent",
            b'{"generationConfig":{"maxOutputTokens":9,"maxOutputTokens":1}}',
        ),
        ("code-assist", "/v1internal:generateContent", b'{"model":"m","request":{"contents":[],"contents":[1]}}'),
        (
            "vertex",
            "/v1/publishers/anthropic/models/m:rawPredict",
            b'{"thinking":{"budget_tokens":9,"budget_tokens":1}}',
        ),
        ("bedrock", "/model/m/converse", b'{"inferenceConfig":{"maxTokens":9,"maxTokens":1}}'),
        ("bedrock", "/model/m/invoke", b'{"textGenerationConfig":{"maxTokenCount":9,"maxTokenCount":1}}'),
        ("ollama", "/api/chat", b'{"model":"m","options":{"num_predict":9,"num_predict":1}}'),
        ("openrouter", "/api/v1/chat/completions", b'{"model":"m","provider":{"order":[],"order":["x"]}}'),
    ],
)
def test_a_setting_that_is_named_twice_is_told_on_every_wire(name: str, path: str, body: bytes) -> None:
    wire = provider(name).classify("POST", path).wire
    assert wire is not None
    padded = b'{"pad":"' + b"x" * MAX_PARSED_BYTES + b'",' + body[1:]
    for asked in (body, padded) if name in ("anthropic", "openai", "gemini") else (body,):
        assert "more than once" in str(wire.read_request(asked, RequestTarget(path=path)).ambiguous)


@pytest.mark.parametrize("wire", [OpenAiChat(), OpenAiResponses()], ids=lambda wire: wire.name)
def test_azures_deployment_in_the_path_is_what_serves(wire: Wire) -> None:
    path = "/openai/deployments/mine/chat/completions?api-version=2025-04-01-preview"
    assert wire.read_request(b'{"model":"gpt-5.5"}', RequestTarget(path=path)).model == "mine"
    assert wire.read_request(b'{"model":"mine"}', RequestTarget(path="/openai/v1/responses")).model == "mine"
