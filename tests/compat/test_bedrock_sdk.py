"""The real botocore against the boundary: with a bearer key it works and is priced, signed it is refused at once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from agent_lab import program

from aws_frames import chunk, event
from boundary_rig.raw_upstream import RawUpstream
from boundary_rig.rig import TOKEN, boundary, caps
from docket.formats.amount import Usd

CLIENT = str(Path(__file__).with_name("bedrock_client.py"))
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
TEXT = "grüße 🙂"
USAGE = {"inputTokens": 100, "outputTokens": 10, "totalTokens": 1310, "cacheReadInputTokens": 1000,
         "cacheWriteInputTokens": 200, "cacheDetails": [{"ttl": "1h", "inputTokens": 200}]}  # fmt: skip
NATIVE_USAGE = {"input_tokens": 100, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 200,
                "cache_creation": {"ephemeral_1h_input_tokens": 200}, "output_tokens": 10}  # fmt: skip
MESSAGE = {"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
           "content": [{"type": "text", "text": TEXT}], "usage": NATIVE_USAGE}  # fmt: skip
REPLIES = {
    "converse": json.dumps(
        {"output": {"message": {"role": "assistant", "content": [{"text": TEXT}]}}, "stopReason": "end_turn",
         "usage": USAGE, "metrics": {"latencyMs": 5}}
    ).encode(),
    "converse-stream": event("messageStart", {"role": "assistant"})
    + event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": TEXT}})
    + event("messageStop", {"stopReason": "end_turn"})
    + event("metadata", {"usage": USAGE, "metrics": {"latencyMs": 5}}),
    "invoke": json.dumps(MESSAGE).encode(),
    "invoke-with-response-stream": chunk({"type": "message_start", "message": {**MESSAGE, "content": []}})
    + chunk({"type": "content_block_delta", "delta": {"type": "text_delta", "text": TEXT}})
    + chunk({"type": "message_delta", "usage": {"output_tokens": 10}})
    + chunk({"type": "message_stop",
             "amazon-bedrock-invocationMetrics": {"inputTokenCount": 100, "outputTokenCount": 10}}),
}  # fmt: skip


def answer(request, sock):
    operation = request.line.split(" ")[1].rpartition("/")[2]
    body = REPLIES[operation]
    kind = "application/vnd.amazon.eventstream" if operation.endswith("stream") else "application/json"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nx-amzn-RequestId: req-{operation}\r\n"
    if operation.endswith("stream"):
        sock.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        for at in range(0, len(body), 50):
            piece = body[at : at + 50]
            sock.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
        sock.sendall(b"0\r\n\r\n")
    else:
        sock.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return True


def ask(url: str, tmp_path: Path, **variables: str) -> list[object]:
    python = str(program("sdks"))
    if subprocess.run([python, "-c", "import botocore"], capture_output=True, check=False).returncode:
        pytest.skip("botocore is not installed: run tests/compat/install.sh sdks")
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **variables}
    done = subprocess.run(
        [python, CLIENT, url, MODEL], env=environment, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[object] = json.loads(done.stdout)
    return found


def test_with_a_bearer_key_every_way_is_understood_and_priced(tmp_path):
    with RawUpstream(answer) as upstream:
        with boundary(tmp_path, upstream.url, name="bedrock", policy=caps(max_usd=Usd.parse("1"))) as rig:
            url = f"http://127.0.0.1:{rig.port}/{TOKEN}/bedrock"
            understood = ask(url, tmp_path, BEDROCK_KEY="bedrock-api-key-dummy")
            assert understood == [[TEXT, 10]] * 4
        # Sonnet 4.5 in a region, in micro-dollars a token: 100 x 3.3 + 1000 x 0.33 + 10 x 16.5 = 825; 200 x 6.6 = 1320.
        responses = rig.data("model.response")
        assert [item["cost_usd"] for item in responses] == ["0.002145"] * 4
        assert [item["model"] for item in responses] == [MODEL] * 4
        assert [item["usage_source"] for item in responses] == ["reported"] * 4
        assert [item["assumed_price"] for item in responses] == [False] * 4
        assert [item["wire"] for item in rig.data("model.request")] == ["bedrock-converse"] * 2 + ["bedrock-invoke"] * 2
        assert [item["streaming"] for item in rig.data("model.request")] == [False, True, False, True]
        assert responses[0]["provider_request_id"] == "req-converse"
        # The path goes on to the byte, the colon as botocore escaped it.
        assert upstream.requests[0].line == f"POST /model/{MODEL.replace(':', '%3A')}/converse HTTP/1.1"
        assert upstream.requests[0].values("authorization") == ["Bearer bedrock-api-key-dummy"]


def test_a_signed_request_is_refused_once_and_says_why(tmp_path):
    with RawUpstream(answer) as upstream:
        with boundary(tmp_path, upstream.url, name="bedrock") as rig:
            url = f"http://127.0.0.1:{rig.port}/{TOKEN}/bedrock"
            keys = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "dummy"}
            code, message, retries = ask(url, tmp_path, **keys)
        assert code == "ValidationException"
        assert "AWS_BEARER_TOKEN_BEDROCK" in str(message)
        assert retries == 0
        assert upstream.requests == []
        assert [item["reason"] for item in rig.data("model.denied")] == ["signed_for_host"]
