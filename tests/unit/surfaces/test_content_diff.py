"""Contents as diffs, and command lines for a shell: what a person is shown of a restore."""

from __future__ import annotations

import subprocess

import pytest

from docket.engines.foresee import Compared
from docket.formats.ledger.tree_events import EntryState
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import symlink_state
from docket.surfaces.render.content_diff import diff_of
from docket.surfaces.render.shell_words import shell_line
from tree_lab import file_state


def shown(was: EntryState | None, now: EntryState | None, before: bytes | None, after: bytes | None, **more: object):
    return list(diff_of(Compared(path=RelPath(b"x"), was=was, now=now, before=before, after=after, **more)))[1:]


def test_each_kind_of_difference_has_its_form() -> None:
    one, two = file_state(b"1\n"), file_state(b"2", 0o755)
    assert shown(one, file_state(b"1\n", 0o600), None, None) == ["old mode 100644", "new mode 100600"]
    assert shown(one, two, b"1\n", b"2") == [
        "old mode 100644", "new mode 100755", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "-1", "+2",
        "\\ No newline at end of file",
    ]  # fmt: skip
    assert shown(None, one, None, b"1\n") == ["new file mode 100644", "--- /dev/null", "+++ b/x", "@@ -0,0 +1 @@", "+1"]
    assert shown(file_state(b"a\0"), one, b"a\0", b"1\n") == ["Binary files differ: 2 bytes and 2 bytes"]
    assert shown(one, None, None, None, too_large=True)[-1] == "Contents not shown: 2 bytes and nothing"
    assert shown(one, two, b"1\n", None, problem="it is damaged")[-1] == "Contents not shown: it is damaged"
    assert shown(file_state(b"\0"), one, b"\0", b"1\n") == ["Binary files differ: 1 byte and 2 bytes"]
    assert shown(symlink_state(b"t"), one, b"t", b"1\n")[0] == "old mode 120000"
    assert "-caf\udce9" in shown(one, two, b"caf\xe9\n", b"2")


@pytest.mark.parametrize("word", ["a", "", "it's", "new\nline", "-d", "\x1b[31m'\\9", "caf\udce9", "$x `y` *"])
def test_a_shell_reads_the_words_that_were_meant(word: str) -> None:
    line = shell_line(["printf", "%s", word])
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert done.stdout == word.encode("utf-8", "surrogateescape")
