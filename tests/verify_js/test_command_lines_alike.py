"""Folders that somebody prepared: both command lines read the same files of them, and say the same word."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from docket.engines import verify, verify_deltas
from docket.formats.canonical import encode, encode_document
from docket.surfaces.cli.root import run as main
from golden_ledgers import elsewhere, samples
from golden_ledgers.judging import Body, bodies, chained, lines_of, receipt_of
from verify_js.in_node import NODE, needs_node

pytestmark = needs_node
CLI = Path(__file__).parents[2] / "verify-js" / "cli.mjs"
EMPTY = hashlib.sha256(b"").hexdigest()


def js(*arguments: object) -> tuple[str, int, str]:
    assert NODE is not None
    command = [NODE, str(CLI), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return word_of(done.stdout), done.returncode, done.stdout


def word_of(text: str) -> str:
    for word in ("verified", "consistent", "incomplete", "failed"):
        if f"  {word}, checked with" in text:
            return word
    return "unreadable"


@pytest.fixture
def alike(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What both say of the arguments."""

    def ask(*arguments: object) -> str:
        code = main(["verify", *map(str, arguments)])
        word = word_of(capsys.readouterr().out)
        assert js(*arguments)[:2] == (word, code)
        return word

    return ask


def kept(folder: Path, raw: bytes, receipt: dict[str, object], session: str) -> Path:
    for name, data in ((f"receipts/{session}.json", encode(receipt)), (f"runs/{session}.jsonl", raw)):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    return folder / "receipts" / f"{session}.json"


def record(folder: Path, change: Callable[[list[Body]], object] = lambda items: None) -> tuple[Path, Path]:
    items = bodies(samples.chat().events)
    change(items)
    raw = lines_of(chained(items))
    session = items[0][2]["session_id"]
    receipt = kept(folder, raw, receipt_of(raw), session)
    return receipt, folder / "runs" / f"{session}.jsonl"


def test_a_receipt_in_the_place_of_a_ledger_is_asked_wrongly(tmp_path: Path, alike: Callable[..., str]) -> None:
    receipt, ledger = record(tmp_path)
    receipt.write_bytes(encode_document(receipt_of(ledger.read_bytes())))

    assert alike(receipt, "--ledger", ledger) == "consistent"
    assert alike(receipt, "--ledger", receipt) == "unreadable"
    assert js(receipt, "--ledger", receipt)[1] == 2


def called(name: str) -> Callable[[list[Body]], object]:
    return lambda items: items[0][2].update(session_id=name)


@pytest.mark.parametrize("place", ["link", "dangling", "fifo", "folder", "linked-folder"])
def test_what_stands_in_a_ledgers_place_is_not_passed_over(
    tmp_path: Path, alike: Callable[..., str], place: str
) -> None:
    receipt, ledger = record(tmp_path)
    assert alike(receipt) == "consistent"
    other = tmp_path / "other.jsonl"
    os.rename(ledger, other)
    if place == "link":
        ledger.symlink_to(other)
    elif place == "dangling":
        ledger.symlink_to(tmp_path / "nowhere")
    elif place == "fifo":
        os.mkfifo(ledger)
    elif place == "folder":
        ledger.mkdir()
    else:
        os.rename(other, ledger)
        os.rename(ledger.parent, tmp_path / "elsewhere")
        ledger.parent.symlink_to(tmp_path / "elsewhere")

    assert alike(receipt) == "unreadable"
    assert alike(receipt, "--ledger", other if other.exists() else ledger) == "consistent"


@pytest.mark.parametrize("name", ["a.b", "a" * 65, "a b", "..", "a/b"])
def test_a_session_of_another_form_names_no_file(tmp_path: Path, alike: Callable[..., str], name: str) -> None:
    items = bodies(samples.chat().events)
    called(name)(items)
    raw = lines_of(chained(items))
    receipt = kept(tmp_path, raw, receipt_of(raw), "x")
    if "/" not in name and name != "..":
        (tmp_path / "runs" / f"{name}.jsonl").write_bytes(b"no ledger\n")

    assert alike(receipt) == "consistent"


def test_a_number_that_ends_a_line_says_nothing_on_the_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forged = "DKT-1  verified, checked with the ledger x"
    receipt, _ = record(tmp_path, lambda items: items[0][2].update(docket_number=f"X\n{forged}\x1b[2K\u202e"))

    main(["verify", str(receipt)])
    for text in (capsys.readouterr().out, js(receipt)[2]):
        assert not any(line.startswith(forged) for line in text.splitlines())
        assert "\x1b" not in text
        assert "\u202e" not in text


def theirs(folder: Path, path: str, **members: object) -> Path:
    """Another writer's record whose one reply says of its body what `members` say."""
    items = bodies(elsewhere.ledger().events)
    reply = next(data for type_, _, data in items if type_ == "model.response")
    reply.update(
        response_retained=True, response_path=path, response_stored_sha256=EMPTY, response_sha256=EMPTY, **members
    )
    ledger = elsewhere.ledger()
    ledger.events[:] = chained(items, ledger.events)
    raw = lines_of(ledger.events)
    return kept(folder, raw, elsewhere.receipt(ledger), str(items[0][2]["session_id"]))


@pytest.mark.parametrize(
    ("path", "members", "word"),
    [
        ("responses/x/body.bin", {}, "consistent"),
        ("responses/x/body.bin", {"response_stored_bytes": 0}, "consistent"),
        ("responses/x/body.bin", {"response_stored_bytes": False}, "failed"),
        ("responses/x/body.bin", {"response_stored_bytes": 1}, "failed"),
        ("responses/x/body.bin/", {}, "consistent"),
        ("responses/./x/body.bin", {}, "consistent"),
        ("responses//x/body.bin", {}, "consistent"),
        ("responses/x/../x/body.bin", {}, "consistent"),
        ("/etc/hostname", {}, "consistent"),
        ("responses/x/link.bin", {}, "failed"),
        ("responses/x/fifo.bin", {}, "failed"),
        ("responses/x", {}, "failed"),
        ("responses/x/none.bin", {}, "failed"),
        (f"responses/x/{'n' * 300}.bin", {}, "failed"),
    ],
)
def test_kept_bodies(
    tmp_path: Path, alike: Callable[..., str], path: str, members: dict[str, object], word: str
) -> None:
    receipt = theirs(tmp_path, path, **members)
    folder = tmp_path / "responses" / "x"
    folder.mkdir(parents=True)
    (folder / "body.bin").touch()
    (folder / "link.bin").symlink_to(tmp_path / "nowhere")
    os.mkfifo(folder / "fifo.bin")
    (tmp_path / "responses" / receipt.stem).mkdir()
    (tmp_path / "responses" / receipt.stem / "more.bin").touch()

    assert alike(receipt) == "failed"
    (tmp_path / "responses" / receipt.stem / "more.bin").unlink()
    assert alike(receipt) == word


def test_of_many_large_files_in_the_place_of_deltas_the_first_is_read(
    tmp_path: Path, alike: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = samples.ALL["windowed"]().data()
    document = receipt_of(raw)
    receipt = kept(tmp_path, raw, document, document["session"]["id"])
    folder = tmp_path / "windows" / "deltas"
    folder.mkdir(parents=True)
    (tmp_path / "large").write_bytes(b"\0" * 100_000)
    named = {tool["delta"]["delta_sha256"] for tool in document["windows"]["tools"] if tool["delta"]}
    for digest in named:
        (folder / f"{digest}.json").symlink_to(tmp_path / "large")
    read: list[Path] = []
    whole = verify_deltas.read_regular_file
    monkeypatch.setattr(verify_deltas, "read_regular_file", lambda path, most: read.append(path) or whole(path, most))

    assert alike(receipt) == "failed"
    assert len(named) > 1
    assert len(read) == 1


def test_bodies_behind_one_that_is_another_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    receipt = theirs(tmp_path, "responses/x/body.bin")
    folder = tmp_path / "responses" / "x"
    folder.mkdir(parents=True)
    (folder / "body.bin").write_bytes(b"another")
    ledger = next((tmp_path / "runs").iterdir())
    reading = verify.reading_of(ledger)
    twice = dataclasses.replace(
        reading, kept=(*reading.kept, dataclasses.replace(reading.kept[0], path="responses/x/b"))
    )

    found = verify.bodies_beside(ledger, twice)

    assert receipt.exists()
    assert list(found.digests) == ["responses/x/body.bin"]
    assert (found.faults, found.folder) == ({}, True)
