"""The page of a run in a real browser, from the disk: it verifies, sees what was changed, asks for nothing, and can be
read and used by everybody."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from page_access import ACCESS, axe

from chromium_lab import Browser, browser, needs_chromium
from docket.formats.canonical import encode_document
from docket.formats.ledger.model_events import ModelDenied
from docket.formats.ledger.session_events import Note
from golden_ledgers import headed, kept, samples, vouched, windowed
from golden_ledgers.build import LedgerBuilder, closed, opened
from golden_ledgers.judging import judged, receipt_of
from golden_ledgers.proven import PUBLIC_KEY
from page_lab import page_at, write

pytestmark = [needs_chromium, pytest.mark.timeout(180)]

Shown = Callable[[str], Browser]
HOSTILE = (
    "</script><script>window.hit=1</script>", "<img src=x onerror=window.hit=2>", '"><svg onload=window.hit=3>',
    "<!--<script>", "\u2028window.hit=4//", "\u202egnp.exe",
)  # fmt: skip


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def shown(chromium: Browser, tmp_path: Path) -> Iterator[Shown]:
    """Opens a page; at the end nothing was asked for but it, and the console said nothing."""
    target = tmp_path / "run.html"

    def show(page: str) -> Browser:
        target.write_text(page, "utf-8")
        chromium.requests.clear()
        chromium.said.clear()
        chromium.shape(1280)
        return chromium.open(target)

    yield show
    # A worker's script is what the page made of itself, and no request.
    assert {address for address in chromium.requests if not address.startswith("blob:")} == {target.as_uri()}
    assert chromium.said == []


def page_of(folder: Path, ledger: LedgerBuilder, receipt: dict[str, Any] | None = None) -> str:
    """The page of a ledger and the receipt that it gives, or of that receipt."""
    return page_at(write(folder, ledger.data(), receipt or receipt_of(ledger.data())))


def verify(page: Browser) -> tuple[str, str]:
    """Press the button; the word and the sentence."""
    page.run("document.querySelector('.verify').click()")
    return verdict(page)


def verdict(page: Browser) -> tuple[str, str]:
    """The word and the sentence, once they stand there."""
    page.until(
        "!/busy/.test(document.getElementById('verdict').className) && !document.querySelector('.verify').disabled"
    )
    word, _, words = page.run("document.getElementById('verdict').textContent").partition(" ")
    return word, words


def outcomes(page: Browser) -> list[list[str]]:
    """Name and outcome of each check."""
    told = page.run(
        "JSON.stringify([...document.querySelectorAll('#checks tbody tr')].map((row) => "
        "[row.cells[0].textContent, row.cells[1].textContent]))"
    )
    return json.loads(told)  # type: ignore[no-any-return]


STATUS = {"pass": "pass", "fail": "FAIL", "skip": "not checked"}


def test_it_gives_the_verdict_that_docket_gives(shown: Shown, tmp_path: Path) -> None:
    ledger = samples.anthropic()
    page = shown(page_of(tmp_path, ledger))
    assert page.run("document.getElementById('verdict').textContent") == "Not checked yet."
    word, words = verify(page)
    assert (word, words.split(".")[0]) == ("CONSISTENT", "The receipt is what its ledger gives")
    assert "no key vouches for it" in words
    ours = judged(receipt_of(ledger.data()), ledger.data())
    assert outcomes(page) == [[check.name, STATUS[str(check.status)]] for check in ours.checks]


def test_it_verifies_beside_the_page_and_where_that_is_not_to_be_in_it(shown: Shown, tmp_path: Path) -> None:
    page = shown(page_of(tmp_path, samples.anthropic()))
    word, words = verify(page)
    assert [address[:5] for address in page.requests] == ["file:", "blob:"]
    told = outcomes(page)
    page.run("globalThis.Worker = class { constructor() { throw new Error('none here'); } }; undefined")
    page.run("document.getElementById('checks').replaceChildren()")
    assert verify(page) == (word, words)
    assert outcomes(page) == told
    assert len(page.requests) == 2


def test_without_a_ledger_that_is_said(shown: Shown, tmp_path: Path) -> None:
    page = shown(page_at(write(tmp_path, None, receipt_of(samples.chat().data()))))
    word, words = verify(page)
    assert (word, "without its ledger" in words) == ("CONSISTENT", True)


def tampered(page: str, block: str, before: bytes, after: bytes) -> str:
    """The page with a change in one of its blocks."""
    found = re.search(rf'(<script[^>]* id="{block}"[^>]*>)([^<]*)', page)
    assert found is not None
    data = gzip.decompress(base64.b64decode(found[2]))
    assert before in data
    coded = base64.b64encode(gzip.compress(data.replace(before, after, 1))).decode()
    return page[: found.start(2)] + coded + page[found.end(2) :]


@pytest.mark.parametrize(
    ("change", "first"),
    [
        (("receipt", b'"cost_usd": "0.060950"', b'"cost_usd": "0.010950"'), "totals"),
        (("receipt", b'"exit_code": 0', b'"exit_code": 1'), "receipt-rebuild"),
        (("ledger", b'"latency_ms":100', b'"latency_ms":900'), "ledger-chain"),
    ],
)
def test_it_sees_what_was_changed(shown: Shown, tmp_path: Path, change: tuple[str, bytes, bytes], first: str) -> None:
    word, words = verify(shown(tampered(page_of(tmp_path, samples.anthropic()), *change)))
    assert word == "FAILED"
    assert f"the first is {first}." in words


def test_what_is_no_receipt_is_unreadable(shown: Shown, tmp_path: Path) -> None:
    word, words = verify(shown(tampered(page_of(tmp_path, samples.chat()), "receipt", b'"format"', b'"format')))
    assert (word, words.startswith("Nothing was checked: ")) == ("UNREADABLE", True)


def test_a_key_that_is_named(shown: Shown, tmp_path: Path) -> None:
    receipt, raw = vouched.both()
    page = shown(page_at(write(tmp_path, raw, receipt)))
    page.run(f"document.getElementById('key').value = {PUBLIC_KEY!r}")
    assert verify(page)[0] == "VERIFIED"
    page.run(f"document.getElementById('key').value = {vouched.OTHER_KEYS[0]!r}")
    word, words = verify(page)
    assert (word, "the first is signature" in words) == ("FAILED", True)
    page.run("document.getElementById('key').value = '<b>no key'")
    word, words = verify(page)
    assert (word, "neither 64 lower-case hexadecimal digits" in words) == ("UNREADABLE", True)
    page.run("document.getElementById('key').value = ''")
    word, words = verify(page)
    assert (word, "a key signed that you did not name" in words) == ("CONSISTENT", True)


def test_checkpoints_and_deltas_are_checked_too(shown: Shown, tmp_path: Path) -> None:
    ledger = headed.checkpointed()
    path = write(tmp_path, ledger.data(), receipt_of(ledger.data()))
    (tmp_path / "runs/0123456789ab.checkpoints").write_bytes(headed.file_of(ledger))
    page = shown(page_at(path))
    assert verify(page)[0] == "CONSISTENT"
    assert ["checkpoints", "pass"] in outcomes(page)
    broken = headed.file_of(ledger).replace(b"\\n8\\n", b"\\n9\\n").replace(b'"number":1', b'"number":7')
    (tmp_path / "runs/0123456789ab.checkpoints").write_bytes(broken)
    assert verify(shown(page_at(path)))[0] == "FAILED"


def test_kept_replies_are_checked_where_the_page_carries_them(shown: Shown, tmp_path: Path) -> None:
    ledger = samples.cached()
    path = write(tmp_path, ledger.data(), receipt_of(ledger.data()))
    kept.write_bodies(tmp_path)
    page = shown(page_at(path))
    assert verify(page)[0] == "CONSISTENT"
    assert ["retained-responses", "pass"] in outcomes(page)
    page = shown(page_at(path, contents=False))
    assert verify(page)[0] == "CONSISTENT"
    assert ["retained-responses", "not checked"] in outcomes(page)
    said = "this page carries none: no contents are shown in it"
    assert said in page.run("document.getElementById('checks').textContent")
    (tmp_path / kept.path_of(kept.WHOLE)).write_bytes(b"another")
    page = shown(page_at(path))
    assert verify(page)[0] == "FAILED"
    assert page.run("document.querySelector('.failures strong').textContent") == "retained-responses"


def drop(page: Browser, files: dict[str, bytes], how: str) -> tuple[str, str]:
    """Give the page files as a person does; the verdict on them."""
    coded = json.dumps({name: base64.b64encode(data).decode() for name, data in files.items()})
    page.run(
        "(() => { const given = new DataTransfer();"
        f"for (const [name, text] of Object.entries({coded}))"
        " given.items.add(new File([Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0))], name));"
        f"if ({json.dumps(how)} === 'drop') document.body.dispatchEvent("
        "new DragEvent('drop', { dataTransfer: given, bubbles: true, cancelable: true }));"
        "else { const field = document.getElementById('chosen'); field.files = given.files;"
        " field.dispatchEvent(new Event('change')); } })()"
    )
    page.until("document.getElementById('subject').textContent !== ''")
    return verdict(page)


@pytest.mark.parametrize("how", ["drop", "choose"])
def test_other_files_are_checked(shown: Shown, tmp_path: Path, how: str) -> None:
    page = shown(page_of(tmp_path, samples.anthropic()))
    other = samples.chat()
    receipt, name = encode_document(receipt_of(other.data())), "</b>other.json"
    word, words = drop(page, {"run.jsonl": other.data(), name: receipt}, how)
    assert (word, words.endswith("Checked: </b>other.json with run.jsonl.")) == ("CONSISTENT", True)
    word, words = drop(
        page, {name: receipt.replace(b'"exit_code": 0', b'"exit_code": 9'), "run.jsonl": other.data()}, how
    )
    assert word == "FAILED"
    word, words = drop(page, {"junk": b"\xff\xfe"}, how)
    assert (word, words.endswith("Checked: junk.")) == ("UNREADABLE", True)
    word, words = drop(page, {"run.jsonl": other.data()}, how)
    assert (word, "this page's receipt with run.jsonl" in words) == ("FAILED", True)
    page.run("document.getElementById('own').click()")
    assert verify(page)[0] == "CONSISTENT"


def test_what_the_run_says_stays_text(shown: Shown, tmp_path: Path) -> None:
    ledger = opened(argv=HOSTILE, cwd=HOSTILE[0], label=HOSTILE[1])
    for _ in range(30):
        for text in HOSTILE:
            ledger.add(Note(code="x", message=text))
            ledger.add(ModelDenied(provider=text, model=text, reason="max_usd", detail=text, status=400, path="/"))
    page = shown(page_of(tmp_path, closed(ledger, "0.00", ())))
    verify(page)
    page.run("[...document.querySelectorAll('.pages button')].forEach((button) => button.click())")
    assert page.run("window.hit") is None
    assert page.run("document.querySelectorAll('img, iframe, object, embed, base, form').length") == 0
    # The evidence, what is lacking of it, the chart, two tables, the one that runs.
    assert page.run("document.scripts.length") == 7
    page.run(
        "const made = document.createElement('script'); made.textContent = 'window.hit = 9'; document.body.append(made)"
    )
    assert page.run("window.hit") is None
    assert len(page.said) == 1
    assert "Content Security Policy" in page.said.pop()


def cells(page: Browser, column: int) -> list[str]:
    """A column of the table of calls."""
    return json.loads(  # type: ignore[no-any-return]
        page.run(
            "JSON.stringify([...document.querySelectorAll('#calls-table tbody tr')]"
            f".map((row) => row.cells[{column}].textContent))"
        )
    )


def test_a_long_table_is_paged_sorted_and_searched(shown: Shown, tmp_path: Path) -> None:
    ledger = opened()
    for number in range(1, 121):
        ledger.add(
            ModelDenied(
                provider="p", model=f"m{number % 3}", reason="max_calls", detail=f"d{number}", status=400, path="/"
            )
        )
    page = shown(page_of(tmp_path, closed(ledger, "0.00")))
    click = (
        "[...document.querySelectorAll('#calls .pages button, #calls .sort')].find((b) => b.textContent === %r).click()"
    )
    assert len(cells(page, 3)) == 50
    page.run(click % "Later")
    assert (cells(page, 9)[0], len(cells(page, 9))) == ("refused: d51", 50)
    page.run(click % "Show all")
    assert len(cells(page, 9)) == 120
    page.run(click % "Model")
    assert cells(page, 3) == ["m0"] * 40 + ["m1"] * 40 + ["m2"] * 40
    assert page.run("document.querySelector('#calls-table th[aria-sort]').textContent") == "Model"
    page.run(click % "At")
    page.run(click % "At")
    assert cells(page, 1) == sorted(cells(page, 1))
    assert cells(page, 1)[0] != cells(page, 1)[-1]
    page.run(
        "const box = document.getElementById('calls-table-filter'); box.value = 'D12';"
        "box.dispatchEvent(new Event('input'))"
    )
    assert sorted(cells(page, 9)) == ["refused: d12", "refused: d120"]


def key(page: Browser, name: str) -> None:
    """Press a key as a person does."""
    text = {"text": "\r"} if name == "Enter" else {}
    code = {"Enter": 13, "Tab": 9, "ArrowRight": 39}[name]
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **text)


def test_it_is_used_by_keyboard_alone(shown: Shown, tmp_path: Path) -> None:
    page = shown(page_of(tmp_path, samples.anthropic()))
    key(page, "Tab")
    assert page.run("document.activeElement.className") == "skip"
    for _ in range(2):
        key(page, "Tab")
    assert page.run("document.activeElement.textContent") == "Verify"
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    key(page, "Enter")
    page.until("/consistent/.test(document.getElementById('verdict').className)")
    page.run("document.getElementById('chart').focus()")
    assert page.run("document.querySelectorAll('.pointer.on').length") == 0
    for _ in range(2):
        key(page, "ArrowRight")
    assert page.run("document.getElementById('chart-read').textContent") == (
        "call 2: $0.020450 for claude-sonnet-4-5, $0.060950 by then"
    )
    assert page.run("document.querySelectorAll('.pointer.on').length") == 2


def test_pointing_into_the_chart_reads_the_nearest_call(shown: Shown, tmp_path: Path) -> None:
    page = shown(page_of(tmp_path, samples.anthropic()))
    page.run("document.getElementById('chart').scrollIntoView({ behavior: 'instant' })")
    left, top = json.loads(
        page.run(
            "(() => { const { left, top, width } = document.querySelector('svg.wide').getBoundingClientRect();"
            "return JSON.stringify([left + width * 0.6, top + 80]); })()"
        )
    )
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=left, y=top)
    page.until("document.getElementById('chart-read').textContent.startsWith('call 1: $0.040500')", 10)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_everybody_can_read_it(shown: Shown, tmp_path: Path, dark: bool) -> None:
    pages = {
        name: page_of(tmp_path / name, ledger)
        for name, ledger in (("busy", samples.busy()), ("windows", windowed.windowed()))
    }
    checker = axe()
    for text in pages.values():
        page = shown(text)
        verify(page)
        page.run("document.querySelectorAll('details').forEach((item) => { item.open = true; })")
        for width in (1280, 400, 320):
            page.shape(width, dark=dark)
            assert page.run("document.documentElement.scrollWidth") <= width
            seen, faults = json.loads(page.run(ACCESS))
            assert (faults, seen > 100) == ([], True)
        if checker is not None:
            page.run(checker)
            told = page.run(
                "axe.run(document).then((all) => JSON.stringify(all.violations.map((v) => [v.id, v.nodes[0].html])))"
            )
            assert json.loads(told) == []


def test_on_paper_there_are_no_controls(shown: Shown, tmp_path: Path) -> None:
    page = shown(page_of(tmp_path, samples.anthropic()))
    page.shape(800, medium="print")
    seen = "[...document.querySelectorAll('button, nav, .drop')].filter((item) => item.checkVisibility()).length"
    assert page.run(seen) == 0
    page.shape(1280)
    assert page.run(seen) > 0


def test_the_evidence_can_be_saved(shown: Shown, tmp_path: Path) -> None:
    ledger = samples.chat()
    page = shown(page_of(tmp_path, ledger))
    folder = tmp_path / "saved"
    page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    page.run("document.querySelector('[data-save=ledger]').click()")
    page.run("new Promise((done) => setTimeout(done, 300))")
    saved = folder / "0123456789ab.jsonl"
    for _ in range(100):
        if saved.exists():
            break
        page.run("new Promise((done) => setTimeout(done, 50))")
    assert saved.read_bytes() == ledger.data()
