"""Response caches that did not happen so: each lie fails at its own check, chain and receipt made to fit."""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docket.engines.verify import VerifyRequest, verify_receipt
from docket.formats.amount import Usd
from docket.formats.canonical import encode_document
from docket.formats.digest import Digest
from docket.formats.ledger.cache_events import CEILING_EVENT, CacheHit, CacheMark, ComponentsHit, Origin
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelResponse, Outcome
from docket.formats.ledger.session_events import Note
from docket.formats.run.usage import Usage
from docket.formats.run.verdict import Status, Verdict, Word
from golden_ledgers import elsewhere, kept, samples
from golden_ledgers.build import LedgerBuilder, closed
from golden_ledgers.judging import bodies, chained, judged, lines_of, named, receipt_of


def failures(verdict: Verdict) -> list[str]:
    return [check.name for check in verdict.checks if check.status is Status.FAIL]


def judged_whole(built: LedgerBuilder) -> Verdict:
    """The verdict on a ledger with the very receipt that derives from it."""
    return judged(receipt_of(built.data()), built.data())


def with_hits(*hits: Any, reply: ModelResponse | None = None, after: tuple[Any, ...] = ()) -> LedgerBuilder:
    """One stored reply and hits of it; each hit is made from the event of the reply."""
    ledger = kept.opened_with_cache()
    stored = kept.plain_reply() if reply is None else reply
    origin = ledger.add(stored)
    for hit in hits:
        ledger.add(hit(origin))
    for payload in after:
        ledger.add(payload)
    return closed(ledger, str(stored.cost_usd))


def hit(kind: type[CacheHit] = CacheHit, **changes: Any) -> Any:
    return lambda origin: kept.repeated(kept.plain_reply(), origin, kind, **changes)


def at(seq: int, hash_: str | None = None) -> Any:
    def made(origin: Event) -> CacheHit:
        place = Origin(seq=seq, hash=Digest(hash_ or origin.hash))
        return replace(kept.repeated(kept.plain_reply(), origin), origin=place)

    return made


def test_the_golden_cache_is_consistent_and_all_three_checks_ran() -> None:
    verdict = judged_whole(samples.cached())
    assert verdict.word is Word.CONSISTENT
    for name in ("cache-savings", "cache-hit-origins", "cache-hit-proofs"):
        assert named(verdict, name).status is Status.PASS


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (at(99), "event 99 is no earlier reply"),
        (at(5), "event 5 is no earlier reply"),
        (at(6, "ee" * 32), "event 6 is no earlier reply"),
        (at(8), "event 8 is no earlier reply"),
        (hit(key="ff" * 32), "key is not that of event 6"),
        (hit(model="gpt-5-mini"), "priced as another"),
        (hit(ComponentsHit), "its type does not fit"),
        (hit(usage=Usage(input_tokens=2001, cached_input_tokens=800, output_tokens=300)), "usage is not that of"),
        (hit(status=201), "status is not that of"),
        (hit(provider="azure"), "provider is not that of"),
        (hit(response_sha256=Digest("12" * 32)), "response_sha256 is not that of"),
        (hit(age_ms=300_001), "past the policy's lifetime"),
    ],
)
def test_a_hit_that_its_reply_does_not_bear_out(made: Any, words: str) -> None:
    verdict = judged_whole(with_hits(made))
    assert words in named(verdict, "cache-hit-origins").detail
    assert "cache-hit-origins" in failures(verdict)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (
            replace(kept.plain_reply(), cache=CacheMark(key="0a" * 32, stored=False, reason="no-store")),
            "no earlier reply",
        ),
        (replace(kept.plain_reply(), cache=CacheMark(stored=True)), "has a key and no reason"),
        (replace(kept.plain_reply(), cache=CacheMark(key="a", stored=True, reason="x")), "has a key and no reason"),
        (replace(kept.plain_reply(), cache=CacheMark(key="a", stored=False)), "cache.reason is missing"),
        (replace(kept.plain_reply(), status=201), "no whole reply of status 200"),
        (replace(kept.plain_reply(), outcome=Outcome.CUT), "no whole reply of status 200"),
        (replace(kept.plain_reply(), components=()), "no earlier reply"),
    ],
)
def test_a_reply_that_could_not_be_given_again(reply: ModelResponse, words: str) -> None:
    ledger = kept.opened_with_cache()
    origin = ledger.add(reply)
    ledger.add(kept.repeated(kept.plain_reply(), origin))
    verdict = judged_whole(closed(ledger, "0.004600"))
    assert words in named(verdict, "cache-hit-origins").detail


def test_a_hit_before_its_reply() -> None:
    built = with_hits(hit())
    items = bodies(built.events)
    swapped = chained([*items[:6], items[7], items[6], *items[8:]])
    raw = lines_of(swapped)
    assert named(judged(receipt_of(raw), raw), "cache-hit-origins").status is Status.FAIL


@pytest.mark.parametrize("off", [-1, 1])
def test_a_saving_that_is_a_micro_dollar_off(off: int) -> None:
    verdict = judged_whole(with_hits(hit(avoided_cost_usd=Usd(4600 + off))))
    assert failures(verdict)[0] == "cache-savings"
    document = receipt_of(samples.cached().data())
    group = document["cache"]["by_origin"][0]
    for member, value in (("avoided_usd_per_hit", 4600), ("avoided_usd_total", 9200)):
        changed = {**group, member: str(Usd(value + off))}
        cache = {**document["cache"], "by_origin": [changed]}
        verdict = judged({**document, "cache": cache}, None)
        assert failures(verdict) == ["cache-savings"]
    for where in (document["cache"], document["cache"]["component_hits"]):
        where["saved_usd"] = str(Usd(Usd.parse(where["saved_usd"]).micros + off))
        assert failures(judged(document, None)) == ["cache-savings"]
        where["saved_usd"] = str(Usd(Usd.parse(where["saved_usd"]).micros - off))


def test_hits_beyond_the_ceiling_and_a_ceiling_that_was_not_reached() -> None:
    note = Note(code="cache-ceiling", message="x", event=CEILING_EVENT)
    too_many = judged_whole(with_hits(*[hit()] * 4))
    assert "lets the cache answer 3 calls, this is hit 4" in named(too_many, "cache-hit-origins").detail
    too_soon = judged_whole(with_hits(hit(), after=(note,)))
    assert "is not reached by 1 hits" in named(too_soon, "cache-hit-origins").detail


def test_a_mark_where_the_policy_has_no_cache() -> None:
    ledger = samples.opened()
    ledger.add(samples.price("gpt-5", "1.25", "0.125", "10.00"))
    ledger.add(samples.request(1, "openai", "gpt-5", "openai-chat"))
    ledger.add(kept.plain_reply())
    ledger.add(kept.repeated(kept.plain_reply(), ledger.events[6]))
    verdict = judged_whole(closed(ledger, "0.004600"))
    assert "cache stands in it, the policy has none" in named(verdict, "cache-hit-origins").detail


def test_a_hit_where_the_policy_has_no_cache() -> None:
    ledger = samples.opened()
    ledger.add(samples.price("gpt-5", "1.25", "0.125", "10.00"))
    ledger.add(samples.request(1, "openai", "gpt-5", "openai-chat"))
    plain = replace(
        kept.plain_reply(), cache=None, response_retained=None, response_path=None, response_stored_bytes=None,
        response_stored_sha256=None, response_truncated=None,
    )  # fmt: skip
    origin = ledger.add(plain)
    ledger.add(kept.repeated(kept.plain_reply(), origin))
    verdict = judged_whole(closed(ledger, "0.004600"))
    assert "the policy has no cache" in named(verdict, "cache-hit-origins").detail


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda cache: cache["by_origin"][0].update(hits=3), "cache-savings"),
        (lambda cache: cache["by_origin"][0].update(origin_seq=11), "cache-hit-origins"),
        (lambda cache: cache["by_origin"][0].update(key="ff" * 32), "cache-hit-origins"),
        (lambda cache: cache["by_origin"][0].update(first_seq=2), "cache-hit-origins"),
        (lambda cache: cache["by_origin"][0].update(first_seq=12), "cache-hit-origins"),
        (lambda cache: cache["by_origin"][0].update(event_hash="ff" * 32), "cache-hit-origins"),
        (lambda cache: cache["by_origin"][0]["merkle_path"].pop(), "cache-hit-proofs"),
        (lambda cache: cache["component_hits"]["by_origin"][0]["merkle_path"].pop(), "cache-hit-proofs"),
        (lambda cache: cache["component_hits"]["by_origin"][0].update(model="x"), "cache-hit-origins"),
        (lambda cache: cache.pop("component_hits"), "cache-hit-origins"),
        (lambda cache: cache.update(hits_ceiling_reached=False), "receipt-rebuild"),
        (lambda cache: cache.update(hits=7), "cache-savings"),
        (lambda cache: cache.update(avoided_tokens=7), "cache-savings"),
    ],
)
def test_a_receipt_that_tells_of_other_hits(change: Any, check: str) -> None:
    raw = samples.cached().data()
    document = receipt_of(raw)
    change(document["cache"])
    assert failures(judged(document, raw))[0] == check


def test_a_receipt_without_its_cache() -> None:
    raw = samples.cached().data()
    document = receipt_of(raw)
    del document["cache"]
    assert failures(judged(document, raw))[0] == "cache-savings"


def test_another_writers_hit_must_name_a_stored_reply_too() -> None:
    built = elsewhere.ledger()
    good = elsewhere.receipt(built)
    assert judged(good, built.data()).word is Word.CONSISTENT
    for mark in ({"key": "k", "stored": False}, {"key": "other", "stored": True}, {"stored": True}, "k"):
        items = bodies(built.events)
        items[2][2]["cache"] = mark
        events = chained(items, built.events)
        again = LedgerBuilder()
        again.events = events
        verdict = judged(elsewhere.receipt(again), lines_of(events))
        assert "cache-hit-origins" in failures(verdict)


def test_a_reply_that_was_never_asked_of_the_cache_says_nothing_of_it() -> None:
    ledger = kept.opened_with_cache()
    ledger.add(replace(kept.plain_reply(), cache=None))
    assert judged_whole(closed(ledger, "0.004600")).word is Word.CONSISTENT


def test_a_lifetime_that_is_no_number_forbids_no_hit() -> None:
    built = with_hits(hit(age_ms=10**9))
    items = bodies(built.events)
    items[1][2]["document"]["cache"]["ttl_seconds"] = "for ever"
    raw = lines_of(chained(items, built.events))
    assert named(judged(receipt_of(raw), raw), "cache-hit-origins").status is Status.PASS


@pytest.mark.parametrize(
    "change",
    [
        lambda cache: cache.update(by_origin="none"),
        lambda cache: cache["by_origin"][0].pop("usage"),
        lambda cache: cache["by_origin"][0].update(hits=0),
    ],
)
def test_another_writers_groups_that_cannot_be_read(change: Any) -> None:
    built = elsewhere.ledger()
    document = copy.deepcopy(elsewhere.receipt(built))
    change(document["cache"])
    found = failures(judged(document, built.data()))
    assert {"cache-savings", "cache-hit-origins", "cache-hit-proofs"} <= set(found)


def test_without_a_table_or_beside_a_damaged_ledger() -> None:
    built = elsewhere.ledger()
    document = copy.deepcopy(elsewhere.receipt(built))
    damaged = judged(document, built.data()[:-1])
    assert named(damaged, "cache-hit-origins").status is named(damaged, "retained-responses").status is Status.SKIP
    document["price_table"]["document"]["families"] = [{"pattern": "x", "input": "a", "output": "1"}]
    assert "cache-savings" in failures(judged(document, built.data()))


# ---- kept responses


def verdict_in(folder: Path, raw: bytes | None = None) -> Verdict:
    data = samples.cached().data() if raw is None else raw
    ledger = folder / "runs" / "0123456789ab.jsonl"
    ledger.parent.mkdir(parents=True, exist_ok=True)
    ledger.write_bytes(data)
    return verify_receipt(VerifyRequest(receipt=encode_document(receipt_of(data)), ledger_path=ledger))


def test_kept_responses_are_hashed_anew(tmp_path: Path) -> None:
    kept.write_bodies(tmp_path)
    verdict = verdict_in(tmp_path)
    assert (verdict.word, verdict.failures) == (Word.CONSISTENT, ())
    check = named(verdict, "retained-responses")
    assert (check.status, check.detail) == (
        Status.PASS, "2 responses hashed, as kept, 1 of them a beginning",
    )  # fmt: skip


def test_a_kept_response_that_is_altered_longer_missing_or_no_file(tmp_path: Path) -> None:
    for number, change in enumerate(
        (
            lambda path: path.write_bytes(kept.WHOLE[:-1] + b"]"),
            lambda path: path.write_bytes(kept.WHOLE + b"\n"),
            lambda path: path.write_bytes(b""),
            lambda path: path.unlink(),
            lambda path: (path.unlink(), path.mkdir()),
        )
    ):
        root = tmp_path / str(number)
        kept.write_bodies(root)
        change(root / kept.path_of(kept.WHOLE))
        verdict = verdict_in(root)
        assert failures(verdict) == ["retained-responses"]
        assert named(verdict, "retained-responses").detail.startswith("event 6: ")


def test_of_a_body_that_has_grown_no_more_is_read_than_is_needed(tmp_path: Path) -> None:
    kept.write_bodies(tmp_path)
    # Holes of a thousand gigabytes, which nobody reads to their end.
    os.truncate(tmp_path / kept.path_of(kept.WHOLE), 10**12)
    check = named(verdict_in(tmp_path), "retained-responses")
    assert check.detail.endswith(f"is not the {len(kept.WHOLE)} bytes that were kept")


@pytest.mark.parametrize("path", ["x" * 5000, "x/" * 3000, "responses/\n", "/etc/passwd", "a/../../b", "responses/\0"])
def test_a_path_of_a_body_that_is_none_is_a_failure(tmp_path: Path, path: str) -> None:
    kept.write_bodies(tmp_path)
    items = bodies(samples.cached().events)
    index = next(index for index, (_, _, data) in enumerate(items) if data.get("response_path"))
    items[index][2]["response_path"] = path
    verdict = verdict_in(tmp_path, lines_of(chained(items, samples.cached().events)))
    assert verdict.word is Word.FAILED
    assert "retained-responses" in failures(verdict)


def test_a_file_that_no_event_names(tmp_path: Path) -> None:
    kept.write_bodies(tmp_path)
    (tmp_path / kept.path_of(b"never sent")).write_bytes(b"never sent")
    assert "named by no event" in named(verdict_in(tmp_path), "retained-responses").detail
    # In a run that kept nothing it is none of the ledger's either.
    assert "named by no event" in named(verdict_in(tmp_path, samples.chat().data()), "retained-responses").detail


def test_without_its_folder_the_check_is_skipped(tmp_path: Path) -> None:
    check = named(verdict_in(tmp_path), "retained-responses")
    assert (check.status, check.detail) == (Status.SKIP, "the responses that were kept are not beside the ledger")


@pytest.mark.parametrize(
    "changes",
    [
        {"response_path": "responses/0123456789ab/../../x.bin"},
        {"response_path": "/etc/hostname"},
        {"response_path": None},
        {"response_stored_bytes": 1},
        {"response_stored_bytes": 10**9},
        {"response_truncated": True},
        {"response_stored_sha256": Digest("ab" * 32), "response_path": f"responses/0123456789ab/{'ab' * 32}.bin"},
        {"response_note": "x"},
        {"response_retained": False},
        {"response_retained": None},
    ],
)
def test_what_is_said_of_a_body_must_fit_together(changes: dict[str, Any], tmp_path: Path) -> None:
    kept.write_bodies(tmp_path)
    built = with_hits(reply=replace(kept.plain_reply(), **changes))
    assert failures(verdict_in(tmp_path, built.data())) == ["retained-responses"]


def test_a_body_is_not_kept_without_the_policy(tmp_path: Path) -> None:
    ledger = samples.opened()
    ledger.add(samples.price("gpt-5", "1.25", "0.125", "10.00"))
    ledger.add(samples.request(1, "openai", "gpt-5", "openai-chat"))
    ledger.add(replace(kept.plain_reply(), cache=None))
    verdict = verdict_in(tmp_path, closed(ledger, "0.004600").data())
    assert "the policy keeps none" in named(verdict, "retained-responses").detail


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "names no path"),
        ({"response_path": "responses/x.bin"}, "no digest"),
        ({"response_path": "responses/x.bin", "response_stored_sha256": "ab"}, "another digest"),
    ],
)
def test_another_writers_claims_are_read_as_they_stand(said: dict[str, Any], words: str, tmp_path: Path) -> None:
    built = elsewhere.ledger()
    items = bodies(built.events)
    items[2][2].update(response_retained=True, response_sha256="cd", **said)
    again = LedgerBuilder()
    again.events = chained(items, built.events)
    ledger = tmp_path / "runs" / "s1.jsonl"
    ledger.parent.mkdir()
    ledger.write_bytes(again.data())
    request = VerifyRequest(receipt=encode_document(elsewhere.receipt(again)), ledger_path=ledger)
    assert words in named(verify_receipt(request), "retained-responses").detail


def test_another_writers_body_is_found_where_it_says(tmp_path: Path) -> None:
    built = elsewhere.ledger()
    items = bodies(built.events)
    digest = kept.digest(kept.WHOLE)
    items[2][2].update(
        response_retained=True, response_path="responses/x.bin", response_stored_sha256=digest, response_sha256=digest
    )
    again = LedgerBuilder()
    again.events = chained(items, built.events)
    (tmp_path / "runs").mkdir()
    (tmp_path / "responses").mkdir()
    (tmp_path / "responses" / "x.bin").write_bytes(kept.WHOLE)
    ledger = tmp_path / "runs" / "s1.jsonl"
    ledger.write_bytes(again.data())
    request = VerifyRequest(receipt=encode_document(elsewhere.receipt(again)), ledger_path=ledger)
    assert named(verify_receipt(request), "retained-responses").status is Status.PASS
