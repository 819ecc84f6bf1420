"""The providers' own Python SDKs: against the scripted provider, and against it through docket."""

from __future__ import annotations

import json
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
from agent_lab import assert_consistent, program, provider_for

from docket.demo.script import Pace, Script, Tokens, Turn

CLIENT = str(Path(__file__).with_name("sdk_client.py"))
TOKENS = Tokens(fresh=20, cache_read=10, output=8, reasoning=3)
# With cache writes for the Messages calls alone: they come first, three of them.
WRITING = Tokens(fresh=20, cache_read=10, cache_write_5m=4, cache_write_1h=5, output=8)
SCRIPT = Script(
    turns=(
        *[Turn(text="grüße 🙂", tokens=WRITING, pace=Pace(text_chars=3))] * 3,
        Turn(text="grüße 🙂", tokens=TOKENS, pace=Pace(text_chars=3)),
    )
)
UNDERSTOOD = {
    "messages": [["grüße 🙂", "end_turn", 20, 8]] * 2,
    "chat": [["grüße 🙂", 30, 8]] * 2,
    "responses": [["grüße 🙂", 30, 8]] * 2,
}


@pytest.fixture
def sdk_lab(lab):
    program("sdks")
    return lab.with_variables(ANTHROPIC_API_KEY="sk-ant-dummy", OPENAI_API_KEY="sk-dummy")


def test_they_accept_the_scripted_provider(sdk_lab):
    with provider_for(SCRIPT) as provider:
        environment = sdk_lab.environment() | {
            "ANTHROPIC_BASE_URL": provider.url,
            "OPENAI_BASE_URL": f"{provider.url}/v1",
        }
        command = [str(program("sdks")), CLIENT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == UNDERSTOOD


def test_they_understand_the_same_through_docket_and_every_call_is_priced(sdk_lab):
    with provider_for(SCRIPT) as provider:
        upstreams = ["--upstream", f"anthropic={provider.url}", "--upstream", f"openai={provider.url}"]
        run = sdk_lab.docket_run(["--max-usd", "1", *upstreams], [str(program("sdks")), CLIENT])
    assert run.exit_code == 0, run.said
    assert json.loads(run.stdout) == UNDERSTOOD
    assert run.calls == 8
    # Haiku 4.5 in micro-dollars a token: 20 x 1 + 10 x 0.10 + 8 x 5 = 61; 4 x 1.25 = 5; 5 x 2 = 10: 76 a call.
    # gpt-4o-mini: 20 x 0.15 (3) + 10 x 0.075 (0.75) + 8 x 0.60 (4.8) = 8.55 -> 9 a call.
    costs = [response["cost_usd"] for response in run.of_type("model.response")]
    assert costs == ["0.000076"] * 3 + ["0.000009"] * 5
    assert run.cost == Decimal("0.000273")
    assert [response["usage_source"] for response in run.of_type("model.response")] == ["reported"] * 8
    assert_consistent(run)
