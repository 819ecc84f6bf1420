"""`docket report --html`: what goes into the page, what is left out and why, and where the page goes."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docket.engines.run_page import beside, gather, packing
from docket.formats.digest import Digest
from docket.formats.ledger.model_events import ModelDenied
from docket.formats.ledger.session_events import Note
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.surfaces.cli.root import run
from docket.surfaces.render.page import files as page_files
from docket.surfaces.render.page import windows as page_windows
from golden_ledgers import headed, kept, samples, windowed
from golden_ledgers.build import LedgerBuilder, closed, opened
from golden_ledgers.judging import receipt_of
from page_lab import Element, data_of, held, page_at, page_of_ledger, parsed, rows_of, write

HOSTILE = (
    "</script><script>alert(1)</script>", "<!--<script>", "\u2028alert(1)//", "\u202egnp.exe", "]]>",
    "<img src=x onerror=a>", '"><svg onload=a>', "'-alert(1)-'", "&lt;b&gt;", "\x00\x1b[31m",
    "javascript:alert(1)", "{{7*7}}${7*7}",
)  # fmt: skip


def state(data: bytes) -> EntryState:
    """The state of a file with these contents."""
    return EntryState(kind="file", mode=0o644, size=len(data), sha256=Digest(hashlib.sha256(data).hexdigest()))


def changed(*changes: FsChange, cwd: Path) -> LedgerBuilder:
    """A ledger of a run in `cwd` that changed these paths."""
    ledger = opened(cwd=str(cwd))
    for change in changes:
        ledger.add(change)
    return closed(ledger, "0.00", ())


def file_named(page: Element, path: str) -> Element:
    """What the page has of a changed path."""
    (found,) = [item for item in page.every("details") if path in item.one("summary").text]
    return found


def test_what_a_run_calls_things_is_text_in_the_page(tmp_path: Path) -> None:
    ledger = opened(argv=("agent", *HOSTILE), cwd=f"/w/{HOSTILE[0]}", label=HOSTILE[1], agent=HOSTILE[2])
    for text in HOSTILE:
        ledger.add(Note(code="x", message=text))
        ledger.add(ModelDenied(provider=text, model=text, reason="max_usd", detail=text, status=400, path="/"))
        path = RelPath.parse(text.replace("\0", "").replace("/", "-").encode())
        ledger.add(FsChange(path=path, change=Change.ADDED, after=state(text.encode())))
    text = page_of_ledger(tmp_path, closed(ledger, "0.00", ()))
    page = parsed(text)
    kinds = [item.attributes.get("type") for item in page.every("script")]
    assert sorted(map(str, kinds)) == ["application/json"] * 2 + ["module", "text/plain", "text/plain"]
    assert not page.every("img")
    assert {item.attributes["class"] for item in page.every("svg")} == {"wide", "narrow"}
    names = {
        name
        for kind in ("p", "div", "a", "code", "svg", "td", "li")
        for item in page.every(kind)
        for name in item.attributes
    }
    assert not {name for name in names if name.startswith("on") or name in ("style", "src")}
    assert {item.attributes["href"] for item in page.every("a")} <= {
        f"#{item.attributes['id']}" for item in page.every("section")
    } | {"#main"}
    shown = page.one("table", id="remarks-table").text
    assert "<img src=x onerror=a>" in shown
    assert "\\u2028alert(1)//" in shown
    assert "\\u202egnp.exe" in shown
    outside = "".join(page.one(name).text for name in ("header", "main", "footer"))
    assert not set("\0\x1b\u2028\u202e") & set(outside)


def test_a_policy_allows_the_two_that_are_there_and_nothing_else(tmp_path: Path) -> None:
    page = parsed(page_of_ledger(tmp_path, samples.anthropic()))
    (policy,) = [item.attributes["content"] for item in page.every("meta") if "http-equiv" in item.attributes]
    (script,) = page.every("script", type="module")

    def source(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert policy == (
        f"default-src 'none'; script-src {source(script.text)}; style-src {source(page.one('style').text)}; "
        "img-src data:; worker-src blob:; base-uri 'none'; form-action 'none'"
    )
    assert "DKT-" not in script.text


def test_the_page_holds_the_evidence_byte_for_byte(tmp_path: Path) -> None:
    ledger = headed.checkpointed()
    path = write(tmp_path, ledger.data(), receipt_of(ledger.data()))
    (tmp_path / "runs/0123456789ab.checkpoints").write_bytes(headed.file_of(ledger))
    page = parsed(page_at(path))
    assert held(page, "receipt") == path.read_bytes()
    assert held(page, "ledger") == ledger.data()
    assert held(page, "checkpoints") == headed.file_of(ledger)
    proof_text = page.one("section", id="proof").text
    assert hashlib.sha256(path.read_bytes()).hexdigest() in proof_text
    assert ledger.events[-1].hash in proof_text


def test_a_ledger_too_large_for_a_page_is_left_out_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MOST_PACKED_BYTES", 1_500)
    page = parsed(page_of_ledger(tmp_path, samples.anthropic()))
    assert not page.every("script", id="ledger")
    assert "it is too large for a page" in page.one("section", id="proof").text
    assert [item.attributes["data-save"] for item in page.every("button") if "data-save" in item.attributes] == [
        "receipt"
    ]


def test_kept_replies_go_with_the_page_where_they_are_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = samples.cached()
    path = write(tmp_path, ledger.data(), receipt_of(ledger.data()))

    def carried(**asked: bool) -> tuple[dict[str, bytes] | None, str, dict[str, str]]:
        page = parsed(page_at(path, **asked))
        held_ = (
            {name: base64.b64decode(text) for name, text in json.loads(held(page, "responses")).items()}
            if (page.every("script", id="responses"))
            else None
        )
        return held_, page.one("section", id="proof").text, data_of(page, "why-not")

    bodies, said, why = carried()
    assert (bodies, "no kept replies (they are not beside the ledger)" in said) == (None, True)
    assert why == {"retained-responses": "this page carries none: they are not beside the ledger"}
    kept.write_bodies(tmp_path)
    whole = {kept.path_of(body): body for body in (kept.WHOLE, kept.BEGINNING)}
    bodies, said, why = carried()
    assert (bodies, "2 kept replies" in said, why) == (whole, True, {})
    assert carried(contents=False)[0] is None
    (tmp_path / kept.path_of(kept.WHOLE)).write_bytes(b"the text of another file")  # its name brings nothing in
    assert carried()[0] == {**whole, kept.path_of(kept.WHOLE): b""}
    monkeypatch.setattr(beside, "MOST_RESPONSE_BYTES", 10)
    bodies, _, why = carried()
    assert bodies is None
    assert "a page carries 10 of them at most" in why["retained-responses"]


def test_diffs_are_of_what_has_the_recorded_digests(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    new, other = b"one\ntwo\n", b"other\n"
    (tree / "new").write_bytes(new)
    (tree / "since").write_bytes(b"changed since\n")
    (tree / "bin").write_bytes(b"\0\1")
    os.symlink("/etc/passwd", tree / "link")
    ledger = changed(
        FsChange(path=RelPath.parse(b"new"), change=Change.ADDED, after=state(new)),
        FsChange(path=RelPath.parse(b"since"), change=Change.ADDED, after=state(other)),
        FsChange(path=RelPath.parse(b"gone"), change=Change.REMOVED, before=state(other)),
        FsChange(path=RelPath.parse(b"bin"), change=Change.ADDED, after=state(b"\0\1")),
        FsChange(path=RelPath.parse(b"folder"), change=Change.ADDED, after=EntryState(kind="directory", mode=0o755)),
        FsChange(path=RelPath.parse(b"link"), change=Change.ADDED,
                 after=EntryState(kind="symlink", mode=0o777, target="a<b")),
        FsChange(path=RelPath.parse(b"large"), change=Change.ADDED,
                 after=EntryState(kind="file", mode=0o644, size=1 << 30, sha256=Digest("ab" * 32))),
        cwd=tree,
    )  # fmt: skip
    path = write(tree / ".docket", ledger.data(), receipt_of(ledger.data()))
    page = parsed(page_at(path, tree=tree))
    assert file_named(page, "new").one("pre").text.splitlines()[-2:] == ["+one", "+two"]
    assert "+2" in file_named(page, "new").one("summary").text
    assert file_named(page, "since").inside[1].text == "Not held any more: what it was after the run."  # type: ignore[union-attr]
    assert file_named(page, "gone").inside[1].text == "Not held any more: what it was before the run."  # type: ignore[union-attr]
    assert "Binary files differ: nothing and 2 bytes" in file_named(page, "bin").text
    (flat,) = page.every("p", class_="flat")  # a folder has nothing to open
    assert "folder" in flat.text
    assert file_named(page, "link").one("pre").text.splitlines()[-2] == "+a<b"
    assert "Contents not shown: nothing and 1,073,741,824 bytes" in file_named(page, "large").text
    assert "Contents were looked for in the tree." in page.one("section", id="files").text


def test_a_receipt_leads_nobody_into_another_folder(tmp_path: Path) -> None:
    tree = tmp_path / "other"
    tree.mkdir()
    (tree / "secret").write_bytes(b"secret\n")
    change = FsChange(path=RelPath.parse(b"secret"), change=Change.ADDED, after=state(b"secret\n"))
    ledger = changed(change, cwd=tree)
    path = write(tmp_path / "here/.docket", ledger.data(), receipt_of(ledger.data()))
    section = parsed(page_at(path, tree=tmp_path / "here")).one("section", id="files")
    assert "+secret" not in section.text
    assert "No contents are shown: no snapshot, stage or tree of this run is at hand." in section.text


def test_without_contents_there_are_none(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "new").write_bytes(b"secret\n")
    change = FsChange(path=RelPath.parse(b"new"), change=Change.ADDED, after=state(b"secret\n"))
    ledger = changed(change, cwd=tree)
    path = write(tree / ".docket", ledger.data(), receipt_of(ledger.data()))
    page = parsed(page_at(path, tree=tree, contents=False))
    assert not page.one("section", id="files").every("details")
    assert page.one("table", id="paths").one("tbody").text == "Anew7 B"


def test_long_diffs_and_many_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_files, "MOST_LINES", 6)
    tree = tmp_path / "tree"
    tree.mkdir()
    data = b"".join(b"%d\n" % number for number in range(20))
    (tree / "new").write_bytes(data)
    ledger = changed(FsChange(path=RelPath.parse(b"new"), change=Change.ADDED, after=state(data)), cwd=tree)
    path = write(tree / ".docket", ledger.data(), receipt_of(ledger.data()))
    file = file_named(parsed(page_at(path, tree=tree)), "new")
    assert len(file.one("pre").text.splitlines()) == 6
    assert "19 more lines not shown here." in file.text  # 20 and five above them, less the six
    left = page_files.LinesLeft(4)
    assert left.take(["a"] * 3) == (["a"] * 3, 0)
    assert left.take(["b"] * 3) == (["b"], 2)


def test_what_is_beyond_a_bound_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "MOST_COMPARED", 1)
    changes = [FsChange(path=RelPath.parse(b"%d" % at), change=Change.ADDED, after=state(b"x")) for at in range(3)]
    ledger = changed(*changes, cwd=tmp_path)
    page = parsed(page_at(write(tmp_path / ".docket", ledger.data(), receipt_of(ledger.data())), tree=tmp_path))
    assert len(page.one("section", id="files").every("details")) == 1
    assert rows_of(page, "paths") == [["A", "1", "", "1 B"], ["A", "2", "", "1 B"]]
    assert page.one("table", id="paths").one("caption").text == "Further changed paths"
    monkeypatch.setattr(page_windows, "MOST_WINDOWS", 1)
    page = parsed(page_of_ledger(tmp_path / "windows", windowed.windowed()))
    tools = receipt_of(windowed.windowed().data())["windows"]["tools"]
    assert len(page.one("section", id="windows").every("details")) == 1
    assert [row[1] for row in rows_of(page, "windows-rest")] == [tool["id"] for tool in tools[1:]]


Report = Callable[..., tuple[int, bytes, str]]


@pytest.fixture
def report(capfdbinary: pytest.CaptureFixture[bytes]) -> Report:
    """The command: exit code, stdout and stderr."""

    def call(*arguments: str) -> tuple[int, bytes, str]:
        code = run(["report", *arguments])
        said = capfdbinary.readouterr()
        return code, said.out, said.err.decode()

    return call


def evidence(folder: Path) -> str:
    """A receipt's path."""
    ledger = samples.anthropic()
    return str(write(folder, ledger.data(), receipt_of(ledger.data())))


def test_the_page_goes_to_a_file_or_to_stdout(tmp_path: Path, report: Report) -> None:
    receipt, target = evidence(tmp_path), tmp_path / "run.html"
    assert report(receipt, "--html", "--out", str(target))[:2] == (0, f"page {target}\n".encode())
    page = target.read_bytes()
    assert page.startswith(b"<!doctype html>\n<html lang=")
    assert target.stat().st_mode & 0o777 == 0o600
    assert report(receipt, "--html")[:2] == (0, page)
    assert report(receipt, "--html", "--out", str(target))[0] == 0  # a page of docket's is made again


def test_what_stands_there_already_is_not_overwritten(tmp_path: Path, report: Report) -> None:
    receipt = evidence(tmp_path)
    mine = tmp_path / "notes.md"
    mine.write_text("mine")
    link = tmp_path / "link.html"
    link.symlink_to(mine)
    for target in (mine, link, tmp_path):
        code, _, said = report(receipt, "--html", "--out", str(target))
        assert (code, "is there already and is no page of docket's" in said) == (2, True)
        assert ("name a file in it" in said, "remove it" in said) == (target == tmp_path, target != tmp_path)
    assert mine.read_text() == "mine"
    missing = tmp_path / "no/where/run.html"
    assert report(receipt, "--html", "--out", str(missing))[0] != 0
    (tmp_path / "empty.html").touch()
    assert report(receipt, "--html", "--out", str(tmp_path / "empty.html"))[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [("--html", "--json"), ("--html", "--markdown"), ("--json", "--markdown"), ("--out", "x"), ("--no-contents",)],
)  # fmt: skip
def test_what_does_not_go_together(tmp_path: Path, report: Report, arguments: tuple[str, ...]) -> None:
    assert report(evidence(tmp_path), *arguments)[0] == 2


def test_no_other_file_gets_into_a_page_by_a_name(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    path, place = Path(evidence(tmp_path)), tmp_path / "runs/0123456789ab.checkpoints"
    ledger = headed.checkpointed()
    for link, data in ((True, headed.file_of(ledger)), (False, b"secret\n")):
        secret.write_bytes(data)
        place.unlink(missing_ok=True)
        if link:
            place.symlink_to(secret)
        else:
            os.link(secret, place)
        assert held(parsed(page_at(path)), "checkpoints") == b""
    (tmp_path / "runs/0123456789ab.jsonl").unlink()
    (tmp_path / "runs/0123456789ab.jsonl").symlink_to(secret)
    page = parsed(page_at(path))
    assert not page.every("script", id="ledger")
    assert "no ledger" in page.one("section", id="proof").text


def test_junk_beside_a_receipt_is_left_out(tmp_path: Path) -> None:
    path = Path(evidence(tmp_path))
    (tmp_path / "runs/0123456789ab.checkpoints").mkdir()
    document: dict[str, Any] = json.loads(path.read_bytes())
    assert parsed(page_at(path)).one("title").text == f"{document['docket_number']}, docket"
    (tmp_path / "runs/0123456789ab.jsonl").write_bytes(b"\xff\n")
    assert "cannot be read to its end" in page_at(path)
