"""Writes `spec/vectors/receipt-*.json` anew: small receipts and ledgers, each with the verdict it must get.

Run it after a change of the receipt's form, and read the difference: `python tests/golden_ledgers/write_vectors.py`.
The verdicts and first failures below are written by hand; that a verifier gives them is for the tests to show.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from docket.formats.canonical import encode
from golden_ledgers import elsewhere, headed, samples, vouched
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import Body, bodies, chained, lines_of, receipt_of, rederived

FOLDER = Path(__file__).resolve().parent.parent.parent / "spec" / "vectors"
Vector = dict[str, Any]


def main() -> None:
    for name, vectors in (("accepted", accepted()), ("refused", refused()), ("unreadable", unreadable())):
        document = {"format": "docket/vectors/receipt/v1", **shared(list(vectors))}
        text = json.dumps(document, ensure_ascii=False, indent=1)
        (FOLDER / f"receipt-{name}.json").write_text(text + "\n", encoding="utf-8")


def shared(vectors: list[Vector]) -> dict[str, Any]:
    """The vectors with each text that was met before, or differs from such a one in one place, told by that one."""
    texts: dict[str, str] = {}
    for item in vectors:
        for part in ("receipt", "ledger"):
            if item[part] is not None:
                item[part] = _told(texts, f"{part} {len(texts)}", item[part])
    return {"texts": texts, "vectors": vectors}


def _told(texts: dict[str, str], name: str, text: str) -> dict[str, Any]:
    best: dict[str, Any] | None = None
    for known, other in texts.items():
        start = next(
            (i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other))
        )
        rest = min(len(text), len(other)) - start
        end = next((i for i in range(rest) if text[-1 - i] != other[-1 - i]), rest)
        told = {"of": known, "at": start, "cut": len(other) - end - start, "put": text[start : len(text) - end]}
        if best is None or len(told["put"]) < len(best["put"]):
            best = told
    if best is None or len(best["put"]) > len(text) // 2:
        texts[name] = text
        return {"of": name}
    return {"of": best["of"]} if not best["cut"] and not best["put"] else best


def vector(
    name: str,
    receipt: Any,
    ledger: bytes | None,
    verdict: str,
    first_failure: str | None = None,
    **beside: list[str] | str,
) -> Vector:
    return {
        "name": name,
        "verdict": verdict,
        "first_failure": first_failure,
        "receipt": receipt if isinstance(receipt, str) else encode(receipt).decode(),
        "ledger": None if ledger is None else ledger.decode(),
        **beside,
    }


def accepted() -> Iterator[Vector]:
    for name, about in (
        ("chat", "one call with cached and reasoning tokens"),
        ("anthropic", "cache writes of two lifetimes and a search, as component rows"),
        ("uses", "images, a search, a container and seconds of audio, as component rows"),
        ("responses", "half micro-dollars, rounded to even down and up"),
        ("assumed", "a model priced by the fallback"),
        ("cut", "a stream cut at the cap, its usage estimated"),
        ("zero", "no call"),
        ("asserted", "tools, calls and remarks on the agent's word, outside every total"),
        ("pooled", "a model's, an agent's and a pool's budget, each reached"),
        ("drilled", "a drill: injected faults, pacing, a breaker that opened and closed again"),
        ("odd_names", "names and arguments that are not UTF-8"),
        ("cached", "replies given again, of one row and of two components, to the ceiling of hits"),
        ("busy", "refusals, errors, tools, tunnels, a cap, an event of an unknown type"),
        ("windowed", "tools with their windows: alone, two at once, one that never ended; hooks that told nothing"),
        ("numbered", "a run with its number, its project and the run before it, and no key"),
        ("hidden", "a copy that hides paths and the command line, and says so"),
    ):
        raw = samples.ALL[name]().data()
        yield vector(about, receipt_of(raw), raw, "consistent")
    raw = samples.chat().data()
    yield vector("without its ledger", receipt_of(raw), None, "consistent")
    raw = samples.no_end().data()
    yield vector("a record without an end", receipt_of(raw), raw, "incomplete", "evidence-completeness")
    raw = samples.gap().data()
    yield vector("a record with a declared gap", receipt_of(raw), raw, "incomplete", "evidence-completeness")
    yield from vouched.accepted(vector)
    yield from headed.accepted(vector)
    built = elsewhere.ledger()
    yield vector("another writer's, with a cache", elsewhere.receipt(built), built.data(), "consistent")


def unreadable() -> Iterator[Vector]:
    raw = samples.chat().data()
    text = encode(receipt_of(raw)).decode()
    for name, receipt in (
        ("nothing", ""),
        ("an array", "[]"),
        ("cut off", text[:-1]),
        ("a byte order mark", "\ufeff" + text),
        ("a key twice", text.replace('"label":', '"label":"other","label":', 1)),
        ("a fraction", text.replace('"calls":1', '"calls":1.5', 1)),
        ("an integer beyond 2^53-1", text.replace('"calls":1', '"calls":9007199254740992', 1)),
        ("half of a surrogate pair", text.replace('"golden"', '"\\ud800"', 1)),
        ("65 levels", text.replace('"label":"golden"', '"label":' + "[" * 64 + "]" * 64, 1)),
        ("something after the value", text + "{}"),
        ("not a number", text.replace('"calls":1', '"calls":NaN', 1)),
    ):
        yield vector(name, receipt, raw, "unreadable")


def refused() -> Iterator[Vector]:
    yield from _receipts()
    yield from _files()
    yield from _chained()
    yield from vouched.refused(vector)
    yield from headed.refused(vector)


def _receipts() -> Iterator[Vector]:
    raw = samples.chat().data()

    def changed(name: str, first: str, change: Callable[[dict[str, Any]], object]) -> Vector:
        receipt = receipt_of(raw)
        change(receipt)
        return vector(name, receipt, raw, "failed", first)

    def cheaper(receipt: dict[str, Any]) -> None:
        for holder in (receipt["appendix"]["usage"][0], receipt["totals"], receipt["totals"]["by_model"][0]):
            holder |= {"input_tokens": 1000, "cached_input_tokens": 800, "output_tokens": 0, "cost_usd": "0.000350"}
        receipt["totals"]["total_tokens"] = 1000

    def stripped(receipt: dict[str, Any]) -> None:
        receipt["appendix"]["usage"] = []

    def invented(receipt: dict[str, Any]) -> None:
        receipt["limits_disclosure"]["not_observed"].append("nothing else")

    zeros = "0" * 64
    yield vector(
        "a finding, and no ledger", {**receipt_of(raw), "findings": ["good"]}, None, "failed", "receipt-rebuild"
    )
    yield changed("another format", "receipt-format", lambda r: r.update(format="docket/receipt/v2"))
    yield changed("a member too many", "receipt-shape", lambda r: r.update(more=1))
    yield changed("a member too few", "receipt-shape", lambda r: r.pop("caps"))
    yield changed("a count that is a text", "receipt-shape", lambda r: r["caps"].update(warnings="0"))
    yield changed("a count that is true", "receipt-shape", lambda r: r["totals"].update(calls=True))
    yield changed("an amount in another spelling", "receipt-shape", lambda r: r["totals"].update(cost_usd="0.0046"))
    yield changed("no fold", "receipt-shape", lambda r: r["tool"].pop("fold"))
    yield changed("another genesis", "ledger-chain", lambda r: r["ledger"].update(genesis=zeros))
    yield changed("another head", "head", lambda r: r["ledger"].update(head=zeros))
    yield changed("an event fewer", "event-count", lambda r: r["ledger"].update(events=11))
    yield changed("another root", "merkle-root", lambda r: r["ledger"].update(merkle_root=zeros))
    yield changed("another file", "ledger-file-digest", lambda r: r["ledger"].update(file_sha256=zeros))
    yield changed("a shorter path", "usage-inclusion-proofs", lambda r: r["appendix"]["usage"][0]["merkle_path"].pop())
    yield changed("cheaper, with all sums made to fit", "usage-rows-rebound", cheaper)
    yield changed("a row left out", "usage-rows-rebound", stripped)
    yield changed(
        "a source that is not the event's",
        "usage-rows-rebound",
        lambda r: r["appendix"]["usage"][0].update(usage_source="estimated"),
    )
    yield changed(
        "a price changed",
        "cost-recomputation",
        lambda r: r["price_table"]["document"]["families"][0].update(output="9"),
    )
    yield changed("a total", "totals", lambda r: r["totals"].update(cost_usd="0.01"))
    yield changed("tokens", "token-totals", lambda r: r["totals"].update(output_tokens=0))
    yield changed("cached tokens", "cached-totals", lambda r: r["totals"].update(cached_input_tokens=0))
    yield changed(
        "a model that has a price, as assumed",
        "assumed-prices",
        lambda r: r["totals"].update(assumed_price_models=["x"]),
    )
    yield changed("a model's sum", "by-model-totals", lambda r: r["totals"]["by_model"][0].update(calls=2))
    yield changed("who counted", "usage-source-counts", lambda r: r["totals"].update(usage_reported_calls=0))
    yield changed(
        "a basis that the rows are not", "cost-basis", lambda r: r["totals"].update(cost_basis="estimated: x")
    )
    yield changed("a percentile", "latency-summary", lambda r: r["latency"].update(p99_ms=1))
    yield changed(
        "a seal of another algorithm", "seal", lambda r: r.update(seal={"alg": "none", "key_id": "k", "value": zeros})
    )
    yield changed(
        "a signature in upper case",
        "signature",
        lambda r: r.update(signature={"alg": "ed25519", "public_key": zeros, "value": "A" * 128}),
    )
    yield changed("an invented disclosure", "limits-disclosure", invented)
    yield changed(
        "an unknown code", "limits-disclosure", lambda r: r["limits_disclosure"]["codes"].append("all-is-well")
    )
    yield changed(
        "gaps that the ledger has not", "evidence-completeness", lambda r: r["evidence"].update(unwritten_events=1)
    )
    yield changed("another policy", "policy-digest", lambda r: r["policy"]["document"]["caps"].update(max_usd="9.00"))
    yield changed(
        "another source of a price",
        "price-table-digest",
        lambda r: r["price_table"]["document"]["families"][0].update(source="x"),
    )
    yield changed("another exit code", "receipt-rebuild", lambda r: r["session"].update(exit_code=1))
    yield changed("another label", "receipt-rebuild", lambda r: r.update(label="x"))
    yield changed("a finding that nothing found", "receipt-rebuild", lambda r: r["findings"].append({"rule": "x"}))
    yield changed("a changed path left out", "receipt-rebuild", lambda r: r["files"].update(top_paths=[]))
    yield changed("a violation left out", "receipt-rebuild", lambda r: r["files"].update(violations=1))


def _files() -> Iterator[Vector]:
    raw = samples.chat().data()
    receipt, lines = receipt_of(raw), raw.splitlines(keepends=True)
    yield vector("one byte changed", receipt, raw.replace(b'"call":1', b'"call":2', 1), "failed", "ledger-chain")
    yield vector("the last event missing", receipt, b"".join(lines[:-1]), "failed", "head")
    yield vector("the last line torn", receipt, raw[:-10], "failed", "ledger-chain")
    yield vector(
        "two lines exchanged", receipt, b"".join([*lines[:3], lines[4], lines[3], *lines[5:]]), "failed", "ledger-chain"
    )
    yield vector("a line left out", receipt, b"".join([*lines[:3], *lines[4:]]), "failed", "ledger-chain")
    yield vector("a second genesis", receipt, raw + raw, "failed", "ledger-chain")
    yield vector("an empty file", receipt, b"", "failed", "ledger-chain")
    yield vector("a blank in a line", receipt, raw.replace(b'"seq":0,', b'"seq": 0,', 1), "failed", "ledger-chain")
    yield vector(
        "a key twice in a line", receipt, raw.replace(b'"seq":0,', b'"seq":0,"seq":0,', 1), "failed", "ledger-chain"
    )
    yield vector("a fraction in a line", receipt, raw.replace(b'"seq":0,', b'"seq":0.0,', 1), "failed", "ledger-chain")
    yield vector(
        "a member too many in a line",
        receipt,
        raw.replace(b'"seq":0,', b'"seq":0,"sig":"",', 1),
        "failed",
        "ledger-chain",
    )
    yield vector("another run's ledger", receipt, samples.zero().data(), "failed", "head")


def _chained() -> Iterator[Vector]:
    def changed(
        name: str, first: str, sample: Callable[[], LedgerBuilder], change: Callable[[list[Body]], object]
    ) -> Vector:
        ledger = sample()
        items = bodies(ledger.events)
        change(items)
        events = chained(items)
        return vector(
            f"{name}, chained anew", rederived(receipt_of(ledger.data()), events), lines_of(events), "failed", first
        )

    def at(items: list[Body], type_: str) -> dict[str, Any]:
        return next(item[2] for item in items if item[0] == type_)

    chat = samples.chat
    yield changed(
        "tokens of an event",
        "usage-rows-rebound",
        chat,
        lambda i: at(i, "model.response")["components"][0].update(input_tokens=1),
    )
    yield changed(
        "an unknown member of a known type", "ledger-payloads", chat, lambda i: at(i, "proc.exit").update(x=1)
    )
    yield changed(
        "an instant that is none", "ledger-payloads", chat, lambda i: i.__setitem__(0, (i[0][0], "noon", i[0][2]))
    )
    yield changed(
        "an instant before the one before",
        "event-order",
        chat,
        lambda i: i.__setitem__(3, (i[3][0], "2026-10-01T11:00:00.000Z", i[3][2])),
    )
    yield changed(
        "a provider that was not asked", "event-order", chat, lambda i: at(i, "model.request").update(provider="x")
    )
    yield changed(
        "a running sum", "event-order", chat, lambda i: at(i, "model.response").update(cumulative_cost_usd="0.00")
    )
    yield changed(
        "usage that the components do not carry",
        "components",
        chat,
        lambda i: at(i, "model.response")["usage"].update(output_tokens=301),
    )
    yield changed(
        "a limit that the policy has not",
        "cap-limits",
        samples.busy,
        lambda i: at(i, "cap.exceeded").update(limit="9.00"),
    )
    yield changed("another exit code", "receipt-rebuild", chat, lambda i: at(i, "session.end").update(exit_code=1))
    yield changed("another argument", "receipt-rebuild", chat, lambda i: at(i, "session.start").update(argv=["agent"]))
    yield changed(
        "a removed file that was added", "receipt-rebuild", chat, lambda i: at(i, "fs.change").update(change="removed")
    )


if __name__ == "__main__":
    main()
