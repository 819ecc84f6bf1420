"""What cannot have happened to a window is refused, each by its own sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from docket.formats.digest import Digest
from docket.formats.ledger.asserted_events import ToolCall
from docket.formats.ledger.lines import follow
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.tree_events import Phase
from docket.formats.ledger.window_events import HookLost, ToolDelta
from docket.formats.run.verdict import Status as CheckStatus
from docket.formats.windows.key import IN_STAGE
from docket.formats.windows.names import Scope, Status
from docket.rules.checks.ledger_pass import LedgerPass
from docket.rules.checks.registry import Beside, judge
from docket.rules.checks.windows import FoundDelta
from docket.rules.checks.windows_course import WindowsCourse
from golden_ledgers import elsewhere, samples
from golden_ledgers.build import LedgerBuilder, budget, end, exited, policy, snapshot, spawn, start
from golden_ledgers.judging import judged, named, reading_of, receipt_of
from golden_ledgers.staged import OPENED
from golden_ledgers.windowed import ALONE, TOGETHER, TREES, call, delta, result

CALL = call("toolu_01", ALONE, TREES[0])
RESULT, DELTA = result(CALL), delta(CALL, "e1")
FIRST, SECOND = call("toolu_02", TOGETHER, TREES[1]), call("toolu_03", TOGETHER, TREES[2])
SHARED = {"scope": Scope.CONCURRENT_GROUP, "members": 2, "tree_before": TREES[1], "tree_after": TREES[2]}
PARTIAL = replace(DELTA, status=Status.PARTIAL, reason="timeout", files=0, tree_before=None, tree_after=None)


def without_tree(of: ToolCall) -> ToolCall:
    assert of.window is not None
    begun = replace(of.window, tree=None, hashes=None, head=None, group_id=None, reason="settled")
    return replace(of, window=begun)


def fault(*payloads: Payload) -> str | None:
    course, ledger = WindowsCourse(), LedgerBuilder()
    for payload in payloads:
        found = course.take(ledger.add(payload), payload)
        if found is not None:
            return found
    return None


@pytest.mark.parametrize(
    "payloads",
    [
        (CALL, RESULT, DELTA),
        (CALL, DELTA),
        (CALL, DELTA, RESULT),
        (RESULT, DELTA, CALL),
        (RESULT, replace(PARTIAL, group_id=None), without_tree(CALL)),
        (CALL, replace(PARTIAL, group_id=None)),
        (CALL, PARTIAL),
        (FIRST, SECOND, delta(FIRST, "e2", **SHARED), delta(SECOND, "e2", **SHARED)),
        (FIRST, delta(FIRST, "e2", **SHARED)),
        (OPENED, call("toolu_01", ALONE, TREES[0], IN_STAGE)),
        (replace(CALL, window=None), replace(RESULT, window_id=None)),
        (HookLost(kind="malformed", count=2),),
        (snapshot(Phase.BEFORE, 1), CALL, DELTA, snapshot(Phase.AFTER, 1)),
    ],
)
def test_what_can_have_happened(payloads: tuple[Payload, ...]) -> None:
    assert fault(*payloads) is None


def begun(**changes: Any) -> ToolCall:
    assert CALL.window is not None
    return replace(CALL, window=replace(CALL.window, **changes))


@pytest.mark.parametrize(
    ("payloads", "said"),
    [
        ((replace(CALL, id="toolu_99"),), "not made of its key"),
        ((replace(CALL, id=None),), "not made of its key"),
        ((begun(turn_id="p-2"),), "not made of its key"),
        ((begun(mode="elsewhere"),), "not made of its key"),
        ((call("toolu_01", ALONE, TREES[0], IN_STAGE),), "the run works on the tree"),
        ((OPENED, CALL), "the run works on the stage"),
        ((begun(tree=None, hashes=None),), "a tree with what names it"),
        ((begun(reason="timeout"),), "a tree with what names it"),
        ((begun(hashes=None),), "a tree with what names it"),
        ((CALL, CALL), "has begun before"),
        ((RESULT, replace(without_tree(CALL), name="Read")), "another tool"),
        ((CALL, RESULT, RESULT), "has ended before"),
        ((CALL, replace(RESULT, name="Read")), "another tool"),
        ((DELTA,), "nothing names"),
        ((CALL, DELTA, DELTA), "has a delta already"),
        ((CALL, snapshot(Phase.AFTER, 1), DELTA), "behind the pass after"),
        ((CALL, replace(DELTA, name="Read")), "another tool"),
        ((CALL, replace(DELTA, reason="timeout")), "a reason stands"),
        ((CALL, replace(PARTIAL, reason=None)), "a reason stands"),
        ((CALL, replace(DELTA, tree_after=None)), "both trees are named"),
        ((CALL, replace(DELTA, tree_before=None, tree_after=None)), "both trees are named"),
        ((CALL, replace(PARTIAL, files=1)), "of which nothing is told"),
        ((CALL, replace(DELTA, members=2)), "its scope"),
        ((CALL, replace(DELTA, members=0)), "its scope"),
        ((CALL, replace(DELTA, group_id=None)), "it is of no group"),
        ((CALL, replace(DELTA, group_id=TOGETHER)), "another group"),
        ((CALL, replace(DELTA, tree_before=TREES[2])), "none that stood before"),
        (
            (FIRST, SECOND, delta(FIRST, "e2", **SHARED), delta(SECOND, "e4", **SHARED)),
            "differs from those of its group",
        ),
        (
            (
                FIRST, SECOND, call("toolu_05", TOGETHER, TREES[1]), delta(FIRST, "e2", **SHARED),
                delta(SECOND, "e2", **SHARED), delta(call("toolu_05", TOGETHER, TREES[1]), "e2", **SHARED),
            ),
            "one too many",
        ),
        ((HookLost(kind="malformed", count=0),), "counts no hook"),
    ],
)  # fmt: skip
def test_what_cannot(payloads: tuple[Payload, ...], said: str) -> None:
    assert said in (fault(*payloads) or "")


def put(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(receipt: dict[str, Any]) -> None:
        there: Any = receipt["windows"]
        for key in path[:-1]:
            there = there[key]
        there[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put("count", value=9), "windows.count is 9"),
        (put("complete", value=0), "windows.complete"),
        (put("partial", value=0), "windows.partial"),
        (put("open", value=1), "windows.open"),
        (put("groups", value=2), "windows.groups"),
        (put("files", value=1), "windows.files"),
        (put("partial_by_reason", value={}), "windows.partial_by_reason"),
        (put("tools", 0, "delta", "event_hash", value="0" * 64), "does not lead to ledger.merkle_root"),
        (put("tools", 0, "delta", "merkle_path", value=[]), "does not lead to ledger.merkle_root"),
        (put("tools", 0, "delta", "merkle_path", value=[1]), "is not a side"),
    ],
)
def test_a_member_that_does_not_add_up_is_seen_without_a_ledger(change: Any, said: str) -> None:
    receipt = receipt_of(samples.windowed().data())
    change(receipt)
    check = named(judged(receipt, None), "tool-windows")
    assert check.status is CheckStatus.FAIL
    assert said in check.detail


def test_windows_that_were_left_out_are_missed() -> None:
    receipt = receipt_of(samples.windowed().data())
    del receipt["windows"]
    assert "event_counts has x-docket.tool-delta" in named(judged(receipt, None), "tool-windows").detail


def found(of: ToolDelta, **changes: Any) -> dict[Digest, FoundDelta]:
    told: dict[str, Any] = {
        "status": str(of.status), "scope": str(of.scope), "files": of.files, "tool_use_ids": (of.id,), **changes
    }  # fmt: skip
    return {of.delta_sha256: FoundDelta(**told)}


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({}, CheckStatus.PASS, "1 delta read"),
        ({"fault": "it is gone"}, CheckStatus.FAIL, "it is gone"),
        ({"tool_use_ids": ("toolu_99",)}, CheckStatus.FAIL, "not about this tool use"),
        ({"tool_use_ids": ("toolu_01", "x")}, CheckStatus.FAIL, "says otherwise"),
        ({"files": 2}, CheckStatus.FAIL, "says otherwise"),
        ({"reason": "timeout"}, CheckStatus.FAIL, "says otherwise"),
    ],
)
def test_deltas_at_hand_are_compared(changes: dict[str, Any], status: CheckStatus, said: str) -> None:
    raw = samples.windowed().data()
    receipt = receipt_of(raw)
    verdict = judge(receipt, reading_of(raw), judged(receipt, raw).required, Beside(deltas=found(DELTA, **changes)))
    check = named(verdict, "tool-deltas")
    assert check.status is status
    assert said in check.detail


def test_a_ledger_with_a_fault_of_course_fails_the_check() -> None:
    ledger = LedgerBuilder()
    for event in (start(), policy(), spawn(), CALL, RESULT, RESULT, exited(0), budget("0.00"), end("0.00")):
        ledger.add(event)
    check = named(judged(receipt_of(ledger.data()), ledger.data()), "tool-windows")
    assert (check.status, check.detail) == (
        CheckStatus.FAIL, "event 5 (tool.result): its window has ended before"
    )  # fmt: skip


def test_of_a_ledger_that_cannot_be_read_to_its_end_no_delta_is_compared() -> None:
    raw = samples.windowed().data()
    torn = LedgerPass()
    for item in follow([raw[:-10]]):
        torn.take(item)
    reading = torn.finish(file_sha256=Digest("0" * 64), damage=None)
    verdict = judge(receipt_of(raw), reading, judged(receipt_of(raw), raw).required, Beside(deltas=found(DELTA)))
    assert named(verdict, "tool-deltas").detail == "the ledger could not be read to its end"


def test_another_writers_windows_are_not_judged() -> None:
    built = elsewhere.ledger()
    receipt = {**elsewhere.receipt(built), "windows": {"count": 3}}
    verdict = judged(receipt, built.data())
    assert named(verdict, "tool-windows").detail == "another writer's windows are not known here"
    assert named(verdict, "tool-deltas").status is CheckStatus.SKIP


def test_deltas_need_a_ledger() -> None:
    receipt = receipt_of(samples.windowed().data())
    assert named(judged(receipt, None), "tool-deltas").detail == "no ledger was given"
