"""The figures of a page, worked out by hand from ledgers whose costs stand beside their components."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelDenied
from docket.formats.ledger.session_events import Note
from docket.rules.analysis.told import BILLED, REFUSED, Call, Reading, Recorded, from_rows
from docket.surfaces.render.page.chart import (
    CAP_IN_SIGHT,
    Curve,
    Point,
    chart,
    chart_data,
    curve_of,
    in_words,
    thinned,
    ticks,
    time_ticks,
)
from docket.surfaces.render.page.sections import clock
from docket.surfaces.render.page.tables import alike
from golden_ledgers import elsewhere, samples, staged, windowed
from golden_ledgers.build import LedgerBuilder, closed, opened, price, request
from golden_ledgers.judging import receipt_of
from page_lab import Element, data_of, page_at, page_of_ledger, parsed, rows_of, write


def recorded(events: Iterable[Event]) -> Recorded:
    """What is told of these events."""
    reading = Reading()
    assert list(reading.through(events)) == list(events)
    return reading.finish()


def tiles(page: Element) -> dict[str, tuple[str, str]]:
    """Name, figure and what stands below it."""
    found = {}
    for item in page.one("ul", class_="tiles").every("li"):
        name, value, below = (part.text for part in item.inside if isinstance(part, Element))
        found[name] = (value, below)
    return found


def test_a_run_of_two_calls(tmp_path: Path) -> None:
    page = parsed(page_of_ledger(tmp_path, samples.anthropic()))
    assert tiles(page) == {
        "Cost": ("$0.060950", "of $1.00"),
        "Model calls": ("2", "none refused"),
        "Tokens": ("17,612", "10,000 from cache"),  # 17,000 + 100 in, 2 uses, 500 + 10 out
        "Changed paths": ("1", "no policy violation"),
        "Time": ("12.3 s", "exit code 0"),
    }
    # The first call's events are the seventh and eighth of a ledger with an event a second.
    assert rows_of(page, "calls-table") == [
        [
            "1",
            "0:08.000",
            "anthropic",
            "claude-sonnet-4-5",
            "17,000",
            "10,000",
            "500",
            "$0.040500",
            "100 ms",
            "complete",
        ],
        ["2", "0:11.000", "anthropic", "claude-sonnet-4-5", "100", "0", "10", "$0.020450", "200 ms", "complete"],
    ]
    assert rows_of(page, "models-table")[0] == ["claude-sonnet-4-5+web-search", "1", "2", "0", "0", "$0.020000"]
    points = data_of(page, "chart-data")["points"]
    assert [words for _, _, words in points] == [
        "call 1: $0.040500 for claude-sonnet-4-5, $0.040500 by then",
        "call 2: $0.020450 for claude-sonnet-4-5, $0.060950 by then",
    ]
    assert [share for share, _, _ in points] == [round(8 / 12.345, 4), round(11 / 12.345, 4)]


def test_without_the_ledger_the_rows_tell_the_calls(tmp_path: Path) -> None:
    page = parsed(page_at(write(tmp_path, None, receipt_of(samples.anthropic().data()))))
    assert rows_of(page, "calls-table") == [
        ["1", "", "anthropic", "claude-sonnet-4-5", "17,000", "10,000", "500", "$0.040500", "100 ms", "complete"],
        ["2", "", "anthropic", "claude-sonnet-4-5", "100", "0", "10", "$0.020450", "200 ms", "complete"],
    ]
    assert not page.every("script", id="ledger")
    assert "no ledger (it does not stand beside the receipt)" in page.one("section", id="proof").text
    assert [share for share, _, _ in data_of(page, "chart-data")["points"]] == [0.5, 1.0]


def test_a_busy_run_tells_of_everything_that_went_wrong(tmp_path: Path) -> None:
    ledger = samples.busy()
    page = parsed(page_of_ledger(tmp_path, ledger))
    kinds = [event.type for event in ledger.events]
    marked = [row.attributes.get("class") for row in page.one("table", id="calls-table").one("tbody").every("tr")]
    assert marked.count("call-refused") == kinds.count("model.denied") > 0
    assert marked.count("call-failed") == kinds.count("model.error") > 0
    told = [what for what, _ in rows_of(page, "remarks-table")]
    for what, kind in (
        ("policy violation", "policy.violation"),
        ("cap exceeded", "cap.exceeded"),
        ("cap warning", "cap.warning"),
    ):
        assert told.count(what) == kinds.count(kind) > 0


@pytest.mark.parametrize("name", samples.ALL)
def test_every_ledger_gives_a_page(tmp_path: Path, name: str) -> None:
    made = samples.ALL[name]
    page = parsed(page_of_ledger(tmp_path, made() if callable(made) else made))
    ids = [item.attributes["id"] for kind in PAGE_KINDS for item in page.every(kind) if "id" in item.attributes]
    assert len(ids) == len(set(ids))
    headings = {item.attributes.get("id") for item in page.every("h2")}
    assert {item.attributes["aria-labelledby"] for item in page.every("section")} == headings
    assert all(table.every("caption") for table in page.every("table"))


PAGE_KINDS = ("section", "h2", "div", "table", "p", "input", "textarea", "button", "script", "main", "output")


def test_another_writers_receipt(tmp_path: Path) -> None:
    ledger = elsewhere.ledger()
    page = parsed(page_at(write(tmp_path, ledger.data(), elsewhere.receipt(ledger))))
    replies = [event.data for event in ledger.events if event.type == "model.response"]
    costs = [row[7] for row in rows_of(page, "calls-table") if row[7]]
    assert costs == [f"${reply['cost_usd']}" for reply in replies]


def test_a_stage_that_waits_and_windows(tmp_path: Path) -> None:
    page = parsed(page_of_ledger(tmp_path / "one", staged.left_for_review()))
    assert "did not land (left-for-review" in page.one("section", id="transaction").text
    page = parsed(page_of_ledger(tmp_path / "two", windowed.windowed()))
    section = page.one("section", id="windows")
    assert len(section.every("details")) == len(receipt_of(windowed.windowed().data())["windows"]["tools"])
    assert "Its delta is not at hand" in section.text


def test_a_ledger_that_is_damaged_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    ledger = samples.anthropic()
    path = write(tmp_path, ledger.data().replace(b'"call":2', b'"call":3', 1), receipt_of(ledger.data()))
    page = parsed(page_at(path))
    assert "cannot be read to its end" in page.one("section", id="calls").text
    assert [row[0] for row in rows_of(page, "calls-table")] == ["1"]
    torn = write(tmp_path / "torn", ledger.data()[:-9], receipt_of(ledger.data()))
    assert "its last line is torn" in page_at(torn)


def test_what_has_no_end_and_what_was_remarked() -> None:
    ledger = opened()
    ledger.add(request(1, "openai", "gpt-5", "openai-chat"))
    ledger.add(Note(code="x", message="by the agent", reported_by="agent"))  # type: ignore[arg-type]
    ledger.add_raw(
        "model.response", {"usage": 7, "call": "one", "status": 500, "outcome": "cut", "assumed_price": True}
    )
    ledger.add_raw("fs.change", {"path": "/absolute"})
    told = recorded(ledger.events)
    assert [(call.kind, call.note) for call in told.calls] == [
        (BILLED, "cut, HTTP 500, price assumed"), ("no end recorded", ""),
    ]  # fmt: skip
    assert told.remarks == [("the agent said", "x: by the agent")]
    assert told.left_out["changes"] == 1


def test_one_refusal_is_told_once() -> None:
    ledger = opened()
    for cap in ("max_usd", "max_usd", "max_calls"):
        ledger.add_raw("model.denied", {"provider": "p", "model": "m", "reason": cap, "detail": f"{cap} is reached"})
    assert [call.note for call in recorded(ledger.events).calls] == [
        "max_usd is reached", "max_usd, as before", "max_calls is reached",
    ]  # fmt: skip


def test_fees_are_no_tokens() -> None:
    rows = [
        {"seq": 4, "model": "m+web-search", "provider": "p", "input_tokens": 3, "cost_usd": "0.03"},
        {"seq": 4, "model": "m", "provider": "p", "input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 2,
         "cost_usd": "0.000002", "latency_ms": 9, "usage_source": "estimated"},
    ]  # fmt: skip
    (call,) = from_rows({"appendix": {"usage": rows}}).calls
    assert (call.tokens, call.micros, call.latency_ms, call.note) == ((10, 4, 2), 30_002, 9, "estimated")


def bill(*amounts: int, step_ms: int = 1000) -> list[Call]:
    """Calls that cost so many micro-dollars."""
    return [
        Call(kind=BILLED, number=number, elapsed_ms=number * step_ms, model="m", tokens=(amount, 0, 1), micros=amount)
        for number, amount in enumerate(amounts, 1)
    ]


def test_the_curve_is_the_running_sum() -> None:
    calls = bill(10_000, 20_000)
    calls.insert(1, Call(kind=REFUSED, elapsed_ms=1500))
    curve = curve_of(calls, lasted_ms=4000, cap=50_000, in_tokens=False)
    assert [(point.across, point.spent) for point in curve.points] == [(1000, 10_000), (2000, 30_000)]
    assert (curve.refusals, curve.end, curve.by_time, curve.shows_cap) == ((1500.0,), 4000.0, True, True)
    assert in_words(curve) == "$0.03 in 2 billed calls, the cap at $0.05; 1 call refused, marked ▲."
    data = chart_data(curve)
    assert data["points"][0][:2] == [0.25, round(10_000 / (50_000 * 1.05), 4)]  # type: ignore[index]


def test_tokens_and_calls_where_there_is_no_clock() -> None:
    calls = [replace(call, elapsed_ms=None) for call in bill(5, 6)]
    curve = curve_of(calls, lasted_ms=None, cap=None, in_tokens=True)
    assert [(point.across, point.spent) for point in curve.points] == [(1, 6), (2, 13)]
    assert (curve.by_time, curve.end, in_words(curve)) == (False, 2.0, "13 tokens in 2 billed calls.")
    nothing = curve_of([], lasted_ms=None, cap=5, in_tokens=False)
    assert (nothing.end, in_words(nothing)) == (1.0, "No call was billed.")


def test_a_cap_far_above_is_said_and_not_drawn() -> None:
    near = Curve(points=(Point(across=1, spent=100, words=""),), refusals=(), by_time=True, in_tokens=False, end=1,
                 cap=100 * CAP_IN_SIGHT)  # fmt: skip
    assert near.shows_cap
    far = replace(near, cap=100 * CAP_IN_SIGHT + 1)
    assert not far.shows_cap
    assert "far above, not drawn" in in_words(far)


def test_a_long_run_is_thinned_and_ends_where_it_ends() -> None:
    points = [Point(across=place, spent=place, words="") for place in range(1, 4501)]
    kept = thinned(points, 600)
    assert (len(kept), kept[-1], kept[0].spent) == (600, points[-1], 7)
    assert thinned(points[:3], 600) == tuple(points[:3])


@pytest.mark.parametrize(
    ("highest", "expected"),
    [(1, (0, 1)), (5, (0, 1, 2, 3, 4, 5)), (7, (0, 2, 4, 6)), (50_000, tuple(range(0, 50_001, 10_000))),
     (83_545_695, tuple(range(0, 80_000_001, 20_000_000)))],
)  # fmt: skip
def test_round_numbers(highest: int, expected: tuple[int, ...]) -> None:
    assert ticks(highest) == expected


@pytest.mark.parametrize(
    ("end_ms", "expected"),
    [(600.0, (0, 200, 400, 600)), (12_345.0, (0, 5000, 10_000)), (3_600_000.0, tuple(range(0, 3_600_001, 900_000))),
     (10 * 86_400_000.0, tuple(range(0, 10 * 86_400_000 + 1, 2 * 86_400_000)))],
)  # fmt: skip
def test_round_instants(end_ms: float, expected: tuple[int, ...]) -> None:
    assert time_ticks(end_ms) == expected


@pytest.mark.parametrize(
    ("elapsed_ms", "shown"), [(0, "0:00.000"), (61_050, "1:01.050"), (3_723_004, "1:02:03.004")]
)  # fmt: skip
def test_a_clock(elapsed_ms: int, shown: str) -> None:
    assert clock(elapsed_ms) == shown


def test_a_table_of_many_calls_shows_some_and_holds_all(tmp_path: Path) -> None:
    ledger = opened()
    ledger.add(price("gpt-5", "1.25", "0.125", "10.00"))
    for number in range(1, 121):
        ledger.add(
            ModelDenied(
                provider="openai", model="<gpt>", reason="max_calls", detail=f"{number}", status=400, path="/v1/x"
            )
        )
    page = parsed(page_of_ledger(tmp_path, closed(ledger, "0.00")))
    assert len(rows_of(page, "calls-table")) == 50
    held_rows = data_of(page, "calls-table-rows")
    assert len(held_rows["rows"]) == 120
    assert held_rows["rows"][119][3] == "<gpt>"
    assert set(held_rows["marks"]) == {"call-refused"}
    assert "The first 50 of 120 are shown." in page.one("section", id="calls").text


def test_ledger_of_nothing_but_a_start() -> None:
    assert recorded(LedgerBuilder().events).calls == []


def test_a_drawing_names_its_axes_and_its_amounts_agree(tmp_path: Path) -> None:
    (drawing, _) = parsed(page_of_ledger(tmp_path, samples.anthropic())).every("svg")
    assert [text.text for text in drawing.every("text", class_="axis")] == [
        "time since the run began", "dollars, running sum",
    ]  # fmt: skip
    ticks_ = [text.text for text in drawing.every("text", class_="tick") if text.text.startswith("$")]
    assert ticks_ == ["$0.00", "$0.02", "$0.04", "$0.06"]
    rows = Curve(points=(Point(across=1, spent=5, words="x"),), refusals=(), by_time=False, in_tokens=True, end=1)
    assert "calls, in their order" in chart(rows)
    assert "tokens, running sum" in chart(rows)
    whole = Curve(
        points=(Point(across=1, spent=9_000_000, words=""),), refusals=(), by_time=True, in_tokens=False, end=1
    )
    assert all(f">${dollars}</text>" in chart(whole) for dollars in (0, 2, 4, 6, 8))


def test_without_a_call_nothing_is_drawn_and_nobody_counted(tmp_path: Path) -> None:
    page = parsed(page_of_ledger(tmp_path, samples.zero()))
    assert not page.every("svg")
    assert "No call was billed." in page.one("section", id="spending").text
    assert "Counted by" not in page.one("section", id="run").text


def test_amounts_of_a_column_have_as_many_decimals() -> None:
    assert alike([("a", "$0.01"), ("b", "$1.000001"), ("c", ""), ("d", "$2")], 1) == [
        ("a", "$0.010000"), ("b", "$1.000001"), ("c", ""), ("d", "$2"),
    ]  # fmt: skip
    assert alike([], 1) == []
