"""What a run keeps: evidence an agent cannot tidy away, every kind of change, every path that was not observed."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
import stat
import subprocess

import pytest

import run_lab


@pytest.fixture
def repository(lab):
    (lab.tree / "kept.txt").write_text("kept\n")
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=lab.tree, env=lab.environment(), check=True, timeout=30)
    return lab


@pytest.mark.parametrize(
    "tidy", ["git clean -fdxq", "rm -rf .docket", "git add -A", "mkdir -p .docket; rm -rf .docket"]
)
def test_an_agent_that_tidies_up_loses_no_evidence(repository, tidy):
    repository.run("--", "true")
    assert len(repository.receipts()) == 1
    done = repository.run("--label", "tidied", "--", "sh", "-c", f"echo more >> kept.txt; {tidy}")
    assert done.exit_code == 0, done.said
    mine = [path for path in repository.receipts() if json.loads(path.read_bytes())["label"] == "tidied"]
    assert len(mine) == 1
    assert repository.docket("verify", str(mine[0])).exit_code == 0
    staged = subprocess.run(
        ["git", "ls-files", "-z", ".docket"],
        cwd=repository.tree,
        env=repository.environment(),
        capture_output=True,
        check=True,
    )
    assert staged.stdout == b""


def test_every_kind_of_change_is_recorded(lab):
    tree = lab.tree
    (tree / "content").write_text("old")
    (tree / "same-size").write_text("aaaa")
    (tree / "exec").write_text("#!/bin/sh\n")
    (tree / "exec").chmod(0o644)
    (tree / "gone").write_text("x")
    (tree / "link").symlink_to("content")
    (tree / "turns-to-folder").write_text("x")
    (tree / "empty").mkdir()
    script = """
    printf new-content > content; printf bbbb > same-size; chmod 755 exec; rm gone; ln -sfn exec link
    rm turns-to-folder; mkdir turns-to-folder; echo x > turns-to-folder/in; rmdir empty; mkdir new-folder
    """
    done = lab.run("--", "sh", "-c", script)
    assert done.exit_code == 0, done.said
    changes = {change["path"]: change for change in lab.events("fs.change")}
    assert {path: change["change"] for path, change in changes.items()} == {
        "content": "modified", "same-size": "modified", "exec": "modified", "gone": "removed", "link": "modified",
        "turns-to-folder": "retyped", "turns-to-folder/in": "added", "empty": "removed", "new-folder": "added",
    }  # fmt: skip
    assert changes["content"]["after"]["sha256"] == hashlib.sha256(b"new-content").hexdigest()
    assert (changes["exec"]["before"]["mode"], changes["exec"]["after"]["mode"]) == (0o644, 0o755)
    assert (changes["link"]["before"]["target"], changes["link"]["after"]["target"]) == ("content", "exec")
    assert (changes["turns-to-folder"]["before"]["kind"], changes["turns-to-folder"]["after"]["kind"]) == (
        "file", "directory",
    )  # fmt: skip
    files = lab.receipt()["files"]
    assert (files["changed"], files["added"], files["removed"]) == (9, 2, 2)
    assert lab.verdict()["verdict"] == "consistent"


NAMES = [
    b"caf\xe9",
    b"new\nline",
    b" leading",
    b"quote\"'",
    b"-d",
    b"[ab].t",
    b"\xff\xfe",
    b"n" * 255,
    b"tab\t",
    b"\x1b[31mred",
]


def test_names_are_bytes_and_stay_bytes(lab):
    (lab.tree / "names").write_bytes(b"\0".join(NAMES))
    script = "import os;[open(n,'wb').close() for n in open(b'names','rb').read().split(b'\\0')]"
    done = lab.run("--", "python3", "-c", script)
    assert done.exit_code == 0, done.said
    recorded = {raw_path(change) for change in lab.events("fs.change")}
    assert recorded == set(NAMES)
    assert lab.verdict()["verdict"] == "consistent"
    shown = lab.docket("report")
    assert shown.exit_code == 0, shown.said
    assert "\x1b[31mred" not in shown.stdout


def test_what_cannot_be_observed_is_named_and_nothing_hangs(lab):
    os.mkfifo(lab.tree / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(lab.tree)  # a socket's path may be no longer than 107 bytes
        try:
            listener.bind("sock")
        finally:
            os.chdir(here)
        done = lab.run("--", "sh", "-c", "rm fifo; mkfifo other")
    assert done.exit_code == 0, done.said
    omitted = {
        (event["phase"], item["path"]): item["reason"]
        for event in lab.events("x-docket.omissions")
        for item in event["omissions"]
    }
    assert omitted == {
        ("before", "fifo"): "special-file", ("before", "sock"): "special-file",
        ("after", "other"): "special-file", ("after", "sock"): "special-file",
    }  # fmt: skip


def test_a_denied_path_that_changed_is_a_violation(lab):
    (lab.root / "p.toml").write_text('[files]\ndeny_write = [".env", "secrets/"]\n')
    done = lab.run(
        "-p", str(lab.root / "p.toml"), "--", "sh", "-c", "echo A=1 > .env; mkdir secrets; echo k > secrets/key"
    )
    assert done.exit_code == 0, done.said
    violations = {item["path"] for item in lab.events("policy.violation")}
    assert {".env", "secrets/key"} <= violations
    assert lab.receipt()["files"]["violations"] == len(violations)


def test_evidence_is_private(lab):
    lab.run("--", "true")
    for path in lab.state.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_docket_folder_that_is_a_link_is_refused_before_anything_starts(lab):
    (lab.root / "elsewhere").mkdir()
    (lab.tree / ".docket").symlink_to(lab.root / "elsewhere")
    done = lab.run("--", "touch", "ran")
    assert done.exit_code == 75, done.said
    assert ".docket" in done.stderr
    assert not (lab.tree / "ran").exists()
    assert list((lab.root / "elsewhere").iterdir()) == []


def test_a_docket_folder_the_agent_turned_into_a_file_costs_only_the_copy(lab):
    done = lab.run("--", "sh", "-c", "echo mine > .docket")
    assert done.exit_code == 0, done.said
    assert "warning" in done.stderr
    (receipt,) = lab.state.glob("*/receipts/DKT-*.receipt.json")
    assert str(receipt) in done.stderr
    assert lab.docket("verify", str(receipt)).exit_code == 0
    assert (lab.tree / ".docket").read_text() == "mine\n"


REWRITES = {
    "replaced": "sed -i 's/session.start/session.stare/' $f",
    "in place": "printf x | dd of=$f bs=1 seek=40 conv=notrunc status=none",
    "cut": ": > $f",
    "gone": "rm $f",
    "added to": "echo '{}' >> $f",
}


@pytest.mark.parametrize("how", REWRITES)
def test_a_ledger_the_agent_rewrote_is_told_and_put_back(lab, how):
    done = lab.run("--", "sh", "-c", f"for f in {lab.state}/*/runs/*.jsonl; do {REWRITES[how]}; done")
    assert done.exit_code == 0, done.said
    kinds = [event["type"] for event in lab.events()]
    assert (kinds[0], kinds[-1]) == ("session.start", "session.end")
    assert "ledger-diverged" in [note["code"] for note in lab.events("note")]
    assert lab.receipt()["event_counts"]["session.start"] == 1
    assert lab.verdict()["verdict"] == "consistent"


def test_secrets_and_token_never_reach_the_record(lab):
    secrets = {"ANTHROPIC_API_KEY": "sk-ant-very-secret", "OPENAI_API_KEY": "sk-very-secret"}
    fresh = run_lab.RunLab(root=lab.root, variables=secrets)
    done = fresh.run("--", "sh", "-c", 'echo "$ANTHROPIC_BASE_URL"')
    token = done.stdout.strip().split("/")[3]
    assert len(token) >= 24
    for path in [*lab.state.rglob("*"), *(lab.tree / ".docket").rglob("*")]:
        if path.is_file():
            data = path.read_bytes()
            assert b"very-secret" not in data, path
            assert token.encode() not in data, path


def raw_path(change) -> bytes:
    if "path" in change:
        return change["path"].encode()
    return base64.b64decode(change["path_b64"])
