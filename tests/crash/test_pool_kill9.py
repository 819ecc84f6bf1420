"""Eight runs on one pool, half of them killed with -9 while their calls are in flight: nothing overspent, nothing lost.

Every run is a real `docket run` with the store on disk. A call costs 30 x 3 + 60 x 15 = 990 micro-dollars whatever
becomes of it: the upstream counts what it was asked, and nobody tells it who died.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from decimal import Decimal

import pytest

import run_lab
from boundary_rig.raw_upstream import RawUpstream, whole
from boundary_rig.replies import messages_json

COST, LIMIT = 990, 60_000
RUNS, KILLED = 8, 4
AGENT = """
import json, os, sys, threading, urllib.request, urllib.error
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
asked = {"model": "claude-sonnet-4-5", "max_tokens": 60, "messages": [{"role": "user", "content": "hi"}]}
def ask():
    for _ in range(int(sys.argv[1])):
        request = urllib.request.Request(url, json.dumps(asked).encode(), {"content-type": "application/json"})
        try:
            urllib.request.urlopen(request, timeout=30).read()
        except urllib.error.HTTPError as error:
            if error.code != 429:
                return
threads = [threading.Thread(target=ask) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


@pytest.fixture
def lab(tmp_path):
    return run_lab.build(tmp_path)


def start(lab, upstream, rounds):
    agent = [sys.executable, "-c", AGENT, str(rounds)]
    flags = ["--pool", "team", "--admission", "strict", "--on-breach", "deny", "--report", "none"]
    return lab.start("run", *flags, "--upstream", f"anthropic={upstream.url}", "--", *agent)


def micros(text):
    return int(Decimal(text) * 1_000_000)


def taken_by_the_ledgers(lab):
    """What all ledgers say, read by the standard library alone: (spent, what may have been billed besides)."""
    spent = unknown = 0
    for path in lab.state.glob("*/runs/*.jsonl"):
        held = {}
        for line in path.read_bytes().splitlines():
            event = json.loads(line)
            kind, data = event["type"], event["data"]
            if kind == "model.request":
                held[data["call"]] = micros(data["held_usd"])
            elif kind == "model.response":
                rest = held.pop(data["call"]) - micros(data["cost_usd"])
                spent += micros(data["cost_usd"])
                unknown += rest if data["usage_source"] != "reported" else 0
            elif kind == "model.error":
                unknown += held.pop(data["call"]) if data["reason"] == "upstream_broken" else held.pop(data["call"]) * 0
        unknown += sum(held.values())
    return spent, unknown


def pool(lab):
    return json.loads(lab.docket("pools", "show", "team", "--json").stdout)


def test_killed_runs_neither_overspend_a_pool_nor_keep_any_of_it(lab):
    chance = random.Random(11)
    assert lab.docket("pools", "set", "team", "--total-usd", "0.06").exit_code == 0

    def slow(request, sock):
        time.sleep(chance.random() / 20)
        sock.sendall(whole(messages_json(30, 60)))
        return True

    with RawUpstream(slow) as upstream:
        running = [start(lab, upstream, 4) for _ in range(RUNS)]
        for number, victim in enumerate(chance.sample(running, KILLED), start=1):
            upstream.wait_for(4 * number)
            victim.send_signal(signal.SIGKILL)
        for process in running:
            process.communicate(timeout=60)
        assert sum(process.returncode == -signal.SIGKILL for process in running) >= 1
        assert len(upstream.requests) * COST <= LIMIT

        after = pool(lab)
        assert (after["held_usd"], after["runs"]) == ("0.00", [])
        spent, unknown = taken_by_the_ledgers(lab)
        assert micros(after["total"]["spent_usd"]) == spent
        assert micros(after["total"]["unknown_usd"]) == unknown
        assert spent + unknown <= LIMIT

        # What the dead held is there for the living: they go on to the last call that fits.
        last = start(lab, upstream, 100)
        last.communicate(timeout=60)
        assert len(upstream.requests) * COST <= LIMIT
        at_the_end = pool(lab)
        assert at_the_end["held_usd"] == "0.00"
        assert micros(at_the_end["total"]["left_usd"]) < 2000
        spent, unknown = taken_by_the_ledgers(lab)
        assert (micros(at_the_end["total"]["spent_usd"]), micros(at_the_end["total"]["unknown_usd"])) == (
            spent,
            unknown,
        )
