"""A restore that is killed: each path is as the run left it or as it was before, and another restore finishes."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from run_lab import RunLab, build

FILES = 600


def contents(lab: RunLab) -> dict[str, str]:
    return {path.name: path.read_text() for path in lab.tree.glob("f*")}


@pytest.mark.parametrize("seen", [1, 200])
def test_a_killed_restore_is_finished_by_the_next(tmp_path: Path, seen: int) -> None:
    lab = build(tmp_path)
    for number in range(FILES):
        (lab.tree / f"f{number}").write_text("before")
    before = contents(lab)
    script = "for f in f*; do echo after > $f; done; rm f1 f2 f3; echo n > fnew"
    assert lab.run("--snapshot", "-q", "--", "sh", "-c", script).exit_code == 0
    after = contents(lab)
    deadline = time.monotonic() + lab.seconds
    with lab.start("restore", "--apply") as restore:
        while restore.poll() is None and time.monotonic() < deadline:
            if sum(len(list(folder.iterdir())) for folder in lab.tree.glob(".docket-apply-*")) >= seen:
                break
        restore.send_signal(signal.SIGKILL)
        restore.communicate(timeout=lab.seconds)
    between = contents(lab)
    for name in {*before, *after, *between}:
        assert between.get(name) in (before.get(name), after.get(name)), name
    done = lab.docket("restore", "--apply")
    assert done.exit_code == 0, done.said
    assert contents(lab) == before
    for left in lab.tree.glob(".docket-apply-*"):
        assert f"left {left.name} in the tree: what stood at" in done.stderr, "what was displaced is kept, and told"
    assert lab.docket("snapshots", "verify").exit_code == 0
