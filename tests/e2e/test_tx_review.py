"""`docket tx commit` on a real terminal: what is shown, what is taken, and that exactly what was confirmed lands."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import stat
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from run_lab import RunLab, build
from tree_lab import plain, whole

SECONDS = 60
CTRL_C, CTRL_D = "\x03", "\x04"
CUT_SHORT = f"y{CTRL_D}{CTRL_D}"  # the first hands over what was typed, the second ends the input
PROMPT = re.compile(rb"\[[a-z,]*,q(,\?)?\] $|\[y(es)?,n,q\] $")
AGENT = r"""
sed -i 's/^5$/five/; s/^8$/eight/; s/^30$/thirty/' text; chmod 755 text
printf 'bell\007 and \033[31mred\n' > new.txt; mkdir -p made/deep; echo in > made/deep/f; rm gone
printf '\0two' > binary; echo changed > kept-safe; printf 'odd\n' > "$(printf 'esc\033[2Jape\nname')"
"""
ODD = b"esc\x1b[2Jape\nname"


class Review:
    """A `docket tx commit` on a terminal of its own."""

    def __init__(self, lab: RunLab, *arguments: str, columns: int = 100, **variables: str) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self.seen = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "docket", "tx", "commit", *arguments],
            cwd=lab.tree, env=lab.environment() | {"NO_COLOR": "1", "TERM": "xterm", "PAGER": "cat"} | variables,
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no thread is running here
        )  # fmt: skip
        os.close(theirs)

    def answer(self, *answers: str) -> bytes:
        """Give each answer when the next question stands; return what was shown since the last of them."""
        for given in answers:
            self._until_asked()
            self.seen = b""
            os.write(self.ours, given.encode() if given in (CTRL_C, CTRL_D, CUT_SHORT) else f"{given}\n".encode())
        return self._until_asked()

    def end(self) -> int:
        """Read to the end and return the exit code."""
        while self._read():
            pass
        os.close(self.ours)
        return self.process.wait(SECONDS)

    def _until_asked(self) -> bytes:
        ends_at = time.monotonic() + SECONDS
        while not PROMPT.search(self.seen) and self._read():
            assert time.monotonic() < ends_at, self.seen[-2000:]
        return self.seen

    def _read(self) -> bool:
        ready, _, _ = select.select([self.ours], [], [], SECONDS)
        assert ready, self.seen[-2000:]
        try:
            data = os.read(self.ours, 65536)
        except OSError:  # the other side is closed
            return False
        self.seen += data
        return bool(data)


@pytest.fixture
def lab(tmp_path: Path) -> RunLab:
    made = build(Path(os.path.realpath(tmp_path)))
    (made.tree / "text").write_text("".join(f"{number}\n" for number in range(1, 41)))
    (made.tree / "text").chmod(0o644)
    for name, content in (("gone", "gone\n"), ("binary", "\0one"), ("kept-safe", "safe\n")):
        (made.tree / name).write_text(content)
    done = made.run(
        "--workspace-tx", "--workspace-tx-backend", "copy", "--workspace-tx-settle", "review",
        "--workspace-tx-protect", "kept-safe", "--", "sh", "-c", AGENT,
    )  # fmt: skip
    assert done.exit_code == 0, done.said
    return made


def tree_of(lab: RunLab) -> dict:
    return {path: state for path, state in plain(whole(lab.tree)).items() if not path.startswith(b".docket")}


def listed(lab: RunLab) -> list[dict]:
    return json.loads(lab.docket("tx", "list", "--json").stdout)


def expected_text(*changed: tuple[int, str]) -> str:
    lines = [str(number) for number in range(1, 41)]
    for number, text in changed:
        lines[number - 1] = text
    return "".join(f"{line}\n" for line in lines)


def test_whoever_leaves_the_review_changes_nothing(lab: RunLab) -> None:
    before = tree_of(lab)
    for answers, code in (
        (["q"], 44),
        ([CTRL_D], 44),
        ([CTRL_C], 130),
        (["p 9", "y", "q"], 44),
        (["n 3", "c", "n", "c", "q"], 44),
        (["n 4", "c", CUT_SHORT], 44),
        (["c", "y", CTRL_C], 130),  # a protected path lands by a whole yes alone
    ):
        review = Review(lab)
        review.answer(*answers)
        assert review.end() == code, answers
        assert b"nothing was changed\r\n" in review.seen
    assert tree_of(lab) == before
    assert [item["standing"] for item in listed(lab)] == ["closed"]


def test_what_is_shown_is_taken_and_confirmed_lands_and_the_rest_stays(lab: RunLab) -> None:
    review = Review(lab, columns=60)
    shown = review.answer()
    assert b"\x1b" not in shown
    assert b"\x07" not in shown
    lines = shown.decode().splitlines()
    assert [line.split()[:3] for line in lines[1:-1]] == [
        ["1", "[x]", "M"], ["2", "[x]", "A"], ["3", "[x]", "D"], ["4", "[x]", "M"], ["5", "[x]", "A"],
        ["6", "[x]", "A"], ["7", "[x]", "A"], ["8", "[x]", "A"], ["9", "[x]", "M"],
    ]  # fmt: skip
    assert lines[2].endswith("  esc\\x1b[2Jape\\x0aname")
    assert lines[4].endswith("  kept-safe  (protected)")
    assert lines[9].endswith("0755        122  text  (mode 0644 -> 0755)")
    paged = review.answer("d 8")
    assert b"+bell\\x07 and \\x1b[31mred\r\n" in paged
    assert b"\x1b" not in paged
    review.answer("n", "y 2 6-6", "p 9", "n", "s", "y", "n")
    assert b"@@ -27,7 +27,7 @@\r\n" in review.seen
    assert "\n9 [2/4]   M" in review.answer("y").decode()
    summary = review.answer("c").decode().splitlines()
    assert [line for line in summary if line.startswith("  ")] == [
        "  A  esc\\x1b[2Jape\\x0aname", "  A  made", "  A  made/deep", "  A  made/deep/f",
        "  M  text  (2 of 4 hunks)",
    ]  # fmt: skip
    digest = next(line.removeprefix("diff ") for line in summary if line.startswith("diff "))
    before = tree_of(lab)
    review.answer("y")
    assert review.end() == 0, review.seen
    assert (lab.tree / "text").read_text() == expected_text((5, "five"), (30, "thirty"))
    assert stat.S_IMODE((lab.tree / "text").stat().st_mode) == 0o644
    after = tree_of(lab)
    assert {path for path in after if after[path] != before.get(path)} == {
        ODD, b"made", b"made/deep", b"made/deep/f", b"text",
    }  # fmt: skip
    landed, rest = listed(lab)
    assert (landed["standing"], landed["diff_sha256"]) == ("committed", digest)
    assert (rest["standing"], rest["predecessor"]) == ("closed", landed["id"])
    whole_rest = lab.docket("tx", "commit", "--approve", rest["diff_sha256"])
    assert whole_rest.exit_code == 0, whole_rest.said
    assert (lab.tree / "text").read_text() == expected_text((5, "five"), (8, "eight"), (30, "thirty"))
    assert stat.S_IMODE((lab.tree / "text").stat().st_mode) == 0o755
    assert (lab.tree / "made/deep/f").read_text() == "in\n"
    assert not (lab.tree / "gone").exists()


def test_a_stage_that_changes_during_the_review_lands_nothing(lab: RunLab) -> None:
    before = tree_of(lab)
    review = Review(lab)
    review.answer("c")
    (stage,) = lab.state.glob("workspace-tx/*/stage")
    (stage / "text").write_text("another\n")
    review.answer("yes")
    assert review.end() == 75
    assert b"the change set is another than the one that was shown" in review.seen
    assert tree_of(lab) == before


def test_options_and_no_terminal_need_no_review_and_the_tree_names_no_pager(lab: RunLab) -> None:
    (lab.tree / "less").write_text("#!/bin/sh\ntouch ran; cat\n")
    (lab.tree / "less").chmod(0o755)
    review = Review(lab, PATH=f":.:{lab.environment()['PATH']}", PAGER="./less")
    review.answer("d 9", "q")
    assert review.end() == 44
    assert not (lab.tree / "ran").exists()
    assert lab.docket("tx", "commit").exit_code == 44  # a protected path, no approval: as ever without a terminal
    answered = Review(lab, "--yes")
    assert answered.end() == 44
    assert b"refused (protected-path)" in answered.seen
