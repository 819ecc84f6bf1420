"""What a call is billed whose reply was split among samplings and broke off before its last count."""

from __future__ import annotations

import json

from boundary_rig.playbook import Stage
from boundary_rig.replies import messages_request
from boundary_rig.rig import caps
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelResponse, Outcome
from docket.formats.run.usage import Usage, UsageSource
from docket.rules.boundary.protocol import ClientGone, UpstreamChunk


def test_a_split_that_is_not_the_last_is_billed_as_one():
    play = Stage(caps(max_usd=Usd.parse("5"))).play()
    play.post(messages_request(stream=True))
    play.reply(200, (b"Content-Type", b"text/event-stream"))
    usage = {"input_tokens": 2000, "output_tokens": 1}
    iterations = [{"type": "compaction", "input_tokens": 1000, "output_tokens": 1}, {"type": "message", **usage}]
    message = {"id": "msg_1", "model": "claude-sonnet-4-5", "usage": {**usage, "iterations": iterations}}
    start = {"type": "message_start", "message": message}
    play.feed(UpstreamChunk(f"event: message_start\ndata: {json.dumps(start)}\n\n".encode()))
    play.feed(ClientGone())
    (response,) = play.payloads(ModelResponse)
    assert (response.outcome, response.usage_source) == (Outcome.CLIENT_GONE, UsageSource.ESTIMATED)
    assert response.usage == Usage(input_tokens=3000, output_tokens=2)
    # 3000 at 3 and 2 at 15 micro-dollars a token.
    assert response.cost_usd == Usd(9030)
    assert [(part.model, part.input_tokens, part.output_tokens) for part in response.components] == [
        ("claude-sonnet-4-5", 3000, 2)
    ]
