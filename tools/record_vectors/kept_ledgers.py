"""Scenarios of ledger files: the receipt as it was, and a file that was cut, extended, or spelt another way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from record_vectors import ledgers
from record_vectors.fold import receipt_of
from record_vectors.primitives import Json, canonical, chained, digest_of, lines_of
from record_vectors.scenario import Scenario, Side, printed, side, twin


def scenarios() -> Iterator[Scenario]:
    """Every scenario."""
    yield from _cut()
    yield from _spelt()
    yield from _places()
    yield from _extended()


def file_of(of: Side) -> bytes:
    """The ledger of a side that has one."""
    return of.ledger or b""


def _cut() -> Iterator[Scenario]:
    good = side(ledgers.plain())
    lines = file_of(good).splitlines(keepends=True)
    for number in range(len(lines)):
        fails = "head" if number else "ledger-chain"
        yield twin(f"cut-to-{number:02}-events", f"the file ends behind {number} events", fails, good,
                   ledger=b"".join(lines[:number]))  # fmt: skip
    whole_without_end = lines[-1][:-1]
    yield twin("torn-tail", "the last line lacks its end", "ledger-chain", good, ledger=file_of(good)[:-1])
    yield twin("torn-in-a-line", "the last line is torn", "ledger-chain", good, ledger=file_of(good)[:-40])
    yield twin("tail-behind-the-end", "bytes without a line end stand behind", "ledger-chain", good,
               ledger=file_of(good) + whole_without_end)  # fmt: skip
    yield from _cut_with_a_receipt()


def _cut_with_a_receipt() -> Iterator[Scenario]:
    """A record that somebody cut and made a receipt of: it has no end, and who says that it has is refused."""
    events = chained(ledgers.plain().bodies)
    for number in (1, 3, 7, len(events) - 1):
        kept = events[:number]
        receipt = receipt_of(kept)
        honest = replace(
            side(ledgers.plain()), receipt=printed(receipt), ledger=lines_of(kept), verdict="incomplete",
            fails="evidence-completeness",
        )  # fmt: skip
        told: Json = json.loads(honest.receipt)
        told["evidence"] |= {"ledger_complete": True, "ended": True, "note": "Every event reached the ledger file."}
        told["session"] |= {"exit_code": 0, "exit_source": "agent", "interrupted": False, "duration_seconds": "9.125"}
        yield twin(f"cut-to-{number:02}-and-told-as-whole", f"a record of {number} events says that it ended",
                   "evidence-completeness", honest, receipt=printed(told))  # fmt: skip


def _spelt() -> Iterator[Scenario]:
    good = side(ledgers.plain())
    lines = file_of(good).splitlines(keepends=True)
    one = lines[1]
    event = json.loads(one)
    known = event["hash"].encode()

    def instead(line: bytes) -> bytes:
        return b"".join([lines[0], line, *lines[2:]])

    def rehashed(**changes: object) -> bytes:
        body: Json = {name: value for name, value in event.items() if name != "hash"} | changes
        return canonical({**body, "hash": digest_of(body)}) + b"\n"

    backwards = json.dumps(dict(sorted(event.items(), reverse=True)), separators=(",", ":")).encode() + b"\n"
    for name, says, line in (
        ("blank", "no blank between tokens", one.replace(b'"seq":1', b'"seq": 1')),
        ("order", "members stand in their order", backwards),
        ("key-twice", "a key stands once", one.replace(b'"seq":1', b'"seq":1,"seq":1')),
        ("key-twice-escaped", "by whatever escapes", one.replace(b'"seq":1', b'"seq":1,"s\\u0065q":1')),
        ("escape", "a letter has no escape", one.replace(b'"usd"', b'"\\u0075sd"')),
        ("slash", "nor has the slash", one.replace(b'"seq":1', b'"seq":1').replace(b'vectors"', b'v\\/"', 1)),
        ("fraction", "a number has no point", one.replace(b'"seq":1', b'"seq":1.0')),
        ("exponent", "nor an exponent", one.replace(b'"seq":1', b'"seq":1e0')),
        ("zero-in-front", "nor a zero in front", one.replace(b'"seq":1', b'"seq":01')),
        ("carriage-return", "a line ends in LF alone", one[:-1] + b"\r\n"),
        ("empty-line", "a line is an event", one + b"\n"),
        ("hash-upper-case", "a hash is in lower case", one.replace(known, known.upper())),
        ("prev-upper-case", "so is the one before", rehashed(prev=event["prev"].upper())),
        ("hash-other", "the hash is the event's", one.replace(known, b"0" * 64)),
        ("data-other", "what is changed has another hash", one.replace(b'"2.00"', b'"9.00"')),
        ("member-unhashed", "an event has six members", one.replace(b'"seq":1', b'"seq":1,"sig":"x"')),
        ("member-seventh-hashed", "though the hash knows of it", rehashed(sig="x")),
        ("member-missing", "an event has all six", one.replace(b',"ts":"' + event["ts"].encode() + b'"', b"")),
        ("seq-other", "an event says its place", rehashed(seq=2)),
        ("seq-text", "as a number", rehashed(seq="1")),
        ("data-list", "its data are an object", rehashed(data=[])),
        ("link-other", "it names the one before", rehashed(prev="0" * 64)),
        ("not-json", "a line is JSON", b"session\n"),
        ("not-utf8", "in UTF-8", one.replace(b'"vectors"', b'"vector\xff"', 1)),
        ("surrogate", "of whole characters", one.replace(b'"vectors"', b'"\\ud800"', 1)),
        ("nul", "without control characters", one.replace(b'"vectors"', b'"\x00"', 1)),
    ):  # fmt: skip
        yield twin(f"line-{name}", says, "ledger-chain", good, ledger=instead(line))
    yield twin("line-mark", "no byte order mark in front", "ledger-chain", good, ledger=b"\xef\xbb\xbf" + file_of(good))


def _places() -> Iterator[Scenario]:
    good = side(ledgers.plain())
    lines = file_of(good).splitlines(keepends=True)
    for name, says, kept in (
        ("event-left-out", "no event is left out", [*lines[:4], *lines[5:]]),
        ("event-twice", "no event stands twice", [*lines[:5], *lines[4:]]),
        ("events-exchanged", "no two are exchanged", [*lines[:4], lines[5], lines[4], *lines[6:]]),
        ("first-event-left-out", "the first is the beginning", lines[1:]),
        ("second-genesis", "a record begins once", [*lines, *lines]),
        ("second-genesis-of-another", "though another run begins", [*lines, *_other_run()]),
    ):
        yield twin(name, says, "ledger-chain", good, ledger=b"".join(kept))
    yield twin("ledger-of-another-run", "a ledger is the run's own", "head", good, ledger=b"".join(_other_run()))


def _other_run() -> list[bytes]:
    return lines_of(chained(ledgers.idle().bodies)).splitlines(keepends=True)


def _extended() -> Iterator[Scenario]:
    good, story = side(ledgers.plain()), ledgers.plain()
    story.tell("note", code="later", message="written by somebody else")
    longer = lines_of(chained(story.bodies))
    yield twin("extended", "an event stands behind, soundly chained", "head", good, ledger=longer)
    receipt = receipt_of(chained(story.bodies))
    yield twin("extended-with-a-receipt", "and a receipt that was made of it", "evidence-completeness", good,
               ledger=longer, receipt=printed(receipt))  # fmt: skip
