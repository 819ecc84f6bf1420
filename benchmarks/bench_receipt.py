"""Rows 6 and 7: deriving a receipt from a ledger, and verifying it.

The ledger: in every four events a model.request, its model.response and two fs.change, so that a quarter of the
events are usage rows, each with its proof. Row 6 is the fold, the assembly and the written form, in this process.
Row 7 is `verify_receipt` in a process of its own, with its peak memory; its peer is docket-ai verifying the same two
files (DOCKET_AI names its command). Beside it stands the JavaScript verifier on the same files, where node is there.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from docket.formats.canonical import encode_document
from docket.rules.receipt.assemble import receipt_from_ledger

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from docket.formats.run.usage import Usage
from golden_ledgers.build import added, closed, component, opened, price, request, response

NUMBERS = (6, 7)
ROUNDS = 5
CHUNK_BYTES = 1 << 20
VERIFY = """
import json, resource, sys, time
from pathlib import Path
from docket.engines.verify import VerifyRequest, read_receipt, verify_receipt
began = time.perf_counter()
verdict = verify_receipt(VerifyRequest(receipt=read_receipt(Path(sys.argv[1])), ledger_path=Path(sys.argv[2])))
seconds = time.perf_counter() - began
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, str(verdict.word)]))
"""

VERIFIER = Path(__file__).resolve().parent.parent / "verify-js" / "docket-verify.mjs"
VERIFY_JS = """
import { readFileSync } from "node:fs";
const { verify } = await import(process.argv[1]);
const began = performance.now();
const [receipt, ledger] = process.argv.slice(2, 4).map((path) => readFileSync(path));
const { verdict } = await verify({ receipt, ledger });
const seconds = (performance.now() - began) / 1000;
console.log(JSON.stringify([seconds, process.resourceUsage().maxRSS / 1024, verdict]));
"""


def ledger_of(events: int) -> bytes:
    built = opened()
    built.add(price("gpt-5", "1.25", "0.125", "10"))
    calls = (events - 10) // 4
    for call in range(1, calls + 1):
        built.add(request(call, "openai", "gpt-5", "openai-chat"))
        cost = f"{call * 2500 // 10**6}.{call * 2500 % 10**6:06d}"
        built.add(
            response(
                call,
                "openai",
                "gpt-5",
                usage=Usage(input_tokens=1600, cached_input_tokens=0, output_tokens=50),
                components=(component("gpt-5", 1600, 0, 50, "0.002500"),),
                cost="0.002500",
                cumulative=cost if call * 2500 % 10_000 else cost[:-4],
            )
        )
        for part in range(2):
            built.add(added(b"src/part%d/module%d.py" % (part, call)))
    total = calls * 2500
    spent = f"{total // 10**6}.{total % 10**6:06d}"
    return closed(built, spent if total % 10_000 else spent[:-4], ()).data()


def assemble_seconds(raw: bytes) -> tuple[float, bytes]:
    began = time.perf_counter()
    chunks = (raw[start : start + CHUNK_BYTES] for start in range(0, len(raw), CHUNK_BYTES))
    data = encode_document(receipt_from_ledger(chunks))
    return time.perf_counter() - began, data


def verify_once(receipt: Path, ledger: Path) -> tuple[float, float]:
    return _measured([sys.executable, "-c", VERIFY, str(receipt), str(ledger)])


def verify_js_once(receipt: Path, ledger: Path) -> tuple[float, float]:
    return _measured(["node", "--input-type=module", "-e", VERIFY_JS, str(VERIFIER), str(receipt), str(ledger)])


def _measured(command: list[str]) -> tuple[float, float]:
    seconds, mebibytes, word = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    if word != "consistent":
        raise RuntimeError(word)
    return seconds, mebibytes


def peer_seconds(receipt: Path, ledger: Path) -> float | None:
    peer = os.environ.get("DOCKET_AI")
    if not peer:
        return None
    began = time.perf_counter()
    subprocess.run([peer, "verify", str(receipt), "--ledger", str(ledger), "--json"], check=True, capture_output=True)
    return time.perf_counter() - began


def rows() -> Iterator[dict[str, object]]:
    for events, goal, rounds in ((4_000, 0.5, ROUNDS), (100_000, 10.0, 3)):
        raw = ledger_of(events)
        measured = [assemble_seconds(raw) for _ in range(rounds)]
        seconds, data = statistics.median(item[0] for item in measured), measured[0][1]
        yield {
            "row": 6,
            "what": f"receipt of {events:,} events, {len(data) / 1e6:.0f} MB, s",
            "ours": seconds,
            "peer": "docket-ai 20.7 at 4,000; no proofs at 100,000 (measured once)",
            "ratio": None,
            "goal": f"<= {goal}",
            "holds": seconds <= goal,
        }
    with tempfile.TemporaryDirectory(prefix="docket-bench-receipt-") as folder:
        receipt, ledger = Path(folder, "receipt.json"), Path(folder, "run.jsonl")
        receipt.write_bytes(data)
        ledger.write_bytes(raw)
        yield from verify_rows(receipt, ledger, events)


def verify_rows(receipt: Path, ledger: Path, events: int) -> Iterator[dict[str, object]]:
    pairs = [(verify_once(receipt, ledger), peer_seconds(receipt, ledger)) for _ in range(3)]
    seconds = statistics.median(item[0][0] for item in pairs)
    mebibytes = statistics.median(item[0][1] for item in pairs)
    theirs = statistics.median(item[1] for item in pairs) if pairs[0][1] is not None else None
    yield {
        "row": 7,
        "what": f"verify {events:,} events with {(events - 10) // 4:,} rows, s ({mebibytes:.0f} MiB)",
        "ours": seconds,
        "peer": "docket-ai not installed (DOCKET_AI)" if theirs is None else f"docket-ai {theirs:.3g}",
        "ratio": None if theirs is None else seconds / theirs,
        "goal": "<= 2 s, <= 150 MiB",
        "holds": seconds <= 2 and mebibytes <= 150,
    }
    if shutil.which("node") is not None:
        measured = [verify_js_once(receipt, ledger) for _ in range(3)]
        in_js, mebibytes = (statistics.median(item[at] for item in measured) for at in range(2))
        yield {
            "row": 7,
            "what": f"the same in JavaScript, s ({mebibytes:.0f} MiB)",
            "ours": in_js,
            "peer": f"docket verify {seconds:.3g}",
            "ratio": in_js / seconds,
            "goal": "<= 2 s",
            "holds": in_js <= 2,
        }


if __name__ == "__main__":
    for row in rows():
        print(json.dumps(row))
