"""Receipts of the golden ledgers, every member written out by hand."""

from __future__ import annotations

import hashlib
import json

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue, encode_document
from docket.formats.run.verdict import Word
from docket.rules.receipt.assemble import receipt_from_ledger
from docket.rules.receipt.fold import fold
from golden_ledgers import samples
from golden_ledgers.build import LedgerBuilder, closed, opened, policy, start
from golden_ledgers.judging import judged, named, receipt_of


def root_of(hashes: list[str]) -> str:
    """RFC 6962's definition, written down as it stands there: split at the largest power of two below n."""
    if not hashes:
        return hashlib.sha256(b"").hexdigest()
    if len(hashes) == 1:
        return hashlib.sha256(b"\0" + bytes.fromhex(hashes[0])).hexdigest()
    split = 1 << ((len(hashes) - 1).bit_length() - 1)
    left, right = root_of(hashes[:split]), root_of(hashes[split:])
    return hashlib.sha256(b"\1" + bytes.fromhex(left) + bytes.fromhex(right)).hexdigest()


def climbed(event_hash: str, path: list[dict[str, str]]) -> str:
    node = hashlib.sha256(b"\0" + bytes.fromhex(event_hash)).digest()
    for step in path:
        other = bytes.fromhex(step["hash"])
        node = hashlib.sha256(b"\1" + (other + node if step["side"] == "left" else node + other)).digest()
    return node.hex()


def test_every_member_of_a_run_with_cache_writes_and_a_search() -> None:
    ledger = samples.anthropic()
    receipt = receipt_of(ledger.data())

    assert list(receipt) == [
        "format", "docket_number", "label", "created_at", "tool", "session", "policy", "boundary", "totals",
        "model_calls", "budget", "tools", "files", "network", "caps", "notes", "event_counts", "ledger",
        "price_table", "appendix", "evidence", "ops", "isolation", "findings", "limits_disclosure", "latency",
        "seal", "signature",
    ]  # fmt: skip
    assert receipt["format"] == "docket/receipt/v1"
    assert receipt["docket_number"] == "DKT-20261001-00C0DE"
    assert receipt["label"] == "golden"
    assert receipt["created_at"] == ledger.events[-1].ts == "2026-10-01T12:00:16.250Z"
    assert receipt["tool"] == {
        "name": "docket", "version": "0.1.0", "format": "docket/receipt/v1", "fold": "docket/fold/v1",
    }  # fmt: skip
    assert receipt["session"] == {
        "id": "0123456789ab",
        "argv": ["agent", "--fast"],
        "cwd": "/home/dev/tree",
        "agent": "generic",
        "started_at": "2026-10-01T12:00:00.250Z",
        "exit_code": 0,
        "exit_source": "agent",
        "duration_seconds": "12.345",
        "breached": None,
        "interrupted": False,
        "agent_exit": {"exit_code": 0, "leftover_processes": 0},
        "host": {"platform": "Linux", "python": "3.11.7", "machine": "x86_64"},
    }
    assert receipt["policy"]["name"] == "golden"
    assert receipt["policy"]["source"] is None
    canonical_policy = json.dumps(receipt["policy"]["document"], sort_keys=True, separators=(",", ":")).encode()
    assert receipt["policy"]["digest"] == hashlib.sha256(canonical_policy).hexdigest()
    assert receipt["boundary"] == {
        "admission": "metered",
        "listener": {"host": "127.0.0.1", "port": 40000},
        "upstream_overrides": {},
    }
    assert receipt["totals"] == {
        "calls": 5,
        "input_tokens": 17_102,
        "cached_input_tokens": 10_000,
        "output_tokens": 510,
        "total_tokens": 17_612,
        "cost_usd": "0.060950",
        "cost_basis": "reported: the providers' own counts",
        "usage_reported_calls": 5,
        "usage_estimated_calls": 0,
        "asserted_calls": 0,
        "assumed_price_models": [],
        "by_model": [
            _sum("claude-sonnet-4-5+web-search", 1, (2, 0, 0), "0.02"),
            _sum("claude-sonnet-4-5+cache-write-5m", 1, (4000, 0, 0), "0.015000"),
            _sum("claude-sonnet-4-5", 2, (11_100, 10_000, 510), "0.013950"),
            _sum("claude-sonnet-4-5+cache-write-1h", 1, (2000, 0, 0), "0.012000"),
        ],
    }
    assert receipt["model_calls"] == {
        "count": 2,
        "by_provider": {"anthropic": 2},
        "denied": 0,
        "errors": 0,
        "admitted": 2,
        "unsettled": 0,
        "outcomes": {"complete": 2},
        "denied_by_reason": {},
        "errors_by_reason": {},
        "estimated": 0,
        "altered": 0,
        "other_exchanges": 0,
        "usage": {
            "input_tokens": 17_100,
            "cached_input_tokens": 10_000,
            "output_tokens": 510,
            "cache_write_tokens": 0,
            "cache_write_5m_tokens": 4000,
            "cache_write_30m_tokens": 0,
            "cache_write_1h_tokens": 2000,
            "cache_write_12h_tokens": 0,
            "reasoning_tokens": 0,
            "audio_input_tokens": 0,
            "audio_output_tokens": 0,
            "web_searches": 2,
            "file_searches": 0,
        },
    }
    assert receipt["budget"] == {
        "admission": "metered",
        "cap_usd": "1.00",
        "spent_usd": "0.060950",
        "overshoot_usd": "0.00",
        "bound_usd": "0.02",
        "peak_held_usd": "0.005000",
    }
    assert receipt["tools"] == {"calls": 0, "names": [], "failures": 0}
    assert receipt["files"] == {
        "changed": 1,
        "added": 1,
        "modified": 0,
        "removed": 0,
        "retyped": 0,
        "violations": 0,
        "violations_by_rule": {},
        "top_paths": ["src/new.py"],
        "passes": {"before": _pass(2, 20, "11"), "after": _pass(3, 30, "22")},
    }
    assert receipt["network"] == {"tunnels_allowed": 0, "tunnels_denied": 0, "turned_away": 0}
    assert receipt["caps"] == {"exceeded": 0, "warnings": 0}
    assert receipt["notes"] == {}
    assert receipt["event_counts"] == {
        "fs.change": 1,
        "fs.snapshot": 2,
        "model.request": 2,
        "model.response": 2,
        "policy.applied": 1,
        "proc.exit": 1,
        "proc.spawn": 1,
        "session.end": 1,
        "session.start": 1,
        "x-docket.budget": 1,
        "x-docket.price": 4,
    }
    hashes = [event.hash for event in ledger.events]
    assert receipt["ledger"] == {
        "format": "docket/ledger/v1",
        "events": 17,
        "head": hashes[-1],
        "genesis": "adf41ffdf0fd9128f8f4fe88fa09fba359e27453b02be87886b621a2c2b0f7dc",
        "merkle_root": root_of(hashes),
        "file_sha256": hashlib.sha256(ledger.data()).hexdigest(),
        "chain": "hash = sha256(canonical {data, prev, seq, ts, type}); prev = hash of the event before",
    }
    assert receipt["evidence"] == {
        "ledger_complete": True,
        "ended": True,
        "unwritten_events": 0,
        "first_failing_seq": None,
        "write_failures": 0,
        "note": "Every event reached the ledger file.",
    }
    assert receipt["isolation"] == {"launcher": ["subreaper", "pdeathsig", "pidfd"]}
    assert receipt["limits_disclosure"]["codes"] == [
        "usd-cap-metered", "record-before-send", "file-changes", "deny-write", "processes", "direct-traffic",
        "bodies", "outside-the-tree", "between-passes", "upstream-failure", "ledger-failure", "orphans-ended",
        "operator", "provider-counts", "list-prices",
    ]  # fmt: skip
    assert receipt["latency"] == {
        "method": "nearest-rank",
        "measured_calls": 2,
        "total_rows": 5,
        "total_ms": 300,
        "max_ms": 200,
        "p50_ms": 100,
        "p95_ms": 200,
        "p99_ms": 200,
    }
    assert receipt["findings"] == []
    assert (receipt["seal"], receipt["signature"]) == (None, None)


def test_rows_cite_their_event_base_last_and_lead_to_the_root() -> None:
    ledger = samples.anthropic()
    receipt = receipt_of(ledger.data())
    rows = receipt["appendix"]["usage"]

    figures = [
        (
            row["seq"],
            row["model"],
            row["input_tokens"],
            row["cached_input_tokens"],
            row["output_tokens"],
            row["cost_usd"],
        )
        for row in rows
    ]
    assert figures == [
        (8, "claude-sonnet-4-5+cache-write-5m", 4000, 0, 0, "0.015000"),
        (8, "claude-sonnet-4-5+cache-write-1h", 2000, 0, 0, "0.012000"),
        (8, "claude-sonnet-4-5", 11_000, 10_000, 500, "0.013500"),
        (11, "claude-sonnet-4-5+web-search", 2, 0, 0, "0.02"),
        (11, "claude-sonnet-4-5", 100, 0, 10, "0.000450"),
    ]
    assert [row.get("latency_ms") for row in rows] == [None, None, 100, None, 200]
    assert {row["provider"] for row in rows} == {"anthropic"}
    assert {row["usage_source"] for row in rows} == {"reported"}
    for row in rows:
        assert row["event_hash"] == ledger.events[row["seq"]].hash
        assert climbed(row["event_hash"], row["merkle_path"]) == receipt["ledger"]["merkle_root"]


def test_the_price_table_holds_the_families_most_specific_first_with_its_source() -> None:
    table = receipt_of(samples.anthropic().data())["price_table"]

    assert [family["pattern"] for family in table["document"]["families"]] == [
        "claude-sonnet-4-5",
        "claude-sonnet-4-5+cache-write-1h",
        "claude-sonnet-4-5+cache-write-5m",
        "claude-sonnet-4-5+web-search",
    ]
    assert (table["schema"], table["as_of"]) == ("docket/prices/v1", "2026-09-30")
    assert table["document"]["_meta"]["from"] == {
        "schema": "docket/prices/v1", "as_of": "2026-09-30", "digest": "cd" * 32,
    }  # fmt: skip
    canonical = json.dumps(table["document"], sort_keys=True, separators=(",", ":")).encode()
    assert table["digest"] == hashlib.sha256(canonical).hexdigest()


def test_an_estimate_beside_a_report_is_mixed() -> None:
    receipt = receipt_of(samples.cut().data())

    assert receipt["totals"]["cost_basis"] == "mixed: some counts are the providers', some are estimates"
    assert (receipt["totals"]["usage_reported_calls"], receipt["totals"]["usage_estimated_calls"]) == (1, 1)
    assert receipt["model_calls"]["outcomes"] == {"complete": 1, "cut": 1}
    assert receipt["model_calls"]["estimated"] == 1
    assert "estimates" in receipt["limits_disclosure"]["codes"]


def test_an_estimate_alone_is_no_report() -> None:
    totals = receipt_of(samples.estimated().data())["totals"]

    assert totals["cost_basis"] == "estimated: the providers gave no count that could be read"
    assert (totals["usage_reported_calls"], totals["usage_estimated_calls"]) == (0, 1)


def test_half_micro_dollars_round_to_even_and_rows_add_up() -> None:
    receipt = receipt_of(samples.responses().data())

    assert [row["cost_usd"] for row in receipt["appendix"]["usage"]] == ["0.000002", "0.000008"]
    assert receipt["totals"]["cost_usd"] == "0.000010"


def test_no_more_paths_are_shown_than_a_receipt_has_room_for() -> None:
    ledger = closed(opened(), "0.00", tuple(b"f%02d" % number for number in range(30)))
    files = receipt_of(ledger.data())["files"]

    assert files["added"] == 30
    assert files["top_paths"] == [f"f{number:02d}" for number in range(25)]


def test_an_assumed_price_is_named() -> None:
    receipt = receipt_of(samples.assumed().data())

    assert receipt["totals"]["assumed_price_models"] == ["mystery/model[1]"]
    assert "assumed-prices" in receipt["limits_disclosure"]["codes"]


def test_a_run_without_calls_has_no_latency_and_a_table_that_prices_nothing() -> None:
    receipt = receipt_of(samples.zero().data())

    assert "latency" not in receipt
    assert receipt["totals"]["calls"] == 0
    assert receipt["totals"]["cost_basis"] == "reported: the providers' own counts"
    assert [family["pattern"] for family in receipt["price_table"]["document"]["families"]] == ["(no call was priced)"]
    assert "provider-counts" not in receipt["limits_disclosure"]["codes"]


def test_names_that_are_not_utf8_stand_escaped_with_their_bytes_in_the_ledger() -> None:
    receipt = receipt_of(samples.odd_names().data())

    assert receipt["files"]["top_paths"] == ["caf\\xe9.txt", "two\nlines", "日本"]
    assert receipt["session"]["argv"] == ["agent", "caf\\xe9"]
    assert receipt["session"]["argv_b64"] == ["YWdlbnQ=", "Y2Fm6Q=="]
    assert receipt["session"]["cwd"] == "/home/dev/trée"


def test_a_ledger_without_an_end_gives_an_incomplete_receipt() -> None:
    receipt = receipt_of(samples.no_end().data())

    assert receipt["session"]["exit_code"] is None
    assert receipt["session"]["interrupted"] is None
    assert receipt["evidence"]["ledger_complete"] is False
    assert receipt["evidence"]["note"] == "The ledger has no end: what happened after its last event is unknown."
    assert receipt["model_calls"]["unsettled"] == 1
    assert {"no-end", "unpaired-passes"} <= set(receipt["limits_disclosure"]["codes"])
    assert receipt["budget"] is None


def test_a_torn_tail_is_left_out_of_every_figure() -> None:
    whole = samples.zero().data()

    assert receipt_from_ledger([whole, b'{"data":{"half']) == receipt_from_ledger([whole])


def test_chunk_borders_do_not_matter() -> None:
    whole = samples.busy().data()

    assert receipt_from_ledger(whole[i : i + 7] for i in range(0, len(whole), 7)) == receipt_from_ledger([whole])


def test_everything_that_can_happen_is_counted() -> None:
    receipt = receipt_of(samples.busy().data())

    assert receipt["label"] is None
    assert receipt["session"]["exit_code"] == 42
    assert receipt["session"]["exit_source"] == "cap"
    assert receipt["session"]["breached"] == "max_usd"
    assert receipt["session"]["agent_exit"] == {"exit_code": -9, "leftover_processes": 0}
    assert receipt["boundary"]["upstream_overrides"] == {"openai": "http://127.0.0.1:9"}
    assert receipt["model_calls"]["count"] == 1
    assert receipt["model_calls"]["denied_by_reason"] == {"max_usd": 1}
    assert receipt["model_calls"]["errors_by_reason"] == {"upstream_status": 1}
    assert receipt["model_calls"]["other_exchanges"] == 1
    assert receipt["tools"] == {"calls": 2, "names": ["bash", "edit"], "failures": 1}
    assert receipt["files"]["changed"] == 4
    assert [receipt["files"][kind] for kind in ("added", "modified", "removed", "retyped")] == [1, 1, 1, 1]
    assert receipt["files"]["violations_by_rule"] == {"files.deny_write": 1}
    assert receipt["network"] == {"tunnels_allowed": 2, "tunnels_denied": 2, "turned_away": 3}
    assert receipt["caps"] == {"exceeded": 1, "warnings": 1}
    assert receipt["notes"] == {"policy-in-tree": 1}
    assert receipt["event_counts"]["x-docket.from-later"] == 1
    assert {"omitted-paths", "upstream-overrides"} <= set(receipt["limits_disclosure"]["codes"])


@pytest.mark.parametrize(("data", "member"), [({"name": 7}, "name"), ({}, "name"), ({"name": "x", "ok": 1}, "ok")])
def test_a_tool_use_of_another_form_names_its_event(data: dict[str, JsonValue], member: str) -> None:
    ledger = opened()
    ledger.add_raw("tool.call", data)

    with pytest.raises(InvalidDocumentError, match=rf"event 4: tool\.call.*{member}"):
        receipt_of(ledger.data())


def test_what_the_agent_asserts_stands_apart_and_moves_nothing() -> None:
    receipt = receipt_of(samples.asserted().data())

    assert receipt["asserted"] == {
        "calls": 2,
        "input_tokens": 12_000,
        "cached_input_tokens": 2000,
        "output_tokens": 100,
        "notes": {"plan": 1},
    }
    assert receipt["tools"] == {"calls": 1, "names": ["bash"], "failures": 1}
    assert receipt["notes"] == {"recipe": 1}
    assert receipt["totals"]["cost_usd"] == "0.001500"
    assert (receipt["totals"]["total_tokens"], receipt["totals"]["calls"]) == (500, 1)
    assert (receipt["totals"]["asserted_calls"], len(receipt["appendix"]["usage"])) == (0, 1)
    assert receipt["model_calls"]["count"] == 1
    assert "agent-asserted" in receipt["limits_disclosure"]["codes"]


def test_an_agent_that_asserts_nothing_but_tools_has_no_member_for_it() -> None:
    ledger = opened()
    ledger.add_raw("tool.call", {"name": "bash", "reported_by": "agent"})

    receipt = receipt_of(closed(ledger, "0.00", ()).data())
    assert "asserted" not in receipt
    assert receipt["tools"] == {"calls": 1, "names": ["bash"], "failures": 0}
    assert "agent-asserted" in receipt["limits_disclosure"]["codes"]
    assert "agent-asserted" not in receipt_of(samples.chat().data())["limits_disclosure"]["codes"]


def test_a_declared_gap_stands_in_the_evidence() -> None:
    evidence = receipt_of(samples.gap().data())["evidence"]

    assert evidence == {
        "ledger_complete": False,
        "ended": True,
        "unwritten_events": 2,
        "first_failing_seq": 4,
        "write_failures": 1,
        "note": "Some events could not be written to the ledger.",
    }


def test_a_ledger_that_ends_before_its_policy_still_gives_a_receipt() -> None:
    ledger = LedgerBuilder()
    ledger.add(start(cwd_b64="L3g=", cwd="/x"))
    receipt = receipt_of(ledger.data())

    assert receipt["policy"] is None
    assert receipt["isolation"] is None
    assert receipt["session"]["cwd_b64"] == "L3g="
    assert receipt["session"]["agent_exit"] is None
    verdict = judged(receipt, ledger.data())
    assert verdict.word is Word.INCOMPLETE
    assert named(verdict, "policy-digest").detail == "the record ends before a policy was applied"


@pytest.mark.parametrize("raw", [b"", b"{"])
def test_an_empty_ledger_gives_no_receipt(raw: bytes) -> None:
    with pytest.raises(InvalidDocumentError, match=r"no session\.start"):
        receipt_from_ledger([raw])


def test_a_ledger_that_begins_with_something_else_gives_no_receipt() -> None:
    ledger = LedgerBuilder()
    ledger.add(policy())
    with pytest.raises(InvalidDocumentError, match=r"no session\.start"):
        fold(ledger.events)


def test_a_mistyped_payload_names_its_event() -> None:
    ledger = samples.zero()
    ledger.add_raw("note", {"code": 1, "message": "x"})
    with pytest.raises(InvalidDocumentError, match=rf"event {len(ledger.events) - 1}: note.code is not a text"):
        receipt_from_ledger([ledger.data()])


def test_a_price_that_is_no_price_names_its_event() -> None:
    ledger = samples.zero()
    ledger.add_raw("x-docket.price", {"pattern": "a", "input": "cheap", "output": "1", "source": "x"})
    with pytest.raises(InvalidDocumentError, match=rf"event {len(ledger.events) - 1}: 'cheap' is not a price"):
        fold(ledger.events)


@pytest.mark.parametrize("name", sorted(samples.ALL))
def test_a_receipt_has_a_written_form(name: str) -> None:
    assert encode_document(receipt_of(samples.ALL[name]().data())).endswith(b"}\n")


def _sum(model: str, calls: int, tokens: tuple[int, int, int], cost: str) -> dict[str, object]:
    return {
        "model": model,
        "calls": calls,
        "input_tokens": tokens[0],
        "cached_input_tokens": tokens[1],
        "output_tokens": tokens[2],
        "cost_usd": cost,
    }


def _pass(files: int, size: int, tree: str) -> dict[str, object]:
    return {
        "roots": ["."],
        "files": files,
        "directories": 1,
        "symlinks": 0,
        "omissions": 0,
        "bytes_watched": size,
        "tree_sha256": tree * 32,
    }
