"""Kept responses of a real run: beside the ledger, verified, through a kill and a full disk, and never a request."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from boundary_rig.raw_upstream import RawUpstream, whole
from boundary_rig.replies import messages_json, messages_request
from run_lab import RunLab

AGENT = """
import os, sys, urllib.request
base, body = os.environ["ANTHROPIC_BASE_URL"], open(sys.argv[1], "rb").read()
for number in range(int(sys.argv[2])):
    headers = {"content-type": "application/json", "x-api-key": "sk-a-secret"}
    request = urllib.request.Request(base + "/v1/messages", body.replace(b"hello", b"hello %d" % number), headers)
    with urllib.request.urlopen(request) as reply:
        reply.read()
if len(sys.argv) > 3:
    print("waiting", flush=True)
    import time
    time.sleep(600)
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[tuple[RunLab, RawUpstream]]:
    made = RunLab(root=tmp_path)
    for folder in (made.tree, tmp_path / "home"):
        folder.mkdir()
    (made.tree / "agent.py").write_text(AGENT)
    (made.tree / "body.json").write_bytes(messages_request())
    numbers = iter(range(1000))

    def handler(_request: object, sock: object) -> bool:
        sock.sendall(whole(messages_json(output_tokens=10 + next(numbers))))  # type: ignore[attr-defined]
        return True

    with RawUpstream(handler) as upstream:
        yield made, upstream


def command(upstream: RawUpstream, *more: str, flags: tuple[str, ...] = ()) -> tuple[str, ...]:
    fixed = (
        "run",
        "--max-usd",
        "1",
        "--record-responses",
        "--upstream",
        f"anthropic={upstream.url}",
    )
    return (*fixed, *flags, "--", "python3", "agent.py", "body.json", *more)


def kept_in(folder: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in folder.glob("responses/*/*.bin"))


def verdict(lab: RunLab) -> dict[str, dict[str, str]]:
    done = lab.docket("verify", "--json")
    answer = json.loads(done.stdout)
    assert answer["ok"], done.said
    return {check["name"]: check for check in answer["checks"]}


def test_bodies_stand_beside_the_ledger_and_nothing_of_a_request_does(lab: tuple[RunLab, RawUpstream]) -> None:
    made, upstream = lab
    done = made.docket(*command(upstream, "3"))
    assert done.exit_code == 0, done.said
    wanted = sorted(messages_json(output_tokens=10 + number) for number in range(3))
    evidence = made.tree / ".docket"
    assert kept_in(evidence) == wanted
    check = verdict(made)["retained-responses"]
    assert (check["status"], check["detail"]) == ("pass", "3 responses hashed, as kept")
    for path in (*evidence.rglob("*"), *made.state.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            assert b"sk-a-secret" not in data
            assert b"hello 1" not in data
    victim = next(evidence.glob("responses/*/*.bin"))
    victim.write_bytes(victim.read_bytes()[:-1] + b" ")
    refused = made.docket("verify", "--json")
    assert json.loads(refused.stdout)["failures"][0].startswith("retained-responses: event ")


def test_a_killed_run_is_recovered_with_its_bodies(lab: tuple[RunLab, RawUpstream]) -> None:
    made, upstream = lab
    with made.start(*command(upstream, "2", "wait")) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    (state,) = [path for path in made.state.iterdir() if (path / "runs").is_dir()]
    (session,) = (state / "responses").iterdir()
    (session / ("ab" * 32 + ".bin")).write_bytes(b"was about to be named")
    assert made.docket("recover").exit_code == 0
    assert kept_in(made.tree / ".docket") == kept_in(state)
    assert len(kept_in(state)) == 2
    done = made.docket("verify", "--json")
    checks = {check["name"]: check["status"] for check in json.loads(done.stdout)["checks"]}
    assert checks["retained-responses"] == "pass"


def test_a_body_that_finds_no_room_stops_no_call(lab: tuple[RunLab, RawUpstream]) -> None:
    made, upstream = lab
    policy = made.root / "home" / "p.toml"
    policy.write_text("[evidence]\nrecord_responses = true\nrecord_total_max_bytes = 300\n")
    done = made.docket(*command(upstream, "3", flags=("--policy", str(policy))))
    assert done.exit_code == 0, done.said
    receipt = json.loads((made.tree / ".docket/latest.receipt.json").read_bytes())
    assert (receipt["responses"]["kept"], receipt["responses"]["not_kept"]) == (1, 2)
    assert verdict(made)["retained-responses"]["status"] == "pass"


def test_a_body_that_cannot_be_kept_ends_admission_where_the_policy_says_so(lab: tuple[RunLab, RawUpstream]) -> None:
    made, upstream = lab
    policy = made.root / "home" / "p.toml"
    policy.write_text(
        "[evidence]\nrecord_responses = true\nrecord_total_max_bytes = 300\n[resilience]\nfail_fast_evidence = true\n"
    )
    done = made.finish(*command(upstream, "5", flags=("--policy", str(policy))))
    assert done.exit_code != 0
    assert len(upstream.requests) == 2


def test_two_runs_at_once_keep_their_own(lab: tuple[RunLab, RawUpstream]) -> None:
    made, upstream = lab
    both = [made.start(*command(upstream, "4")) for _ in range(2)]
    for process in both:
        process.communicate(timeout=60)
        assert process.returncode == 0
    folders = list((made.tree / ".docket/responses").iterdir())
    assert sorted(len(list(folder.iterdir())) for folder in folders) == [4, 4]
    for receipt in (made.tree / ".docket/receipts").iterdir():
        assert made.docket("verify", str(receipt)).exit_code == 0
