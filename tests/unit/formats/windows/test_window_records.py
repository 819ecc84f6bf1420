"""Keys, records and the registry of windows: read back as written, and what is refused."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode, encode
from docket.formats.digest import Digest
from docket.formats.process_identity import ProcessIdentity
from docket.formats.reason import Reason
from docket.formats.windows.key import WindowKey, group_id, key_text, post_ref, pre_ref, ref_component
from docket.formats.windows.names import Hashes, Status
from docket.formats.windows.records import (
    ClosedWindow,
    Completion,
    GroupFinal,
    Moment,
    PendingPartial,
    Tombstone,
    decode_record,
    encode_record,
)
from docket.formats.windows.registry import (
    Baseline,
    Closing,
    Group,
    OpenWindow,
    Registry,
    WindowStatus,
    decode_registry,
    encode_registry,
)

KEY = WindowKey(repository="r", provider="claude", session_id="s", turn_id="", tool_use_id="u")
NOW = Moment(at="2026-01-01T00:00:00Z", monotonic_ms=1, boot_id="b")
GROUP = Group(id="0" * 32, repository="r", mode="tree", created=NOW)
WINDOW = OpenWindow(
    key=KEY, tool_name="Bash", group_id=GROUP.id, seq=1, status=WindowStatus.ACTIVE, started=NOW,
    baseline=Baseline(tree="1" * 40, hashes=Hashes.SHA1, clock_us=1), ref="refs/x",
)  # fmt: skip
DONE = replace(WINDOW, status=WindowStatus.COMPLETE, completion=Completion(moment=NOW, event_id="e"))
REGISTRY = Registry(next_seq=2, windows=(WINDOW,), groups=(GROUP,))
OWNER = ProcessIdentity(pid=1, started="1", boot_id="b")


def test_a_windows_id_is_the_digest_of_its_members():
    wanted = b'{"mode":"tree","provider":"claude","repository":"r","session_id":"s","tool_use_id":"u","turn_id":""}'
    assert KEY.window_id == hashlib.sha256(wanted).hexdigest()[:32]
    assert group_id(KEY.window_id, 7) == hashlib.sha256(f"{KEY.window_id} 7".encode()).hexdigest()[:32]


@pytest.mark.parametrize(
    "members", [{"repository": ""}, {"provider": ""}, {"tool_use_id": ""}, {"turn_id": "x" * 1025}, {"mode": "moon"}]
)
def test_a_key_that_is_none_is_refused(members):
    with pytest.raises(InvalidDocumentError):
        replace(KEY, **members)


def test_any_text_of_an_agents_has_a_form():
    assert key_text("a\ud800é") == "a\\ud800é"


@pytest.mark.parametrize("text", ["a/b", "a?b", "..", "x" * 200, "é", "", ".lock", "a b", "..\\..", "-"])
def test_a_component_of_a_ref_is_harmless_and_nobody_elses(text):
    component = ref_component(text)
    shown, _, digest = component.rpartition("-")
    assert digest == hashlib.sha256(text.encode()).hexdigest()[:32]
    assert 1 <= len(shown) <= 24
    assert shown.replace("-", "a").replace("_", "a").isalnum()
    assert shown.isascii()


def test_refs_stand_below_one_another_as_the_specification_says():
    before, after = pre_ref("w", GROUP.id, KEY), post_ref("w", GROUP.id)
    assert before.split("/")[:-2] == after.split("/")[:-1] == [
        "refs", "docket", "tool-windows", ref_component("w"), ref_component(GROUP.id)]  # fmt: skip
    assert (before.split("/")[-1], after.split("/")[-1]) == ("pre", "post")
    assert pre_ref("w", GROUP.id, replace(KEY, session_id="other")) != before


RECORDS = [
    Tombstone(key=KEY, at=NOW.at, reason="timeout"),
    PendingPartial(key=KEY, event_id="e", reason="timeout", tool_name="Bash", at=NOW.at),
    GroupFinal(group_id=GROUP.id, moment=NOW, tree="1" * 40),
    GroupFinal(group_id=GROUP.id, moment=NOW, reason="nobody_knows"),
    ClosedWindow(key=KEY, tool_name="Bash", event_id="e", closed_at=NOW.at, delta_sha256=Digest("1" * 64),
                 status=Status.COMPLETE, members=1),
]  # fmt: skip


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_is_read_as_it_was_written(record):
    document = encode_record(record)
    assert decode_record(type(record), document) == record
    for wrong in (document + b"\n", document.replace(b"docket/window", b"docket/windov"), b"[]", b'{"schema":"x"}'):
        with pytest.raises(InvalidDocumentError):
            decode_record(type(record), wrong)


@pytest.mark.parametrize(
    ("record", "members"),
    [(0, {"reason": "No."}), (0, {"at": "now"}), (2, {"group_id": "x"}), (2, {"reason": "timeout"}),
     (2, {"tree": None}), (2, {"head_moves": -1}), (3, {"reason": "No."}), (4, {"closed_at": "now"})],
)  # fmt: skip
def test_a_record_that_says_nonsense_is_refused(record, members):
    value: dict[str, Any] = {**decode(encode_record(RECORDS[record])), **members}  # type: ignore[dict-item]
    with pytest.raises(InvalidDocumentError):
        decode_record(type(RECORDS[record]), encode({key: item for key, item in value.items() if item is not None}))


def test_a_record_that_leaves_out_what_is_always_written_is_refused():
    value = {key: item for key, item in decode(encode_record(RECORDS[2])).items() if key != "head_moves"}  # type: ignore[union-attr]
    with pytest.raises(InvalidDocumentError) as refused:
        decode_record(GroupFinal, encode(value))
    assert refused.value.reason == Reason.MISSING_MEMBER


def test_a_record_too_large_to_read_is_refused(monkeypatch):
    monkeypatch.setattr("docket.formats.windows.records.MAX_RECORD_BYTES", 10)
    with pytest.raises(InvalidDocumentError) as refused:
        decode_record(Tombstone, encode_record(RECORDS[0]))
    assert refused.value.reason == Reason.TOO_LARGE


def test_a_registry_is_read_as_it_was_written_in_whatever_order_its_groups_come():
    other = replace(GROUP, id="1" * 32, closing=Closing(owner=OWNER, attempts=1, seq=3))
    second = replace(DONE, key=replace(KEY, tool_use_id="v"), group_id=other.id, seq=2)
    registry = Registry(next_seq=3, epoch=1, windows=(WINDOW, second), groups=(GROUP, other))
    assert decode_registry(encode_registry(registry)) == registry
    assert encode_registry(replace(registry, groups=(other, GROUP))) == encode_registry(registry)
    assert registry.without_group(GROUP.id) == Registry(next_seq=3, epoch=1, windows=(second,), groups=(other,))
    assert registry.group(other.id) == other
    assert registry.window(KEY) == WINDOW


@pytest.mark.parametrize(
    "registry",
    [
        replace(REGISTRY, next_seq=1),
        replace(REGISTRY, epoch=-1),
        replace(REGISTRY, windows=(replace(WINDOW, seq=0),)),
        replace(REGISTRY, next_seq=3, windows=(WINDOW, replace(WINDOW, seq=2))),
        replace(REGISTRY, next_seq=3, windows=(replace(WINDOW, seq=2), replace(WINDOW, key=replace(KEY, turn_id="2")))),
        replace(REGISTRY, groups=()),
        replace(REGISTRY, groups=(GROUP, GROUP)),
        replace(REGISTRY, windows=()),
        replace(REGISTRY, groups=(replace(GROUP, repository="q"),)),
        replace(REGISTRY, groups=(replace(GROUP, mode="stage"),)),
        replace(REGISTRY, windows=(replace(WINDOW, reason="timeout"),)),
        replace(REGISTRY, windows=(replace(WINDOW, baseline=None),)),
        replace(REGISTRY, windows=(replace(WINDOW, ref=None),)),
        replace(REGISTRY, windows=(replace(WINDOW, status=WindowStatus.COMPLETE),)),
        replace(REGISTRY, windows=(replace(DONE, status=WindowStatus.ACTIVE),)),
        replace(REGISTRY, groups=(replace(GROUP, closing=Closing(owner=OWNER, attempts=1, seq=2)),)),
        replace(REGISTRY, windows=(DONE,), groups=(replace(GROUP, closing=Closing(owner=OWNER, attempts=0, seq=2)),)),
        replace(REGISTRY, windows=(replace(WINDOW, group_id="x"),), groups=(replace(GROUP, id="x"),)),
    ],
)
def test_a_registry_that_breaks_an_invariant_is_never_published(registry):
    with pytest.raises(InvalidDocumentError) as refused:
        encode_registry(registry)
    assert refused.value.reason == Reason.WRONG_VALUE


def test_a_registry_of_other_bytes_is_not_read(monkeypatch):
    document = encode_registry(REGISTRY)
    for wrong in (document + b"\n", b"[]", b'{"schema":"x"}', document.replace(b'"sealed":false', b'"sealed":0')):
        with pytest.raises(InvalidDocumentError):
            decode_registry(wrong)
    spelled = {**decode(document), "epoch": None}  # type: ignore[dict-item]
    with pytest.raises(InvalidDocumentError):
        decode_registry(encode(spelled))
    monkeypatch.setattr("docket.formats.windows.registry.MAX_REGISTRY_BYTES", 10)
    with pytest.raises(InvalidDocumentError) as refused:
        decode_registry(document)
    assert refused.value.reason == Reason.TOO_LARGE


def test_groups_that_are_not_in_their_order_are_not_in_the_only_spelling():
    other = replace(GROUP, id="1" * 32)
    second = replace(WINDOW, key=replace(KEY, tool_use_id="v"), group_id=other.id, seq=2)
    value = decode(encode_registry(Registry(next_seq=3, windows=(WINDOW, second), groups=(GROUP, other))))
    value["groups"] = value["groups"][::-1]  # type: ignore[index, call-overload]
    with pytest.raises(InvalidDocumentError) as refused:
        decode_registry(encode(value))
    assert refused.value.reason == Reason.NOT_CANONICAL
