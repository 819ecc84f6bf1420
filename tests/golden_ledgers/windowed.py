"""Runs with tool windows: one tool by itself, two that overlapped, one that never ended, hooks that told nothing."""

from __future__ import annotations

from dataclasses import replace

from docket.formats.digest import Digest
from docket.formats.ledger.asserted_events import Reporter, ToolCall, ToolResult
from docket.formats.ledger.session_events import ExitSource
from docket.formats.ledger.tree_events import Phase
from docket.formats.ledger.window_events import HookLost, ToolDelta, WindowBegun
from docket.formats.ledger.workspace_events import WorkspaceSettled
from docket.formats.run.usage import Usage
from docket.formats.windows.key import IN_STAGE, IN_TREE, WindowKey
from docket.formats.windows.names import Hashes, Scope, Status
from docket.formats.workspace.scope import Settled
from golden_ledgers.build import (
    SOME_DIGEST,
    LedgerBuilder,
    added,
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
from golden_ledgers.staged import OPENED

REPOSITORY = "0f" * 16
ALONE, TOGETHER = "1a" * 16, "2b" * 16
TREES = ("a1" * 20, "b2" * 20, "c3" * 20)


def call(tool_use_id: str, group: str, tree: str, mode: str = IN_TREE) -> ToolCall:
    """A tool whose tree was looked at."""
    key = WindowKey(
        repository=REPOSITORY, provider="claude", session_id="s-1", turn_id="p-1", tool_use_id=tool_use_id, mode=mode
    )
    begun = WindowBegun(
        window_id=key.window_id,
        repository=key.repository,
        provider=key.provider,
        session_id=key.session_id,
        turn_id=key.turn_id,
        mode=mode,
        group_id=group,
        tree=tree,
        hashes=Hashes.SHA1,
        head="d4" * 20,
    )
    return ToolCall(name="Bash", id=tool_use_id, input_sha256=SOME_DIGEST, reported_by=Reporter.AGENT, window=begun)


def result(of: ToolCall, *, error: str | None = None) -> ToolResult:
    """How it ended."""
    window_id = None if of.window is None else of.window.window_id
    return ToolResult(
        name=of.name, ok=error is None, id=of.id, duration_ms=41, error=error, reported_by=Reporter.AGENT,
        window_id=window_id,
    )  # fmt: skip


def delta(of: ToolCall, name: str, **changes: object) -> ToolDelta:
    """What it changed; `name` is the delta's digest, two digits."""
    assert of.window is not None
    assert of.id is not None
    members: dict[str, object] = {
        "window_id": of.window.window_id,
        "id": of.id,
        "name": of.name,
        "delta_sha256": Digest(name * 32),
        "scope": Scope.TOOL,
        "status": Status.COMPLETE,
        "members": 1,
        "files": 1,
        "group_id": of.window.group_id,
        "tree_before": of.window.tree,
        "tree_after": TREES[1],
    }
    return ToolDelta(**{**members, **changes})  # type: ignore[arg-type]


def windowed() -> LedgerBuilder:
    """A tool by itself; two that overlapped, one of which failed; one whose process was gone; two hooks lost."""
    ledger = LedgerBuilder()
    for event in (start(), policy(), snapshot(Phase.BEFORE, 3), spawn()):
        ledger.add(event)
    ledger.add(price("claude-haiku-4-5", "1.00", "0.10", "5.00"))
    # 400 x 1.00 + 100 x 5.00 for one tool; 502 x 1.00 + 100 x 5.00 = 1,002 over four, 251 + 251 + 250 + 250
    for number, tokens, cost, total, ids in (
        (1, 400, "0.000900", "0.000900", ("toolu_01",)),
        (2, 502, "0.001002", "0.001902", ("toolu_02", "toolu_03", "toolu_04", "toolu_denied")),
    ):
        ledger.add(request(number, "anthropic", "claude-haiku-4-5"))
        part = component("claude-haiku-4-5", tokens, 0, 100, cost)
        usage = Usage(input_tokens=tokens, output_tokens=100)
        answered = response(
            number, "anthropic", "claude-haiku-4-5", usage=usage, components=(part,), cost=cost, cumulative=total
        )
        ledger.add(replace(answered, tool_use_ids=ids))
    alone = call("toolu_01", ALONE, TREES[0])
    for event in (alone, result(alone), delta(alone, "e1")):
        ledger.add(event)
    first, second = call("toolu_02", TOGETHER, TREES[1]), call("toolu_03", TOGETHER, TREES[1])
    for event in (first, second, result(second, error="failed"), result(first)):
        ledger.add(event)
    for one in (first, second):
        shared = {"scope": Scope.CONCURRENT_GROUP, "members": 2, "files": 3, "tree_after": TREES[2]}
        ledger.add(delta(one, "e2", **shared))
    lost = call("toolu_04", "3c" * 16, TREES[2])
    for event in (HookLost(kind="malformed", count=1), lost, exited(0), HookLost(kind="malformed", count=1)):
        ledger.add(event)
    ledger.add(
        delta(
            lost, "e3", status=Status.PARTIAL, reason="process_gone", files=0, group_id=None, tree_before=None,
            tree_after=None,
        )
    )  # fmt: skip
    for event in (budget("0.001902"), snapshot(Phase.AFTER, 4, tree="22"), added(b"new.txt"), end("0.001902")):
        ledger.add(event)
    return ledger


def on_a_stage() -> LedgerBuilder:
    """A tool that wrote to the stage of a run whose work was discarded; another had no tree, and no end."""
    ledger = LedgerBuilder()
    for event in (start(), policy(), snapshot(Phase.BEFORE, 3), OPENED, spawn()):
        ledger.add(event)
    one = call("toolu_01", ALONE, TREES[0], IN_STAGE)
    for event in (one, result(one), delta(one, "e1")):
        ledger.add(event)
    late = call("toolu_05", ALONE, TREES[0], IN_STAGE)
    assert late.window is not None
    begun = replace(late.window, group_id=None, tree=None, hashes=None, head=None, reason="timeout")
    ledger.add(replace(late, window=begun))
    ledger.add(exited(1))
    ledger.add(snapshot(Phase.AFTER, 4, tree="22"))
    left = WorkspaceSettled(
        transaction=OPENED.transaction, outcome=Settled.DISCARDED, reason="run-interrupted", detail="it ended early"
    )
    for event in (left, budget("0.00"), end("0.00", 1, exit_source=ExitSource.AGENT)):
        ledger.add(event)
    return ledger
