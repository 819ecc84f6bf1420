"""Rows 1 to 4 of the performance table: what the boundary adds, carries and holds, against the upstream hit directly
and against docket-ai (`DOCKET_AI_PYTHON` names the interpreter it is installed for; without it row 2 says skipped).

Upstream, boundary and load are processes of their own (`boundary_peers.py`); rounds are interleaved and medians of
`ROUNDS` are reported. `python benchmarks/bench_boundary.py` prints the rows.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import boundary_peers

HERE = Path(__file__).resolve().parent
NUMBERS = (1, 2, 3, 4)
ROUNDS = 5
CALLS = 300
PATH = "/v1/messages"
BOUNDARY_PATH = "/bench/anthropic/v1/messages"
PEER_PATH = "/anthropic/v1/messages"


class Peer:
    """A part that runs until its standard input closes."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "boundary_peers.py"), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.port = int(self.process.stdout.readline())

    def ask(self, word: str) -> str:
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


@contextlib.contextmanager
def parts() -> Iterator[tuple[Peer, Peer]]:
    upstream = Peer("upstream")
    try:
        boundary = Peer("boundary", f"http://127.0.0.1:{upstream.port}")
        try:
            yield upstream, boundary
        finally:
            boundary.close()
    finally:
        upstream.close()


@contextlib.contextmanager
def docket_ai(upstream: int) -> Iterator[int | None]:
    """The public implementation's own boundary around a sleeping child; None where it is not installed."""
    python = os.environ.get("DOCKET_AI_PYTHON")
    command = Path(python).with_name("docket") if python else None
    if command is None or not command.exists():
        yield None
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [
                str(command), "run", "--upstream", f"anthropic=http://127.0.0.1:{upstream}", "--port", str(port),
                "--max-usd", "100000", "--max-calls", "10000000", "--", "sleep", "600",
            ],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            for _ in range(100):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                time.sleep(0.1)
            yield port
        finally:
            process.terminate()
            process.wait(30)


def load(port: int, path: str, clients: int, seconds: float) -> dict[str, float]:
    return run_part("load", str(port), path, str(clients), str(seconds))


def run_part(*arguments: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, str(HERE / "boundary_peers.py"), *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def row(number: int, what: str, *, ours: str, peer: str, value: float | None, goal: str, holds: bool | None) -> dict:
    return {
        "row": number, "what": what, "ours": ours, "peer": peer,
        "ratio": None if value is None else round(value, 3), "goal": goal, "holds": holds,
    }  # fmt: skip


def percentiles(client: boundary_peers.Client) -> tuple[float, float]:
    spent = []
    for _ in range(CALLS):
        start = time.perf_counter()
        client.call()
        spent.append((time.perf_counter() - start) * 1000)
    spent.sort()
    return spent[CALLS // 2], spent[int(CALLS * 0.99)]


def latency(upstream: Peer, boundary: Peer) -> list[dict]:
    direct = boundary_peers.Client(upstream.port, PATH)
    ours = boundary_peers.Client(boundary.port, BOUNDARY_PATH)
    percentiles(direct), percentiles(ours)
    rounds = [(percentiles(direct), percentiles(ours)) for _ in range(ROUNDS)]
    direct.close()
    ours.close()
    rows = []
    for at, (name, goal) in enumerate((("p50", 0.6), ("p99", 2.0))):
        theirs = statistics.median(one[at] for one, _ in rounds)
        mine = statistics.median(two[at] for _, two in rounds)
        added = statistics.median(two[at] - one[at] for one, two in rounds)
        rows.append(
            row(
                1,
                f"added latency {name}, keep-alive, 1 client, metered and durable",
                ours=f"{mine:.3f} ms",
                peer=f"direct {theirs:.3f} ms",
                value=added,
                goal=f"<= {goal} ms added",
                holds=added <= goal,
            )
        )
    return rows


def throughput(upstream: Peer, boundary: Peer) -> list[dict]:
    with docket_ai(upstream.port) as port:
        ours, theirs, resets = [], [], 0.0
        for _ in range(ROUNDS):
            measured = load(boundary.port, BOUNDARY_PATH, 32, 2)
            ours.append(measured["rate"])
            resets += measured["resets"] + measured["failed"]
            if port is not None:
                theirs.append(load(port, PEER_PATH, 32, 2)["rate"])
        many = run_part("many", str(boundary.port), BOUNDARY_PATH, "256")
    mine = statistics.median(ours)
    rows = [
        row(
            2,
            "256 simultaneous connects",
            ours=f"{int(many['ok'])} answered, {int(many['errors'])} errors",
            peer="-",
            value=many["errors"] + resets,
            goal="no reset",
            holds=many["errors"] + resets == 0,
        )
    ]
    what, goal, rate = "requests a second, 32 clients", ">= 15x", f"{mine:.0f}/s"
    if not theirs:
        return [row(2, what, ours=rate, peer="skipped", value=None, goal=goal, holds=None), *rows]
    other = statistics.median(theirs)
    ratio = mine / other
    first = row(2, what, ours=rate, peer=f"docket-ai {other:.0f}/s", value=ratio, goal=goal, holds=ratio >= 15)
    return [first, *rows]


def first_byte(upstream: Peer, boundary: Peer) -> list[dict]:
    direct = boundary_peers.Client(upstream.port, f"{PATH}?stream=1")
    ours = boundary_peers.Client(boundary.port, f"{BOUNDARY_PATH}?stream=1")
    rounds = [
        (
            statistics.median(direct.first_byte_ms() for _ in range(15)),
            statistics.median(ours.first_byte_ms() for _ in range(15)),
        )
        for _ in range(ROUNDS)
    ]
    direct.close()
    ours.close()
    added = statistics.median(two - one for one, two in rounds)
    mine, theirs = (statistics.median(pair[at] for pair in rounds) for at in (1, 0))
    what = "first byte of a stream, added over direct"
    peer = f"direct {theirs:.3f} ms"
    return [row(3, what, ours=f"{mine:.3f} ms", peer=peer, value=added, goal="<= 2 ms", holds=added <= 2)]


LARGE_FORMS = {"1": "events", "one-event": "one event", "json": "JSON of one text", "gzip": "events in gzip"}


def memory() -> list[dict]:
    """Each form at a boundary of its own: a peak is one of its whole life."""
    found = []
    for form, words in LARGE_FORMS.items():
        with parts() as (_, boundary):
            before = int(boundary.ask("memory"))
            client = boundary_peers.Client(boundary.port, f"{BOUNDARY_PATH}?large={form}")
            began = time.perf_counter()
            client.read_large()
            client.close()
            seconds = time.perf_counter() - began
            peak = int(boundary.ask("memory"))
        what = f"resident memory for a reply of {boundary_peers.LARGE_BYTES // 1_000_000} MB, {words}"
        ours, peer = f"{peak} MiB at its peak, {seconds:.1f} s", f"{before} MiB before"
        found.append(row(4, what, ours=ours, peer=peer, value=peak, goal="<= 80 MiB", holds=peak <= 80))
    return found


def rows() -> list[dict]:
    """Return the measured rows."""
    found = memory()
    with parts() as (upstream, boundary):
        measured = latency(upstream, boundary) + first_byte(upstream, boundary) + throughput(upstream, boundary)
    return sorted([*measured, *found], key=lambda item: item["row"])


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    for line in rows():
        print(json.dumps(line))
