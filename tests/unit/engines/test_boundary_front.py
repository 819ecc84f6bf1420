"""The boundary before its first connection: nothing is loaded, and the record says the same."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from boundary_rig.raw_upstream import RawUpstream
from boundary_rig.rig import boundary
from docket.formats.reason import Reason

PROGRAM = "import docket.surfaces.cli.running, sys; print('docket.rules.boundary.exchange' in sys.modules)"


def test_what_serves_is_not_loaded_at_start():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"


def test_a_boundary_nobody_used_leaves_the_same_budget_event(tmp_path):
    with RawUpstream(lambda request, sock: None) as upstream, boundary(tmp_path, upstream.url) as rig:
        state = rig.boundary.snapshot()
        assert (state.calls, state.denied, state.breach) == (0, 0, None)
        first = rig.boundary.stop()
        assert rig.boundary.stop() is first
        assert rig.data("x-docket.budget") == [first.budget.to_data()]
        assert first.turned_away == 0


def test_what_was_closed_before_the_first_connection_stays_closed(tmp_path):
    with RawUpstream(lambda request, sock: None) as upstream, boundary(tmp_path, upstream.url) as rig:
        rig.boundary.refuse_further(Reason.RUN_ENDING, "the run is ending")
        body = b'{"model":"claude-sonnet-4-5","max_tokens":5,"messages":[]}'
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{rig.boundary.base_url}/anthropic/v1/messages", body, timeout=30)
        with refused.value:
            assert refused.value.code == 400
        assert upstream.requests == []
        assert [event["reason"] for event in rig.data("model.denied")] == ["run_ending"]
