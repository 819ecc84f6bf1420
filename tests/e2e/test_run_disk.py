"""Disks that are full or read-only: never a loss, never a silence. Needs the right to mount; skipped without it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from docket.demo.provider import Limits, ScriptedProvider
from docket.demo.script import Script, Tokens, Turn

LOOP = """
import json, os, sys, urllib.request, urllib.error
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
asked = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
body, headers = json.dumps(asked).encode(), {"content-type": "application/json", "x-api-key": "k"}
while True:
    try:
        urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=20).read()
    except urllib.error.HTTPError as error:
        print(error.code, json.load(error)["error"]["message"]); sys.exit(7)
    except Exception as error:  # a reply that breaks off is no OSError
        print(repr(error)); sys.exit(8)
    except KeyboardInterrupt:  # that of the run, which ends
        sys.exit(9)
"""


@pytest.fixture
def mounted():
    """Mount file systems for one test; they are unmounted afterwards."""
    places = []

    def mount(place, *arguments):
        place.mkdir(exist_ok=True)
        done = subprocess.run(["mount", *arguments, str(place)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"cannot mount here: {done.stderr.strip()}")
        places.append(place)

    yield mount
    for place in reversed(places):
        subprocess.run(["umount", "--lazy", str(place)], check=True)


# Asks until it is refused, whatever else happens, tells why, and stays for as long as it is asked to.
UNTIL_REFUSED = LOOP.replace("print(repr(error)); sys.exit(8)", "continue").replace(
    "sys.exit(7)", "sys.stdout.flush(); import time; time.sleep(float(sys.argv[1])); sys.exit(7)"
)


@pytest.fixture
def provider():
    turn = Turn(text="ok", tokens=Tokens(fresh=30, output=60))
    with ScriptedProvider(Script(turns=(turn,)), limits=Limits(max_requests=4000, max_seconds=60)) as running:
        yield running


def test_a_state_folder_that_fills_up_stops_the_run_and_leaves_a_receipt(lab, mounted, provider):
    mounted(lab.state, "-t", "tmpfs", "-o", "size=3m,mode=0700", "tmpfs")
    (lab.root / "policy.toml").write_text("[resilience]\nmin_free_bytes = 0\n")
    done = lab.run(
        "--policy",
        str(lab.root / "policy.toml"),
        "--upstream",
        f"anthropic={provider.url}",
        "--",
        sys.executable,
        "-c",
        LOOP,
    )
    assert done.exit_code == 75, done.said
    assert "space" in done.stderr.lower(), done.said
    receipt = lab.receipt()
    assert receipt["session"]["exit_code"] == 75
    assert receipt["evidence"]["ledger_complete"] is False
    # Every call that was answered is in the record: the request of one, at most, may have gone unanswered.
    assert receipt["model_calls"]["count"] <= len(provider.calls) <= receipt["model_calls"]["count"] + 1
    assert lab.verdict()["verdict"] == "incomplete"


def test_a_state_folder_with_less_than_must_stay_free_is_refused_before_the_agent_starts(lab, mounted):
    mounted(lab.state, "-t", "tmpfs", "-o", "size=3m,mode=0700", "tmpfs")
    done = lab.run("--", "touch", "ran")
    assert done.exit_code == 75, done.said
    assert "resilience.min_free_bytes keeps 16,777,216" in done.stderr
    assert not (lab.tree / "ran").exists()


@pytest.mark.parametrize(("fail_fast", "stays", "exit_code"), [("true", "3600", 75), ("false", "0", 7)])
def test_a_full_ledger_ends_the_run_at_once_or_only_refuses_its_calls(lab, provider, fail_fast, stays, exit_code):
    (lab.root / "policy.toml").write_text(f"[resilience]\nmax_events = 30\nfail_fast_evidence = {fail_fast}\n")
    done = lab.finish(
        "run", "--policy", str(lab.root / "policy.toml"), "--upstream", f"anthropic={provider.url}",
        "--", sys.executable, "-c", UNTIL_REFUSED, stays,
    )  # fmt: skip
    assert done.exit_code == exit_code, done.said
    if fail_fast == "false":
        assert "the record of this run cannot be written" in done.stdout, done.said
    receipt = lab.receipt()
    assert receipt["evidence"]["unwritten_events"] > 0
    # The reply whose event found no room was broken off.
    assert receipt["model_calls"]["unsettled"] <= 1
    assert lab.verdict()["verdict"] == "incomplete"


def test_a_state_folder_without_room_is_refused_before_the_agent_starts(lab, mounted):
    mounted(lab.state, "-t", "tmpfs", "-o", "size=16k,mode=0700", "tmpfs")
    done = lab.run("--", "touch", "ran")
    assert done.exit_code == 75, done.said
    assert str(lab.state) in done.stderr
    assert not (lab.tree / "ran").exists()


def test_a_full_docket_folder_costs_only_the_copies(lab, mounted):
    mounted(lab.tree / ".docket", "-t", "tmpfs", "-o", "size=4k,mode=0700", "tmpfs")
    done = lab.run("--", "true")
    assert done.exit_code == 0, done.said
    assert "warning" in done.stderr
    assert_state_receipt(lab, done)


def test_a_read_only_docket_folder_costs_only_the_copies(lab, mounted):
    (lab.tree / ".docket").mkdir()
    mounted(lab.tree / ".docket", "-t", "tmpfs", "-o", "ro", "tmpfs")
    done = lab.run("--", "true")
    assert done.exit_code == 0, done.said
    assert "read-only" in done.stderr.lower(), done.said
    assert_state_receipt(lab, done)


def test_a_read_only_state_folder_is_refused_before_the_agent_starts(lab, mounted):
    mounted(lab.state, "-t", "tmpfs", "-o", "ro", "tmpfs")
    done = lab.run("--", "touch", "ran")
    assert done.exit_code == 75, done.said
    assert "read-only" in done.stderr.lower(), done.said
    assert not (lab.tree / "ran").exists()


def assert_state_receipt(lab, done):
    (path,) = lab.state.glob("*/receipts/DKT-*.receipt.json")
    assert str(path) in done.stderr
    verdict = json.loads(lab.docket("verify", str(path), "--json").stdout)
    assert verdict["verdict"] == "consistent"
