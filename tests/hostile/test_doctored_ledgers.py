"""Ledgers changed by a byte, by a line, or member by member with the chain and the receipt's figures made to fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from docket.engines.verify import VerifyRequest, verify_receipt
from docket.errors import InvalidDocumentError
from docket.formats.canonical import encode, encode_document
from docket.formats.ledger.vocabulary import PAYLOADS, read_payload
from docket.formats.run.verdict import Verdict, Word
from golden_ledgers import mutate, samples
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import bodies, chained, first_failure, judged, lines_of, named, receipt_of, rederived
from golden_ledgers.strange import strange
from sweeps import some

# What only the ledger tells: no receipt member restates it and no rule of the ledger ties it to another event. A
# change here, with everything that is derived made to fit, is another record that agrees with itself; only a head
# that was printed, stored or signed elsewhere tells the two apart (spec/receipt.md, What only the ledger tells).
LEDGER_ONLY: dict[str, set[str]] = {
    "proc.spawn": {"argv", "argv_b64", "cwd", "cwd_b64", "env_set"},
    "note": {"message", "detail"},
    "x-docket.other": {"provider", "method", "path", "status", "response_bytes"},
    "x-docket.omissions": {"omissions"},
    "x-docket.from-later": {"*"},
    "net.denied": {"reason", "kind", "host", "port"},
    "net.allowed": {"host", "port", "address", "method"},
    "x-docket.net-closed": {"outcome", "status", "sent_bytes", "received_bytes", "duration_ms"},
    "model.request": {
        "model_b64", "wire", "method", "path", "streaming", "fingerprint", "request_sha256", "body_bytes", "held_usd",
        "forwarded_sha256", "altered", "agent_id",
    },
    "model.error": {"status", "latency_ms", "error", "response_bytes", "response_sha256"},
    "model.response": {
        "model_b64", "usage_note", "usage_parts", "service_tier", "speed", "inference_geo", "provider_request_id",
        "upstream_cost_usd",
        "status", "first_byte_ms", "response_bytes", "response_sha256", "cache", "response_note", "tool_use_ids"},
    "model.cache_hit": {"method", "path", "request_sha256", "body_bytes", "fingerprint", "age_ms"},
    "x-docket.cache-hit": {"method", "path", "request_sha256", "body_bytes", "fingerprint", "age_ms"},
    "model.denied": {"provider", "model", "cap", "detail", "status", "path"},
    "cap.warning": {"threshold", "used_pct", "used"},
    "cap.exceeded": {"used", "cost_usd", "tokens", "calls", "action", "detail"},
    "tool.call": {"id", "input_bytes", "input_sha256", "reported_by"},
    "tool.result": {"name", "id", "result_bytes", "result_sha256", "duration_ms", "error", "reported_by"},
    "x-docket.asserted-call": {"provider", "model", "latency_ms", "reported_by"},
    "x-docket.paced": {"provider", "model"},
    "x-docket.breaker": {"failures", "cooldown_ms"},
    "fs.change": {"before", "after"},
    "policy.violation": {"path", "detail"},
}  # fmt: skip


def is_ledger_only(type_: str, what: str) -> bool:
    names = LEDGER_ONLY.get(type_, set())
    member = re.split(r"[. ]", what.removeprefix("data."))[0]
    return "*" in names or member in names


# Of a record without its end, or with a gap in it, some sums cannot be known.
SAMPLES = [*samples.ALL.values(), strange]
WHOLE = [sample for sample in SAMPLES if sample not in (samples.no_end, samples.gap)]

Change = tuple[str, dict[str, Any]]


def every_small_change(body: dict[str, Any]) -> Iterator[Change]:
    """Each leaf, member and item changed by itself."""
    return mutate.mutations(body)


def every_known_value(body: dict[str, Any]) -> Iterator[Change]:
    """Each member that an event of the type may have, with each of a few values that it has in other records."""
    for name, values in known_values().get(body["type"], {}).items():
        for value in values:
            if body["data"].get(name) != value:
                yield f"data.{name} = {value!r:.40}", {**body, "data": {**body["data"], name: value}}


@cache
def known_values() -> dict[str, dict[str, list[Any]]]:
    """Up to four values of each member of each type."""
    found: dict[str, dict[str, list[Any]]] = {}
    for sample in SAMPLES:
        for type_, _, data in bodies(sample().events):
            for name, value in data.items():
                values = found.setdefault(type_, {}).setdefault(name, [])
                if value not in values and len(values) < 4:
                    values.append(value)
    return found


def test_every_member_of_every_event_stands_in_a_record_that_is_changed_here() -> None:
    known = known_values()
    missing = {
        f"{type_}.{field.name}"
        for type_, payload in PAYLOADS.items()
        for field in fields(payload)
        if field.name not in known.get(type_, {})
    }
    assert missing == set()


@some(2)  # of each leaf one of its two changes
@pytest.mark.parametrize("changes", [every_small_change, every_known_value])
@pytest.mark.parametrize("sample", WHOLE)
def test_no_change_of_an_event_is_let_through_with_the_chain_made_to_fit(
    sample: Callable[[], LedgerBuilder], changes: Callable[[dict[str, Any]], Iterator[Change]], stride: int
) -> None:
    good = sample()
    receipt = receipt_of(good.data())
    items = bodies(good.events)
    let_through, seen = [], set()
    for index, (type_, at, data) in enumerate(items):
        every = changes({"type": type_, "ts": at, "data": data})
        for what, changed in islice(every, index % stride, None, stride):
            if not _is_event(changed):
                continue
            body = (changed["type"], changed["ts"], changed["data"])
            events = chained([*items[:index], body, *items[index + 1 :]], good.events)
            verdict = judged(rederived(receipt, events), lines_of(events))
            if verdict.word is Word.FAILED:
                continue
            seen.add(type_)
            if not is_ledger_only(type_, what):
                let_through.append(f"event {index} ({type_}): {what}")
    assert let_through == []
    assert seen <= set(LEDGER_ONLY)


def test_what_is_read_as_a_payload_is_what_was_written() -> None:
    for sample in SAMPLES:
        for event in sample().events:
            for _, changed in mutate.mutations({"type": event.type, "ts": event.ts, "data": dict(event.data)}):
                if not _is_event(changed):
                    continue
                other = LedgerBuilder().add_raw(changed["type"], changed["data"])
                try:
                    payload = read_payload(other)
                except InvalidDocumentError:
                    continue
                if payload is not None:
                    assert encode(payload.to_data()) == encode(changed["data"])


@some(7)
@pytest.mark.parametrize("sample", [samples.zero, samples.no_end])
def test_one_flipped_byte_anywhere_fails_and_names_its_event(
    sample: Callable[[], LedgerBuilder], tmp_path: Path, stride: int
) -> None:
    ledger = sample()
    raw, path = ledger.data(), tmp_path / "run.jsonl"
    receipt = encode_document(receipt_of(raw))
    for offset in range(0, len(raw), stride):
        path.write_bytes(raw[:offset] + bytes([raw[offset] ^ 1]) + raw[offset + 1 :])
        verdict = verify_receipt(VerifyRequest(receipt=receipt, ledger_path=path))
        assert verdict.word is Word.FAILED
        assert first_failure(verdict) == "ledger-chain"
        assert named(verdict, "ledger-chain").detail.startswith(f"event {raw[:offset].count(10)}")


def verdict_on(receipt: dict[str, Any], raw: bytes, folder: Path) -> Verdict:
    path = folder / "run.jsonl"
    path.write_bytes(raw)
    return verify_receipt(VerifyRequest(receipt=encode_document(receipt), ledger_path=path))


def test_a_truncated_ledger_fails_wherever_it_ends(tmp_path: Path) -> None:
    ledger = samples.zero()
    raw, receipt = ledger.data(), receipt_of(ledger.data())
    ends = [index + 1 for index, byte in enumerate(raw) if byte == 10]
    for number, end in enumerate(ends[:-1], start=1):
        verdict = verdict_on(receipt, raw[:end], tmp_path)
        assert (verdict.word, first_failure(verdict)) == (Word.FAILED, "head")
        torn = verdict_on(receipt, raw[: end + 5], tmp_path)
        assert named(torn, "ledger-chain").detail == (f"event {number}: the file ends inside its line, at byte {end}")


def test_a_truncated_ledger_with_a_receipt_made_from_it_is_incomplete(tmp_path: Path) -> None:
    ledger = samples.anthropic()
    for number in range(1, len(ledger.events)):
        raw = lines_of(ledger.events[:number])
        assert verdict_on(receipt_of(raw), raw, tmp_path).word is Word.INCOMPLETE


def test_a_second_genesis_is_no_new_start(tmp_path: Path) -> None:
    ledger = samples.zero()
    raw = ledger.data()
    verdict = verdict_on(receipt_of(raw), raw + raw, tmp_path)

    assert named(verdict, "ledger-chain").detail == f"event {len(ledger.events)}: the line there carries the number 0"


def test_a_second_start_that_is_chained_is_none_either(tmp_path: Path) -> None:
    items = bodies(samples.zero().events)
    raw = lines_of(chained([*items[:-1], *items]))
    verdict = verdict_on(receipt_of(raw), raw, tmp_path)

    assert "a second session.start" in named(verdict, "session-shape").detail
    assert verdict.word is Word.FAILED


def test_lines_that_change_places_or_are_repeated_or_left_out(tmp_path: Path) -> None:
    raw = samples.zero().data()
    receipt, lines = receipt_of(raw), raw.splitlines(keepends=True)
    for number in range(len(lines) - 1):
        swapped = [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]]
        repeated = [*lines[: number + 1], *lines[number:]]
        left_out = [*lines[:number], *lines[number + 1 :]]
        for doctored, at in ((swapped, number), (repeated, number + 1), (left_out, number)):
            verdict = verdict_on(receipt, b"".join(doctored), tmp_path)
            assert named(verdict, "ledger-chain").detail.startswith(f"event {at}: ")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"seq":0,"seq":0}\n', "event 0: "),
        (b'{"data":{"x":1.5}}\n', "event 0: 1.5 is not an integer"),
        (b'{"data":' + b"[" * 5000 + b"\n", "event 0: nested deeper than 64 levels"),
        (b'{"data":' + b"9" * 100_000 + b"}\n", "event 0: an integer lies outside"),
        (b"\n", "event 0: not JSON"),
        (b"\xff\xfe\n", "event 0: byte 0 is not UTF-8"),
        (b'{ "data": {} }\n', "event 0: the bytes are JSON but not in canonical form"),
        (b'"text"\n', "event 0: event is not an object"),
        (b"{}\n", "event 0: event has no member 'seq'"),
    ],
)
def test_lines_that_are_no_events(line: bytes, words: str, tmp_path: Path) -> None:
    verdict = verdict_on(receipt_of(samples.zero().data()), line, tmp_path)

    assert named(verdict, "ledger-chain").detail.startswith(words)
    assert verdict.word is Word.FAILED


def test_a_member_more_in_an_event_fails_the_chain(tmp_path: Path) -> None:
    raw = samples.zero().data()
    verdict = verdict_on(receipt_of(raw), raw.replace(b'"seq":0,', b'"seq":0,"sig":"x",', 1), tmp_path)

    assert named(verdict, "ledger-chain").detail == "event 0: event has the unknown member 'sig'"


def test_carriage_returns_fail_the_chain(tmp_path: Path) -> None:
    raw = samples.zero().data()
    verdict = verdict_on(receipt_of(raw), raw.replace(b"\n", b"\r\n"), tmp_path)

    assert named(verdict, "ledger-chain").detail == "event 0: the bytes are JSON but not in canonical form"


def _is_event(changed: Any) -> bool:
    return (
        isinstance(changed, dict)
        and set(changed) == {"type", "ts", "data"}
        and isinstance(changed["data"], dict)
        and isinstance(changed["ts"], str)
        and isinstance(changed["type"], str)
    )
