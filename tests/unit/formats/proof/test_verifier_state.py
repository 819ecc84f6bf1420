"""What a verifier remembers: each thing once, the newest last."""

from __future__ import annotations

from typing import Any

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode_document, encode_document
from docket.formats.digest import Digest
from docket.formats.proof import verifier_state
from docket.formats.proof.checkpoint import TreeHead
from docket.formats.proof.verifier_state import UNSIGNED, KnownRun, VerifierState, highest, read_state

DIGEST, KEY, PROJECT = Digest("ab" * 32), "cd" * 32, "0f" * 16


def run(number: int, key: str = KEY, project: str = PROJECT) -> KnownRun:
    return KnownRun(key=key, project=project, run=number, session="0123456789ab", receipt_sha256=DIGEST)


def head(origin: str, size: int) -> TreeHead:
    return TreeHead(origin=f"docket.local/unsigned/{origin}", size=size, root=DIGEST)


STATE = VerifierState(runs=(run(3), run(9, UNSIGNED)), heads=(head("a", 4), head("b", 5)))


def test_it_is_read_as_it_is_written() -> None:
    document = decode_document(encode_document(STATE.to_json()))
    assert read_state(document) == STATE
    assert read_state({"format": "docket/verifier-state/v1", "projects": [], "origins": []}) == VerifierState()


def test_what_is_known_of_a_project_is_by_each_key_and_by_none() -> None:
    assert highest(STATE.runs_of(PROJECT)) == run(9, UNSIGNED)
    assert highest(VerifierState(runs=(run(12), run(9, UNSIGNED))).runs_of(PROJECT)) == run(12)
    assert STATE.runs_of("00" * 16) == ()
    assert highest(()) is None
    assert (STATE.head_of(head("b", 1).origin), STATE.head_of("c")) == (head("b", 5), None)


def test_what_is_learned_stands_last_and_instead_of_what_was_known() -> None:
    assert STATE.with_run(run(4)).runs == (run(9, UNSIGNED), run(4))
    assert STATE.with_head(head("a", 6)).heads == (head("b", 5), head("a", 6))


def test_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier_state, "MAX_ENTRIES", 2)
    assert [one.origin for one in STATE.with_head(head("c", 1)).heads] == [head(name, 1).origin for name in "bc"]


def changed(**members: Any) -> dict[str, Any]:
    return {**STATE.to_json(), **members}


@pytest.mark.parametrize(
    "document",
    [
        [], {}, changed(format="docket/verifier-state/v2"), changed(more=1), changed(projects={}), changed(origins=[1]),
        changed(projects=[{**STATE.to_json()["projects"][0], "run": 0}]),  # type: ignore[index, call-overload, dict-item]
        changed(projects=STATE.to_json()["projects"] * 2),  # type: ignore[operator]
        changed(origins=STATE.to_json()["origins"] * 2),  # type: ignore[operator]
        changed(origins=[{"origin": "docket.local/unsigned/a", "size": 0, "root": DIGEST}]),
        changed(origins=[{"origin": "docket.local/unsigned/a", "size": 1, "root": "AB" * 32}]),
        changed(origins=[{"origin": "docket.local/unsigned/a", "size": 1, "root": DIGEST, "more": 1}]),
    ],
)  # fmt: skip
def test_what_is_no_state(document: Any) -> None:
    with pytest.raises(InvalidDocumentError):
        read_state(document)


@pytest.mark.parametrize(
    ("array", "member", "value", "words"),
    [
        ("projects", "key", "Unsigned", "projects[1].key is neither 64 lower-case hexadecimal digits nor unsigned"),
        ("projects", "key", "CD" * 32, "projects[1].key is neither"),
        ("projects", "key", "cd" * 31, "projects[1].key is neither"),
        ("projects", "key", None, "projects[1].key is not a text"),
        ("projects", "project", "0F" * 16, "projects[1].project is not 32 lower-case hexadecimal digits"),
        ("projects", "project", "0f" * 17, "projects[1].project is not 32"),
        ("projects", "run", -1, "projects[1].run is below 1"),
        ("projects", "run", "9", "projects[1].run is not an integer"),
        ("projects", "session", 1, "projects[1].session is not a text"),
        ("projects", "session", "", "projects[1].session is not 1 to 64 letters, digits, _ and -"),
        ("projects", "receipt_sha256", "ab", "projects[1].receipt_sha256: "),
        ("projects", "note", "", "projects[1] has the unknown member 'note'"),
        ("origins", "origin", 7, "origins[1].origin is not a text"),
        (
            "origins",
            "origin",
            "docket.local/unsigned/a b",
            "origins[1].origin is not an origin, docket.local/KEY/SESSION",
        ),
        ("origins", "origin", "docket.local/unsigned/a\n", "origins[1].origin is not an origin"),
        ("origins", "origin", "docket.local/ABCDEF/a", "origins[1].origin is not an origin"),
        ("origins", "size", True, "origins[1].size is not an integer"),
        ("origins", "size", -5, "origins[1].size is below 1"),
    ],
)
def test_an_entry_that_none_can_have_taught_is_refused_by_its_name(
    array: str, member: str, value: Any, words: str
) -> None:
    document: Any = decode_document(encode_document(STATE.to_json()))
    document[array][1][member] = value
    with pytest.raises(InvalidDocumentError) as caught:
        read_state(document)
    assert words in caught.value.detail
