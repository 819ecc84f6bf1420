"""The fold over ledgers of other writers: what cannot be read is left out, not guessed."""

from __future__ import annotations

from docket.rules.receipt.public_fold import PublicFold
from golden_ledgers import elsewhere
from golden_ledgers.build import LedgerBuilder


def folded(built: LedgerBuilder) -> PublicFold:
    fold = PublicFold()
    for event in built.events:
        fold.take(event)
    return fold


def test_what_v1_derives() -> None:
    members = folded(elsewhere.ledger()).members()

    assert members["session"] == {
        "id": "s1", "argv": ["a"], "cwd": "/w", "exit_code": 0, "breached": None, "interrupted": False,
    }  # fmt: skip
    assert members["model_calls"] == {"count": 2, "by_provider": {"theirs": 2}, "denied": 0, "errors": 0}
    assert members["tools"] == {"calls": 1, "names": ["read"], "failures": 1}
    assert members["label"] == "x"


def test_an_empty_ledger_derives_no_session_and_no_policy() -> None:
    members = PublicFold().members()

    assert "label" not in members
    assert (members["session"], members["policy"]) == ({}, {})


def test_members_of_another_type_are_left_out() -> None:
    built = LedgerBuilder()
    built.add_raw("tool.call", {"name": 7})
    built.add_raw("fs.change", {"path": 7, "change": None})
    built.add_raw("session.start", {"session_id": "one"})
    built.add_raw("session.start", {"session_id": "two"})
    usage = {"input_tokens": 1}
    built.add_raw(
        "model.response",
        {
            "model": "m", "provider": "p", "usage": usage, "usage_source": "reported", "cost_usd": "0.01",
            "latency_ms": True, "reported_by": 7,
        },
    )  # fmt: skip
    fold = folded(built)
    members = fold.members()

    assert members["tools"] == {"calls": 1, "names": [], "failures": 0}
    assert members["files"] == {
        "changed": 1, "added": 0, "modified": 0, "removed": 0, "violations": 0, "top_paths": [],
    }  # fmt: skip
    assert members["session"] == {"id": "one"}
    (row,) = fold.rows
    assert (row.row.latency_ms, row.asserted_by, row.row.cached_input_tokens) == (None, None, 0)


def test_no_more_paths_are_kept_than_a_receipt_shows() -> None:
    built = LedgerBuilder()
    for number in range(30):
        built.add_raw("fs.change", {"path": f"f{number:02d}", "change": "added"})

    assert folded(built).members()["files"]["top_paths"] == [f"f{number:02d}" for number in range(25)]  # type: ignore[index,call-overload]
