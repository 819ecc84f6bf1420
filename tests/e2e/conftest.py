"""What most end-to-end tests begin with: a tree to run in, and a provider whose every answer costs the same."""

import pytest

import run_lab
from docket.demo.provider import Limits, ScriptedProvider
from docket.demo.script import Script, Tokens, Turn


@pytest.fixture
def lab(tmp_path):
    return run_lab.build(tmp_path)


@pytest.fixture
def provider():
    """30 tokens in and 60 out a call: 30 x 3 + 60 x 15 = 990 micro-dollars at the prices of claude-sonnet-4-5."""
    turn = Turn(text="ok", tokens=Tokens(fresh=30, output=60))
    with ScriptedProvider(Script(turns=(turn,)), limits=Limits(max_requests=400, max_seconds=60)) as running:
        yield running
