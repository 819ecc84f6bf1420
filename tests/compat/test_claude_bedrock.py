"""Claude Code over Amazon Bedrock: metered with a bearer key, refused before it starts where it would sign."""

from __future__ import annotations

import json

import pytest
from agent_lab import assert_consistent, program

from aws_frames import chunk
from boundary_rig.raw_upstream import RawUpstream

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
USAGE = {"input_tokens": 1000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 20}
MESSAGE = {
    "id": "msg_bdrk_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-haiku-4-5-20251001",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {**USAGE, "output_tokens": 1},
}
STREAM = (
    chunk({"type": "message_start", "message": MESSAGE})
    + chunk({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    + chunk({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}})
    + chunk({"type": "content_block_stop", "index": 0})
    + chunk({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
             "usage": {"output_tokens": 20}})
    + chunk({"type": "message_stop",
             "amazon-bedrock-invocationMetrics": {"inputTokenCount": 1000, "outputTokenCount": 20}})
)  # fmt: skip
WHOLE = {**MESSAGE, "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn", "usage": USAGE}


def answer(request, sock):
    path = request.line.split(" ")[1]
    if path.endswith("/invoke-with-response-stream"):
        kind, body = "application/vnd.amazon.eventstream", STREAM
    elif path.endswith("/invoke"):
        kind, body = "application/json", json.dumps(WHOLE).encode()
    else:
        kind, body = "application/json", b"{}"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    sock.sendall(head.encode() + body)
    return True


@pytest.fixture
def bedrock_lab(lab):
    program("claude")
    return lab.with_variables(CLAUDE_CODE_USE_BEDROCK="1", AWS_REGION="us-east-1", ANTHROPIC_MODEL=MODEL)


def claude():
    return ["claude", "-p", "say done", "--output-format", "json"]


def test_with_a_bearer_key_its_calls_are_metered_at_the_regions_price(bedrock_lab):
    with RawUpstream(answer) as upstream:
        lab = bedrock_lab.with_variables(AWS_BEARER_TOKEN_BEDROCK="bedrock-api-key-dummy")
        run = lab.docket_run(["--max-usd", "1", "--upstream", f"bedrock={upstream.url}"], claude())
        requests = [(item.line, item.values("authorization")) for item in upstream.requests]
    assert run.exit_code == 0, run.said
    assert json.loads(run.stdout)["result"] == "Done."
    assert {keys[0] for line, keys in requests if "/invoke" in line} == {"Bearer bedrock-api-key-dummy"}
    responses = run.of_type("model.response")
    assert responses
    # It also asks once each of the models it could offer. In a region, in micro-dollars a token:
    # 1000 x 1.1 + 20 x 5.5 = 1210; Sonnet 4.5 1000 x 3.3 + 20 x 16.5 = 3630; Opus 4.6 1000 x 5.5 + 20 x 27.5 = 6050.
    costs = {item["model"]: item["cost_usd"] for item in responses}
    assert costs.pop(MODEL) == "0.001210"
    known = {"us.anthropic.claude-sonnet-4-5-20250929-v1:0": "0.003630", "us.anthropic.claude-opus-4-6-v1": "0.006050"}
    assert costs.items() <= known.items()
    assert not any(item["assumed_price"] for item in responses)
    assert_consistent(run)


def test_without_one_it_is_refused_before_it_starts(bedrock_lab):
    done = bedrock_lab.finish("run", "--max-usd", "1", "--", *claude())
    assert done.exit_code == 43, done.said
    assert "AWS_BEARER_TOKEN_BEDROCK" in done.stderr
    assert bedrock_lab.receipts() == []
