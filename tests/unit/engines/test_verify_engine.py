"""Verification from files."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from docket.engines.verify import (
    MAX_RECEIPT_BYTES,
    MAX_RECEIPT_VALUES,
    VerifyRequest,
    read_receipt,
    reading_of,
    session_of,
    verify_receipt,
)
from docket.errors import InvalidDocumentError
from docket.formats.canonical import encode_document
from docket.formats.run.verdict import Word
from golden_ledgers import samples
from golden_ledgers.judging import first_failure, named, receipt_of


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    raw = samples.anthropic().data()
    ledger, receipt = tmp_path / "run.jsonl", tmp_path / "receipt.json"
    ledger.write_bytes(raw)
    receipt.write_bytes(encode_document(receipt_of(raw)))
    return receipt, ledger


def test_a_receipt_and_its_ledger_are_consistent(files: tuple[Path, Path]) -> None:
    receipt, ledger = files
    verdict = verify_receipt(VerifyRequest(receipt=read_receipt(receipt), ledger_path=ledger))

    assert (verdict.word, verdict.ok) == (Word.CONSISTENT, True)
    required = VerifyRequest(receipt=read_receipt(receipt), ledger_path=ledger, required=Word.VERIFIED)
    assert verify_receipt(required).ok is False


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_behind_it_as_before(files: tuple[Path, Path], enabled: bool) -> None:
    seen: list[bool] = []
    (gc.enable if enabled else gc.disable)()
    try:
        receipt = read_receipt(files[0])
        verify_receipt(
            VerifyRequest(receipt=receipt, ledger_path=files[1], progress=lambda *_: seen.append(gc.isenabled()))
        )
        seen.append(gc.isenabled())
    finally:
        gc.enable()
    assert (set(seen[:-1]), seen[-1]) == ({False}, enabled)


def test_an_interrupt_right_behind_the_switch_leaves_it_as_it_was(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = gc.disable

    def interrupted() -> None:
        switch()
        raise KeyboardInterrupt

    monkeypatch.setattr(gc, "disable", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            verify_receipt(VerifyRequest(receipt=read_receipt(files[0]), ledger_path=files[1]))
        assert gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "there is nothing in it"),
        (b"[]", "the receipt is not a JSON object"),
        (b"\xff", "byte 0 is not UTF-8"),
        (b"\xef\xbb\xbf{}", "begins with a byte order mark"),
        (b"{" * 100_000, "not JSON"),
        (b"[" * 1_000_000, "nested deeper than 64 levels"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "nested deeper than 64 levels"),
        (b'{"format":"a","format":"b"}', "the key 'format' stands twice"),
        (b'{"a":1.5}', "1.5 is not an integer"),
        (b'{"a":NaN}', "NaN is not JSON"),
        (b'{"a":1e999}', "an integer lies outside"),
        (b'{"a":9007199254740992}', "an integer lies outside"),
        (b'{"a":' + b"9" * 5000 + b"}", "an integer lies outside"),
        (b'{"a":"\\ud800"}', "half of a surrogate pair"),
        (b"{} {}", "not JSON"),
    ],
)
def test_what_is_no_document_is_unreadable_and_says_why(data: bytes, words: str) -> None:
    verdict = verify_receipt(VerifyRequest(receipt=data))

    assert (verdict.word, verdict.ok, verdict.checks) == (Word.UNREADABLE, False, ())
    assert words in verdict.detail


def test_a_document_that_would_swell_in_memory_is_not_read() -> None:
    verdict = verify_receipt(VerifyRequest(receipt=b"[" + b"[]," * (MAX_RECEIPT_VALUES // 2) + b"[]]"))

    assert (verdict.word, verdict.detail) == (Word.UNREADABLE, "the receipt holds more than 6000000 values")


def test_a_ledger_that_cannot_be_read_is_said_to_be(files: tuple[Path, Path], tmp_path: Path) -> None:
    data = read_receipt(files[0])
    os.mkfifo(tmp_path / "fifo")

    for path, words in (
        (tmp_path / "none", f"the ledger {tmp_path}/none cannot be read: No such file or directory"),
        (tmp_path, f"the ledger {tmp_path} is not a regular file"),
        (tmp_path / "fifo", f"the ledger {tmp_path}/fifo is not a regular file"),
    ):
        verdict = verify_receipt(VerifyRequest(receipt=data, ledger_path=path))
        assert (verdict.word, verdict.detail) == (Word.UNREADABLE, words)


def test_a_receipt_over_the_bound_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(MAX_RECEIPT_BYTES + 1)

    with pytest.raises(InvalidDocumentError, match="huge is larger than 268,435,456 bytes"):
        read_receipt(path)


def test_a_line_without_an_end_is_given_up_early(files: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "long"
    with path.open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    verdict = verify_receipt(VerifyRequest(receipt=read_receipt(files[0]), ledger_path=path))

    assert first_failure(verdict) == "ledger-chain"
    assert "a line is longer than" in named(verdict, "ledger-chain").detail


def test_an_empty_ledger_fails_the_chain(files: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    verdict = verify_receipt(VerifyRequest(receipt=read_receipt(files[0]), ledger_path=path))

    assert named(verdict, "ledger-chain").detail == "the ledger is empty"
    assert verdict.word is Word.FAILED


def test_a_damaged_ledger_is_a_reading_whose_digest_covers_the_whole_file(files: tuple[Path, Path]) -> None:
    whole = files[1].read_bytes()
    files[1].write_bytes(b"{}\n" + whole)
    reading = reading_of(files[1])

    assert reading.events == 0
    assert reading.damage is not None
    assert reading.damage.startswith("event 0: ")
    assert reading.file_sha256 == hashlib.sha256(b"{}\n" + whole).hexdigest()


def test_a_read_error_in_the_middle_is_no_verdict_on_the_content(files: tuple[Path, Path], tmp_path: Path) -> None:
    # /proc/self/mem is a regular file whose first page cannot be read.
    with pytest.raises(InvalidDocumentError, match="the receipt /proc/self/mem cannot be read: Input/output error"):
        read_receipt(Path("/proc/self/mem"))
    verdict = verify_receipt(VerifyRequest(receipt=read_receipt(files[0]), ledger_path=Path("/proc/self/mem")))
    assert (verdict.word, verdict.detail) == (
        Word.UNREADABLE,
        "the ledger /proc/self/mem cannot be read: Input/output error",
    )


def test_verification_imports_none_of_the_recorders_machinery() -> None:
    program = (
        "import sys, json; import docket.engines.verify; "
        "print(json.dumps([n for n in sys.modules if n.split('.')[0] not in sys.stdlib_module_names]))"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    foreign = [name for name in json.loads(output) if not name.startswith(("docket", "_", "sitecustomize"))]
    ours = [name for name in json.loads(output) if name.startswith("docket.")]

    assert [name for name in foreign if name != "cython_runtime"] == []
    machine = [name for name in ours if name.split(".")[1] not in ("engines", "rules", "formats", "errors")]
    assert machine == ["docket.host", "docket.host.regular_file"]
    assert [name for name in ours if name.startswith(("docket.rules.boundary", "docket.rules.providers"))] == []


def test_where_neither_can_be_read_the_receipt_is_told_of(tmp_path: Path) -> None:
    for data, words in ((b"{", "not JSON"), (b"{}", "the ledger")):
        verdict = verify_receipt(VerifyRequest(receipt=data, ledger_path=tmp_path / "none.jsonl"))
        assert verdict.word is Word.UNREADABLE
        assert words in verdict.detail


def test_the_session_of_a_receipt_is_found_near_its_beginning_or_by_reading_it_whole():
    assert session_of(b'{"session": {"id": "0123456789ab"}, "appendix": [1, 2') == "0123456789ab"
    late = b'{"pad": "%b", "session": {"id": "0123456789ab"}}' % (b"x" * 1024 * 1024)
    assert session_of(late) == "0123456789ab"
    for none in (b"{}", b"", b'{"session": null}', b'{"session": {"id": 5}}', b'{"session": "x"}', late[:-1]):
        assert session_of(none) is None
