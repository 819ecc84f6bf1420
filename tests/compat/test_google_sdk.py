"""Google's own Python SDK: against the scripted provider, and against it through docket."""

from __future__ import annotations

import json
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
from agent_lab import assert_consistent, program, provider_for

from docket.demo.script import Pace, Script, Tokens, Turn

CLIENT = str(Path(__file__).with_name("google_client.py"))
SCRIPT = Script(
    turns=(
        Turn(text="grüße 🙂", tokens=Tokens(fresh=20, cache_read=10, output=8, reasoning=3), pace=Pace(text_chars=3)),
    )
)
UNDERSTOOD = {"whole": ["grüße 🙂", 30, 5, 3], "streamed": ["grüße 🙂", 30, 5, 3], "counted": True}


@pytest.fixture
def google_lab(lab):
    python = str(program("sdks"))
    if subprocess.run([python, "-c", "import google.genai"], capture_output=True, check=False).returncode:
        pytest.skip("Google's SDK is not among the installed ones: run tests/compat/install.sh sdks")
    return lab.with_variables(GEMINI_API_KEY="goog-dummy")


def test_it_accepts_the_scripted_provider(google_lab):
    with provider_for(SCRIPT) as provider:
        environment = google_lab.environment() | {"GOOGLE_GEMINI_BASE_URL": provider.url}
        command = [str(program("sdks")), CLIENT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == UNDERSTOOD


def test_it_understands_the_same_through_docket_and_every_call_is_priced(google_lab):
    with provider_for(SCRIPT) as provider:
        options = ["--max-usd", "1", "--upstream", f"gemini={provider.url}"]
        run = google_lab.docket_run(options, [str(program("sdks")), CLIENT])
    assert run.exit_code == 0, run.said
    assert json.loads(run.stdout) == UNDERSTOOD
    assert run.calls == 2
    # gemini-2.5-flash: 20 x 0.30 + 10 x 0.03 + 8 x 2.50 = 6 + 0.3 + 20 = 26.3 micro-dollars a call.
    assert [response["cost_usd"] for response in run.of_type("model.response")] == ["0.000026"] * 2
    assert run.cost == Decimal("0.000052")
    assert [response["usage_source"] for response in run.of_type("model.response")] == ["reported"] * 2
    assert_consistent(run)


def test_a_refusal_is_the_sdks_own_error(google_lab):
    with provider_for(SCRIPT) as provider:
        options = ["--max-usd", "0.000001", "--on-breach", "deny", "--upstream", f"gemini={provider.url}"]
        run = google_lab.docket_run(options, [str(program("sdks")), CLIENT])
        assert provider.calls == ()
    code, status, message = json.loads(run.stdout)["refused"]
    assert (code, status) == (400, "FAILED_PRECONDITION")
    assert "max_usd" in message
