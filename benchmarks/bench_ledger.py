"""Row 5: durable appends a second, with 8 and with 32 writers at once.

A writer appends a `model.request`, waits until it is durable, and appends the next. docket's writers are exchanges of
one event loop, as in its boundary, and share a sync; docket-ai's are threads, as in its boundary, with a sync each.
The third row lets 32 writers append ahead and wait for durability at their end, as a pass over a tree does.

The peer is docket-ai in an environment of its own: its interpreter's path stands in DOCKET_AI_PYTHON. Without it the
rows have no ratio. Both sides run alternately on one file system; the median of five counts.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from docket.formats.digest import sha256
from docket.formats.ledger.model_events import ModelRequest
from docket.host.clock import SystemClock
from docket.stores.appended import DURABLE, Appended
from docket.stores.ledger import LedgerWriter

NUMBERS = (5,)
ROUNDS = 5
OURS_EVENTS, PEER_EVENTS = 16_000, 2_000
GOALS = {8: 4.0, 32: 15.0}

PAYLOAD = ModelRequest(
    call=1,
    provider="anthropic",
    wire="anthropic-messages",
    model="claude-sonnet-4-5",
    method="POST",
    path="/v1/messages",
    streaming=True,
    fingerprint="0123456789abcdef",
    request_sha256=sha256(b""),
    body_bytes=48_211,
)

PEER = """
import json, os, sys, threading, time
from docket.ledger import Ledger

path, writers, each, data = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
ledger = Ledger.open(path, max_bytes=None)

def work():
    for _ in range(each):
        ledger.append("model.request", data)

threads = [threading.Thread(target=work) for _ in range(writers)]
begun = time.perf_counter()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(writers * each / (time.perf_counter() - begun))
ledger.close()
"""


def rows() -> list[dict[str, object]]:
    peer_python = os.environ.get("DOCKET_AI_PYTHON")
    measured = []
    with tempfile.TemporaryDirectory(prefix="docket-bench-ledger-") as folder:
        for what, writers, ours in (
            ("8 writers, each waits for each append", 8, waiting),
            ("32 writers, each waits for each append", 32, waiting),
            ("32 writers, each waits at its end", 32, ahead),
        ):
            measured.append(row(Path(folder), what, writers, ours, peer_python))
    return measured


def row(
    folder: Path, what: str, writers: int, ours: Callable[[Path, int], float], peer_python: str | None
) -> dict[str, object]:
    our_rates, peer_rates = [], []
    for number in range(ROUNDS):
        our_rates.append(ours(folder / f"{what[:2].strip()}-{ours.__name__}-{number}.jsonl", writers))
        if peer_python:
            peer_rates.append(peer(peer_python, folder / f"peer-{ours.__name__}-{writers}-{number}.jsonl", writers))
    rate = statistics.median(our_rates)
    against = statistics.median(peer_rates) if peer_rates else None
    ratio = rate / against if against else None
    return {
        "row": 5,
        "what": f"durable appends/s, {what}",
        "ours": f"{rate:.0f}/s",
        "peer": f"docket-ai {against:.0f}/s" if against else "set DOCKET_AI_PYTHON",
        "ratio": ratio,
        "goal": f">= {GOALS[writers]:.0f}",
        "holds": None if ratio is None else ratio >= GOALS[writers],
    }


def waiting(path: Path, writers: int) -> float:
    return asyncio.run(_waiting(path, writers))


async def _waiting(path: Path, writers: int) -> float:
    loop = asyncio.get_running_loop()
    with LedgerWriter.create(path, clock=SystemClock()) as ledger:
        bell = Bell(loop)
        ledger.listen(bell.ring)
        begun = time.perf_counter()
        running = [Exchange(ledger, bell, OURS_EVENTS // writers, loop.create_future()) for _ in range(writers)]
        for exchange in running:
            exchange.step()
        await asyncio.gather(*(exchange.ended for exchange in running))
        spent = time.perf_counter() - begun
        ledger.listen(None)
        check(ledger, OURS_EVENTS)
    return OURS_EVENTS / spent


class Exchange:
    """One writer: it goes on inside the loop's callback once its event is durable."""

    def __init__(self, ledger: LedgerWriter, bell: Bell, count: int, ended: asyncio.Future[None]) -> None:
        self.ledger, self.bell, self.left, self.ended = ledger, bell, count, ended

    def step(self) -> None:
        if self.left == 0:
            self.ended.set_result(None)
            return
        self.left -= 1
        self.bell.wait(self.ledger.append(PAYLOAD), self.step)


class Bell:
    """Wakes the loop once for all the appends that one sync has made durable."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.waiting: deque[tuple[Appended, Callable[[], None]]] = deque()

    def wait(self, item: Appended, wake: Callable[[], None]) -> None:
        self.waiting.append((item, wake))
        if item.stage >= DURABLE:
            self.loop.call_soon(self.answer)

    def ring(self) -> None:
        with suppress(IndexError):  # nobody waits, or the loop has just answered the last one
            if self.waiting[0][0].stage >= DURABLE:
                self.loop.call_soon_threadsafe(self.answer)

    def answer(self) -> None:
        while self.waiting and self.waiting[0][0].stage >= DURABLE:
            item, wake = self.waiting.popleft()
            assert item.stage == DURABLE
            wake()


def ahead(path: Path, writers: int) -> float:
    return asyncio.run(_ahead(path, writers))


async def _ahead(path: Path, writers: int) -> float:
    each = OURS_EVENTS // writers
    with LedgerWriter.create(path, clock=SystemClock()) as ledger:

        async def work() -> None:
            for _ in range(each):
                last = ledger.append(PAYLOAD)
            await asyncio.wrap_future(last.durable)

        begun = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(writers)))
        spent = time.perf_counter() - begun
        check(ledger, writers * each)
    return writers * each / spent


def check(ledger: LedgerWriter, count: int) -> None:
    assert len(ledger.hashes) == count
    assert ledger.recheck().first_difference is None


def peer(python: str, path: Path, writers: int) -> float:
    each = PEER_EVENTS // writers
    data = json.dumps(PAYLOAD.to_data())
    done = subprocess.run(
        [python, "-c", PEER, str(path), str(writers), str(each), data], capture_output=True, text=True, check=True
    )
    return float(done.stdout)
