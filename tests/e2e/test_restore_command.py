"""`docket restore` and `--rollback-on-breach` as a person starts them, in trees with and without git."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from docket.formats.canonical import encode
from run_lab import Done, RunLab, build

AGENT = "echo aa > a; rm b; mkdir n; echo 1 > n/f; rm -r e; ln -sfn b l; chmod 755 m; rm -r d; echo f > d"
WORTH = "record       consistent: the receipt is what its ledger gives; no key vouches for who wrote the two\n"
SHOWN = f"""\
NUMBER  TREE
{WORTH}write        a  (2 bytes, mode 644, over 3 bytes)
recreate     b  (2 bytes, mode 644)
directory    d  (mode 755, over a file of 2 bytes)
recreate     d/x  (2 bytes, mode 644)
directory    e  (mode 755)
symlink      l  (to a, over a link to b)
mode         m  (mode 755 to 644)
remove       n  (a directory)
remove       n/f  (a file of 2 bytes)
plan DIGEST
9 would be restored; nothing was changed
"""
DONE = f"""\
NUMBER  TREE
{WORTH}written      a
recreated    b
made         d
recreated    d/x
made         e
linked       l
mode set     m
removed      n
removed      n/f
9 restored
record RECORD
"""


def lab_at(root: Path) -> RunLab:
    lab = build(root)
    for name in ("a", "b", "m"):
        (lab.tree / name).write_text(f"{name}\n")
        (lab.tree / name).chmod(0o644)
    for name in ("d", "e"):
        (lab.tree / name).mkdir(mode=0o755)
    (lab.tree / "d/x").write_text("x\n")
    (lab.tree / "d/x").chmod(0o644)
    (lab.tree / "l").symlink_to("a")
    return lab


def state(lab: RunLab) -> dict[str, Any]:
    """Everything in the tree but evidence and git's own."""
    found: dict[str, Any] = {}
    for path in sorted(lab.tree.rglob("*")):
        name = str(path.relative_to(lab.tree))
        if name.split("/", maxsplit=1)[0] in (".docket", ".git"):
            continue
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_dir():
            found[name] = oct(path.stat().st_mode)
        else:
            found[name] = (oct(path.stat().st_mode), path.read_bytes(), path.stat().st_mtime_ns)
    return found


def ran(lab: RunLab, script: str = AGENT) -> None:
    assert lab.run("--snapshot", "-q", "--", "sh", "-c", script).exit_code == 0


def neutral(lab: RunLab, done: Done) -> str:
    text = done.stdout.replace(str(lab.tree), "TREE")
    text = re.sub(r"DKT-\d{8}-[0-9A-F]{6}", "NUMBER", text)
    text = re.sub(r"^record /.*$", "record RECORD", text, flags=re.MULTILINE)
    return re.sub(r"^plan [0-9a-f]{64}$", "plan DIGEST", text, flags=re.MULTILINE)


def test_a_run_is_shown_undone_and_put_back_again(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    before = state(lab)
    ran(lab)
    after = state(lab)
    shown = lab.docket("restore")
    assert (shown.exit_code, neutral(lab, shown)) == (0, SHOWN), shown.said
    assert state(lab) == after
    digest = re.search(r"^plan ([0-9a-f]{64})$", shown.stdout, re.MULTILINE)
    assert digest is not None
    done = lab.docket("restore", "--apply", "--plan", digest[1])
    assert (done.exit_code, neutral(lab, done)) == (0, DONE), done.said
    assert state(lab) == before
    (record,) = lab.state.glob("*/restores/*/record.json")
    again = lab.docket("restore", "--redo", str(record), "--apply", "--json")
    assert again.exit_code == 0, again.said
    assert json.loads(again.stdout)["redo_of"] == digest[1]
    assert {name: kept[:2] for name, kept in state(lab).items()} == {name: kept[:2] for name, kept in after.items()}
    assert lab.verdict()["verdict"] == "consistent", "the run's evidence is as it was"


def test_what_a_person_did_since_stays_and_is_told(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    ran(lab)
    (lab.tree / "a").write_text("mine\n")
    (lab.tree / "n/mine").write_text("mine\n")
    done = lab.docket("restore", "--apply")
    assert done.exit_code == 1, done.said
    assert "refused      a  (changed since the run: a file of 3 bytes" in done.stdout
    assert "refused      n  (a directory that is not empty stands there)" in done.stdout
    assert "7 restored, 2 refused" in done.stdout
    assert (lab.tree / "a").read_text() == (lab.tree / "n/mine").read_text() == "mine\n"
    forced = lab.docket("restore", "--apply", "--force", "--path", "a", "--json")
    assert forced.exit_code == 0, forced.said
    assert (lab.tree / "a").read_text() == "a\n"
    back = lab.docket("restore", "--redo", json.loads(forced.stdout)["record"], "--apply")
    assert (back.exit_code, (lab.tree / "a").read_text()) == (0, "mine\n"), back.said


def test_a_plan_that_is_another_by_now_is_not_done(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    ran(lab)
    after = state(lab)
    for arguments in (("--plan", "0" * 64), ("--plan", "x"), ("--apply", "--plan", "0" * 64)):
        refused = lab.docket("restore", *arguments)
        assert (refused.exit_code, "nothing was changed" in refused.stderr) == (1, True), refused.said
    assert state(lab) == after


def test_paths_are_literal_and_patterns_are_patterns(tmp_path: Path) -> None:
    lab = build(tmp_path)
    for name in ("[ab].t", "a.t", "b.t", "-d", ":c", " x", 'q"', "new\nline"):
        (lab.tree / name).write_text("before")
    ran(lab, "for f in * ' x'; do echo after > \"./$f\"; done")
    for name in ("[ab].t", "-d", ":c", " x", 'q"', "new\nline"):
        done = lab.docket("restore", "--apply", "--path", name)
        assert done.exit_code == 0, done.said
        assert (lab.tree / name).read_text() == "before"
    assert (lab.tree / "a.t").read_text() == "after\n"
    assert lab.docket("restore", "--apply", "--glob", "[a].t").exit_code == 0
    assert ((lab.tree / "a.t").read_text(), (lab.tree / "b.t").read_text()) == ("before", "after\n")
    for wrong in (
        ("--path", "none"),
        ("--path", "../a.t"),
        ("--path", "/etc/passwd"),
        ("--glob", "*.none"),
        ("--glob", "["),
    ):
        assert lab.docket("restore", "--apply", *wrong).exit_code == 2


def test_names_that_are_not_text_come_back(tmp_path: Path) -> None:
    lab = build(tmp_path)
    path = os.fsencode(lab.tree) + b"/caf\xe9"
    with open(path, "wb") as file:
        file.write(b"before")
    ran(lab, 'for f in caf*; do echo after > "$f"; done')
    done = lab.docket("restore", "--diff", "--apply", b"--path", b"caf\xe9")
    assert done.exit_code == 0, done.said
    with open(path, "rb") as file:
        assert file.read() == b"before"


def test_a_diff_shows_contents(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    ran(lab, "echo aa > a; printf '\\0' > b; printf '\\033[31m' > n")
    shown = lab.docket("restore", "--diff")
    assert "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-aa\n+a\n" in shown.stdout
    assert "Binary files differ: 1 byte and 2 bytes\n" in shown.stdout
    assert "-\\x1b[31m\n\\ No newline at end of file\n" in shown.stdout


def git(lab: RunLab, *arguments: str) -> str:
    identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
    committer = {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    environment = {**lab.environment(), **identity, **committer, "GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(
        ["git", *arguments], cwd=lab.tree, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_gits_own_files_are_as_they_were(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    git(lab, "init", "-q")
    git(lab, "config", "core.fsmonitor", f"touch {tmp_path}/executed; false")
    (lab.tree / ".gitignore").write_text("ignored\n.docket\n")
    git(lab, "-c", "core.fsmonitor=", "add", "a", "d", ".gitignore")
    git(lab, "-c", "core.fsmonitor=", "commit", "-q", "-m", "one")
    (lab.tree / "a").write_text("staged\n")
    git(lab, "-c", "core.fsmonitor=", "add", "a")
    (lab.tree / "a").write_text("not staged\n")
    (lab.tree / "ignored").write_text("ignored\n")
    (tmp_path / "executed").unlink(missing_ok=True)
    own = {path: path.read_bytes() for path in (lab.tree / ".git").rglob("*") if path.is_file()}
    before = state(lab)
    ran(lab, f"{AGENT}; rm ignored; printf '*' > .gitignore")
    done = lab.docket("restore", "--apply")
    assert done.exit_code == 0, done.said
    assert state(lab) == before
    assert {path: path.read_bytes() for path in (lab.tree / ".git").rglob("*") if path.is_file()} == own
    assert not (tmp_path / "executed").exists(), "no program of the repository's was executed"
    status = git(lab, "-c", "core.fsmonitor=", "status", "--porcelain")
    assert status.splitlines() == ["MM a", "?? b", "?? l", "?? m"]
    assert git(lab, "-c", "core.fsmonitor=", "fsck", "--strict") == ""


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_commit_of_the_agents_stays_unless_it_is_named(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    git(lab, "init", "-q")
    git(lab, "add", "a")
    git(lab, "commit", "-q", "-m", "one")
    first = git(lab, "rev-parse", "HEAD")
    who = "git -c user.name=b -c user.email=b@example.org"
    ran(lab, f"echo aa > a; {who} commit -qam two")
    done = lab.docket("restore", "--apply")
    assert done.exit_code == 0, done.said
    assert re.search(r"^keep         \.git  \(\d+ of git's own files stay", done.stdout, re.MULTILINE)
    assert (lab.tree / "a").read_text() == "a\n"
    assert git(lab, "rev-parse", "HEAD") != first
    done = lab.docket("restore", "--apply", "--path", ".git")
    assert done.exit_code == 0, done.said
    assert git(lab, "rev-parse", "HEAD") == first


def test_the_tree_has_moved_and_a_copy_stands_in_its_place(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    ran(lab)
    moved = tmp_path / "moved"
    lab.tree.rename(moved)
    shutil.copytree(moved, lab.tree, symlinks=True)
    refused = lab.docket("restore", "--apply")
    assert (refused.exit_code, "--root" in refused.stderr) == (1, True), refused.said
    assert (lab.tree / "a").read_text() == "aa\n"
    number = lab.receipts()[0].name.removesuffix(".receipt.json")
    done = lab.docket("restore", number, "--apply", "--root", str(moved))
    assert done.exit_code == 0, done.said
    assert ((moved / "a").read_text(), (lab.tree / "a").read_text()) == ("a\n", "aa\n")


def test_a_run_without_a_snapshot_and_no_run_at_all(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    assert lab.docket("restore").exit_code == 75
    assert lab.run("-q", "--", "true").exit_code == 0
    refused = lab.docket("restore")
    assert (refused.exit_code, "--snapshot" in refused.stderr) == (75, True), refused.said
    assert lab.docket("restore", "--redo", "none.json").exit_code == 75
    assert lab.docket("restore", "DKT-20200101-000000", "--redo", "none.json").exit_code == 2


def doctored(lab: RunLab, pattern: str, edit) -> None:
    """Change a JSON document of the run's, everywhere it stands."""
    for path in (*lab.tree.glob(pattern), *lab.state.glob(f"*/{pattern.removeprefix('.docket/')}")):
        document = json.loads(path.read_bytes())
        edit(document)
        path.write_bytes(encode(document) + b"\n")


def test_documents_that_do_not_agree_are_refused_and_the_root_decides(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    ran(lab)
    other = tmp_path / "other"
    other.mkdir()
    doctored(lab, ".docket/receipts/DKT-*.json", lambda document: document["session"].update(cwd=str(other)))
    number = lab.receipts()[0].name.removesuffix(".receipt.json")
    insists = "--despite-failed-verification"
    for more, told in (((), "fails verification"), ((insists,), "name the tree that is meant with --root")):
        refused = lab.docket("restore", number, "--apply", *more)
        assert (refused.exit_code, told in refused.stderr) == (1, True), refused.said
        assert f"the receipt says {other}" in refused.stderr
        assert f"the manifest says {lab.tree}" in refused.stderr
        assert list(other.iterdir()) == []
    refused = lab.docket("restore", number, "--apply", "--root", str(lab.tree))
    assert (refused.exit_code, insists in refused.stderr) == (1, True), "a root is no insisting"
    done = lab.docket("restore", number, "--apply", "--root", str(lab.tree), insists)
    assert (done.exit_code, (lab.tree / "a").read_text()) == (0, "a\n"), done.said
    assert "record       failed: not to be relied on, and used because you insist" in done.stdout


def test_a_doctored_manifest_ledger_or_session_is_refused(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    ran(lab)
    after = state(lab)
    (manifest,) = lab.state.glob("*/snapshots/*/manifest.json")
    whole = manifest.read_bytes()
    for edit in (
        lambda document: document["entries"][0].update(path="../a"),
        lambda document: document["entries"][0].update(path="/a"),
        lambda document: document["entries"][0].update(blob="../../../etc/passwd"),
        lambda document: document["entries"][0].update(mode=0o644),
        lambda document: document["entries"].append(document["entries"][0]),
        lambda document: document["entries"][0].update(size=10**30),
        lambda document: document.update(session_id="ba9876543210"),
    ):
        document = json.loads(whole)
        edit(document)
        if encode_or_none(document) != whole:
            manifest.write_bytes(encode_or_none(document) or b"[]")
            refused = lab.docket("restore", "--apply", "--force")
            assert refused.exit_code == 1, refused.said
            assert state(lab) == after
    manifest.write_bytes(whole)
    for ledger in (*lab.tree.glob(".docket/runs/*.jsonl"), *lab.state.glob("*/runs/*.jsonl")):
        ledger.write_bytes(ledger.read_bytes().replace(b'"path":"a"', b'"path":"../z"'))
    refused = lab.docket("restore", "--apply", "--force")
    assert (refused.exit_code, state(lab)) == (1, after), refused.said


def encode_or_none(document: Any) -> bytes | None:
    try:
        return encode(document) + b"\n"
    except Exception:  # a number that no document of docket's can have
        return None


def test_a_cap_puts_the_tree_back_and_the_receipt_says_so(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    before = state(lab)
    done = lab.run("--rollback-on-breach", "--max-minutes", "0.02", "--", "sh", "-c", f"{AGENT}; sleep 60 & sleep 60")
    assert done.exit_code == 42, done.said
    assert "the tree was put back as it was before the run: 9 paths" in done.stderr
    assert state(lab) == before
    rollback = lab.receipt()["ops"]["rollback"]
    assert (rollback["applied"], rollback["trigger"], rollback["restored"]) == (True, "max_wall_seconds", 9)
    assert Path(rollback["record"]).is_file()
    assert lab.verdict()["verdict"] == "consistent"
    again = lab.docket("restore", "--redo", rollback["record"], "--apply")
    assert (again.exit_code, (lab.tree / "a").read_text()) == (0, "aa\n"), again.said


def test_a_cap_with_nothing_to_put_back_is_no_rollback(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    done = lab.run("--rollback-on-breach", "--max-minutes", "0.02", "--", "sleep", "60")
    assert (done.exit_code, "the tree was not put back" in done.stderr) == (42, True), done.said
    rollback = lab.receipt()["ops"]["rollback"]
    assert (rollback["applied"], rollback["reason"]) == (False, "nothing-changed")
    assert lab.verdict()["verdict"] == "consistent"


def test_a_run_that_no_cap_ended_keeps_what_it_did(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    assert lab.run("--rollback-on-breach", "-q", "--", "sh", "-c", "echo aa > a; exit 3").exit_code == 3
    assert ((lab.tree / "a").read_text(), lab.receipt()["ops"]["rollback"]) == ("aa\n", None)
    assert lab.receipt()["ops"]["snapshot"]["taken"] is True
