"""Scenarios of receipts: what is accepted, and receipts in which figures were made to look better."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from record_vectors import ledgers
from record_vectors.money import amount, cost_micros, micros
from record_vectors.primitives import Json, chained, digest_of
from record_vectors.scenario import Scenario, Side, doctored, printed, side

ZEROS = "0" * 64


def hash_of(bodies: list[Json], seq: int) -> str:
    """The hash that an event has in its ledger."""
    return str(chained(bodies)[seq]["hash"])


def cached() -> Side:
    """A reply that was given again."""
    return side(ledgers.cached(hash_of))


def scenarios() -> Iterator[Scenario]:
    """Every scenario."""
    yield from _accepted()
    yield from _figures()
    yield from _coherent()
    yield from _derived()
    yield from _rare()


def _accepted() -> Iterator[Scenario]:
    for name, says, made in (
        ("plain-run", "one call and a new file", side(ledgers.plain())),
        ("no-call", "a run without a call", side(ledgers.idle())),
        ("component-rows", "a call of three rows, and half a micro-dollar", side(ledgers.several())),
        ("estimated-and-assumed", "a count and a price that are guesses", side(ledgers.estimated())),
        ("cache-hits", "a reply given again up to the ceiling", cached()),
        ("cache-hits-in-parts", "a reply of two rows given again", side(ledgers.cached_in_parts(hash_of))),
        ("transaction", "a stage that landed", side(ledgers.staged())),
        ("transaction-for-review", "a stage that waits", side(ledgers.staged("review"))),
        ("windows", "tools with their windows, shared cost, lost hooks", side(ledgers.windowed())),
        ("asserted-calls", "what an agent says of itself, in no total", side(ledgers.asserted())),
        ("busy-run", "errors, a cap, a tunnel, an unknown type, names that are no UTF-8", side(ledgers.busy())),
        ("odd-arguments", "an argument that is no UTF-8",
         side(ledgers.idle(argv=["agent", "caf\\xe9"], argv_b64=["YWdlbnQ=", "Y2Fm6Q=="]))),
    ):  # fmt: skip
        yield Scenario(name=name, says=says, accepted=made)
    for name, says, story in (
        ("killed-run", "a record without an end", ledgers.killed()),
        ("declared-gap", "events that could not be written", ledgers.gap()),
    ):
        made = side(story, verdict="incomplete", fails="evidence-completeness")
        yield Scenario(name=name, says=says, accepted=made)


def _figures() -> Iterator[Scenario]:
    good = side(ledgers.plain())

    def change(name: str, says: str, fails: str, work: Callable[[Json], object]) -> Scenario:
        return doctored(name, says, fails, good, work)

    yield change("head-other", "the head is the last event's hash", "head", lambda r: r["ledger"].update(head=ZEROS))
    yield change("events-fewer", "the number of events is the ledger's", "event-count",
                 lambda r: r["ledger"].update(events=r["ledger"]["events"] - 1))  # fmt: skip
    yield change("event-counts-other", "the counts by type add up", "event-count",
                 lambda r: r["event_counts"].update({"model.response": 0}))  # fmt: skip
    yield change("root-other", "the root is the tree's", "merkle-root", lambda r: r["ledger"].update(merkle_root=ZEROS))
    yield change("file-digest-other", "the digest is the file's", "ledger-file-digest",
                 lambda r: r["ledger"].update(file_sha256=ZEROS))  # fmt: skip
    yield change("genesis-other", "the genesis is the format's", "ledger-chain",
                 lambda r: r["ledger"].update(genesis=ZEROS))  # fmt: skip
    yield change("path-shorter", "a row's path leads to the root", "usage-inclusion-proofs",
                 lambda r: r["appendix"]["usage"][0]["merkle_path"].pop())  # fmt: skip
    yield change("path-other-side", "a sibling's side counts", "usage-inclusion-proofs",
                 lambda r: r["appendix"]["usage"][0]["merkle_path"][0].update(side="left"))  # fmt: skip
    yield change("row-of-another-event", "a row is the event that it names", "usage-inclusion-proofs",
                 lambda r: r["appendix"]["usage"][0].update(event_hash=r["ledger"]["head"]))  # fmt: skip
    yield change("total-other", "the total is the rows'", "totals", lambda r: r["totals"].update(cost_usd="0.001299"))
    yield change("tokens-other", "tokens are the rows'", "token-totals", lambda r: r["totals"].update(input_tokens=999))
    yield change("cached-tokens-other", "cached tokens are the rows'", "cached-totals",
                 lambda r: r["totals"].update(cached_input_tokens=0))  # fmt: skip
    yield change("model-sum-other", "a model's sum is its rows'", "by-model-totals",
                 lambda r: r["totals"]["by_model"][0].update(calls=2))  # fmt: skip
    yield change("source-count-other", "who counted is the rows' word", "usage-source-counts",
                 lambda r: r["totals"].update(usage_reported_calls=0, usage_estimated_calls=1))  # fmt: skip
    yield change("cost-basis-other", "the basis follows from the rows", "cost-basis",
                 lambda r: r["totals"].update(cost_basis=f"estimated: {r['totals']['cost_basis']}"))  # fmt: skip
    yield change("latency-other", "a percentile is one of the rows'", "latency-summary",
                 lambda r: r["latency"].update(p50_ms=1))  # fmt: skip
    yield change("member-unknown", "a receipt has no member that nothing hashes", "receipt-shape",
                 lambda r: r.update(verified=True))  # fmt: skip
    yield change("row-member-unknown", "nor has a row", "receipt-shape",
                 lambda r: r["appendix"]["usage"][0].update(note="paid by somebody else"))  # fmt: skip
    yield change("format-other", "the format's number counts", "receipt-format",
                 lambda r: r.update(format="docket/receipt/v2"))  # fmt: skip
    yield change("digest-upper-case", "a digest is in lower case", "receipt-shape",
                 lambda r: r["ledger"].update(head=r["ledger"]["head"].upper()))  # fmt: skip
    yield change("amount-one-digit", "an amount has one spelling", "receipt-shape",
                 lambda r: r["totals"].update(cost_usd="0.0013"))  # fmt: skip
    yield change("count-a-truth", "true is no number", "receipt-shape", lambda r: r["totals"].update(calls=True))
    yield change("count-negative", "a count is not below 0", "receipt-shape",
                 lambda r: r["caps"].update(exceeded=-1))  # fmt: skip


def cheaper(receipt: Json) -> None:
    """Half of the tokens, and every figure that follows from them."""
    row = receipt["appendix"]["usage"][0]
    row |= {"input_tokens": 500, "cached_input_tokens": 400, "output_tokens": 0}
    _priced_anew(receipt)


def _priced_anew(receipt: Json) -> None:
    families, totals = receipt["price_table"]["document"]["families"], receipt["totals"]
    rows = receipt["appendix"]["usage"]
    for row in rows:
        row["cost_usd"] = amount(cost_micros(row, families))
    sums = {name: sum(row[name] for row in rows) for name in ("input_tokens", "cached_input_tokens", "output_tokens")}
    sums["cost_usd"] = amount(sum(micros(row["cost_usd"]) for row in rows))
    totals |= {**sums, "calls": len(rows), "usage_reported_calls": len(rows)}
    totals["total_tokens"] = sums["input_tokens"] + sums["output_tokens"]
    totals["by_model"] = [{"model": row["model"], "calls": 1, **{name: row[name] for name in sums}} for row in rows]
    receipt["price_table"]["digest"] = digest_of(receipt["price_table"]["document"])


def _coherent() -> Iterator[Scenario]:
    good, alone = side(ledgers.plain()), side(ledgers.several())

    def free(receipt: Json) -> None:
        receipt["price_table"]["document"]["families"][0] |= {"input": "0", "cached_input": "0", "output": "0"}

    def free_and_priced(receipt: Json) -> None:
        free(receipt)
        _priced_anew(receipt)

    def renamed(receipt: Json) -> None:
        receipt["appendix"]["usage"][0]["model"] = "gpt-5-nano"
        receipt["price_table"]["document"]["families"][0]["pattern"] = "gpt-5-nano"
        _priced_anew(receipt)

    def deleted(receipt: Json) -> None:
        receipt["appendix"]["usage"].clear()
        receipt.pop("latency")
        _priced_anew(receipt)

    def fewer(receipt: Json) -> None:
        """Without its search, and with sums that fit."""
        rows = receipt["appendix"]["usage"]
        rows.pop(next(place for place, row in enumerate(rows) if row["model"].endswith("+web-search")))
        totals = receipt["totals"]
        models = [item for item in totals["by_model"] if not item["model"].endswith("+web-search")]
        totals |= {"calls": 4, "usage_reported_calls": 4, "by_model": models, "cost_usd": "0.010827"}
        totals |= {"input_tokens": totals["input_tokens"] - 1, "total_tokens": totals["total_tokens"] - 1}
        receipt["latency"]["total_rows"] = 4

    rebound = "usage-rows-rebound"
    yield doctored("costs-lowered", "fewer tokens, and all sums made to fit", rebound, good, cheaper)
    yield doctored(
        "costs-by-another-table", "a table without prices, and all sums made to fit", rebound, good, free_and_priced
    )
    yield doctored("prices-zeroed", "a table without prices", "cost-recomputation", good, free)
    yield doctored("model-renamed", "a cheaper model's name, in row, sum and table", rebound, good, renamed)
    yield doctored("rows-deleted", "no row, and all sums made to fit", rebound, good, deleted)
    yield doctored("row-deleted", "a component left out, and all sums made to fit", rebound, alone, fewer)
    yield doctored("row-twice", "a row stands once", rebound, alone,
                   lambda r: r["appendix"]["usage"].append(r["appendix"]["usage"][-1]))  # fmt: skip
    yield doctored("rows-exchanged", "rows stand in the order of events", rebound, alone,
                   lambda r: r["appendix"]["usage"].reverse())  # fmt: skip
    yield doctored("estimate-as-report", "an estimate is not the provider's count", rebound, side(ledgers.estimated()),
                   lambda r: r["appendix"]["usage"][1].update(usage_source="reported"))  # fmt: skip
    yield doctored("assumed-price-hidden", "a price that is a guess is named", "assumed-prices",
                   side(ledgers.estimated()), lambda r: r["totals"].update(assumed_price_models=[]))  # fmt: skip


def _derived() -> Iterator[Scenario]:
    good, busy, rebuilt = side(ledgers.plain()), side(ledgers.busy()), "receipt-rebuild"

    def other_policy(receipt: Json) -> None:
        receipt["policy"]["document"]["caps"]["max_usd"] = "1.00"
        receipt["policy"]["digest"] = digest_of(receipt["policy"]["document"])

    def unlimited(receipt: Json) -> None:
        """A limit left out, sentence and code."""
        limits = receipt["limits_disclosure"]
        limits["codes"].remove("direct-traffic")
        limits["not_observed"] = [
            item for item in limits["not_observed"] if not item.startswith("Traffic that did not")
        ]

    def set_in(section: str, **members: object) -> Callable[[Json], object]:
        return lambda receipt: receipt[section].update(members)

    for name, says, fails, record, change in (
        ("session-exit-code", "a failure as a success", rebuilt, busy, set_in("session", exit_code=1)),
        ("session-arguments", "other arguments", rebuilt, good, set_in("session", argv=["agent"])),
        ("session-folder", "another folder", rebuilt, good, set_in("session", cwd="/home/dev")),
        ("session-duration", "a shorter run", rebuilt, good, set_in("session", duration_seconds="1")),
        ("session-agent", "another agent", rebuilt, good, set_in("session", agent="claude")),
        ("label-other", "another label", rebuilt, good, lambda r: r.update(label="x")),
        ("number-other", "another number", rebuilt, good, lambda r: r.update(docket_number="DKT-20261105-000000")),
        ("created-later", "another instant", rebuilt, good, lambda r: r.update(created_at="2026-11-06T00:00:00.000Z")),
        ("files-unchanged", "a changed file left out", rebuilt, good,
         set_in("files", changed=0, added=0, top_paths=[])),
        ("files-renamed", "another file", rebuilt, good, set_in("files", top_paths=["src/old.py"])),
        ("violation-left-out", "no violation", rebuilt, busy, set_in("files", violations=0, violations_by_rule={})),
        ("denials-left-out", "no refusal", rebuilt, busy, set_in("model_calls", denied=0, denied_by_reason={})),
        ("tunnel-left-out", "no tunnel", rebuilt, busy, set_in("network", tunnels_allowed=0)),
        ("cap-left-out", "no cap that was exceeded", rebuilt, busy, set_in("caps", exceeded=0)),
        ("budget-other", "another bound", rebuilt, good, set_in("budget", bound_usd="0.00")),
        ("isolation-better", "a launcher that it was not", rebuilt, good,
         set_in("isolation", launcher=["subreaper", "pidfd"])),
        ("finding-added", "a receipt finds nothing", rebuilt, good,
         lambda r: r["findings"].append({"code": "all-is-well"})),
        ("policy-swapped", "another policy, with its digest", rebuilt, good, other_policy),
        ("policy-other", "another policy, by the old digest", "policy-digest", good,
         lambda r: r["policy"]["document"]["caps"].update(max_usd="1.00")),
        ("price-source-other", "another source of a price", "price-table-digest", good,
         lambda r: r["price_table"]["document"]["families"][0].update(source="the provider's own page")),
        ("limit-left-out", "a limit left out, with its code", rebuilt, good, unlimited),
        ("limit-reworded", "a limit in other words", "limits-disclosure", good,
         lambda r: r["limits_disclosure"]["not_observed"].append("Nothing.")),
        ("limit-unknown", "a code of no list", "limits-disclosure", good,
         lambda r: r["limits_disclosure"]["codes"].append("tamper-proof")),
        ("upstream-hidden", "calls went elsewhere", rebuilt, busy, set_in("boundary", upstream_overrides={})),
    ):  # fmt: skip
        yield doctored(name, says, fails, record, change)


def _rare() -> Iterator[Scenario]:
    hits, parts = cached(), side(ledgers.cached_in_parts(hash_of))
    review, tools = side(ledgers.staged("review")), side(ledgers.windowed())
    spoken, killed = (
        side(ledgers.asserted()),
        side(ledgers.killed(), verdict="incomplete", fails="evidence-completeness"),
    )
    gap = side(ledgers.gap(), verdict="incomplete", fails="evidence-completeness")

    def group(receipt: Json) -> Json:
        found: Json = receipt["cache"]["by_origin"][0]
        return found

    def more_hits(receipt: Json) -> None:
        group(receipt)["hits"] = receipt["cache"]["hits"] = 20
        group(receipt)["avoided_usd_total"] = receipt["cache"]["saved_usd"] = "0.026000"
        receipt["cache"]["avoided_tokens"] = 20 * 1050

    def whole(receipt: Json) -> None:
        receipt["evidence"].update(
            ledger_complete=True, ended=True, write_failures=0, unwritten_events=0, first_failing_seq=None,
            note="Every event reached the ledger file.",
        )  # fmt: skip

    def asked(receipt: Json) -> Json:
        found: Json = receipt["windows"]["tools"][0]["asked_by"]
        return found

    for name, says, fails, record, change in (
        ("savings-larger", "a saving follows from rows and table", "cache-savings", hits,
         lambda r: r["cache"].update(saved_usd="1.00")),
        ("hits-more", "hits are the ledger's, though all sums fit", "cache-hit-origins", hits, more_hits),
        ("hit-proof-other", "a hit leads to the root", "cache-hit-proofs", hits,
         lambda r: group(r)["merkle_path"].pop()),
        ("hits-in-parts-other", "so do those of several rows", "cache-savings", parts,
         lambda r: r["cache"]["component_hits"].update(saved_usd="0.00")),
        ("ceiling-denied", "that the ceiling was reached is on record", "receipt-rebuild", hits,
         lambda r: r["cache"].update(hits_ceiling_reached=False)),
        ("landed-though-not", "what waits has not landed", "receipt-rebuild", review,
         lambda r: r["workspace"].update(committed=True, outcome="committed", reason=None, detail=None)),
        ("transactional-network", "a transaction covers no network", "receipt-shape", review,
         lambda r: r["workspace"]["not_transactional"].remove("network-calls")),
        ("window-left-out", "each window has an entry", "receipt-rebuild", tools, _without_last_window),
        ("windows-more", "windows are counted by their entries", "receipt-rebuild", tools,
         lambda r: r["windows"].update(complete=4)),
        ("window-delta-other", "a delta is the event's", "receipt-rebuild", tools,
         lambda r: r["windows"]["tools"][0]["delta"].update(delta_sha256=ZEROS)),
        ("window-cheaper", "a tool's share of a call follows", "receipt-rebuild", tools,
         lambda r: asked(r).update(share_usd="0.00")),
        ("asserted-left-out", "what the agent said is told", "receipt-rebuild", spoken,
         lambda r: r.pop("asserted") and None),
        ("asserted-in-totals", "an asserted call is in no total", "totals", spoken,
         lambda r: r["totals"].update(calls=2, asserted_calls=1)),
        ("killed-as-whole", "a record without an end is not whole", "evidence-completeness", killed, whole),
        ("gap-as-whole", "a record with a gap is not whole", "receipt-rebuild", gap, whole),
        ("killed-with-an-exit", "nobody knows how it ended", "evidence-completeness", killed,
         lambda r: r["session"].update(exit_code=0)),
    ):  # fmt: skip
        yield doctored(name, says, fails, record, change)
    yield Scenario(name="without-its-ledger", says="sums, prices and proofs hold by themselves",
                   accepted=Side(receipt=hits.receipt, ledger=None),
                   refused=Side(receipt=_printed_with(hits, lambda r: r["totals"].update(cost_usd="0.00")), ledger=None,
                                verdict="failed", fails="totals"))  # fmt: skip


def _without_last_window(receipt: Json) -> None:
    windows = receipt["windows"]
    windows["tools"].pop()
    windows.update(count=2, complete=2)


def _printed_with(record: Side, change: Callable[[Json], object]) -> bytes:
    receipt = json.loads(record.receipt)
    change(receipt)
    return printed(receipt)
