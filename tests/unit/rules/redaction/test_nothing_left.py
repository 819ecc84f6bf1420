"""Nothing of what a copy hides stands in it: no text, escaped or in base64, and no digest that a guess would give."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from docket.formats.canonical import encode_document
from docket.formats.digest import Digest, digest_of, sha256
from docket.formats.ledger.asserted_events import ToolCall, ToolResult
from docket.formats.ledger.event import Event
from docket.formats.ledger.network_events import NetAllowed, NetDenied
from docket.formats.ledger.redaction_facts import Profile, commitment_of
from docket.formats.ledger.session_events import Note, PolicyViolation
from docket.formats.ledger.tree_events import Change, EntryState, FsChange, Omissions, OmittedPath, Phase
from docket.formats.relpath import RelPath
from docket.rules.redaction.copy import CopyAsked, redacted
from golden_ledgers.build import POLICY, LedgerBuilder, budget, end, exited, policy, snapshot, spawn, start
from golden_ledgers.judging import judged, receipt_of

OPENING = b"\x02" * 32
SECRET = "sk-ant-Q7w8e9r0T1y2U3i4o5P6"
PATHS = ("src/wombat/zephyr.py", "umlaut-größe/quokka.txt", "deep/marmot dir/\nnewline")
FOREIGN = b"dir/narwhal-\xff\xfe.bin"
FOLDER = "/home/okapi/tapirproject"
ARGV = (
    "agent",
    "--prompt",
    "mend the axolotl",
    f"--api-key={SECRET}",
    f"{FOLDER}/src/wombat/zephyr.py",
    "--password",
    "hunter2hunter2",
)
HOST, ADDRESS, UPSTREAM = "gibbon.internal.example", "10.20.30.40", "https://ocelot:pass@gateway.example/v9"
CONTENT = b"a licence that everybody knows"


def story() -> LedgerBuilder:
    """A run in which every kind of hidden thing stands in several places."""
    document = json.loads(json.dumps(POLICY))
    document["files"] = {"watch": [".", "wombatwatch"], "ignore": ["*.ocarina"], "deny_write": ["src/wombat/*"]}
    document["egress"] = {"mode": "tunnel", "allow": [HOST]}
    said = f"{PATHS[0]} by {HOST} with {SECRET} for axolotl"
    paths = [*(RelPath.parse(path.encode()) for path in PATHS), RelPath.parse(FOREIGN)]
    state = EntryState(kind="file", mode=0o644, size=len(CONTENT), sha256=sha256(CONTENT))
    link = EntryState(kind="symlink", mode=0o777, target=f"{FOLDER}/numbat")
    ledger = LedgerBuilder()
    for payload in (
        start(argv=ARGV, cwd=FOLDER, label="about axolotl", upstream_overrides={"openai": UPSTREAM},
              host={"platform": "lemuros", "node": HOST}),
        replace(policy(document), source=f"{FOLDER}/docket.toml"),
        snapshot(Phase.BEFORE, 2),
        Omissions(
            phase=Phase.BEFORE,
            omissions=tuple(OmittedPath(path=path, reason="unreadable", detail=said) for path in paths),
        ),
        replace(spawn(), argv=ARGV, cwd=FOLDER),
        NetAllowed(tunnel=1, kind="tunnel", host=HOST, port=443, address=ADDRESS),
        NetDenied(reason="egress", kind="tunnel", count=1, host=HOST, port=443),
        ToolCall(name=f"mcp__wombat__{SECRET}", id="toolu_walrus", input_sha256=sha256(CONTENT)),
        ToolResult(
            name=f"mcp__wombat__{SECRET}", id="toolu_walrus", ok=False, error=said, result_sha256=sha256(CONTENT)
        ),
        Note(code="remark", message=said, detail={"where": said}),
        exited(),
        snapshot(Phase.AFTER, 3, "22"),
        *(FsChange(path=path, change=Change.ADDED, after=state) for path in sorted(paths)),
        FsChange(path=RelPath.parse(b"zz/link"), change=Change.ADDED, after=link),
        PolicyViolation(rule="files.deny_write", path=paths[0], detail=said),
        budget("0.00"),
        end("0.00"),
    ):  # fmt: skip
        ledger.add(payload)
    return ledger


def output(profiles: frozenset[Profile]) -> tuple[bytes, dict[str, Any]]:
    """The ledger and the receipt of a copy, verified."""
    asked = CopyAsked(profiles=profiles, key=hashlib.sha256(str(profiles).encode()).digest(), opening=OPENING)
    raw = b"".join(event.line + b"\n" for event in redacted(story().events, asked))
    receipt = receipt_of(raw)
    assert judged(receipt, raw).failures == ()
    return raw, receipt


def forms(text: str | bytes) -> set[bytes]:
    """A value as it could stand anywhere: raw, escaped, in URLs, in base64 at each of its three offsets."""
    raw = text if isinstance(text, bytes) else text.encode()
    shown = raw.decode("utf-8", "backslashreplace")
    found = {raw, shown.encode(), json.dumps(shown)[1:-1].encode(), quote(raw).encode(), raw.hex().encode()}
    for skip in range(3):
        coded = base64.b64encode(b"\0" * skip + raw)
        found.add(coded[skip and skip + 1 : -4])
    return {form for form in found if len(form) >= 4}


HIDDEN: dict[Profile, tuple[str | bytes, ...]] = {
    Profile.PATHS: (
        "wombat", "zephyr", "quokka", "größe", "marmot", FOREIGN, "narwhal", "okapi", "tapirproject", "numbat",
        "ocarina", "wombatwatch",
    ),
    Profile.ARGV: ("axolotl", "mend the", "hunter2hunter2", "--prompt"),
    Profile.HOSTS: ("gibbon", HOST, ADDRESS, "gateway.example", "ocelot", "lemuros"),
    Profile.NAMES: ("mcp__wombat", "toolu_walrus"),
    Profile.SECRETS: (SECRET, SECRET[8:]),
}  # fmt: skip


@pytest.mark.parametrize("profiles", [frozenset(Profile), *(frozenset((profile,)) for profile in Profile)], ids=sorted)
def test_nothing_of_what_is_hidden_stands_in_the_copy(profiles: frozenset[Profile]) -> None:
    raw, receipt = output(profiles)
    whole = raw + encode_document(receipt)
    for profile in profiles:
        for text in HIDDEN[profile]:
            for form in forms(text):
                assert form not in whole, (profile, text, form)


@pytest.mark.parametrize("profile", Profile)
def test_the_story_holds_what_is_looked_for(profile: Profile) -> None:
    raw = story().data()
    for text in HIDDEN[profile]:
        assert any(form in raw for form in forms(text)), text


@pytest.mark.parametrize("profiles", [frozenset(Profile), *(frozenset((profile,)) for profile in Profile)], ids=sorted)
def test_no_digest_of_something_that_can_be_guessed_is_left(profiles: frozenset[Profile]) -> None:
    raw, receipt = output(profiles)
    whole = raw + encode_document(receipt)
    original = story()
    for guess in (sha256(CONTENT), original.events[-1].hash, digest_of({"path": PATHS[0]}), Digest("11" * 32)):
        assert guess.encode() not in whole
    assert receipt["redaction"]["commitment"] == commitment_of(OPENING, original.events[-1].hash)
    assert (
        receipt["redaction"]["commitment"]
        == hashlib.sha256(OPENING + bytes.fromhex(original.events[-1].hash)).hexdigest()
    )


def changes(raw: bytes) -> list[dict[str, Any]]:
    return [event["data"] for event in map(json.loads, raw.splitlines()) if event["type"] == "fs.change"]


def test_equal_values_stay_equal_and_sorted_ones_sorted() -> None:
    raw, receipt = output(frozenset(Profile))
    names = [item["path"] for item in changes(raw)]
    assert names == sorted(names)
    assert receipt["files"]["top_paths"] == names
    (violation,) = [event["data"] for event in map(json.loads, raw.splitlines()) if event["type"] == "policy.violation"]
    assert violation["path"] in names
    digests = {item["after"]["sha256"] for item in changes(raw) if "sha256" in item["after"]}
    assert len(digests) == 1


def test_two_copies_have_no_digest_in_common() -> None:
    def digests(key: bytes) -> set[str]:
        asked = CopyAsked(profiles=frozenset((Profile.PATHS,)), key=key, opening=OPENING)
        events: list[Event] = redacted(story().events, asked)
        return {item["after"]["sha256"] for event in events if event.type == "fs.change"
                for item in [json.loads(event.line)["data"]] if "sha256" in item["after"]}  # fmt: skip

    assert digests(b"a" * 32).isdisjoint(digests(b"b" * 32))


def test_what_no_profile_hides_stays() -> None:
    raw, receipt = output(frozenset((Profile.HOSTS,)))
    assert receipt["session"]["cwd"] == FOLDER
    assert [item.get("path") for item in changes(raw)][-1] == "zz/link"
    assert receipt["label"] == "about axolotl"
    raw, receipt = output(frozenset((Profile.SECRETS,)))
    assert receipt["session"]["argv"] == [
        "agent", "--prompt", "mend the axolotl", "--api-key=[secret]", f"{FOLDER}/src/wombat/zephyr.py", "--password",
        "[secret]",
    ]  # fmt: skip
    assert receipt["tools"]["names"] == ["mcp__wombat__[secret]"]
    assert f"{PATHS[0]} by {HOST} with [secret] for axolotl" in raw.decode()
