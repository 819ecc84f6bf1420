"""The page of a run in a real Firefox, from the disk: it verifies there too, and asks for nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docket.formats.canonical import encode_document
from firefox_lab import Firefox, firefox, needs_firefox
from golden_ledgers import samples
from golden_ledgers.judging import judged, receipt_of
from page_lab import page_at, write

pytestmark = [needs_firefox, pytest.mark.timeout(180)]
STATUS = {"pass": "pass", "fail": "FAIL", "skip": "not checked"}


def verdict(page: Firefox) -> str:
    """The word, once it stands there."""
    page.until(
        "!/busy/.test(document.getElementById('verdict').className) && !document.querySelector('.verify').disabled"
    )
    return str(page.run("document.getElementById('verdict').textContent")).partition(" ")[0]


def test_it_verifies_and_sees_what_was_changed(tmp_path: Path) -> None:
    ledger, target = samples.anthropic(), tmp_path / "run.html"
    receipt = receipt_of(ledger.data())
    target.write_text(page_at(write(tmp_path, ledger.data(), receipt)), "utf-8")
    (tmp_path / "profile").mkdir()
    with firefox(tmp_path / "profile") as page:
        page.requests.clear()
        page.open(target)
        page.until("document.querySelector('.scripted:not([hidden])') !== null")
        page.run("document.querySelector('.verify').click()")
        assert verdict(page) == "CONSISTENT"
        told = page.run(
            "JSON.stringify([...document.querySelectorAll('#checks tbody tr')].map((row) => "
            "[row.cells[0].textContent, row.cells[1].textContent]))"
        )
        ours = judged(receipt, ledger.data())
        assert json.loads(told) == [[check.name, STATUS[str(check.status)]] for check in ours.checks]
        doctored = encode_document(receipt).replace(b'"exit_code": 0', b'"exit_code": 9').decode()
        page.run(
            "(() => { const given = new DataTransfer();"
            f"given.items.add(new File([{json.dumps(doctored)}], 'doctored.json'));"
            f"given.items.add(new File([{json.dumps(ledger.data().decode())}], 'run.jsonl'));"
            "const field = document.getElementById('chosen'); field.files = given.files;"
            "field.dispatchEvent(new Event('change')); })()"
        )
        page.until("document.getElementById('subject').textContent !== ''")
        assert verdict(page) == "FAILED"
        assert "receipt-rebuild" in page.run("document.querySelector('.failures').textContent")
        assert page.run("document.documentElement.scrollWidth <= window.innerWidth")
        assert [address for address in page.requests if not address.startswith(("file:", "blob:", "data:"))] == []
        assert page.said == []
