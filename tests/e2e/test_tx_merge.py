"""Two runs over one tree, landed one after the other: the second is told of the first, and is merged with it."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest

from run_lab import RunLab, build

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


@pytest.fixture
def lab(tmp_path: Path) -> RunLab:
    made = build(Path(os.path.realpath(tmp_path)))
    (made.tree / "f").write_text(TEXT)
    return made


def staged(lab: RunLab, script: str) -> str:
    before = {item["id"] for item in json.loads(lab.docket("tx", "list", "--json").stdout)}
    options = ("--workspace-tx", "--workspace-tx-backend", "copy", "--workspace-tx-settle", "review")
    done = lab.run(*options, "--", "sh", "-c", script)
    assert done.exit_code == 0, done.said
    (made,) = [item for item in json.loads(lab.docket("tx", "list", "--json").stdout) if item["id"] not in before]
    return str(made["id"])


def test_a_run_whose_commit_is_refused_names_who_landed_meanwhile(lab: RunLab) -> None:
    other = staged(lab, "sed -i s/one/ONE/ f")
    flag, begun = lab.root / "flag", lab.root / "begun"
    script = f"sed -i s/seven/SEVEN/ f; touch {begun}; until [ -e {flag} ]; do sleep 0.05; done"
    with lab.start("run", "--workspace-tx", "--workspace-tx-backend", "copy", "--", "sh", "-c", script) as process:
        deadline = time.monotonic() + lab.seconds
        while not begun.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        landed = lab.docket("tx", "commit", other)
        flag.touch()
        _, said = process.communicate(timeout=lab.seconds)
    assert landed.exit_code == 0, landed.said
    assert process.returncode == 44, said
    assert f"workspace_tx.refusals: f (changed-since), transaction {other} landed there" in said.splitlines()
    members = {path: json.loads(path.read_text())["workspace"] for path in lab.receipts()}
    ((path, workspace),) = [item for item in members.items() if item[1]["outcome"] == "refused"]
    assert [(item["path"], item["transaction"]) for item in workspace["refusals"]] == [("f", other)]
    assert (
        workspace["detail"] == f"f changed in the tree since it was staged; transaction {other} landed there meanwhile"
    )
    assert lab.docket("verify", str(path)).exit_code == 0
    merging = re.search(r"docket (tx commit --merge [0-9a-f]+) merges what both changed and lands it", said)
    assert merging is not None, said
    assert lab.docket(*merging[1].split()).exit_code == 0
    assert (lab.tree / "f").read_text() == TEXT.replace("one", "ONE").replace("seven", "SEVEN")


def test_the_second_of_two_is_told_of_the_first_and_lands_merged(lab: RunLab) -> None:
    first, second = staged(lab, "sed -i s/one/ONE/ f"), staged(lab, "sed -i s/seven/SEVEN/ f")
    third = staged(lab, "sed -i s/one/1/ f")
    assert lab.docket("tx", "commit", first).exit_code == 0

    refused = lab.docket("tx", "commit", second)
    assert refused.exit_code == 44, refused.said
    lines = refused.stdout.splitlines()
    assert f"in the tree   {lab.tree}/f" in lines
    (stage,) = [line.removeprefix("in the stage  ") for line in lines if line.startswith("in the stage  ")]
    assert Path(stage).read_text() == TEXT.replace("seven", "SEVEN")
    assert f"docket tx show {first} shows what transaction {first} changed" in lines
    assert f"docket tx commit --merge {second} merges texts that both changed" in lines

    patch = lab.docket("tx", "diff", "-p", second).stdout
    assert "-ONE\n+one\n" in patch
    assert "-seven\n+SEVEN\n" in patch
    (made,) = json.loads(lab.docket("tx", "diff", "--merge", "--json", second).stdout)["changes"]
    assert (made["no_hunks"], made["hunks"]) == ("it is made by merging", [])
    shown = lab.docket("tx", "diff", "--merge", second).stdout.splitlines()[-1].removeprefix("diff ")
    landed = lab.docket("tx", "commit", "--merge", "--approve", shown, second)
    assert landed.exit_code == 0, landed.said
    assert "merged  f" in landed.stdout.splitlines()
    assert (lab.tree / "f").read_text() == TEXT.replace("one", "ONE").replace("seven", "SEVEN")

    conflict = lab.docket("tx", "commit", "--merge", third, "--json")
    assert conflict.exit_code == 44, conflict.said
    record = json.loads(conflict.stdout)
    assert (record["reason"], record["refusals"][0]["transaction"]) == ("merge-conflict", second)
    told = lab.docket("tx", "show", third).stdout
    for part in (
        f"<<<<<<< transaction {third}\n1\n",
        "||||||| what was staged\none\n",
        "=======\nONE\n>>>>>>> the tree",
    ):
        assert part in told
    assert lab.docket("tx", "diff", "--merge", third).exit_code == 44
    assert (lab.tree / "f").read_text() == TEXT.replace("one", "ONE").replace("seven", "SEVEN")
