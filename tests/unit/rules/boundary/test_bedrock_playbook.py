"""Bedrock at the boundary: the model in the path is weighed and billed, a signature is refused, a break is a break."""

from __future__ import annotations

import json

from aws_frames import event
from boundary_rig.playbook import Stage, names
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelRequest, ModelResponse, Outcome
from docket.formats.run.policy import Policy
from docket.formats.run.policy_reach import ModelsPolicy
from docket.formats.run.policy_spending import CapsPolicy
from docket.rules.boundary.protocol import Refuse, UpstreamChunk, UpstreamEnded

PATH = "/bedrock/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0"
PROFILE = "/bedrock/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aapplication-inference-profile%2Fabc/converse"
BODY = b'{"messages":[{"role":"user","content":[{"text":"hi"}]}],"inferenceConfig":{"maxTokens":100}}'
FRAMES = (b"content-type", b"application/vnd.amazon.eventstream")
CHUNKED = (b"transfer-encoding", b"chunked")
TEXT = event("contentBlockDelta", {"delta": {"text": "x" * 400}, "contentBlockIndex": 0})
USAGE = event("metadata", {"usage": {"inputTokens": 100, "outputTokens": 10, "totalTokens": 110}})


def stage(usd: int = 10**6) -> Stage:
    return Stage(Policy(caps=CapsPolicy(max_usd=Usd(usd))), provider="bedrock")


def test_a_stream_is_billed_by_the_model_in_the_path() -> None:
    play = stage().play()
    play.post(BODY, f"{PATH}/converse-stream")
    play.reply(200, FRAMES, CHUNKED, (b"x-amzn-requestid", b"r-1"))
    play.feed(UpstreamChunk(TEXT + USAGE))
    play.feed(UpstreamEnded())
    (request,), (response,) = play.payloads(ModelRequest), play.payloads(ModelResponse)
    assert (request.wire, request.streaming) == ("bedrock-converse", True)
    assert request.model == response.model == "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    # 100 x 3.3 + 10 x 16.5 = 495.
    assert (response.cost_usd, response.outcome) == (Usd(495), Outcome.COMPLETE)
    assert response.provider_request_id == "r-1"


def test_a_stream_that_ends_with_its_connection_before_its_usage_is_broken() -> None:
    play = stage().play()
    play.post(BODY, f"{PATH}/converse-stream")
    play.reply(200, FRAMES)
    play.feed(UpstreamChunk(TEXT))
    commands = play.feed(UpstreamEnded())
    assert names(commands)[-1] == "Reset"
    (response,) = play.payloads(ModelResponse)
    assert response.outcome is Outcome.UPSTREAM_BROKEN
    # 92 bytes sent are 23 tokens, 400 shown are 100: 23 x 3.3 + 100 x 16.5 = 1725.9.
    assert (len(BODY), response.cost_usd) == (92, Usd(1726))


def test_a_stream_is_cut_at_the_cap() -> None:
    play = stage(1500).play()
    play.post(BODY, f"{PATH}/converse-stream")
    play.reply(200, FRAMES, CHUNKED)
    commands = play.feed(UpstreamChunk(TEXT))
    assert "Reset" in names(commands)
    assert play.payloads(ModelResponse)[0].outcome is Outcome.CUT


def test_a_profile_of_the_accounts_own_has_no_price() -> None:
    play = stage().play()
    play.post(BODY, PROFILE)
    (denied,) = play.payloads(ModelDenied)
    assert denied.reason == "unknown_model"
    assert "application-inference-profile/abc" in denied.detail


def test_a_profile_is_priced_as_what_the_person_says_it_stands_for() -> None:
    arn = "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc"
    sonnet = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    policy = Policy(caps=CapsPolicy(max_usd=Usd(10**6)), models=ModelsPolicy(priced_as=(f"{arn}={sonnet}",)))
    play = Stage(policy, provider="bedrock").play()
    play.post(BODY, PROFILE)
    play.reply(200, (b"content-type", b"application/json"), CHUNKED)
    play.feed(UpstreamChunk(b'{"output":{},"usage":{"inputTokens":100,"outputTokens":10,"totalTokens":110}}'))
    play.feed(UpstreamEnded())
    (response,) = play.payloads(ModelResponse)
    assert (response.model, response.cost_usd, response.assumed_price) == (arn, Usd(495), False)
    assert response.components[-1].model == f"{arn}+as-{sonnet}+at-bedrock"


def test_a_signature_is_refused_before_the_body_is_read() -> None:
    play = stage().play()
    commands = play.head(
        f"{PATH}/converse", "POST", "Content-Length: 5", "Authorization: AWS4-HMAC-SHA256 Credential=A"
    )
    (answer,) = [command for command in commands if isinstance(command, Refuse)]
    assert answer.head.status == 400
    assert (b"x-amzn-errortype", b"ValidationException") in answer.head.headers
    assert "AWS_BEARER_TOKEN_BEDROCK" in json.loads(answer.body)["message"]
    (denied,) = play.payloads(ModelDenied)
    assert denied.reason == "signed_for_host"
