"""What a sound chain of docket's own may still not say: the fault, by its check, with the event it names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from docket.formats.run.usage import Usage
from docket.formats.run.verdict import Status
from golden_ledgers import samples
from golden_ledgers.build import LedgerBuilder, component, policy, price, request, response, start
from golden_ledgers.judging import Body, bodies, chained, judged, lines_of, named, receipt_of

Change = Callable[[list[Body]], object]


def where(items: Sequence[Body], type_: str, number: int = 0) -> int:
    """The place of the nth event of a type."""
    return [index for index, item in enumerate(items) if item[0] == type_][number]


def data(type_: str, *path: Any, value: Any, number: int = 0) -> Change:
    """A change of a member of the nth event of a type."""

    def change(items: list[Body]) -> None:
        there: Any = items[where(items, type_, number)][2]
        for key in path[:-1]:
            there = there[key]
        there[path[-1]] = value

    return change


def without(type_: str, number: int = 0) -> Change:
    """A change that leaves an event out."""
    return lambda items: items.pop(where(items, type_, number))


def again(type_: str, number: int = 0) -> Change:
    """A change that writes an event twice."""

    def change(items: list[Body]) -> None:
        index = where(items, type_, number)
        items.insert(index, items[index])

    return change


def both(*changes: Change) -> Change:
    """Changes that make one together."""
    return lambda items: [change(items) for change in changes]


def swapped(type_: str, other: str, number: int = 0) -> Change:
    """A change that exchanges two events, but not their instants."""

    def change(items: list[Body]) -> None:
        one, two = where(items, type_, number), where(items, other, number)
        (type1, at1, data1), (type2, at2, data2) = items[one], items[two]
        items[one], items[two] = (type2, at1, data2), (type1, at2, data1)

    return change


def ts(number: int, value: str) -> Change:
    """A change of an instant."""

    def change(items: list[Body]) -> None:
        items[number] = (items[number][0], value, items[number][2])

    return change


FAULTS: list[tuple[Callable[[], LedgerBuilder], str, Change, str]] = [
    (samples.zero, "ledger-payloads", data("policy.applied", "name", value=1), "event 1: policy.applied.name is not a"),
    (
        samples.zero,
        "ledger-payloads",
        data("session.end", "why", value="x"),
        "session.end has the unknown member 'why'",
    ),
    (samples.zero, "ledger-payloads", ts(3, "yesterday"), "event 3: the document.ts is not an RFC 3339 UTC instant"),
    (samples.chat, "ledger-payloads", data("x-docket.price", "input", value="x"), "event 4: 'x' is not a price"),
    (samples.chat, "ledger-payloads", data("model.response", "usage", "cache_write_tokens", value=0), "below 1"),
    (samples.zero, "session-shape", again("session.end"), "event 8 (session.end): it stands after session.end"),
    (samples.zero, "session-shape", again("session.start"), "event 1 (session.start): a second session.start"),
    (samples.zero, "session-shape", without("policy.applied"), "(proc.spawn): it stands before policy.applied"),
    (samples.zero, "session-shape", without("proc.spawn"), "(proc.exit): it stands without proc.spawn"),
    (samples.zero, "session-shape", again("proc.spawn"), "(proc.spawn): it stands twice"),
    (samples.zero, "session-shape", again("fs.snapshot", 1), "(fs.snapshot): it stands twice"),
    (samples.zero, "session-shape", without("fs.snapshot"), "the pass after stands without the pass before"),
    (samples.rolled_back, "session-shape", without("fs.snapshot", 2), "a rollback stands without a cap that was"),
    (samples.rollback_refused, "session-shape", without("cap.exceeded"), "a rollback stands without a cap that was"),
    (samples.rolled_back, "session-shape", again("x-docket.rollback-applied"), "it stands twice"),
    (samples.zero, "event-order", ts(3, "2026-10-01T11:59:59.000Z"), "event 3 (proc.spawn): its instant lies before"),
    (samples.chat, "event-order", data("model.request", "call", value=2), "call is 2, the next number is 1"),
    (samples.chat, "event-order", data("model.response", "call", value=2), "call 2 is not in flight"),
    (samples.chat, "event-order", swapped("model.request", "model.response"), "call 1 is not in flight"),
    (samples.chat, "event-order", data("model.response", "provider", value="x"), "provider differs from that of the"),
    (samples.chat, "event-order", data("model.response", "requested_model", value="x"), "the model asked for differs"),
    (
        samples.busy,
        "event-order",
        data("model.error", "model", value="x"),
        "(model.error): the model asked for differs",
    ),
    (samples.chat, "event-order", data("model.response", "streaming", value=False), "streaming differs"),
    (samples.chat, "event-order", data("model.response", "requested_model", value="gpt-5"), "repeats the model"),
    (samples.chat, "event-order", data("model.response", "model", value="gpt-5-2026"), "the model asked for differs"),
    (
        samples.chat,
        "event-order",
        data("model.response", "cumulative_cost_usd", value="0.01"),
        "the calls add up to 0.0",
    ),
    (samples.chat, "event-order", data("x-docket.budget", "spent_usd", value="0.01"), "spent_usd is 0.01, the calls"),
    (samples.chat, "event-order", data("session.end", "cost_usd", value="0.00"), "cost_usd is 0.00, the calls add up"),
    (samples.anthropic, "components", again("x-docket.price"), 'the family "claude-sonnet-4-5" is written twice'),
    (samples.chat, "components", data("model.response", "components", value=[]), "it has no component"),
    (samples.chat, "components", data("model.response", "cost_usd", value="1.00"), "the components add up to 0.004600"),
    (samples.chat, "components", without("x-docket.price"), 'components[0]: no family of the table prices "gpt-5"'),
    (
        samples.anthropic,
        "components",
        data("x-docket.price", "input", value="4", number=1),
        "event 8 (model.response): components[0]: its tokens cost 0.016000, cost_usd is 0.015000",
    ),
    (
        samples.anthropic,
        "components",
        both(
            data("model.response", "components", 2, "cost_usd", value="0.014500"),
            data("model.response", "cost_usd", value="0.041500"),
        ),
        "event 8 (model.response): components[2]: its tokens cost 0.013500, cost_usd is 0.014500",
    ),
    (
        samples.anthropic,
        "components",
        data("model.response", "components", 1, "input_tokens", value=-1),
        "event 8 (model.response): components[1] counts less than nothing",
    ),
    (
        samples.anthropic,
        "components",
        data("model.response", "components", 2, "cached_input_tokens", value=-1),
        "event 8 (model.response): components[2] counts less than nothing",
    ),
    (
        samples.parts,
        "components",
        data("model.response", "usage_parts", 1, "usage", "output_tokens", value=31),
        "event 7 (model.response): usage_parts do not add up to usage",
    ),
    (samples.cut, "components", data("model.response", "model", value="o3", number=1), 'not the base of "o3"'),
    (samples.chat, "components", data("model.response", "model", value="gpt"), 'is "gpt-5", not the base of "gpt"'),
    (samples.assumed, "components", data("model.response", "assumed_price", value=False), "assumed_price is false"),
    (samples.parts, "components", data("x-docket.price", "pattern", value="*"), "the fallback prices a component"),
    (samples.parts, "components", data("x-docket.price", "pattern", value="*", number=1), "the fallback prices a comp"),
    (
        samples.anthropic,
        "components",
        data("model.response", "usage", "cache_write_5m_tokens", value=3999),
        "the components' cache_write_5m_tokens add up to 4000, usage says 3999",
    ),
    (
        samples.anthropic,
        "components",
        data("model.response", "usage", "web_searches", value=3, number=1),
        "event 11 (model.response): the components' web_searches add up to 2, usage says 3",
    ),
    (
        samples.chat,
        "components",
        data("model.response", "usage", "output_tokens", value=301),
        "the components' output_tokens add up to 300, usage says 301",
    ),
    (
        samples.anthropic,
        "components",
        data("model.response", "usage", "input_tokens", value=17_001),
        "the components' input_tokens add up to 17000, usage says 17001",
    ),
    (
        samples.anthropic,
        "components",
        data("model.response", "usage", "cached_input_tokens", value=9999),
        "the components' cached_input_tokens add up to 10000, usage says 9999",
    ),
    (
        samples.busy,
        "cap-limits",
        data("cap.warning", "limit", value="2.00"),
        'the policy has no cap "max_usd" of "2.00"',
    ),
    (samples.busy, "cap-limits", data("cap.exceeded", "cap", value="max_tokens"), 'no cap "max_tokens" of "1.00"'),
    (samples.busy, "cap-limits", without("cap.exceeded"), 'breached is "max_usd", no cap.exceeded says so'),
    (samples.busy, "cap-limits", data("policy.applied", "document", value={"name": "golden"}), "the policy has no cap"),
    (
        samples.chat,
        "cap-limits",
        data("x-docket.budget", "cap_usd", value="2.00"),
        "cap_usd is 2.00, the policy has 1.00",
    ),
    (
        samples.chat,
        "cap-limits",
        data("x-docket.budget", "admission", value="strict"),
        'admission is "strict", the policy has "metered"',
    ),
    (
        samples.chat,
        "cap-limits",
        data("x-docket.budget", "overshoot_usd", value="0.01"),
        "overshoot_usd is 0.01, what was spent lies 0.00 beyond the cap",
    ),
    (samples.ALL["pooled"], "cap-limits", again("x-docket.pool-use"), "it stands twice"),
]


@pytest.mark.parametrize(("sample", "name", "change", "words"), FAULTS)
def test_a_ledger_that_says_it_is_at_fault(
    sample: Callable[[], LedgerBuilder], name: str, change: Change, words: str
) -> None:
    events = sample().events
    items = bodies(events)
    change(items)
    raw = lines_of(chained(items))
    check = named(judged(receipt_of(lines_of(events)), raw), name)

    assert check.status is Status.FAIL
    assert words in check.detail


def test_a_base_component_that_does_not_stand_last_is_a_fault() -> None:
    events = samples.anthropic().events
    items = bodies(events)
    parts = items[where(items, "model.response")][2]["components"]
    items[where(items, "model.response")][2]["components"] = [parts[2], parts[0], parts[1]]
    check = named(judged(receipt_of(lines_of(events)), lines_of(chained(items))), "components")

    assert check.detail == (
        'event 8 (model.response): the last component is "claude-sonnet-4-5+cache-write-1h", '
        'not the base of "claude-sonnet-4-5"'
    )


@pytest.mark.parametrize(
    "member",
    ["web_searches", "file_searches", "code_sessions", "audio_seconds", "cache_write_tokens", "cache_write_5m_tokens",
     "cache_write_30m_tokens", "cache_write_1h_tokens", "cache_write_12h_tokens"],
)  # fmt: skip
def test_what_a_usage_counts_and_no_component_does_is_a_fault(member: str) -> None:
    events = samples.chat().events
    items = bodies(events)
    items[where(items, "model.response")][2]["usage"][member] = 1
    check = named(judged(receipt_of(lines_of(events)), lines_of(chained(items))), "components")

    assert check.status is Status.FAIL
    assert f"the components' {member} add up to 0, usage says 1" in check.detail


@pytest.mark.parametrize("label", ["audio", "image"])
def test_a_part_of_another_kind_is_no_base(label: str) -> None:
    ledger = LedgerBuilder()
    for payload in (
        start(),
        policy(),
        price("gpt-5", "1", None, "1"),
        price(f"gpt-5+{label}", "1", None, "1"),
        request(1, "openai", "gpt-5"),
        response(
            1, "openai", "gpt-5", usage=Usage(input_tokens=9, output_tokens=0),
            components=(component(f"gpt-5+{label}", 9, 0, 0, "0.000009"),), cost="0.000009", cumulative="0.000009",
        ),
    ):  # fmt: skip
        ledger.add(payload)
    check = named(judged(receipt_of(samples.zero().data()), ledger.data()), "components")

    assert check.detail == f'event 5 (model.response): the last component is "gpt-5+{label}", not the base of "gpt-5"'


def test_behind_a_declared_gap_sums_need_not_be_borne_out() -> None:
    ledger = samples.gap()
    items = bodies(ledger.events)
    items[where(items, "session.end")][2].update({"cost_usd": "3.00", "breached": "max_usd"})
    verdict = judged(receipt_of(ledger.data()), lines_of(chained(items)))

    assert named(verdict, "event-order").status is Status.PASS
    assert named(verdict, "cap-limits").status is Status.PASS


def test_a_refused_payload_leaves_the_rebuild_and_the_rows_unchecked() -> None:
    ledger = samples.chat()
    items = bodies(ledger.events)
    items[where(items, "proc.exit")][2]["exit_code"] = "none"
    verdict = judged(receipt_of(ledger.data()), lines_of(chained(items)))

    assert named(verdict, "ledger-payloads").status is Status.FAIL
    assert named(verdict, "usage-rows-rebound").detail == "the replies in the ledger could not be read"
    assert named(verdict, "receipt-rebuild").detail == "an event's payload was refused"
