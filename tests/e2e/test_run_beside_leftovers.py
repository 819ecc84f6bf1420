"""A run in a tree where a change of docket's own was cut short: it says so, and watches everything else."""

from __future__ import annotations

import os


def test_what_an_apply_left_is_named_before_the_agent_starts(lab):
    left = lab.tree / ".docket-apply-0123456789abcdef"
    left.mkdir(mode=0o700)
    os.chmod(left, 0o700)
    (left / "plan").write_bytes(b"{}\n")
    (left / "0.12").write_bytes(b"what stood there")
    done = lab.run("--", "sh", "-c", "echo agent >&2; echo x > made")
    assert done.exit_code == 0, done.said
    warned, _, _ = done.stderr.partition("agent\n")
    assert left.name in warned
    assert "cut short" in warned
    assert "docket tx recover" in warned
    assert lab.verdict()["verdict"] == "consistent"
    assert [event["path"] for event in lab.events("fs.change")] == ["made"]
    assert (left / "0.12").read_bytes() == b"what stood there"


def test_a_run_elsewhere_says_nothing_of_it(lab):
    (lab.tree / "inner").mkdir()
    (lab.tree / "inner" / ".docket-apply-0123456789abcdef").mkdir()
    done = lab.run("--", "true")
    assert "cut short" not in done.stderr
