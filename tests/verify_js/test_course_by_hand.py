"""One rule broken at a time, with nothing else that would fail the same check: both verifiers see it, at that check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from docket.formats.amount import Usd
from docket.formats.digest import Digest
from docket.formats.ledger.asserted_events import Reporter
from docket.formats.ledger.cache_events import CEILING_EVENT, CacheMark
from docket.formats.ledger.model_events import ModelResponse, Outcome
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import Note
from docket.formats.ledger.spending_events import CapExceeded, CapWarning, PoolEntered, PoolUse
from docket.formats.ledger.tree_events import Omissions, OmittedPath, Phase
from docket.formats.relpath import RelPath
from docket.formats.run.usage import Usage
from docket.formats.run.verdict import Status
from golden_ledgers import kept, samples
from golden_ledgers.build import (
    POLICY,
    LedgerBuilder,
    budget,
    component,
    end,
    exited,
    policy,
    price,
    request,
    response,
    snapshot,
    spawn,
    start,
)
from golden_ledgers.judging import named, receipt_of, rederived
from golden_ledgers.staged import INTENT, OPENED
from verify_js.in_node import Pair, disagreements, needs_node, pair
from verify_js.overhearing import pair_of, told

Case = tuple[str, str, Pair]
UNREAD = (OmittedPath(path=RelPath(b"a"), reason="unreadable"),)
POOLS = {**POLICY, "budget": {"mode": "usd", "admission": "metered", "pools": ["team"]}}
CAPS = {**POLICY, "caps": {"max_usd": "1.00", "per_agent": {"sub:*": {"max_model_calls": 2}}}}
WARNING = CapWarning(
    cap="max_model_calls", threshold="0.5", used_pct="50", used="1", limit="2", scope="agent", scope_name="sub:a"
)
EXCEEDED = CapExceeded(
    cap="max_usd", limit="1.00", used="1", cost_usd=Usd(1), tokens=1, calls=1, action="kill", detail="x"
)
TEAM, USED = PoolEntered(pool="team"), PoolUse(
    pool="team", spent_usd=Usd(0), unknown_usd=Usd(0), overshoot_usd=Usd(0), bound_usd=Usd(0)
)  # fmt: skip
BEFORE, AFTER = snapshot(Phase.BEFORE, 2), snapshot(Phase.AFTER, 2)


def orders() -> list[Case]:
    """Orders of events of which one is out of its place."""
    given: list[tuple[str, str, tuple[Payload, ...]]] = [
        ("omissions of another phase", "session-shape", (BEFORE, Omissions(phase=Phase.AFTER, omissions=UNREAD))),
        ("omissions before any pass", "session-shape", (Omissions(phase=Phase.BEFORE, omissions=UNREAD), BEFORE)),
        ("contents kept too late", "session-shape", (BEFORE, spawn(), snapshot(Phase.CONTENTS, 2))),
        ("a pass of contents alone", "session-shape", (snapshot(Phase.CONTENTS, 2),)),
        ("an exit without a start", "session-shape", (exited(),)),
        ("a process before the policy", "session-shape", (spawn(), policy(POLICY))),
        ("a call before the policy", "session-shape", (request(1, "openai", "gpt-5"), policy(POLICY))),
        ("two budgets", "session-shape", (budget("0.00"), budget("0.00"))),
        ("something behind the end", "session-shape", (end("0.00"), Note(code="x", message="x"))),
        ("a call of the number 2", "event-order", (request(2, "openai", "gpt-5"),)),
        ("a family twice", "components", (price("a", "1", None, "1"), price("a", "1", None, "1"))),
        ("a pool that the policy has not", "cap-limits", (policy(POLICY), TEAM)),
        ("a pool that was not entered", "cap-limits", (policy(POOLS), USED)),
        ("a pool that is left twice", "cap-limits", (policy(POOLS), TEAM, USED, USED)),
        ("a pool that gave what nobody spent", "cap-limits", (policy(POOLS), TEAM, replace(USED, spent_usd=Usd(1)))),
        ("a sub-budget of which nothing is told", "cap-limits", (policy(CAPS), WARNING, budget("0.00"))),
        ("a limit of two patterns", "cap-limits", (policy(CAPS), replace(WARNING, limit="3"))),
        ("a name without a scope", "cap-limits", (replace(EXCEEDED, scope_name="x"),)),
        ("an end by a cap of which nothing is told", "cap-limits", (end("0.00", breached="max_usd"),)),
    ]
    early = LedgerBuilder()
    for payload in (start(), policy(), BEFORE, OPENED, spawn(), INTENT):
        early.add(payload)
    found = [(name, check, told(name, *payloads)) for name, check, payloads in given]
    return [*found, ("an intent before the pass after", "session-shape", pair_of("an early intent", early))]


def calls() -> list[Case]:
    """A call whose components count less than nothing, though they add up."""
    parts = (component("gpt-5+audio", 100, 0, -100, "0.00"), component("gpt-5", 0, 0, 100, "0.000100"))
    given = response(
        1, "openai", "gpt-5", usage=Usage(input_tokens=100, output_tokens=0), components=parts, cost="0.000100",
        cumulative="0.000100",
    )  # fmt: skip
    prices = (price("gpt-5", "1", None, "1"), price("gpt-5+audio", "1", None, "1"))
    ledger = LedgerBuilder()
    for payload in (start(), policy(), *prices, request(1, "openai", "gpt-5"), given):
        ledger.add(payload)
    # The receipt that derives has no form of one: its rows would count less than nothing too.
    other = rederived(receipt_of(samples.zero().data()), ledger.events)
    return [("less than nothing", "components", pair("less than nothing", other, ledger.data()))]


def caches() -> list[Case]:
    """What a reply says of the cache and of its body, without a hit."""
    mark = kept.plain_reply().cache
    assert mark is not None
    said: list[tuple[str, str, ModelResponse]] = [
        ("stored with a reason", "cache-hit-origins", reply(cache=replace(mark, reason="x"))),
        ("stored without a key", "cache-hit-origins", reply(cache=CacheMark(stored=True))),
        ("not stored, and no reason", "cache-hit-origins", reply(cache=CacheMark(stored=False))),
        ("stored, of another status", "cache-hit-origins", reply(status=201)),
        ("stored, and cut", "cache-hit-origins", reply(outcome=Outcome.CUT)),
        ("a size that is not that of a beginning", "retained-responses", reply(response_truncated=True)),
        ("more than there was", "retained-responses", reply(response_stored_bytes=10**6)),
        ("whole, of another digest", "retained-responses", reply(
            response_stored_sha256=Digest("ab" * 32), response_path=f"responses/0123456789ab/{'ab' * 32}.bin",
        )),
        ("another path", "retained-responses", reply(response_path="responses/0123456789ab/x.bin")),
        ("a note too", "retained-responses", reply(response_note="x")),
    ]  # fmt: skip
    found = []
    for name, check, answer in said:
        ledger = kept.opened_with_cache()
        ledger.add(answer)
        found.append((name, check, pair_of(name, ledger)))
    bare = told(
        "bare", price("gpt-5", "1.25", "0.125", "10"), request(1, "openai", "gpt-5"), reply(response_retained=None)
    )
    return [*found, ("a mark without a cache", "cache-hit-origins", bare)]


def hits() -> list[Case]:
    """What a hit says of its reply, and who says that the ceiling is reached."""

    def with_hits(name: str, *after: Payload, number: int = 1, **changes: object) -> Case:
        ledger = kept.opened_with_cache()
        origin = ledger.add(kept.plain_reply())
        for _ in range(number):
            ledger.add(kept.repeated(kept.plain_reply(), origin, **changes))
        for payload in after:
            ledger.add(payload)
        return name, "cache-hit-origins", pair_of(name, ledger)

    ceiling = Note(code="cache-ceiling", message="x", event=CEILING_EVENT)
    usage = Usage(input_tokens=2000, cached_input_tokens=800, output_tokens=300, reasoning_tokens=201)
    return [
        with_hits("other reasoning", usage=usage),
        with_hits("the agent's word", replace(ceiling, reported_by=Reporter.AGENT), number=3),
        with_hits("too soon", ceiling, number=2),
        with_hits("once too often", number=4),
        with_hits("too old", age_ms=300_001),
    ]


def receipts() -> list[Case]:
    """Groups of a receipt without its ledger, and windows whose sums or proofs are others."""

    def changed(
        name: str, check: str, sample: Any, change: Callable[[dict[str, Any]], object], *, alone: bool = True
    ) -> Case:
        raw = sample().data()
        document = receipt_of(raw)
        change(document)
        return name, check, pair(name, document, None if alone else raw)

    def group(**members: object) -> Callable[[dict[str, Any]], object]:
        return lambda document: document["cache"]["by_origin"][0].update(members)

    def windows(**members: object) -> Callable[[dict[str, Any]], object]:
        return lambda document: document["windows"].update(members)

    def shorter(document: dict[str, Any]) -> None:
        next(tool["delta"] for tool in document["windows"]["tools"] if tool["delta"])["merkle_path"].pop()

    origins = "cache-hit-origins"
    found = [
        changed("no row", origins, samples.cached, group(origin_seq=1)),
        changed("another key", origins, samples.cached, group(key="ff" * 32)),
        changed("a hit before its reply", origins, samples.cached, group(first_seq=1)),
        changed("another model", origins, samples.cached, group(model="x")),
        changed("no windows", "tool-windows", samples.windowed, lambda document: document.pop("windows")),
        changed("a shorter path", "tool-windows", samples.windowed, shorter),
        changed("other reasons", "tool-windows", samples.windowed, windows(partial_by_reason={})),
    ]
    return found + [
        changed(name, "tool-windows", samples.windowed, windows(**{name: 9}))
        for name in ("count", "complete", "partial", "open", "groups", "files")
    ]


@needs_node
@pytest.mark.parametrize("cases", [orders, calls, caches, hits, receipts])
def test_one_rule_at_a_time(cases: Callable[[], list[Case]]) -> None:
    found = cases()
    assert disagreements(one for _, _, one in found) == []
    assert [name for name, check, one in found if named(one.verdict, check).status is not Status.FAIL] == []


def reply(**changes: Any) -> ModelResponse:
    return replace(kept.plain_reply(), **changes)
