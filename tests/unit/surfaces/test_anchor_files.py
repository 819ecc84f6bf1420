"""Files that a head is to be appended to are tried before anything starts: what is wrong with one is a refusal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from docket.errors import RefusedBeforeStartError
from docket.formats.reason import Reason
from docket.surfaces.cli.anchoring import GIT_TRAILER, try_anchors


def test_a_file_that_takes_heads_is_made_and_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "kept").write_text("mine\n")
    (tmp_path / "tree").mkdir()
    try_anchors((GIT_TRAILER, "~/new", str(tmp_path / "kept")), tmp_path / "tree")
    assert capsys.readouterr().err == ""
    assert (tmp_path / "new").read_text() == ""
    assert (tmp_path / "kept").read_text() == "mine\n"
    assert not (tmp_path / GIT_TRAILER).exists()


def test_a_file_in_the_tree_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    heads = tmp_path / "heads"
    try_anchors((str(heads),), tmp_path)
    assert capsys.readouterr().err == (
        f"docket: warning: --anchor: {heads} stands in the tree: the agent can write the heads in it\n"
    )


def test_what_takes_no_head_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for anchor, reason in (
        ("~no-such-user/heads", Reason.NOT_FOUND),
        (str(tmp_path / "gone" / "heads"), Reason.NOT_FOUND),
        (str(tmp_path), Reason.NOT_A_FILE),
        (str(tmp_path / "fifo"), Reason.NOT_A_FILE),
    ):
        with pytest.raises(RefusedBeforeStartError) as raised:
            try_anchors((anchor,), tmp_path)
        assert (raised.value.reason, raised.value.detail.startswith("--anchor: ")) == (reason, True)
