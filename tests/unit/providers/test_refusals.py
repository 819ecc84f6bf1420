"""Refusals in each protocol's own error shape."""

from __future__ import annotations

import json

import pytest

from docket.formats.reason import Reason
from docket.rules.providers.endpoints import ANTHROPIC_MESSAGES, ANY_WIRE, OPENAI_CHAT, OPENAI_RESPONSES
from docket.rules.providers.interface import Refusal, Wire

MESSAGE = 'docket stopped this run: $0.05 of "$0.05" is spent (DKT-20261129-ABCDEF)'
REFUSAL = Refusal(reason=Reason.MAX_USD, message=MESSAGE, docket_number="DKT-20261129-ABCDEF")
MARK = {"reason": "max_usd", "docket_number": "DKT-20261129-ABCDEF"}


def test_anthropic() -> None:
    status, headers, body = ANTHROPIC_MESSAGES.refusal(REFUSAL)
    assert status == 400
    assert json.loads(body) == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": MESSAGE},
        "docket": MARK,
    }
    assert dict(headers) == {
        "content-type": "application/json",
        "x-docket-reason": "max_usd",
        "x-docket-number": "DKT-20261129-ABCDEF",
        "x-should-retry": "false",
    }


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "authentication_error"), (402, "billing_error"), (403, "permission_error"), (404, "not_found_error"),
     (413, "request_too_large"), (429, "rate_limit_error"), (415, "api_error"), (503, "api_error")],
)  # fmt: skip
def test_anthropic_types_by_status(status: int, kind: str) -> None:
    refusal = Refusal(reason=Reason.RUN_ENDING, message="no", docket_number="D", status=status)
    reply = ANTHROPIC_MESSAGES.refusal(refusal)
    assert reply.status == status
    assert json.loads(reply.body)["error"]["type"] == kind


@pytest.mark.parametrize("wire", [OPENAI_CHAT, OPENAI_RESPONSES, ANY_WIRE])
def test_openai(wire: Wire) -> None:
    status, headers, body = wire.refusal(REFUSAL)
    assert status == 400
    assert json.loads(body) == {
        "error": {"message": MESSAGE, "type": "invalid_request_error", "param": None, "code": "max_usd"},
        "docket": MARK,
    }
    assert dict(headers)["x-should-retry"] == "false"


def test_a_rate_limit_says_when_to_come_back() -> None:
    refusal = Refusal(
        reason=Reason.MAX_MODEL_CALLS, message="wait", docket_number="D", status=429, retry_after_seconds=7
    )
    status, headers, body = OPENAI_CHAT.refusal(refusal)
    assert (status, dict(headers)["retry-after"]) == (429, "7")
    assert "x-should-retry" not in dict(headers)
    assert json.loads(body)["error"]["type"] == "rate_limit_error"


def test_a_message_that_is_not_unicode_is_no_fault() -> None:
    refusal = Refusal(reason=Reason.MODEL_POLICY, message="model m\ud800 \u00fc", docket_number="D")
    assert "\u00fc" in json.loads(ANTHROPIC_MESSAGES.refusal(refusal).body)["error"]["message"]
    assert OPENAI_RESPONSES.refusal(Refusal(reason=Reason.USAGE, message="\udfff", docket_number="D")).body
