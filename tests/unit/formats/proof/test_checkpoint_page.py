"""The commands of the specification's page of checkpoints say what the page says they do."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from docket.formats.proof.checkpoint import head_words, read_checkpoint, read_checkpoints
from docket.formats.proof.note import write_note
from docket.rules.proof.signed_note import checkpoint_fault
from golden_ledgers.proven import PUBLIC_KEY

PAGE = (Path(__file__).parents[4] / "spec" / "checkpoint.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NOTE = BLOCKS[0][1]
LEDGER = (Path(__file__).parents[4] / "spec" / "ledger.md").read_text("utf-8")


def test_the_example_is_one_note_as_a_note_a_line_and_words() -> None:
    head, note = read_checkpoint(NOTE)
    assert note is not None
    assert write_note(note) == NOTE
    line = next(text for language, text in BLOCKS if not language and text.startswith('{"format"'))
    (kept,) = read_checkpoints(line.encode("utf-8"))
    assert (kept.head, kept.note) == (head, note)
    assert checkpoint_fault(kept, bytes.fromhex(PUBLIC_KEY)) is None
    assert f"`{head_words(head)}`" in PAGE
    assert all(found in LEDGER for found in re.findall(r"^H\d=([0-9a-f]{64})$", PAGE, re.MULTILINE))


@pytest.mark.skipif(not all(map(shutil.which, ("sh", "xxd", "openssl", "base64"))), reason="a program is missing")
def test_each_command_prints_what_stands_below_it(tmp_path: Path) -> None:
    (tmp_path / "note").write_text(NOTE, "utf-8")
    scripts = [text for language, text in BLOCKS if language == "sh"]
    for script in scripts:
        said = subprocess.run(
            ["sh", "-e"], input=script, cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        wanted = [line.removeprefix("# ") for line in script.splitlines() if line.startswith("# ")]
        assert [line.removesuffix("  -") for line in said.splitlines()] == wanted
    assert len(scripts) == 2
