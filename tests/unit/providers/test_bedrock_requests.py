"""What Bedrock requests ask for: the model is in the path, the rest in two formats."""

from __future__ import annotations

import json

import pytest

from docket.formats.reason import Reason
from docket.rules.providers import registry
from docket.rules.providers.bedrock import names_no_model, signed_for_host
from docket.rules.providers.endpoints import BEDROCK_CONVERSE, BEDROCK_INVOKE
from docket.rules.providers.interface import EndpointKind, Hidden, Refusal, RequestFacts, RequestTarget, Wire

SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
PATH = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0"
PROFILE = "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc123"


def converse(body: object, path: str = f"{PATH}/converse") -> RequestFacts:
    return BEDROCK_CONVERSE.read_request(json.dumps(body).encode(), RequestTarget(path=path))


def invoke(body: object, path: str = f"{PATH}/invoke", **headers: str) -> RequestFacts:
    fields = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())
    return BEDROCK_INVOKE.read_request(json.dumps(body).encode(), RequestTarget(path=path, headers=fields))


@pytest.mark.parametrize(
    ("path", "kind", "wire"),
    [
        (f"{PATH}/converse", EndpointKind.BILLED, "bedrock-converse"),
        (f"{PATH}/converse-stream", EndpointKind.BILLED, "bedrock-converse"),
        (f"{PATH}/invoke", EndpointKind.BILLED, "bedrock-invoke"),
        (f"{PATH}/invoke-with-response-stream?x=1", EndpointKind.BILLED, "bedrock-invoke"),
        (f"/gateway{PATH}/invoke", EndpointKind.BILLED, "bedrock-invoke"),
        (f"{PATH}/count-tokens", EndpointKind.FREE, None),
        ("/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Feu.x-v1%3A0/count-tokens",
         EndpointKind.FREE, None),
        (f"{PROFILE}/invoke", EndpointKind.BILLED, "bedrock-invoke"),
        (f"{PATH}/invoke-with-bidirectional-stream", EndpointKind.UNKNOWN, "unknown"),
        (f"{PATH}/converse-with-response-stream", EndpointKind.UNKNOWN, "unknown"),
        (f"{PATH}/invoke-stream", EndpointKind.UNKNOWN, "unknown"),
        ("/async-invoke", EndpointKind.UNKNOWN, "unknown"),
        ("/guardrail-checks/invoke", EndpointKind.UNKNOWN, "unknown"),
        ("/guardrail/g1/version/1/apply", EndpointKind.UNKNOWN, "unknown"),
        ("/model/x%2Finvoke%3F/count-tokens", EndpointKind.UNKNOWN, "unknown"),
        ("/model/x%2Finvoke/count-tokens", EndpointKind.UNKNOWN, "unknown"),
    ],
)  # fmt: skip
def test_what_a_path_stands_for(path: str, kind: EndpointKind, wire: str | None) -> None:
    endpoint = registry.provider("bedrock").classify("POST", path)
    assert (endpoint.kind, endpoint.wire and endpoint.wire.name) == (kind, wire)


def test_a_path_goes_on_to_the_byte() -> None:
    url = registry.with_upstream("bedrock", "https://bedrock-runtime.eu-west-1.amazonaws.com").url(f"{PATH}/converse")
    assert url == f"https://bedrock-runtime.eu-west-1.amazonaws.com{PATH}/converse"


def test_a_converse_request() -> None:
    facts = converse(
        {"messages": [{"role": "user", "content": [{"text": "hi"}]}], "inferenceConfig": {"maxTokens": 400},
         "serviceTier": {"type": "flex"}, "performanceConfig": {"latency": "optimized"}}
    )  # fmt: skip
    assert (facts.model, facts.model_is_exact, facts.streaming) == (SONNET, True, False)
    assert (facts.max_output_tokens, facts.service_tier, facts.speed) == (400, "flex", "optimized")
    assert facts.hidden == (Hidden.NON_STREAMING,)


def test_the_operation_says_whether_the_reply_streams() -> None:
    assert converse({}, f"{PATH}/converse-stream").streaming
    assert converse({}, f"{PATH}/converse-stream").hidden == ()
    assert invoke({}, f"{PATH}/invoke-with-response-stream").streaming


@pytest.mark.parametrize(
    ("body", "hidden"),
    [
        ({"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 5}}}, Hidden.REASONING),
        ({"additionalModelRequestFields": {"reasoning_effort": "low"}}, Hidden.REASONING),
        ({"outputConfig": {"effort": "high"}}, Hidden.REASONING),
        (
            {"toolConfig": {"tools": [{"toolSpec": {}}, {"systemTool": {"name": "nova_grounding"}}]}},
            Hidden.SERVER_TOOLS,
        ),
        (
            {"messages": [{"content": [{"document": {"source": {"s3Location": {"uri": "s3://b/k"}}}}]}]},
            Hidden.REMOTE_INPUT,
        ),
    ],
)
def test_what_a_converse_reply_would_not_show(body: object, hidden: Hidden) -> None:
    assert converse(body, f"{PATH}/converse-stream").hidden == (hidden,)


def test_thinking_beyond_the_bound_is_added_to_it() -> None:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 900}}
    facts = converse({"inferenceConfig": {"maxTokens": 400}, "additionalModelRequestFields": thinking})
    assert (facts.max_output_tokens, facts.thinking_tokens) == (1300, 900)


def test_a_model_that_reasons_unasked() -> None:
    path = "/model/openai.gpt-oss-120b-1%3A0/converse-stream"
    assert converse({}, path).hidden == (Hidden.REASONING,)


def test_the_fingerprint_knows_the_model_in_the_path() -> None:
    other = "/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse"
    assert converse({"messages": []}).fingerprint == converse({"messages": []}, f"{PATH}/converse-stream").fingerprint
    assert converse({"messages": []}).fingerprint != converse({"messages": []}, other).fingerprint


def test_a_profile_of_the_accounts_own_names_no_model() -> None:
    facts = converse({}, f"{PROFILE}/converse")
    assert facts.model == "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123"
    assert not facts.model_is_exact
    assert Hidden.STORED_HISTORY in facts.hidden


@pytest.mark.parametrize(
    ("model", "hides"),
    [
        ("anthropic.claude-v2", False),
        ("arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-v2", False),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0", False),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", True),
        ("arn:aws-us-gov:bedrock:us-gov-west-1:1:provisioned-model/abc", True),
        ("arn:aws:bedrock:us-east-1:1:default-prompt-router/anthropic.claude:1", True),
        ("arn:aws:bedrock:us-east-1:1:prompt/ABC:1", True),
        ("arn:aws:sagemaker:us-east-1:1:endpoint/my-endpoint", True),
    ],
)
def test_what_hides_its_model(model: str, *, hides: bool) -> None:
    assert names_no_model(model) is hides


def test_a_body_that_is_no_object_still_has_its_model() -> None:
    facts = BEDROCK_CONVERSE.read_request(b"[", RequestTarget(path=f"{PATH}/converse"))
    assert facts.model == SONNET
    assert facts.hidden == (Hidden.NON_STREAMING, Hidden.UNREADABLE)


def test_a_path_without_a_model() -> None:
    assert converse({}, "/elsewhere").model is None
    assert not converse({}, "/elsewhere").model_is_exact


def test_an_invoke_request_of_claude() -> None:
    body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 500, "messages": [],
            "tools": [{"type": "web_search_20250305", "max_uses": 3}]}  # fmt: skip
    facts = invoke(body, X_Amzn_Bedrock_Service_Tier="priority", X_Amzn_Bedrock_PerformanceConfig_Latency="optimized")
    assert (facts.model, facts.max_output_tokens, facts.web_search_limit) == (SONNET, 500, 3)
    assert (facts.service_tier, facts.speed) == ("priority", "optimized")
    assert facts.hidden == (Hidden.NON_STREAMING, Hidden.SERVER_TOOLS)


@pytest.mark.parametrize(
    ("body", "most"),
    [
        ({"max_tokens": 7, "messages": []}, 7),
        ({"inferenceConfig": {"maxTokens": 8}}, 8),
        ({"inferenceConfig": {"max_new_tokens": 9}}, 9),
        ({"textGenerationConfig": {"maxTokenCount": 10}}, 10),
        ({"max_gen_len": 11, "prompt": "x"}, 11),
        ({"inputText": "x"}, None),
        (["x"], None),
    ],
)
def test_how_models_spell_their_bound(body: object, most: int | None) -> None:
    assert invoke(body).max_output_tokens == most


def signature(path: str = "/model/x/converse", authorization: bytes = b"") -> str | None:
    return signed_for_host(RequestTarget(path=path, headers=((b"Authorization", authorization),)))


def test_a_request_that_is_signed_for_its_host() -> None:
    signed = signature(authorization=b"AWS4-HMAC-SHA256 Credential=AKIA/20261129/us-east-1/bedrock/aws4_request")
    assert signed is not None
    assert "AWS_BEARER_TOKEN_BEDROCK" in signed
    assert "host" in signed
    assert signature(path="/model/x/invoke?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=ab") == signed
    assert signature(authorization=b"Bearer bedrock-api-key-abc") is None
    assert signature() is None


@pytest.mark.parametrize("wire", [BEDROCK_CONVERSE, BEDROCK_INVOKE])
@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "ValidationException"), (403, "AccessDeniedException"), (429, "ThrottlingException")],
)
def test_a_refusal_in_the_services_own_shape(wire: Wire, status: int, kind: str) -> None:
    answer = wire.refusal(Refusal(reason=Reason.MAX_USD, message="spent", docket_number="DKT-1", status=status))
    assert answer.status == status
    assert json.loads(answer.body) == {
        "message": "spent", "docket": {"reason": "max_usd", "docket_number": "DKT-1"},
    }  # fmt: skip
    assert dict(answer.headers)["x-amzn-errortype"] == kind
    assert dict(answer.headers)["x-should-retry"] == "false"
